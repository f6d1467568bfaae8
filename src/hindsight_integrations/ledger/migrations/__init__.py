"""Migration of a PostgreSQL database to this package's schema version, with Alembic.

`versions/` has a file for each version, which converts a database of the version before. New databases are created from
`tables.py` and need no conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection

from hindsight_integrations.errors import MissingDependency, SchemaMismatch
from hindsight_integrations.ledger.postgresql import LOCK_SET_UP, PostgresDatabase, schema
from hindsight_integrations.model.clock import SystemClock

VERSIONS = Path(__file__).with_name("versions")


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration did.

    Attributes:
        path: the address of the database, without user and password.
        before: version of the schema before; None if there was no ledger.
        after: version of the schema now.
    """

    path: str
    before: int | None
    after: int


def migrate(url: URL, versions: Sequence[Path] = (VERSIONS,)) -> Migration:
    """Convert a database to the newest version in one transaction, or create its tables.

    Processes that migrate at the same time wait for each other.

    Args:
        url: an address from `checked_address`.
        versions: folders with Alembic's scripts.

    Raises:
        SchemaMismatch: a newer version of this package wrote the schema.
        MissingDependency: Alembic is not installed.
        LedgerFailed: a step failed, or the database belongs to another application; nothing was changed.
        LedgerReadOnly: the user may not alter the tables, or the server is a standby.
        LedgerUnreachable: the server does not answer.
    """
    database = _MigratedDatabase(url, versions)
    database.close()
    return database.migration


class _MigratedDatabase(PostgresDatabase):
    """A database that is migrated when it is opened."""

    migration: Migration

    def __init__(self, url: URL, versions: Sequence[Path]) -> None:
        self._versions = versions
        super().__init__(url, clock=SystemClock(), connections=1)

    def _check_schema(self) -> None:
        with self.writing() as connection:
            connection.execute(LOCK_SET_UP)
            before = self._schema_version(connection)
            after = self._create(connection) if before is None else self._upgrade(connection, before)
        self.migration = Migration(str(self.path), before, after)

    def _upgrade(self, connection: Connection, before: int) -> int:
        """Run the steps from this version to the newest; return the newest."""
        try:
            from alembic.migration import MigrationContext
            from alembic.operations import Operations
            from alembic.script import ScriptDirectory
        except ImportError as error:
            raise MissingDependency(
                "alembic, which migrates databases,", "Run `pip install hindsight-integrations[postgres]`."
            ) from error
        scripts = ScriptDirectory(str(VERSIONS.parent), version_locations=[*map(str, self._versions)])
        newest = int(scripts.get_current_head() or 0)
        if before > newest:
            raise SchemaMismatch(self.path, before, newest)
        with Operations.context(MigrationContext.configure(connection)):
            for step in reversed([*scripts.iterate_revisions(str(newest), str(before))]):
                step.module.upgrade()
        if before != newest:
            connection.execute(schema.update().values(version_num=str(newest)))
        return newest

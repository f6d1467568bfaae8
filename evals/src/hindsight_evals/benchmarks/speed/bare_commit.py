"""The cost of a commit's rows in SQLite alone: the same rows inserted into a copy of the ledger."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from hindsight_integrations.ledger.databases import LEDGER_FILE
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.sql import raw

Rows = dict[str, list[tuple[object, ...]]]
"""The rows that a commit added, by table."""

SINCE = ("revision", "created")
"""Columns with the revision of a row's commit; in tables without one, rows are selected by new units or entities."""

ITS_OWN = frozenset({"banks", "commits"})
"""Tables that the copy updates itself: the bank's revision, and the commit's token, which a trigger writes."""

_MENTIONED = "UPDATE entities SET mentions = mentions + 1, last_seen = last_seen WHERE id = ?"


class BareCommits:
    """A copy of a ledger with one bank, into which the rows of each commit to the original are inserted.

    It is opened like the original, with the same schema, pragmas and disk.

    Args:
        original: the data directory.
        ledger: the copy.
    """

    def __init__(self, original: Path, ledger: Ledger) -> None:
        self._ledger = ledger
        self._source = sqlite3.connect(f"{(original / LEDGER_FILE).absolute().as_uri()}?mode=ro", uri=True)
        tables = self._source.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
        self._columns = {
            name: [row[1] for row in self._source.execute(f"PRAGMA table_info({name})")]
            for (name,) in tables.fetchall()
        }
        self._last = self._highest()

    def close(self) -> None:
        """Close the connection to the original."""
        self._source.close()

    def milliseconds(self) -> tuple[float, int]:
        """Commit to the copy the rows added to the original since the last call; return milliseconds and the number of rows."""
        revision, rows = self._new_rows()
        entities = [(row[self._columns["mentions"].index("entity")],) for row in rows.get("mentions", ())]
        statements = {
            table: f"INSERT INTO {table} VALUES ({','.join('?' * len(self._columns[table]))})"
            for table in rows
        }
        started = time.perf_counter()
        with self._ledger._database.writing() as connection:  # noqa: SLF001 - the pragmas that are measured are there
            for table, added in rows.items():
                raw(connection).executemany(statements[table], added)
            raw(connection).executemany(_MENTIONED, entities)
            raw(connection).execute("UPDATE banks SET revision = ?", (revision,))
        return (time.perf_counter() - started) * 1000, sum(map(len, rows.values()))

    def _highest(self) -> dict[str, int]:
        """Return the highest row ids of units and entities."""
        return {
            table: self._source.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
            for table in ("units", "entities")
        }

    def _new_rows(self) -> tuple[int, Rows]:
        (revision,) = self._source.execute("SELECT revision FROM banks").fetchone()
        found = {
            table: self._source.execute(f"SELECT * FROM {table} WHERE {condition}").fetchall()
            for table, columns in self._columns.items()
            if (condition := self._added(table, columns, revision))
        }
        self._last = self._highest()
        return revision, {table: rows for table, rows in found.items() if rows}

    def _added(self, table: str, columns: list[str], revision: int) -> str:
        """Return the SQL condition for the rows added by the last commit; empty for a table without such rows."""
        if table in ITS_OWN:
            return ""
        for column in SINCE:
            if column in columns:
                return f"{column} = {revision}" if "bank" in columns else ""
        if table == "entities":
            return f"id > {self._last['entities']}"
        for column, of in (("unit", "units"), ("entity", "entities")):
            if column in columns:
                return f"{column} > {self._last[of]}"
        return ""


@contextmanager
def bare_commits(original: Path, copy: Path) -> Iterator[BareCommits]:
    """Copy the ledger of `original` into the folder `copy`, and yield its bare commits."""
    copy.mkdir()
    with (
        closing(sqlite3.connect(original / LEDGER_FILE)) as source,
        closing(sqlite3.connect(copy / LEDGER_FILE)) as target,
    ):
        source.backup(target)
    with closing(Ledger.open(copy)) as ledger, closing(BareCommits(original, ledger)) as bare:
        yield bare

"""What SQLite alone takes for a commit's rows: the same rows into a copy of the ledger, and nothing decided."""

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
"""Table to the rows of it that a commit added."""

SINCE = ("revision", "created")
"""Columns that say which commit a row came with; a table without one is asked for rows of new units or entities."""

ITS_OWN = frozenset({"banks", "commits"})
"""What the copy writes by itself: the bank's revision is updated, and a trigger draws the commit's token."""

_MENTIONED = "UPDATE entities SET mentions = mentions + 1, last_seen = last_seen WHERE id = ?"


class BareCommits:
    """A copy of a ledger with one bank, which takes what each commit to the original added.

    It is opened as the original is, so that schema, pragmas and disk are the same.

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
        """Let go of the original."""
        self._source.close()

    def milliseconds(self) -> tuple[float, int]:
        """Commit to the copy what was added to the original since the last call; how long it took, and how many rows."""
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
        """The highest row ids of units and entities."""
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
        """What is true of the rows the last commit added; empty for a table of which it adds none."""
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
    """Bare commits into a copy of the ledger in `original`, made now in the folder `copy`."""
    copy.mkdir()
    with (
        closing(sqlite3.connect(original / LEDGER_FILE)) as source,
        closing(sqlite3.connect(copy / LEDGER_FILE)) as target,
    ):
        source.backup(target)
    with closing(Ledger.open(copy)) as ledger, closing(BareCommits(original, ledger)) as bare:
        yield bare

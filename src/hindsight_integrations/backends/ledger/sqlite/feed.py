"""The feed: a whole bank as arrays. Rows leave in revision order and are put in row order in numpy."""

from __future__ import annotations

import json
from functools import partial
from sqlite3 import Connection

import numpy as np
import numpy.typing as npt

from hindsight_integrations.backends.ledger.rules.commits import bank_key, past_gaps
from hindsight_integrations.backends.ledger.sqlite.checksums import fetched, well_formed
from hindsight_integrations.backends.ledger.sqlite.connections import Connections
from hindsight_integrations.backends.ledger.sqlite.losses import found_loss, token_of
from hindsight_integrations.backends.ledger.sqlite.reader import count_units
from hindsight_integrations.backends.ledger.sqlite.rows import Row, find_bank
from hindsight_integrations.model.units import FactType, ValidityKind
from hindsight_integrations.ports.arrays import NEVER, UNDATED, IntArray, Matrix
from hindsight_integrations.ports.ledger import UnitColumns
from hindsight_integrations.ports.memory_graph import Edges, Mentions
from hindsight_integrations.ports.watermark import IndexMark, Watermark

_TYPE_CODES = {fact_type.value: code for code, fact_type in enumerate(FactType)}
_LINK = np.dtype([("source", "i8"), ("target", "i8"), ("code", "i8"), ("weight", "f4")])
_MENTION = np.dtype([("unit", "i8"), ("entity", "i8")])


class SqliteFeed:
    """A bank at the revision its connection sees; see the port."""

    def __init__(self, connection: Connection, bank: str, connections: Connections) -> None:
        self._connection, found = connection, find_bank(connection, bank)
        self._path, self._accept_loss = connections.path, connections.accept_loss
        self._name, self._bank, self._revision = bank, found.id, found.revision

    @property
    def revision(self) -> int:
        """The revision everything here stands at."""
        return self._revision

    @property
    def mark(self) -> Watermark:
        """The commit everything here stands at."""
        (ledger,) = self._connection.execute("SELECT id FROM ledger").fetchone()
        return Watermark(
            ledger, self._bank, self._revision, token_of(self._connection, self._bank, self._revision)
        )

    def knows(self, mark: Watermark) -> bool:
        """Whether a mark is of this bank's history; see the port."""
        (ledger,) = self._connection.execute("SELECT id FROM ledger").fetchone()
        token = token_of(self._connection, self._bank, mark.revision)
        if (mark.ledger, mark.generation, mark.token) == (ledger, self._bank, token):
            return True
        loss = found_loss(self._connection, (), [IndexMark("index", bank_key(self._name), mark)])
        if loss and not self._accept_loss:
            raise loss.error(self._path)
        return False

    @property
    def graph_epoch(self) -> int:
        """The last revision that changed links or mentions in place; 0 if none did."""
        query = "SELECT revision FROM graph_epochs WHERE bank = ?"
        row = self._connection.execute(query, (self._bank,)).fetchone()
        return int(row[0]) if row else 0

    def count(self) -> int:
        """How many units the bank holds."""
        return count_units(self._connection, self._bank)

    def columns(self, since: int) -> UnitColumns:
        """The filterable columns of units changed after `since`."""
        rows = fetched(
            self._connection,
            "SELECT id, fact_type, occurred_start, occurred_end, mentioned_at, closed_at, tokens, tags, "
            "CASE speaker WHEN '' THEN '' ELSE thread END, speaker FROM units WHERE bank = ? AND changed > ?",
            (self._bank, since),
        )
        rows.sort(key=lambda row: int(row[0]))
        gaps = self._gaps(since)
        return well_formed(partial(_columns, gaps=gaps), rows, self._connection, self._bank)

    def vectors(self, since: int) -> tuple[IntArray, Matrix]:
        """Row ids (n,) and vectors (n, dimension) written after `since`."""
        rows = self._connection.execute(
            "SELECT unit, vector FROM vectors WHERE bank = ? AND revision > ?", (self._bank, since)
        ).fetchall()
        if not rows:
            return np.empty(0, np.int64), np.empty((0, 0), np.float32)
        rows.sort(key=lambda row: int(row[0]))
        ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        # A bytearray, so that the caller gets an array it may write to without a second copy.
        matrix = np.frombuffer(bytearray().join(row[1] for row in rows), "<f4").reshape(len(rows), -1)
        return ids, matrix

    def texts(self, since: int) -> tuple[IntArray, list[str]]:
        """Row ids and texts of units created or edited after `since`."""
        rows = fetched(
            self._connection,
            "SELECT id, text FROM units WHERE bank = :bank AND created > :since UNION SELECT units.id, units.text "
            "FROM unit_edits JOIN units ON units.id = unit "
            "WHERE unit_edits.bank = :bank AND unit_edits.revision > :since",
            {"bank": self._bank, "since": since},
        )
        rows.sort(key=lambda row: int(row[0]))
        return np.fromiter((row[0] for row in rows), np.int64, len(rows)), [
            row[1] if isinstance(row[1], str) else "" for row in rows
        ]

    def graph(self, since: int) -> tuple[IntArray, Edges, Mentions]:
        """Units by row, links by (source, target, code) and mentions by (unit, entity) created after `since`."""
        units = self._ids("SELECT id FROM units WHERE bank = ? AND created > ?", since)
        links = self._table("SELECT source, target, code, weight FROM links", since, _LINK)
        links = links[np.lexsort((links["code"], links["target"], links["source"]))]
        pairs = self._table("SELECT unit, entity FROM mentions", since, _MENTION)
        pairs = pairs[np.lexsort((pairs["entity"], pairs["unit"]))]
        edges = Edges(*(np.ascontiguousarray(links[name]) for name in ("source", "target", "code", "weight")))
        mentions = Mentions(*(np.ascontiguousarray(pairs[name]) for name in ("unit", "entity")))
        return units, edges, mentions

    def removed(self, since: int) -> IntArray:
        """Row ids of units forgotten after `since`, ascending."""
        return self._ids("SELECT unit FROM removed WHERE bank = ? AND revision > ?", since)

    def roles(self) -> IntArray:
        """Row ids of entities that have a role, ascending."""
        query = "SELECT id FROM entities WHERE bank = ? AND role <> '' ORDER BY id"
        return np.array([row[0] for row in self._connection.execute(query, (self._bank,))], np.int64)

    def _gaps(self, since: int) -> IntArray:
        """Past gaps in the validity of units changed after `since`, from the logs of those ever restored."""
        log = self._connection.execute(
            "SELECT unit, kind, effective_at FROM validity_events WHERE unit IN "
            "(SELECT back.unit FROM units CROSS JOIN validity_events AS back ON back.unit = units.id AND back.kind = ? "
            "WHERE units.bank = ? AND units.changed > ?) ORDER BY id",
            (ValidityKind.RESTORED.value, self._bank, since),
        )
        return past_gaps((row, ValidityKind(kind), moment) for row, kind, moment in log)

    def _ids(self, query: str, since: int) -> IntArray:
        ids = np.fromiter((row[0] for row in self._connection.execute(query, (self._bank, since))), np.int64)
        ids.sort()
        return ids

    def _table(self, select: str, since: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
        """The rows of a select with `bank` and `revision`, as a structured array."""
        rows = self._connection.execute(f"{select} WHERE bank = ? AND revision > ?", (self._bank, since))
        return np.fromiter(rows, dtype)


def _columns(rows: list[Row], gaps: IntArray) -> UnitColumns:
    """The columns of rows in row order."""
    ids, types, starts, ends, mentioned, closed, tokens, tags, threads, speakers = (
        zip(*rows, strict=True) if rows else ((),) * 10
    )
    parsed = {text: tuple(json.loads(text)) for text in set(tags)}
    return UnitColumns(
        ids=np.array(ids, np.int64),
        types=np.array([_TYPE_CODES[kind] for kind in types], np.int64),
        starts=np.array([UNDATED if start is None else start for start in starts], np.int64),
        ends=np.array([UNDATED if end is None else end for end in ends], np.int64),
        mentioned=np.array(mentioned, np.int64),
        closed=np.array([NEVER if moment is None else moment for moment in closed], np.int64),
        tokens=np.array(tokens, np.int64),
        tags=[parsed[text] for text in tags],
        turns=list(zip(threads, speakers, strict=True)),
        gaps=gaps,
    )

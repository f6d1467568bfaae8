"""The feed: a bank's content, or its changes since a revision, as arrays from which indexes are built and updated.

Rows are read in revision order and sorted into row order by numpy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from sqlalchemy import (
    BigInteger,
    CompoundSelect,
    Connection,
    Executable,
    bindparam,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    tuple_,
    union,
)
from sqlalchemy.sql.elements import BindParameter, ColumnElement

from hindsight_integrations.ledger.checksums import well_formed
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.losses import TOKEN, found_loss, hexadecimal
from hindsight_integrations.ledger.rows import BankRow, Row, embedder_from, fetched, missing_bank
from hindsight_integrations.ledger.rules import bank_key, past_gaps
from hindsight_integrations.ledger.sql import Values, among, ask, in_bank, integers, numbers, packed, refers
from hindsight_integrations.ledger.tables import (
    banks,
    commits,
    entities,
    erasures,
    graph_epochs,
    item_units,
    items,
    ledger,
    links,
    mentions,
    removed,
    retold,
    turns,
    unit_edits,
    unit_sources,
    units,
    validity_events,
    vectors,
)
from hindsight_integrations.ledger.values import ItemUnits, UnitColumns
from hindsight_integrations.model.arrays import (
    IN_DOCUMENT,
    NEVER,
    STORED,
    UNDATED,
    WAITING,
    FloatArray,
    IntArray,
    Matrix,
)
from hindsight_integrations.model.items import namespace_from
from hindsight_integrations.model.links import Edges, Mentions
from hindsight_integrations.model.units import FactType, UnitKind, ValidityKind
from hindsight_integrations.model.watermark import IndexMark, Watermark

BLOCK = 65_536  # number of links read at a time: 2 MB
VECTORS_AT_ONCE = 8_192  # number of vectors read at a time: 12 MB with 384 dimensions

_CODE_SHIFT = 54
_WEIGHT_STEPS = 2.0**53  # weights in [0, 1] are read as multiples of 1 / 2**53, which is lossless

NO_VALUES: Values = MappingProxyType({})

_BANK: BindParameter[int] = bindparam("bank")
_SINCE: BindParameter[int] = bindparam("since")

_HEADER = (
    select(
        banks.c.id,
        banks.c.revision,
        banks.c.dimension,
        banks.c.embedder,
        ledger.c.id,
        commits.c.token,
        graph_epochs.c.revision,
        erasures.c.revision,
    )
    .select_from(
        banks.join(ledger, literal(True))
        .outerjoin(commits, (commits.c.bank == banks.c.id) & (commits.c.revision == banks.c.revision))
        .outerjoin(graph_epochs, graph_epochs.c.bank == banks.c.id)
        .outerjoin(erasures, erasures.c.bank == banks.c.id)
    )
    .where(banks.c.name == _BANK)
)
_CHANGED = (units.c.bank == _BANK) & (units.c.changed > _SINCE)
_UNDAMAGED = units.c.id.not_in(select(numbers("damaged").c.value))
_COLUMNS: tuple[ColumnElement[Any], ...] = (
    units.c.id,
    case({each.value: code for code, each in enumerate(FactType)}, value=units.c.fact_type)
    + case(
        {
            UnitKind.TURN.value: WAITING,
            UnitKind.ITEM.value: STORED,
            UnitKind.DOCUMENT_ITEM.value: IN_DOCUMENT,
        },
        value=units.c.kind,
        else_=0,
    ),
    func.coalesce(units.c.occurred_start, UNDATED),
    func.coalesce(units.c.occurred_end, UNDATED),
    units.c.mentioned_at,
    func.coalesce(units.c.closed_at, NEVER),
    units.c.tokens,
    case((units.c.compact_tokens < units.c.tokens, units.c.compact_tokens), else_=units.c.tokens),
    func.coalesce(units.c.head, 0),
    units.c.lasting,
)
_PACKED_COLUMNS = select(*map(packed, _COLUMNS)).where(_CHANGED)
_WORDS = select(
    units.c.id,
    units.c.tags,
    case((units.c.speaker == "", ""), else_=units.c.thread),
    units.c.speaker,
    units.c.metadata,
).where(_CHANGED, or_(units.c.tags != "[]", units.c.speaker != "", units.c.metadata != "{}"))
_restored = validity_events.alias("restored")
_GAPS = (
    select(validity_events.c.unit, validity_events.c.kind, validity_events.c.effective_at)
    .where(
        in_bank(validity_events),
        validity_events.c.unit.in_(
            select(_restored.c.unit)
            .join(units, refers(_restored.c.unit, units))
            .where(_CHANGED, _restored.c.kind == ValidityKind.RESTORED.value)
        ),
    )
    .order_by(validity_events.c.id)
)
_block = (
    select(links)
    .where(
        links.c.bank == _BANK,
        tuple_(links.c.revision, links.c.source, links.c.target, links.c.code)
        > tuple_(*(bindparam(name) for name in ("since", "after_source", "after_target", "after_code"))),
    )
    .order_by(links.c.revision, links.c.source, links.c.target, links.c.code)
    .limit(bindparam("block"))
    .subquery("block")
)
_LINKS = select(
    packed(_block.c.source),
    packed(_block.c.target),
    packed(_block.c.code * (1 << _CODE_SHIFT) + cast(_block.c.weight * _WEIGHT_STEPS, BigInteger)),
    func.max(_block.c.revision),
)
_WAITING = select(func.count()).where(
    units.c.bank == _BANK, units.c.kind == literal(UnitKind.TURN.value, literal_execute=True)
)
_UNITS = select(func.count()).where(units.c.bank == _BANK)
_VECTOR_COUNT = select(func.count()).where(vectors.c.bank == _BANK)
_EMBEDDED = select(packed(vectors.c.unit)).where(vectors.c.bank == _BANK, vectors.c.revision > _SINCE)
_VECTORS = select(vectors.c.unit, vectors.c.vector).where(
    vectors.c.bank == _BANK, vectors.c.revision > _SINCE
)
_VECTORS_OF = select(vectors.c.unit, vectors.c.vector).where(
    vectors.c.bank == _BANK, among(vectors.c.unit, "ids")
)


def _with_new_texts(*columns: ColumnElement[Any]) -> CompoundSelect[Any]:
    """Select columns of the units that were created, edited or lost a source turn after `since`."""
    return union(
        select(*columns).where(units.c.bank == _BANK, units.c.created > _SINCE),
        *(
            select(*columns)
            .join(table, refers(table.c.unit, units))
            .where(table.c.bank == _BANK, table.c.revision > _SINCE)
            for table in (unit_edits, retold)
        ),
    )


_TEXTS = _with_new_texts(units.c.id, units.c["text"])
# A unit that stores a message word for word has no other source text.
_said = units.alias("said")
_TOLD = (
    select(
        units.c.id,
        units.c["text"],
        case((_said.c.id.is_(None), turns.c.speaker + ": " + turns.c["text"]), else_=_said.c["text"]),
    )
    .select_from(units)
    .join(unit_sources, refers(unit_sources.c.unit, units))
    .join(
        turns,
        (turns.c.bank == unit_sources.c.bank)
        & (turns.c.thread == unit_sources.c.thread)
        & (turns.c.message == unit_sources.c.message),
    )
    .outerjoin(_said, refers(turns.c.unit, _said))
    .where(
        units.c.id.in_(_with_new_texts(units.c.id)),
        unit_sources.c.bank == _BANK,
        units.c.kind == UnitKind.MEMORY.value,
        units.c.speaker == "",
    )
    .order_by(units.c.id, func.coalesce(_said.c.mentioned_at, turns.c.said_at), turns.c.message)
)
_MEMORIES = select(packed(units.c.id)).where(
    units.c.bank == _BANK, units.c.created > _SINCE, units.c.kind == UnitKind.MEMORY.value
)
_MENTIONS = select(packed(mentions.c.unit), packed(mentions.c.entity)).where(
    mentions.c.bank == _BANK, mentions.c.revision > _SINCE
)
_MENTIONED = select(packed(entities.c.id), packed(entities.c.mentions)).where(
    entities.c.bank == _BANK, entities.c.mentions > bindparam("more_than")
)
_ROLES = select(packed(entities.c.id)).where(
    entities.c.bank == _BANK, entities.c.role != literal("", literal_execute=True)
)
_ITEM_UNITS = (
    select(units.c.id, items.c.id, items.c.namespace)
    .join(item_units, refers(item_units.c.unit, units))
    .join(items, refers(item_units.c.item, items))
    .where(
        units.c.bank == _BANK,
        units.c.kind == literal(UnitKind.ITEM.value, literal_execute=True),
        units.c.created > _SINCE,
    )
    .order_by(units.c.id)
)
_REMOVED = select(packed(removed.c.unit)).where(removed.c.bank == _BANK, removed.c.revision > _SINCE)


Read: TypeAlias = Callable[[Executable, Values], list[Row]]
"""Executes a select on the bank with these values."""


def links_since(read: Read, since: int) -> Edges:
    """Return a bank's links created after `since`, by source, target and code."""
    blocks = list(_link_blocks(read, since))
    edges = Edges(*(np.concatenate(column) for column in zip(*blocks, strict=True)))
    del blocks
    if _ordered(edges):
        return edges
    order = np.lexsort((edges.codes, edges.targets, edges.sources))
    return Edges(edges.sources[order], edges.targets[order], edges.codes[order], edges.weights[order])


def _ordered(edges: Edges) -> bool:
    """Return whether edges are sorted by source, target and code, as they usually are if the bank only grew."""
    sources, targets = np.diff(edges.sources), np.diff(edges.targets)
    tied = (sources == 0) & (targets == 0) & (np.diff(edges.codes) <= 0)
    return not bool(np.any((sources < 0) | ((sources == 0) & (targets < 0)) | tied))


def _link_blocks(read: Read, since: int) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
    """Yield sources, targets, codes and weights of links, BLOCK at a time, by revision, source, target and code."""
    after = _first_links(since)
    while True:
        row = read(_LINKS, after)[0]
        sources, targets, weighed = map(integers, row[:3])
        codes, steps = weighed >> _CODE_SHIFT, weighed & ((1 << _CODE_SHIFT) - 1)
        yield sources, targets, codes, (steps / _WEIGHT_STEPS).astype(np.float32)
        if len(sources) < BLOCK:
            return
        ends = (int(column[-1]) for column in (sources, targets, codes))
        after = {
            "block": BLOCK,
            "since": row[3],
            **dict(zip(("after_source", "after_target", "after_code"), ends, strict=True)),
        }


def _first_links(since: int) -> dict[str, int]:
    """Return the parameters of the select for the first block of links after `since`."""
    last = int(np.iinfo(np.int64).max)
    return {"block": BLOCK, "since": since, "after_source": last, "after_target": 0, "after_code": 0}


@dataclass(frozen=True, slots=True)
class Ahead:
    """The selects that will be read from a feed, which PostgreSQL then answers in one round trip.

    Attributes:
        bank: row id of the bank.
        since: the revision after which changes are read.
        more_than: number of mentions above which entities are read.
        graph: whether links and mentions will be read.
    """

    bank: int
    since: int
    more_than: int
    graph: bool

    def selects(self) -> Iterator[tuple[Executable, Values]]:
        """Yield the selects with their values, except the bank."""
        after = {"since": self.since}
        parts: list[Executable] = [
            _REMOVED,
            _VECTORS,
            _EMBEDDED,
            _TEXTS,
            _TOLD,
            _PACKED_COLUMNS,
            _WORDS,
            _GAPS,
        ]
        yield from ((part, after) for part in parts)
        yield TOKEN, _commit_of(self.bank, self.since)
        yield _MENTIONED, {"more_than": self.more_than}
        yield _ROLES, {}
        if self.graph:
            yield _LINKS, _first_links(self.since)
            yield _MENTIONS, after
            yield _MEMORIES, after


class Feed:
    """A bank at one revision, with its changes after an earlier revision `since`; `since=0` returns everything.

    Each method takes its own `since`, because each index has its own watermark. Only the requested data is
    read. Arrays are in row order. Use a feed only inside its block and on the thread that opened it.

    Args:
        connection: a connection that sees one state of the ledger.
        bank: the bank's name.
        database: the database of the connection.
        ahead: the selects to run in advance; None if unknown.

    Attributes:
        bank: the bank's row.
        embedder: the embedder of the bank's vectors; None if it has none.
    """

    def __init__(
        self, connection: Connection, bank: str, database: Database, ahead: Ahead | None = None
    ) -> None:
        selects, questions = [], []
        if ahead and connection.dialect.name != "sqlite":  # SQLite has no round trips to save
            selects = list(ahead.selects())
            questions = [(select, {"bank": ahead.bank, **values}) for select, values in selects]
        *answers, headers = ask(connection, *questions, (_HEADER, {"bank": bank}))
        if not headers:
            raise missing_bank(connection, bank)
        header = headers[0]
        self._ahead = {
            _asked(select, values): rows for (select, values), rows in zip(selects, answers, strict=True)
        }
        self.bank = BankRow(*header[:3])
        self._bank, self._revision = self.bank.id, self.bank.revision
        embedder, own, token, epoch, erasure = header[3:]
        self.embedder = embedder_from(embedder)
        self._graph_epoch, self._last_erasure = int(epoch or 0), int(erasure or 0)
        self._mark = Watermark(own, self._bank, self._revision, (token or b"").hex())
        self._connection, self._name = connection, bank
        self._path, self._accept_loss = database.path, database.accept_loss
        self._tokens = {self._revision: self._mark.token}
        self._removed: dict[int, IntArray] = {}

    @property
    def revision(self) -> int:
        """The revision of the feed."""
        return self._revision

    @property
    def mark(self) -> Watermark:
        """The watermark of the newest commit. An index advances to it once it has applied all changes."""
        return self._mark

    def knows(self, mark: Watermark) -> bool:
        """Return whether this bank made the commit of a watermark, so that its revision is a valid `since`.

        If not, the index is of another bank (the bank was deleted and created again, a backup was restored, or the
        ledger was replaced) and must be rebuilt.

        Raises:
            LedgerLost: the watermark's commit is missing from this ledger or belongs to another ledger, and the user has
                not accepted this loss. The index may be the only evidence of the loss.
        """
        if mark.revision not in self._tokens:
            rows = self._rows(TOKEN, _commit_of(self._bank, mark.revision))
            self._tokens[mark.revision] = hexadecimal(rows[0][0] if rows else None)
        own = self._mark.ledger, self._bank, self._tokens[mark.revision]
        if (mark.ledger, mark.generation, mark.token) == own:
            return True
        loss = found_loss(self._connection, (), [IndexMark("index", bank_key(self._name), mark)])
        if loss and not self._accept_loss:
            raise loss.error(self._path)
        return False

    @property
    def graph_epoch(self) -> int:
        """The last revision that changed links or mentions in place; graphs older than this must be rebuilt."""
        return self._graph_epoch

    def count(self) -> int:
        """Return the number of units, including closed ones and turns that wait for extraction, as in a text index."""
        return self._number(_UNITS)

    def waiting(self) -> int:
        """Return the number of turns that wait for extraction."""
        return self._number(_WAITING)

    def vector_count(self) -> int:
        """Return the number of units with a vector. A turn that was retained while the embedder failed has none."""
        return self._number(_VECTOR_COUNT)

    def columns(self, since: int) -> UnitColumns:
        """Return the columns of units that were created, closed, restored or re-dated after `since`."""
        return well_formed(partial(self._columns, since), self._connection, self._bank)

    def _columns(self, since: int, damaged: Collection[int]) -> UnitColumns:
        """Read the columns of all undamaged units changed after `since`.

        Raises:
            ValueError: a column of a unit is not an integer.
        """
        wanted: tuple[Executable, Executable] = (_PACKED_COLUMNS, _WORDS)
        values: dict[str, object] = {"since": since}
        if damaged:
            wanted = (_PACKED_COLUMNS.where(_UNDAMAGED), _WORDS.where(_UNDAMAGED))
            values["damaged"] = tuple(damaged)
        columns = [integers(text) for text in self._rows(wanted[0], values)[0]]
        if len({len(column) for column in columns}) > 1:
            raise ValueError("a column of a unit is not an integer")
        order = np.argsort(columns[0], kind="stable")
        ids, types, starts, ends, mentioned, closed, tokens, compact, heads, lasting = (
            column[order] for column in columns
        )
        tags, speakers, metadata = _words(ids, self._rows(wanted[1], values))
        return UnitColumns(
            ids=ids,
            types=types,
            starts=starts,
            ends=ends,
            mentioned=mentioned,
            closed=closed,
            tokens=tokens,
            compact=compact,
            heads=heads,
            lasting=lasting,
            tags=tags,
            turns=speakers,
            metadata=metadata,
            gaps=past_gaps(
                (row, ValidityKind(kind), moment) for row, kind, moment in self._rows(_GAPS, {"since": since})
            ),
        )

    def embedded(self, since: int) -> IntArray:
        """Return the row ids of units whose vectors were written after `since`, ascending."""
        return self._ids(_EMBEDDED, since=since)

    def vectors(self, since: int) -> Iterator[tuple[IntArray, Matrix]]:
        """Yield row ids (n,) and vectors (n, dimension) written after `since`, in blocks of bounded size.

        Each block is in row order, and the blocks are in commit order. The bank need not fit into memory.
        """
        if read := self._ahead.get(_asked(_VECTORS, {"since": since})):
            yield _with_vectors(read)
            return
        result = self._connection.execute(_VECTORS, {"bank": self._bank, "since": since})
        while rows := result.fetchmany(VECTORS_AT_ONCE):
            yield _with_vectors(rows)

    def vectors_of(self, ids: IntArray) -> tuple[IntArray, Matrix]:
        """Return the row ids that have a vector, ascending, (n,), and these vectors, (n, dimension)."""
        rows = self._connection.execute(_VECTORS_OF, {"bank": self._bank, "ids": ids.tolist()}).all()
        return _with_vectors(rows) if rows else (np.empty(0, np.int64), np.empty((0, 0), np.float32))

    def texts(self, since: int) -> tuple[IntArray, list[str]]:
        """Return the row ids and texts of units that were created, edited or lost a source turn after `since`.

        Units with a source turn that was reworded are included.
        """
        rows = self._rows(_TEXTS, {"since": since})
        rows.sort(key=lambda row: int(row[0]))
        ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        return ids, [row[1] if isinstance(row[1], str) else "" for row in rows]

    def told(self, since: int, ids: IntArray) -> list[str]:
        """Return the text and source turns of each unit in `texts(since)`, one per line, by time.

        Args:
            since: the same as for `texts`.
            ids: the row ids that `texts` returned.


        A unit that is its own only source has an empty text here. Edited messages appear in their latest version.
        """
        lines: dict[int, list[str]] = {}
        for unit, text, line in self._rows(_TOLD, {"since": since}):
            lines.setdefault(unit, [text]).append(line)
        return ["\n".join(lines.get(row, ())) for row in ids.tolist()]

    def graph(self, since: int) -> tuple[IntArray, Edges, Mentions]:
        """Return memories, links and mentions created after `since`; entities as row ids. Waiting turns are omitted."""
        edges = links_since(self._rows, since)
        of_unit, of_entity = map(integers, self._rows(_MENTIONS, {"since": since})[0])
        order = np.lexsort((of_entity, of_unit))
        return self._ids(_MEMORIES, since=since), edges, Mentions(of_unit[order], of_entity[order])

    def mentioned(self, more_than: float) -> tuple[IntArray, IntArray]:
        """Return the entities that more than `more_than` units mention: row ids, ascending, and counts, (n,) each."""
        ids, degrees = map(integers, self._rows(_MENTIONED, {"more_than": int(more_than)})[0])
        order = np.argsort(ids)
        return ids[order], degrees[order]

    def item_units(self, since: int) -> ItemUnits:
        """Return the searchable texts of items that were added after `since`."""
        rows = self._rows(_ITEM_UNITS, {"since": since})
        texts, of_items = (np.fromiter((row[at] for row in rows), np.int64, len(rows)) for at in (0, 1))
        return ItemUnits(texts, of_items, [namespace_from(row[2]) for row in rows])

    def removed(self, since: int) -> IntArray:
        """Return the row ids of units that were removed after `since`, ascending.

        These are erased units, turns that have since been extracted, and texts of items that were replaced or deleted.
        """
        if since not in self._removed:
            self._removed[since] = self._ids(_REMOVED, since=since)
        return self._removed[since]

    def erased(self, since: int) -> bool:
        """Return whether anything was erased after `since`; an index must then clean its files too."""
        return self._last_erasure > since

    def roles(self) -> IntArray:
        """Return the row ids of entities with a role (user, agent, speaker), ascending."""
        return self._ids(_ROLES)

    def _number(self, statement: Executable) -> int:
        """Return the number that a statement selects; 0 for NULL."""
        return int(self._rows(statement)[0][0] or 0)

    def _ids(self, statement: Executable, **values: int) -> IntArray:
        """Return the packed column that a statement selects, ascending."""
        ids = integers(self._rows(statement, values)[0][0])
        ids.sort()
        return ids

    def _rows(self, statement: Executable, values: Values = NO_VALUES) -> list[Row]:
        """Execute a select on the bank with these values, unless its result was already read ahead."""
        rows = self._ahead.get(_asked(statement, values))
        return fetched(self._connection, statement, {"bank": self._bank, **values}) if rows is None else rows


def _commit_of(bank: int, revision: int) -> dict[str, int]:
    return {"generation": bank, "revision": revision}


def _asked(select: Executable, values: Values) -> tuple[object, ...]:
    """Return a select and its values as a hashable cache key."""
    return select, *sorted(values.items())


def _words(
    ids: IntArray, rows: Sequence[Any]
) -> tuple[list[tuple[str, ...]], list[tuple[str, str]], list[str]]:
    """Return tags, (thread, speaker) and metadata of units (`ids`, ascending). `rows` lacks units without any of these."""
    tags: list[tuple[str, ...]] = [()] * len(ids)
    speakers, metadata = [("", "")] * len(ids), [""] * len(ids)
    places = np.searchsorted(ids, np.fromiter((row[0] for row in rows), np.int64, len(rows)))
    parsed = {text: tuple(json.loads(text)) for text in {row[1] for row in rows}}
    for place, (_, written, thread, speaker, own) in zip(places.tolist(), rows, strict=True):
        tags[place], speakers[place] = parsed[written], (thread, speaker)
        metadata[place] = "" if own == "{}" else own
    return tags, speakers, metadata


def _with_vectors(rows: Sequence[Any]) -> tuple[IntArray, Matrix]:
    """Return row ids (n,), ascending, and their vectors (n, dimension)."""
    rows = sorted(rows, key=lambda row: int(row[0]))
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    # A bytearray makes the caller's array writable without a second copy.
    matrix = np.frombuffer(bytearray().join(row[1] for row in rows), "<f4").reshape(len(rows), -1)
    return ids, matrix

"""A bank as archive rows, and back: the rows of the tables, in an order in which each comes after those it refers to.

Which tables and columns are archived, and what they hold, `tables.py` says. Row ids leave as they are, and others take their
place on the way in. What a row says by itself is checked before it comes here (`validation/archive.py`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Select,
    Table,
    bindparam,
    case,
    delete,
    exists,
    func,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, InterfaceError, ProgrammingError

from hindsight_integrations.errors import ArchiveInvalid, InvalidRequest, MemoryDamaged
from hindsight_integrations.ledger.checksums import (
    damaged_units,
    damaged_vectors,
    seal_units,
    seal_vectors,
)
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.erasure import BANK_CONTENT
from hindsight_integrations.ledger.items import damaged_items, seal_items
from hindsight_integrations.ledger.mental_models import IS_WITHDRAWN
from hindsight_integrations.ledger.observations import observe_bank
from hindsight_integrations.ledger.records import seal_records
from hindsight_integrations.ledger.rows import (
    BankRow,
    fields_text,
    find_bank,
    is_fact,
    is_not_observation,
    is_opinion,
)
from hindsight_integrations.ledger.rules import blocks
from hindsight_integrations.ledger.sql import Values, insert, run_many
from hindsight_integrations.ledger.tables import (
    MEMORIES,
    REVISION,
    Content,
    archived_columns,
    banks,
    directives,
    entities,
    entity_blocks,
    entity_names,
    evidence,
    is_json,
    item_units,
    mental_model_grounds,
    mental_models,
    mentions,
    metadata,
    opinion_wordings,
    opinions,
    profile_changes,
    record_categories,
    record_category_names,
    records,
    tasks,
    unit_sources,
    units,
    vectors,
)
from hindsight_integrations.ledger.units import count_units
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.records import spelling_key
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.ports.ledger import ArchiveRow, Json

BATCH = 500  # rows written at once: bounds memory, and is past the point where larger ones are quicker
_FLOAT_BYTES = 4

ARCHIVED = {table.name: table for table in metadata.sorted_tables if archived_columns(table)}
"""Tables by name, each after those it refers to."""

_BANK: ColumnElement[int] = bindparam("bank")
_OF_BANK = {
    name: select(func.count()).where(metadata.tables[name].c.bank == _BANK)
    for name in BANK_CONTENT
    if name != "units"
}
_CHANGED = exists().where(units.c.bank == _BANK, units.c.changed > mental_models.c.checked_to, is_fact)
_LEAVING: Mapping[Column[Any], ColumnElement[Any]] = {
    tasks.c.state: case(
        (tasks.c.state == TaskState.LEASED.value, TaskState.PENDING.value), else_=tasks.c.state
    ),
    mental_models.c["text"]: case((IS_WITHDRAWN, ""), else_=mental_models.c["text"]),
    mental_models.c.extractive: case((IS_WITHDRAWN, 0), else_=mental_models.c.extractive),
    mental_models.c.forgotten: case((IS_WITHDRAWN, 1), else_=0),
    mental_models.c.checked_to: case(
        (_CHANGED.correlate(mental_models), 0),
        else_=select(banks.c.revision).where(banks.c.id == _BANK).scalar_subquery(),
    ),
}
"""What leaves for a column that does not leave as it is: a lease belongs to its ledger, and a withdrawn text to nobody."""


class _Field(NamedTuple):
    """An archived column.

    Attributes:
        name: the column's.
        target: the table whose rows it names; None where it names none.
        of: the networks or kinds of units it may name.
        holds: which values it has.
        is_json: they are JSON.
    """

    name: str
    target: Table | None
    of: frozenset[str] | None
    holds: object
    is_json: bool


def _field(column: Column[Any]) -> _Field:
    key: ForeignKey | None = next(iter(column.foreign_keys), None)
    holds = column.info["holds"]
    return _Field(
        column.name, key.column.table if key else None, column.info.get("of"), holds, is_json(column)
    )


_FIELDS = {name: [_field(column) for column in archived_columns(table)] for name, table in ARCHIVED.items()}
_NUMBERED = {field.target.name for fields in _FIELDS.values() for field in fields if field.target is not None}
"""Tables whose rows others refer to."""


def _select(table: Table) -> Select[Any]:
    """A bank's rows of a table."""
    columns = [_LEAVING.get(column, column).label(column.name) for column in archived_columns(table)]
    joined: Any = table
    owner = table
    while owner is not banks and "bank" not in owner.c:
        key = next(key for column in owner.c for key in column.foreign_keys)
        joined, owner = joined.join(key.column.table, key.column == key.parent), key.column.table
    order: list[ColumnElement[Any]] = [column for column in table.primary_key if column.name != "bank"]
    if table is units:  # documents before their items
        order.insert(0, units.c.head.is_not(None))
    query = select(*columns).select_from(joined).order_by(*order).execution_options(yield_per=BATCH)
    if table is mental_model_grounds:
        query = query.where(~IS_WITHDRAWN)
    return query.where((owner.c.id if owner is banks else owner.c.bank) == _BANK)


_ROWS = {name: _select(table) for name, table in ARCHIVED.items()}

_cited = exists().where(mental_model_grounds.c.model == mental_models.c.id, mental_model_grounds.c.cited == 1)
_WHOLE: Sequence[tuple[str, str, Select[Any]]] = [
    (
        "vectors",
        "a memory, or a text of an item, has none",
        select(units.c.id).where(
            units.c.bank == _BANK,
            units.c.kind != UnitKind.TURN.value,
            ~exists().where(vectors.c.unit == units.c.id),
        ),
    ),
    (
        "item_units",
        "a text of an item belongs to no item",
        select(units.c.id).where(
            units.c.bank == _BANK,
            units.c.kind == UnitKind.ITEM.value,
            ~exists().where(item_units.c.unit == units.c.id),
        ),
    ),
    (
        "records.ordinal",
        "the records of a memory are not numbered 0, 1, 2, ...",
        select(records.c.unit)
        .where(records.c.bank == _BANK)
        .group_by(records.c.unit)
        .having(func.max(records.c.ordinal) != func.count() - 1),
    ),
    (
        "opinion_wordings.number",
        "the wordings of an opinion are not numbered 1, 2, 3, ...",
        select(opinions.c.unit)
        .join(opinion_wordings, opinion_wordings.c.opinion == opinions.c.unit)
        .where(opinions.c.bank == _BANK)
        .group_by(opinions.c.unit)
        .having(func.max(opinion_wordings.c.number) != func.count()),
    ),
    (
        "opinion_wordings",
        "an opinion has none",
        select(opinions.c.unit).where(
            opinions.c.bank == _BANK, ~exists().where(opinion_wordings.c.opinion == opinions.c.unit)
        ),
    ),
    (
        "opinion_wordings",
        "a memory that is an opinion has none",
        select(units.c.id).where(
            units.c.bank == _BANK, is_opinion, ~exists().where(opinion_wordings.c.unit == units.c.id)
        ),
    ),
    (
        "mental_models.text",
        "it cites no memory",
        select(mental_models.c.id).where(
            mental_models.c.bank == _BANK, mental_models.c["text"] != "", ~_cited
        ),
    ),
]
"""What all rows say together: the field at fault, what is wrong, and a select of the rows with which it is."""

_mentioned = (
    select(func.count())
    .join_from(mentions, units, units.c.id == mentions.c.unit)
    .where(mentions.c.entity == entities.c.id, is_not_observation)
    .correlate(entities)
)
_COUNT_MENTIONS = (
    update(entities)
    .where(entities.c.bank == bindparam("of"))
    .values(
        mentions=_mentioned.scalar_subquery(),
        last_seen=_mentioned.with_only_columns(func.max(units.c.mentioned_at)).scalar_subquery(),
    )
)
_REPLACED = [
    delete(table).where(table.c.bank == _BANK) for table in (profile_changes, mental_models, directives)
]
"""What an empty bank may have been given goes: the archive's rows come in its place."""
_SET_EMBEDDER = (
    update(banks)
    .where(banks.c.id == bindparam("row"))
    .values(embedder=bindparam("identity"), dimension=bindparam("length"))
)
_PROFILE = (
    select(profile_changes.c.profile)
    .where(profile_changes.c.bank == _BANK)
    .order_by(profile_changes.c.number.desc())
    .limit(1)
)
_FINISH = (
    update(banks)
    .where(banks.c.id == bindparam("row"))
    .values(profile=bindparam("text"), revision=bindparam("to"))
)

_MEMORY_KINDS = {UnitKind.MEMORY.value, UnitKind.DOCUMENT_ITEM.value}
_MEMORIES = frozenset(MEMORIES)
_UNFIT = (KeyError, TypeError, ValueError, AttributeError)
"""What a row raises that was not checked by itself, before the database sees it."""
_REFUSED = (ProgrammingError, InterfaceError, OverflowError, UnicodeEncodeError)
"""The same, of the database."""


def check_empty(units: int, others: int) -> None:
    """Refuse a bank that rows could mix with.

    Args:
        units: memories it holds.
        others: what else it holds: documents, entities, message keys, tasks.

    Raises:
        InvalidRequest: it holds something.
    """
    if units or others:
        held = f"{units} memories" if units else "no memories, but traces of earlier ones"
        remedy = "Import into an empty bank, or empty this one by forget(everything=True)."
        raise InvalidRequest("bank", f"it holds {held}", remedy)


class SqliteArchive:
    """The part of `LedgerMaintenance` that hands out a whole bank and takes one in."""

    _database: SqliteDatabase

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, itself first, units before what refers to them."""
        with self._database.reading() as connection:
            row = find_bank(connection, bank).id
            if items := damaged_items(connection, row):
                raise MemoryDamaged(bank, items)
            if damaged := {**damaged_units(connection, row), **damaged_vectors(connection, row)}:
                raise MemoryDamaged(bank, tuple(damaged.values()))
            for name, statement in _ROWS.items():
                for values in connection.execute(statement, {"bank": row}):
                    yield ArchiveRow(name, dict(map(_leaving, _FIELDS[name], values)))

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; see the port."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank)
            others = sum(connection.scalar(query, {"bank": row.id}) for query in _OF_BANK.values())
            check_empty(count_units(connection, row.id), others)
            load = _Load(connection, row)
            for kind, batch in _batches(rows):
                load.take(kind, batch)
            load.finish()
            observe_bank(self._database, connection, row.id)
        return load.memories


def _leaving(field: _Field, value: Any) -> tuple[str, Json]:  # noqa: ANN401 - the column's
    """A column's name and its value in an archive."""
    if value is not None and field.holds is Content.VECTOR:
        value = base64.b64encode(value).decode()
    return field.name, json.loads(value) if value is not None and field.is_json else value


def _batches(rows: Iterator[ArchiveRow]) -> Iterator[tuple[str, list[tuple[int, ArchiveRow]]]]:
    """Numbered rows of one table together, at most BATCH of them; items of documents without the documents."""
    numbered = enumerate(rows, 2)  # the header is line 1
    for (kind, _), group in groupby(
        numbered, lambda line: (line[1].kind, line[1].fields.get("head") is None)
    ):
        while batch := list(islice(group, BATCH)):
            yield kind, batch


class _Load:
    """The rows of one archive, on their way into an empty bank.

    Attributes:
        memories: how many went by.
    """

    def __init__(self, connection: Connection, bank: BankRow) -> None:
        self.memories = 0
        self._connection, self._bank = connection, bank.id
        self._now = bank.revision + 1  # the revision that the import makes
        self._archived: int | None = None  # the archive's, once its first row went by
        self._dimension: int | None = None
        self._last = 1
        self._ids: dict[str, dict[int, int]] = {name: {} for name in _NUMBERED}
        self._kinds: dict[int, str] = {}  # of units: the network of a memory, else what it is
        self._opinions: dict[int, int] = {}  # by wording
        self._categories: dict[int, tuple[str, str]] = {}
        self._unnamed: set[int] = set()

    def take(self, kind: str, batch: Sequence[tuple[int, ArchiveRow]]) -> None:
        """Write rows of one table.

        Raises:
            ArchiveInvalid: they cannot be of this archive.
        """
        (first, _), (self._last, _) = batch[0], batch[-1]
        if kind not in ARCHIVED:
            raise ArchiveInvalid(first, "kind", "it is unknown")
        table, rows = ARCHIVED[kind], []
        for line, row in batch:
            if (table is banks) != (self._archived is None):
                raise ArchiveInvalid(
                    line, kind, "the first line after the header, and no other, is the bank's"
                )
            try:
                if table is banks:
                    self._begin(row.fields)
                rows.append(values := self._row(line, table, row.fields))
                if kind in self._ids:
                    self._note(line, table, row.fields[_key(table)], values)
                fault = self._fault(kind, values)
            except _UNFIT as error:
                raise ArchiveInvalid(line, kind, "it is not a row of this table") from error
            if fault:
                raise ArchiveInvalid(line, f"{kind}.{fault[0]}", fault[1])
        try:
            self._write(table, rows)
        except IntegrityError:
            raise ArchiveInvalid(
                first, kind, f"a row of lines {first} to {self._last} is there already"
            ) from None
        except _REFUSED as error:
            raise ArchiveInvalid(
                first, kind, f"a row of lines {first} to {self._last} cannot be stored"
            ) from error

    def finish(self) -> None:
        """Check what all rows say together, and derive what follows from them.

        Raises:
            ArchiveInvalid: they do not go together.
        """
        line, of = self._last + 1, {"bank": self._bank}
        if self._archived is None:
            raise ArchiveInvalid(line, banks.name, "there is no line of the bank itself")
        for field, reason, query in _WHOLE:
            if self._connection.execute(query, of).first():
                raise ArchiveInvalid(line, field, reason)
        if self._unnamed:
            raise ArchiveInvalid(line, record_category_names.name, "the name of a category is not among them")
        self._connection.execute(_COUNT_MENTIONS, {"of": self._bank})
        for seal in (seal_records, seal_items, seal_units, seal_vectors):
            seal(self._connection, self._bank)
        profile = self._connection.scalar(_PROFILE, of) or fields_text(BankProfile())
        self._connection.execute(_FINISH, {"row": self._bank, "text": profile, "to": self._now})

    def _begin(self, fields: Mapping[str, Any]) -> None:
        """The bank itself: its revision, and who made its vectors."""
        for statement in _REPLACED:
            self._connection.execute(statement, {"bank": self._bank})
        self._archived, self._dimension, embedder = (
            fields["revision"],
            fields["dimension"],
            fields["embedder"],
        )
        self._now = max(self._now, fields["revision"])
        identity = {"identity": embedder and json.dumps(embedder), "length": self._dimension}
        self._connection.execute(_SET_EMBEDDER, {"row": self._bank, **identity})

    def _row(self, line: int, table: Table, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a row. Its own id is the archive's until it is written."""
        derived = {
            "bank": self._bank,
            "revision": self._now,
            "created": self._now,
            "changed": self._now,
            "checksum": 0,
        }
        row: dict[str, Any] = {name: value for name, value in derived.items() if name in table.c}
        for field in _FIELDS[table.name]:
            value: Any = fields[field.name]
            where = f"{table.name}.{field.name}"
            if value is None:
                row[field.name] = None
                continue
            if field.name == "checked_to":  # with all memories new, all or nothing was looked at
                value = self._now if value else 0
            if field.target is not None:
                value = self._find(line, where, field.target, field.of, value)
            elif field.holds is Content.UNIT_ROWS:
                value = json.dumps(sorted(self._find(line, where, units, _MEMORIES, unit) for unit in value))
            elif field.holds is Content.VECTOR:
                value = base64.b64decode(value)
            elif field.is_json:
                value = json.dumps(value)
            elif field.holds is REVISION and value > (self._archived or 0):
                raise ArchiveInvalid(line, where, f"{value} is after the bank's own, {self._archived}")
            row[field.name] = value
        return row

    def _find(self, line: int, where: str, table: Table, of: frozenset[str] | None, row: int) -> int:
        """The new id of an earlier row."""
        new = self._ids[table.name].get(row)
        if not new:
            raise ArchiveInvalid(line, where, f"no row of {table.name} with this id comes before it")
        if of is not None and self._kinds[new] not in of:
            raise ArchiveInvalid(line, where, f"the unit is not one of: {', '.join(sorted(of))}")
        return new

    def _note(self, line: int, table: Table, old: object, row: dict[str, Any]) -> None:
        """Remember the id of a row that later ones may refer to."""
        known, key = self._ids[table.name], _key(table)
        if old in known:
            raise ArchiveInvalid(line, f"{table.name}.{key}", "an earlier line has the same")
        known[old] = 0 if key == "id" else row[key]  # type: ignore[index] # 0: until it is written

    def _fault(self, kind: str, row: dict[str, Any]) -> tuple[str, str] | None:
        """What is wrong with a row beside earlier ones: the field and the reason."""
        match kind:
            case vectors.name if (size := len(row["vector"]) // _FLOAT_BYTES) != self._dimension:
                return "vector", f"it has {size} numbers, the embedder makes {self._dimension or 'none'}"
            case record_category_names.name:
                of, name = self._categories[row["category"]]
                if row["kind"] != of:
                    return "kind", "it is not that of the category"
                self._unnamed -= {row["category"]} if row["name"] == spelling_key(name) else set()
            case records.name if row["category"] and self._categories[row["category"]][0] != row["kind"]:
                return "category", "it is a category of another kind"
            case opinion_wordings.name:
                if (row["number"] == 1) != (row["unit"] == row["opinion"]):
                    return "unit", "the first wording, and no other, is the opinion itself"
                self._opinions[row["unit"]] = row["opinion"]
            case evidence.name if self._opinions[row["version"]] != row["opinion"]:
                return "version", "it is a wording of another opinion"
        return None

    def _write(self, table: Table, rows: list[dict[str, Any]]) -> None:
        """Insert rows, and what follows from each."""
        if table is banks:
            return
        if _key(table) != "id" or table.name not in self._ids:
            run_many(self._connection, insert(table), rows)
            return
        old = [row.pop("id") for row in rows]
        new = insert_numbered(self._connection, table, rows)
        self._ids[table.name].update(zip(old, new, strict=True))
        if table is units:
            self._follow_units(new, rows)
        elif table is entities:
            names = [
                (row_id, name)
                for row_id, row in zip(new, rows, strict=True)
                for name in json.loads(row["names"])
            ]
            keys = {(row_id, block) for row_id, name in names for block in blocks(name)}
            self._insert(entity_names, "entity", "name", names)
            self._insert(entity_blocks, "entity", "block", sorted(keys))
        elif table is record_categories:
            self._categories.update(
                {row_id: (row["kind"], row["name"]) for row_id, row in zip(new, rows, strict=True)}
            )
            self._unnamed.update(new)

    def _follow_units(self, new: Sequence[int], rows: Sequence[Values]) -> None:
        """What units are, and the messages they were made from."""
        sources = []
        for unit, row in zip(new, rows, strict=True):
            is_memory = row["kind"] in _MEMORY_KINDS
            self.memories += row["kind"] == UnitKind.MEMORY
            self._kinds[unit] = row["fact_type"] if is_memory else row["kind"]
            sources += [
                {"bank": self._bank, "thread": row["thread"], "message": message, "unit": unit}
                for message in dict.fromkeys(json.loads(row["sources"]))
            ]
        run_many(self._connection, insert(unit_sources), sources)

    def _insert(self, table: Table, key: str, name: str, pairs: Sequence[tuple[int, str]]) -> None:
        values = [{"bank": self._bank, key: row, name: value} for row, value in pairs]
        run_many(self._connection, insert(table), values)


def _key(table: Table) -> str:
    """The column of a row's own id."""
    return "id" if "id" in table.c else "unit"


def insert_numbered(connection: Connection, table: Table, rows: Sequence[Values]) -> range:
    """Insert rows; returns the row ids they get, which no row of the table ever had.

    In PostgreSQL the table's sequence has to be set to the last of them.
    """
    first: int = connection.execute(insert(table), rows[0]).inserted_primary_key[0]  # type: ignore[index] # of an INSERT
    ids = range(first, first + len(rows))
    run_many(
        connection, insert(table), [{**row, "id": new} for new, row in zip(ids[1:], rows[1:], strict=True)]
    )
    return ids

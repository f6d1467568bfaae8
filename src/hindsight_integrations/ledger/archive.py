"""Exports a bank as archive rows, and restores a bank from them.

Rows are exported table by table, each after the rows that it refers to. `tables.py` defines which tables and columns are
archived. Row ids are exported unchanged and replaced by new ones on import. Rows must be validated one by one before they
are imported (`validation/archive.py`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    PrimaryKeyConstraint,
    Select,
    Table,
    UniqueConstraint,
    bindparam,
    case,
    delete,
    exists,
    func,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError, InterfaceError, ProgrammingError

from hindsight_integrations.errors import ArchiveInvalid, InvalidRequest, MemoryDamaged, shown
from hindsight_integrations.ledger.checksums import (
    damaged_units,
    damaged_vectors,
    seal_units,
    seal_vectors,
)
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.erasure import BANK_CONTENT
from hindsight_integrations.ledger.items import damaged_items, seal_items
from hindsight_integrations.ledger.losses import advance
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
from hindsight_integrations.ledger.sql import Values, count_many, in_bank, insert, refers
from hindsight_integrations.ledger.tables import (
    JSON,
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
from hindsight_integrations.ledger.tasks import Schedule
from hindsight_integrations.ledger.units import count_units
from hindsight_integrations.ledger.values import ArchiveRow, Json
from hindsight_integrations.model.names import blocking_keys
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.records import spelling_key
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.model.units import UnitKind

BATCH = 500  # rows per INSERT; bounds memory, and larger batches are not faster
_FLOAT_BYTES = 4

ARCHIVED = {table.name: table for table in metadata.sorted_tables if archived_columns(table)}
"""Archived tables by name, each after the tables that it refers to."""

_BANK: ColumnElement[int] = bindparam("bank")
_COUNTS = [
    select(func.count()).where(metadata.tables[name].c.bank == _BANK)
    for name in BANK_CONTENT
    if name != units.name
]
_CHANGED = exists().where(units.c.bank == _BANK, units.c.changed > mental_models.c.checked_to, is_fact)
_revision = select(banks.c.revision).where(banks.c.id == _BANK).scalar_subquery()
_model = mental_models.c
_EXPORTED_AS: Mapping[Column[Any], ColumnElement[Any]] = {
    tasks.c.state: func.replace(tasks.c.state, TaskState.LEASED.value, TaskState.PENDING.value),
    _model["text"]: case((IS_WITHDRAWN, ""), else_=_model["text"]),
    _model.extractive: case((IS_WITHDRAWN, 0), else_=_model.extractive),
    _model.forgotten: case((IS_WITHDRAWN, 1), else_=0),
    _model.checked_to: case((_CHANGED.correlate(mental_models), 0), else_=_revision),
}
"""Columns that are exported as an expression, so that leases and withdrawn texts are omitted."""


_NAMES = {name: [column.name for column in archived_columns(table)] for name, table in ARCHIVED.items()}
_TRANSLATED = {
    name: [
        (column.name, column.info)
        for column in archived_columns(table)
        if "table" in column.info or column.info["holds"] in {*JSON, Content.VECTOR, REVISION}
    ]
    for name, table in ARCHIVED.items()
}
"""Columns that are encoded differently in an archive, or that refer to earlier rows; (name, info) by table."""
_REFERRED = {info["table"] for columns in _TRANSLATED.values() for _, info in columns if "table" in info}
"""Tables to which other tables refer."""


def _is_found_by_bank(table: Table) -> bool:
    """Return whether SQLite has a key or index of the table that starts with the bank."""
    keys: list[PrimaryKeyConstraint | UniqueConstraint | Index] = [table.primary_key, *table.indexes]
    keys += [key for key in table.constraints if isinstance(key, UniqueConstraint)]
    return any(key.columns and key.columns[0].name == "bank" for key in keys)


def _select(table: Table) -> Select[Any]:
    """Select a bank's rows of a table."""
    columns = [_EXPORTED_AS.get(column, column).label(column.name) for column in archived_columns(table)]
    joined: Any = table
    owner = table
    while owner is not banks and not _is_found_by_bank(owner):
        key = next(key for column in owner.c for key in column.foreign_keys)
        joined, owner = joined.join(key.column.table, refers(key.parent, key.column.table)), key.column.table
    order: list[ColumnElement[Any]] = [column for column in table.primary_key if column.name != "bank"]
    if table is units:  # documents must come before their items
        order.insert(0, units.c.head.is_not(None))
    query = select(*columns).select_from(joined).order_by(*order).execution_options(yield_per=BATCH)
    if table is mental_model_grounds:
        query = query.where(~IS_WITHDRAWN)
    return query.where((owner.c.id if owner is banks else owner.c.bank) == _BANK)


_ROWS = {name: _select(table) for name, table in ARCHIVED.items()}


def _units_without(column: Column[int], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Select the units that have no row in another table."""
    return select(units.c.id).where(
        units.c.bank == _BANK, *conditions, ~exists().where(refers(column, units))
    )


def _gaps(unit: Column[int], number: ColumnElement[int], first: int) -> Select[Any]:
    """Select the units whose rows in another table are not numbered consecutively from `first`."""
    of_bank = unit.in_(select(units.c.id).where(units.c.bank == _BANK))
    return (
        select(unit)
        .where(in_bank(unit.table), of_bank)
        .group_by(unit)
        .having(func.max(number) - func.count() != first - 1)
    )


_cited = exists().where(
    refers(mental_model_grounds.c.model, mental_models), mental_model_grounds.c.cited == 1
)
_is_formed = exists().where(refers(opinions.c.unit, units))
_CHECKS: Sequence[tuple[str, str, Select[Any]]] = [
    ("vectors", "a memory, or a text of an item, has none",
     _units_without(vectors.c.unit, units.c.kind != UnitKind.TURN.value)),
    ("item_units", "a text of an item has none",
     _units_without(item_units.c.unit, units.c.kind == UnitKind.ITEM.value)),
    ("records.ordinal", "the records of a memory are not numbered 0, 1, 2, ...",
     _gaps(records.c.unit, records.c.ordinal, 0)),
    ("opinion_wordings.number", "the wordings of an opinion are not numbered 1, 2, 3, ...",
     _gaps(opinion_wordings.c.opinion, opinion_wordings.c.number, 1)),
    ("opinion_wordings", "an opinion has none", _units_without(opinion_wordings.c.opinion, _is_formed)),
    ("opinion_wordings", "a memory that is an opinion has none", _units_without(opinion_wordings.c.unit, is_opinion)),
    ("mental_models.text", "it cites no memory",
     select(mental_models.c.id).where(mental_models.c.bank == _BANK, mental_models.c["text"] != "", ~_cited)),
]  # fmt: skip
"""Checks over all rows: the field, what is wrong, and a select that returns the offending rows."""

_mentioned = (
    select(func.count())
    .join_from(mentions, units, refers(mentions.c.unit, units))
    .where(refers(mentions.c.entity, entities), is_not_observation)
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
"""Tables in which an empty bank may already have rows. The archive's rows replace them."""
_UPDATE = update(banks).where(banks.c.id == bindparam("row"))
_BEGIN = _UPDATE.values(embedder=bindparam("made_by"), dimension=bindparam("length"))
_SET_PROFILE = _UPDATE.values(profile=bindparam("text"))
_PROFILE = (
    select(profile_changes.c.profile)
    .where(profile_changes.c.bank == _BANK)
    .order_by(profile_changes.c.number.desc())
    .limit(1)
)
_MEMORY_KINDS = {UnitKind.MEMORY.value, UnitKind.DOCUMENT_ITEM.value}
_MEMORIES = frozenset(MEMORIES)


class Archivist:
    """Exports a whole bank as rows, and restores one from them."""

    def __init__(self, database: Database, schedule: Schedule) -> None:
        self._database, self._schedule = database, schedule

    def rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Yield all rows of the bank, in the order that `restore` expects, from one consistent snapshot.

        Rows are streamed. Consume or close the generator on the thread that started it.
        """
        with self._database.reading() as connection:
            row = find_bank(connection, bank).id
            if items := damaged_items(connection, row):
                raise MemoryDamaged(bank, items)
            if damaged := {**damaged_units(connection, row), **damaged_vectors(connection, row)}:
                raise MemoryDamaged(bank, tuple(damaged.values()))
            for name, statement in _ROWS.items():
                for values in connection.execute(statement, {"bank": row}):
                    fields = values._asdict()
                    for column, info in _TRANSLATED[name]:
                        if (value := fields[column]) is not None:
                            fields[column] = _encode(info["holds"], value)
                    yield ArchiveRow(name, fields)

    def restore(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank; return the number of memories. An exception from `rows` rolls everything back.

        Raises:
            ArchiveInvalid: a row is invalid, or the rows contradict each other; line numbers start at 2.
            InvalidRequest: the bank is not empty.
        """
        try:
            with self._database.writing(bank) as connection:
                return self._restore(connection, find_bank(connection, bank), rows)
        except ArchiveInvalid:
            self._database.scrub()  # shrinks the write-ahead log, into which a large transaction spills
            raise

    def _restore(self, connection: Connection, bank: BankRow, rows: Iterator[ArchiveRow]) -> int:
        units = count_units(connection, bank.id)
        if units or any(connection.scalar(query, {"bank": bank.id}) for query in _COUNTS):
            held = f"{units} memories" if units else "no memories, but traces of earlier ones"
            remedy = "Import into an empty bank, or empty this one with forget(everything=True)."
            raise InvalidRequest("bank", f"it contains {held}", remedy)
        load = _Load(connection, bank)
        for kind, batch in _batches(rows):
            load.take(kind, batch)
        load.finish()
        observe_bank(self._schedule, connection, bank.id)
        return load.memories


def _encode(holds: object, value: Any) -> Json:  # noqa: ANN401
    """Encode a stored value for the archive."""
    if holds is Content.VECTOR:
        return base64.b64encode(value).decode()
    parsed: Json = json.loads(value) if holds in JSON else value
    return parsed


def _batches(rows: Iterator[ArchiveRow]) -> Iterator[tuple[str, list[tuple[int, ArchiveRow]]]]:
    """Group consecutive rows of one table into batches of at most BATCH, with their line numbers.

    Items are grouped separately from documents, to which they refer.
    """
    numbered = enumerate(rows, 2)  # the header is line 1
    for (kind, _), group in groupby(
        numbered, lambda line: (line[1].kind, line[1].fields.get("head") is None)
    ):
        while batch := list(islice(group, BATCH)):
            yield kind, batch


class _Load:
    """An import in progress, of the rows of one archive into an empty bank.

    Attributes:
        memories: number of memories imported so far.
    """

    def __init__(self, connection: Connection, bank: BankRow) -> None:
        self.memories = 0
        self._connection, self._bank = connection, bank.id
        self._now = bank.revision + 1  # the revision that the import creates
        # The revision of the archive, known once the row of the bank has been read.
        self._archived: int | None = None
        self._dimension: int | None = None
        self._last = 1
        self._derived: dict[str, dict[str, Any]] = {}  # values of columns that are not archived
        self._ids: dict[str, dict[int, int]] = {name: {} for name in _REFERRED}
        self._kinds: dict[
            int, str
        ] = {}  # by row id of a unit: its fact type if it is a memory, otherwise its kind
        self._opinions: dict[int, int] = {}  # by row id of a wording: the row id of its opinion
        self._categories: dict[int, tuple[str, str]] = {}  # by row id of a category: its kind and name
        # Categories whose own name has not appeared among their spellings yet.
        self._unnamed: set[int] = set()

    def take(self, kind: str, batch: Sequence[tuple[int, ArchiveRow]]) -> None:
        """Write a batch of rows of one table.

        Raises:
            ArchiveInvalid: a row is invalid or cannot be stored.
        """
        (line, _), (self._last, _) = batch[0], batch[-1]
        if kind not in ARCHIVED:
            raise ArchiveInvalid(line, "kind", f"{shown(kind)} is an unknown kind")
        try:
            rows = []
            for line, row in batch:
                rows.append(self._row(line, ARCHIVED[kind], row.fields))
        except ArchiveInvalid:
            raise
        except (KeyError, TypeError, ValueError) as error:  # the row was not validated
            raise ArchiveInvalid(line, kind, "it is not a row of this table") from error
        try:
            self._write(ARCHIVED[kind], rows)
        except (IntegrityError, ProgrammingError, InterfaceError, OverflowError, UnicodeEncodeError):
            reason = f"one of lines {batch[0][0]} to {self._last} exists already, or cannot be stored"
            raise ArchiveInvalid(batch[0][0], kind, reason) from None

    def finish(self) -> None:
        """Check the rows against each other, and compute the derived columns.

        Raises:
            ArchiveInvalid: the rows contradict each other.
        """
        line, of = self._last + 1, {"bank": self._bank}
        if self._archived is None:
            raise ArchiveInvalid(line, banks.name, "the line of the bank itself is missing")
        for field, reason, query in _CHECKS:
            if self._connection.execute(query, of).first():
                raise ArchiveInvalid(line, field, reason)
        if self._unnamed:
            raise ArchiveInvalid(line, record_category_names.name, "a category's own name is missing")
        self._connection.execute(_COUNT_MENTIONS, {"of": self._bank})
        for seal in (seal_records, seal_items, seal_units, seal_vectors):
            seal(self._connection, self._bank)
        profile = self._connection.scalar(_PROFILE, of) or fields_text(BankProfile())
        self._connection.execute(_SET_PROFILE, {"row": self._bank, "text": profile})
        advance(self._connection, self._bank, self._now)

    def _begin(self, fields: Mapping[str, Any]) -> None:
        """Start the import with the row of the bank: its revision, and the embedder of its vectors."""
        for statement in _REPLACED:
            self._connection.execute(statement, {"bank": self._bank})
        self._archived, self._dimension, embedder = (
            fields["revision"],
            fields["dimension"],
            fields["embedder"],
        )
        self._now = max(self._now, fields["revision"])
        values = {
            **dict.fromkeys(("revision", "created", "changed"), self._now),
            "bank": self._bank,
            "checksum": 0,
        }
        self._derived = {
            name: {column: value for column, value in values.items() if column in table.c}
            for name, table in ARCHIVED.items()
        }
        made_by = embedder and json.dumps(embedder)
        self._connection.execute(_BEGIN, {"row": self._bank, "made_by": made_by, "length": self._dimension})

    def _row(self, line: int, table: Table, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Convert an archive row to column values. It keeps the archive's id until it is written."""
        if (table is banks) != (self._archived is None):
            reason = "the line of the bank must be the first line after the header, and the only one"
            raise ArchiveInvalid(line, table.name, reason)
        if table is banks:
            self._begin(fields)
        row = self._derived[table.name] | {name: fields[name] for name in _NAMES[table.name]}
        for name, info in _TRANSLATED[table.name]:
            if (value := row[name]) is not None:
                row[name] = self._value(line, table.columns[name], info, value)
        # An import adds only new memories, so the mental model was based on all of them or on none.
        if table is mental_models:
            row["checked_to"] = self._now if row["checked_to"] else 0
        if (known := self._ids.get(table.name)) is not None:
            key = _key(table)
            if fields[key] in known:
                raise ArchiveInvalid(line, f"{table.name}.{key}", "an earlier line has the same value")
            known[fields[key]] = 0 if key == "id" else row[key]  # 0 until the row is written
        self._check(line, table.name, row)
        return row

    def _value(self, line: int, column: Column[Any], info: Mapping[str, Any], value: Any) -> Any:  # noqa: ANN401
        """Convert an archive value to the stored value."""
        holds = info["holds"]
        if "table" in info:
            return self._find(line, column, info["table"], info["of"], value)
        if holds is Content.UNIT_ROWS:
            return json.dumps(sorted(self._find(line, column, units.name, _MEMORIES, row) for row in value))
        if holds is REVISION and value > (self._archived or 0):
            raise ArchiveInvalid(
                line, str(column), f"{value} is higher than the bank's own revision, {self._archived}"
            )
        if holds is Content.VECTOR:
            return base64.b64decode(value)
        return json.dumps(value) if holds in JSON else value

    def _find(self, line: int, column: Column[Any], table: str, of: frozenset[str] | None, row: int) -> int:
        """Return the new id of an earlier row."""
        new = self._ids[table].get(row)
        if not new:
            raise ArchiveInvalid(line, str(column), f"no row of {table} with this id comes before it")
        if of is not None and self._kinds[new] not in of:
            raise ArchiveInvalid(line, str(column), f"the unit is not one of: {', '.join(sorted(of))}")
        return new

    def _check(self, line: int, kind: str, row: Mapping[str, Any]) -> None:
        """Check a row against the earlier rows that it refers to."""
        holds, field, reason = True, "", ""
        match kind:
            case vectors.name:
                size = len(row["vector"]) // _FLOAT_BYTES
                holds, field = size == self._dimension, "vector"
                reason = f"it has {size} numbers, but the bank's vectors have {self._dimension}"
            case record_category_names.name:
                of, name = self._categories[row["category"]]
                holds, field, reason = row["kind"] == of, "kind", "it differs from the category's kind"
                if row["name"] == spelling_key(name):
                    self._unnamed.discard(row["category"])
            case records.name if row["category"]:
                holds, field = self._categories[row["category"]][0] == row["kind"], "category"
                reason = "the category has another kind"
            case opinion_wordings.name:
                holds, field = (row["number"] == 1) == (row["unit"] == row["opinion"]), "unit"
                reason = "the first wording must be the opinion itself, and no other wording may be"
                self._opinions[row["unit"]] = row["opinion"]
            case evidence.name:
                holds, field = self._opinions[row["version"]] == row["opinion"], "version"
                reason = "it is a wording of another opinion"
        if not holds:
            raise ArchiveInvalid(line, f"{kind}.{field}", reason)

    def _write(self, table: Table, rows: list[dict[str, Any]]) -> None:
        """Insert rows, and the rows derived from them."""
        if table is banks:
            return
        if _key(table) != "id" or table.name not in self._ids:
            count_many(self._connection, insert(table), rows)
            return
        old = [row.pop("id") for row in rows]
        new = insert_numbered(self._connection, table, rows)
        self._ids[table.name].update(zip(old, new, strict=True))
        for number, row in zip(new, rows, strict=True):
            if table is units:
                self.memories += row["kind"] == UnitKind.MEMORY
                self._kinds[number] = row["fact_type"] if row["kind"] in _MEMORY_KINDS else row["kind"]
            elif table is record_categories:
                self._categories[number] = row["kind"], row["name"]
                self._unnamed.add(number)
        derived = _derived(table, zip(new, rows, strict=True))
        for of, values in derived.items():
            count_many(self._connection, insert(of), [{"bank": self._bank, **value} for value in values])


def _derived(table: Table, rows: Iterable[tuple[int, Values]]) -> Mapping[Table, list[Values]]:
    """Return the rows of tables that are not archived, derived from rows of `table`."""
    derived: dict[Table, list[Values]] = {unit_sources: [], entity_names: [], entity_blocks: []}
    for number, row in rows:
        if table is units:
            messages = dict.fromkeys(json.loads(row["sources"]))
            own = {"unit": number, "thread": row["thread"]}
            derived[unit_sources] += [{**own, "message": message} for message in messages]
        elif table is entities:
            names = json.loads(row["names"])
            keys = {key for name in names for key in blocking_keys(name)}
            derived[entity_names] += [{"entity": number, "name": name} for name in names]
            derived[entity_blocks] += [{"entity": number, "block": key} for key in sorted(keys)]
    return derived


def _key(table: Table) -> str:
    """Return the name of a table's id column."""
    return "id" if "id" in table.c else "unit"


def insert_numbered(connection: Connection, table: Table, rows: Sequence[Values]) -> range:
    """Insert rows and return their new row ids, which the table has never used before."""
    first: int = connection.execute(insert(table).returning(table.c.id), rows[0]).scalar_one()
    ids = range(first, first + len(rows))
    others = [{**row, "id": new} for new, row in zip(ids[1:], rows[1:], strict=True)]
    count_many(connection, insert(table), others)
    if connection.dialect.name == "postgresql":  # SQLite continues after the highest id by itself
        sequence = func.pg_get_serial_sequence(table.name, "id")
        connection.execute(select(func.setval(sequence, ids[-1])))
    return ids

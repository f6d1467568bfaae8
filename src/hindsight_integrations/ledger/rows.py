"""Conversion between rows and model values, and the lookups that most statements share."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from sqlalchemy import Connection, Executable, Select, and_, bindparam, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from hindsight_integrations.errors import BankNotFound
from hindsight_integrations.ledger.sql import Values, among, ask, lenient_text, refers
from hindsight_integrations.ledger.tables import banks, entities, units
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.model.entities import Entity, EntityRole, EntityType
from hindsight_integrations.model.metadata import Metadata
from hindsight_integrations.model.profile import BankProfile, BigFive, Disposition
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Interval, from_micros, to_micros
from hindsight_integrations.model.units import (
    OBSERVED_NETWORKS,
    CompactText,
    FactType,
    MemoryUnit,
    UnitKind,
    ValidityEvent,
    ValidityKind,
)
from hindsight_integrations.model.writes import UnitWrite

Row: TypeAlias = tuple[Any, ...]
"""A row of a select whose column types the type checker does not know."""

# Columns covered by a unit's checksum, in order. A change needs a new schema version.
SEALED_COLUMNS = (
    "unit_id",
    "text",
    "fact_type",
    "mentioned_at",
    "occurred_start",
    "occurred_end",
    "closed_at",
    "context",
    "confidence",
    "metadata",
    "tags",
    "document",
    "chunk",
    "thread",
    "sources",
    "speaker",
    "tokens",
    "records",
)
SEALED = len(SEALED_COLUMNS)
# `compact` is not covered: it is an offset into a text that is covered.
OWN_COLUMNS = (*SEALED_COLUMNS, "kind", "compact", "compact_tokens", "number", "lasting")
"""A unit's own columns: all except the document of an item."""

Fields: TypeAlias = list[ColumnElement[Any]]
"""The columns of a select."""

OWN_FIELDS: Fields = [units.c[name] for name in OWN_COLUMNS]
_document = units.alias("document")
UNIT_FIELDS: Fields = [
    *OWN_FIELDS,
    select(_document.c.unit_id).where(refers(units.c.head, _document)).correlate(units).scalar_subquery(),
]
is_fact: ColumnElement[bool] = and_(
    units.c.kind == UnitKind.MEMORY.value,
    or_(*(units.c.fact_type == network.value for network in OBSERVED_NETWORKS)),
)
"""Condition: the unit is a fact."""
is_opinion: ColumnElement[bool] = and_(
    units.c.kind == UnitKind.MEMORY.value, units.c.fact_type == FactType.OPINION.value
)
"""Condition: the unit is a wording of an opinion."""
is_not_observation: ColumnElement[bool] = units.c.fact_type != FactType.OBSERVATION.value
"""Condition: the unit is not an observation, so that it counts as a mention of an entity."""

_BANK = select(banks.c.id, banks.c.revision, banks.c.dimension).where(banks.c.name == bindparam("name"))
_BANKS = select(banks.c.name).order_by(banks.c.name).limit(5)
UNIT_ROWS = select(units.c.unit_id, units.c.id).where(
    units.c.bank == bindparam("bank"), among(units.c.unit_id, "ids")
)
_ENTITY_ROWS = select(entities.c.entity_id, entities.c.id).where(
    entities.c.bank == bindparam("bank"), among(entities.c.entity_id, "ids")
)


@dataclass(frozen=True, slots=True)
class BankRow:
    """The columns of a bank that statements need.

    Attributes:
        id: row id of the bank.
        revision: its current revision.
        dimension: length of the bank's vectors; None if it has none.
    """

    id: int
    revision: int
    dimension: int | None


@dataclass(frozen=True, slots=True)
class CommitTarget:
    """The target of a commit: the connection, the bank's row id, and the new revision."""

    connection: Connection
    bank: int
    revision: int


At: TypeAlias = Callable[[str], AbstractContextManager[tuple[Connection, int]]]
"""Opens a block in which all selects see one state of a bank; yields the connection and the bank's row id."""


class Reader:
    """Base class of the readers. `at` opens the state of the ledger from which a reader reads."""

    def __init__(self, at: At) -> None:
        self._at = at


def find_bank(connection: Connection, name: str) -> BankRow:
    """Return a bank's row.

    Raises:
        BankNotFound: no bank has this name.
    """
    row = connection.execute(_BANK, {"name": name}).first()
    if row is None:
        raise missing_bank(connection, name)
    return BankRow(*row)


def missing_bank(connection: Connection, name: str) -> BankNotFound:
    """Return the error for an unknown bank, which lists some that exist."""
    return BankNotFound(name, tuple(connection.execute(_BANKS).scalars()))


def fetched(connection: Connection, query: Executable, values: Values) -> list[Row]:
    """Return all rows of a select. Bytes that cannot be decoded are replaced, so that the text fails its checksum."""
    return fetched_together(connection, (query, values))[0]


def fetched_together(connection: Connection, *questions: tuple[Executable, Values]) -> list[list[Row]]:
    """Return all rows of several independent selects, as `ask` and `fetched` do."""
    try:
        results = ask(connection, *questions)
    except DBAPIError as error:
        if not str(error.orig).startswith("Could not decode"):
            raise
        with lenient_text(connection):
            results = ask(connection, *questions)
    return [[tuple(row) for row in rows] for rows in results]


def unit_rows(connection: Connection, bank: int, unit_ids: Sequence[str]) -> dict[str, int]:
    """Return the row ids of these unit ids; unknown ids are omitted."""
    return _row_ids(connection, UNIT_ROWS, bank, unit_ids)


def entity_rows(connection: Connection, bank: int, entity_ids: Sequence[str]) -> dict[str, int]:
    """Return the row ids of these entity ids; unknown ids are omitted."""
    return _row_ids(connection, _ENTITY_ROWS, bank, entity_ids)


def _row_ids(
    connection: Connection, statement: Select[str, int], bank: int, ids: Sequence[str]
) -> dict[str, int]:
    if not ids:
        return {}
    return dict(connection.execute(statement, {"bank": bank, "ids": ids}).all())


def unit_row(write: UnitWrite, bank: int, revision: int) -> Row:
    """Build a unit's row: OWN_COLUMNS, then bank, created and changed revision."""
    unit = write.unit
    return (
        unit.id,
        unit.text,
        unit.fact_type.value,
        to_micros(unit.mentioned_at),
        to_micros(unit.occurred.start) if unit.occurred else None,
        to_micros(unit.occurred.end) if unit.occurred else None,
        None if unit.closed_at is None else to_micros(unit.closed_at),
        unit.context,
        None if unit.confidence is None else float(unit.confidence),  # the type that the database returns
        mapping_text(unit.metadata),
        json.dumps(unit.tags),
        unit.document_id,
        unit.chunk,
        unit.thread,
        json.dumps(unit.sources),
        unit.speaker,
        unit.tokens,
        len(unit.records),
        unit.kind.value,
        *compact_row(unit),
        unit.number,
        int(unit.lasting),
        bank,
        revision,
        revision,
    )


def compact_row(unit: MemoryUnit) -> tuple[int | None, int | None]:
    """Return the columns `compact` and `compact_tokens` of a unit."""
    return (unit.compact.characters, unit.compact.tokens) if unit.compact else (None, None)


def _compact(characters: object, tokens: object, text: str, whole: int) -> CompactText | None:
    """Build the short form of a text. Return None if the columns are NULL, or if it is not shorter than the text."""
    if not isinstance(characters, int) or not isinstance(tokens, int):
        return None
    return CompactText(characters, tokens) if 0 < characters < len(text) and 0 < tokens < whole else None


def unit_from(row: Row, bank: str, records: tuple[Record, ...]) -> MemoryUnit:
    """Build a unit from a row of UNIT_FIELDS and its records."""
    # In the order of UNIT_FIELDS: the columns with a checksum, the other own columns, the document.
    (
        unit_id,
        text,
        fact_type,
        mentioned_at,
        occurred_start,
        occurred_end,
        closed_at,
        context,
        confidence,
        metadata,
        tags,
        document,
        chunk,
        thread,
        sources,
        speaker,
        tokens,
        _record_count,
        kind,
        compact_characters,
        compact_tokens,
        number,
        lasting,
        part_of,
    ) = row
    return MemoryUnit(
        id=unit_id,
        bank=bank,
        text=text,
        fact_type=FactType(fact_type),
        mentioned_at=from_micros(mentioned_at),
        occurred=None
        if occurred_start is None
        else Interval(from_micros(occurred_start), from_micros(occurred_end)),
        context=context,
        confidence=confidence,
        metadata=json.loads(metadata),
        tags=tuple(json.loads(tags)),
        document_id=document,
        chunk=chunk,
        thread=thread,
        sources=tuple(json.loads(sources)),
        speaker=speaker,
        tokens=tokens,
        compact=_compact(compact_characters, compact_tokens, text, tokens),
        records=records,
        closed_at=_moment(closed_at),
        kind=UnitKind(kind),
        part_of=part_of,
        number=number,
        lasting=bool(lasting),
    )


def entity_from(row: Row) -> Entity:
    """Build an entity from a row (entity_id, name, type, role, names, mentions, last_seen)."""
    entity_id, name, kind, role, names, mentions, last_seen = row
    return Entity(
        id=entity_id,
        name=name,
        type=EntityType(kind),
        role=EntityRole(role),
        names=tuple(json.loads(names)),
        mentions=mentions,
        last_seen=_moment(last_seen),
    )


def event_from(row: Row, unit_id: str) -> ValidityEvent:
    """Build an event from a row (kind, effective_at, by_unit as unit id, reason)."""
    kind, effective_at, by_unit, reason = row
    return ValidityEvent(unit_id, ValidityKind(kind), from_micros(effective_at), by_unit, reason)


def header_from(row: Row) -> BankHeader:
    """Build a bank header from a row (name, key, id, revision, embedder, profile)."""
    name, key, generation, revision, embedder, profile = row
    return BankHeader(name, key, generation, revision, embedder_from(embedder), profile_from(profile))


def fields_text(value: EmbedderIdentity | BankProfile) -> str:
    """Serialise an embedder's identity or a profile as JSON."""
    return json.dumps(asdict(value))


def mapping_text(mapping: Metadata) -> str:
    """Serialise a mapping as JSON, keeping its order."""
    return json.dumps(dict(mapping))


def embedder_from(text: str | None) -> EmbedderIdentity | None:
    """Parse an embedder's identity from JSON."""
    if text is None:
        return None
    fields = json.loads(text)
    return EmbedderIdentity(**{**fields, "thresholds": Thresholds(**fields["thresholds"])})


def profile_from(text: str) -> BankProfile:
    """Parse a profile from JSON."""
    fields = json.loads(text)
    values = {name: float(value) for name, value in fields["disposition"].items()}
    character = BigFive(**values) if "openness" in values else Disposition(**values)  # type: ignore[arg-type] # whole
    return BankProfile(
        fields["name"], fields["background"], character, bias_strength=float(fields["bias_strength"])
    )


def record_fields(record: Record) -> Row:
    """Return (value, is_number, measure, stated) of a record."""
    return str(record.value), int(isinstance(record.value, Decimal)), record.unit, record.stated


def record_from(row: Row, category: str | None) -> Record:
    """Build a record from a row of its columns, and from its category's name."""
    _, _, kind, _, value, number, measure, stated = row
    return Record(
        kind=RecordKind(kind),
        value=Decimal(value) if number else value,
        category=category or "",
        unit=measure,
        stated=stated,
    )


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)

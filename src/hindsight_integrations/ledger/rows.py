"""Rows of the ledger's tables to model values and back, and how a statement finds its bank and binds many values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from sqlalchemy import Connection, Executable, Select, and_, bindparam, or_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.elements import ColumnElement

from hindsight_integrations.errors import BankNotFound
from hindsight_integrations.ledger.sql import Values, among, lenient_text
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
"""One row of a select: its column types are the schema's, unknown to the type checker."""

# What a unit's checksum is of, in this order: a change makes every checksum wrong, and so needs a new schema version.
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
# The short form is no text of its own: what it points into is sealed.
OWN_COLUMNS = (*SEALED_COLUMNS, "kind", "compact", "compact_tokens", "number", "lasting")
"""What a unit's row says by itself: all but the document that it is an item of."""

Fields: TypeAlias = list[ColumnElement[Any]]
"""What a select reads."""

OWN_FIELDS: Fields = [units.c[name] for name in OWN_COLUMNS]
_document = units.alias("document")
UNIT_FIELDS: Fields = [
    *OWN_FIELDS,
    select(_document.c.unit_id).where(_document.c.id == units.c.head).correlate(units).scalar_subquery(),
]
is_fact: ColumnElement[bool] = and_(
    units.c.kind == UnitKind.MEMORY.value,
    or_(*(units.c.fact_type == network.value for network in OBSERVED_NETWORKS)),
)
"""A unit is a fact."""
is_opinion: ColumnElement[bool] = and_(
    units.c.kind == UnitKind.MEMORY.value, units.c.fact_type == FactType.OPINION.value
)
"""A unit words an opinion."""
is_not_observation: ColumnElement[bool] = units.c.fact_type != FactType.OBSERVATION.value
"""A unit is not an observation, and so counts among the mentions of an entity."""

_BANK = select(banks.c.id, banks.c.revision, banks.c.dimension).where(banks.c.name == bindparam("name"))
_BANKS = select(banks.c.name).order_by(banks.c.name).limit(5)
_UNIT_ROWS = select(units.c.unit_id, units.c.id).where(
    units.c.bank == bindparam("bank"), among(units.c.unit_id, "ids")
)
_ENTITY_ROWS = select(entities.c.entity_id, entities.c.id).where(
    entities.c.bank == bindparam("bank"), among(entities.c.entity_id, "ids")
)


@dataclass(frozen=True, slots=True)
class BankRow:
    """What a statement needs of a bank.

    Attributes:
        id: its row id.
        revision: where it stands.
        dimension: length of its vectors; None if it has none.
    """

    id: int
    revision: int
    dimension: int | None


@dataclass(frozen=True, slots=True)
class CommitTarget:
    """Where a commit writes: the connection, the bank's row id, and the revision it makes."""

    connection: Connection
    bank: int
    revision: int


At: TypeAlias = Callable[[str], AbstractContextManager[tuple[Connection, int]]]
"""Opens a block in which all selects on a connection see one state of a bank; the second value is the bank's row id."""


class Reader:
    """Reads of one noun, at the state of the ledger that `at` opens."""

    def __init__(self, at: At) -> None:
        self._at = at


def find_bank(connection: Connection, name: str) -> BankRow:
    """A bank's row.

    Raises:
        BankNotFound: there is no bank of that name.
    """
    row = connection.execute(_BANK, {"name": name}).first()
    if row is None:
        raise missing_bank(connection, name)
    return BankRow(*row)


def missing_bank(connection: Connection, name: str) -> BankNotFound:
    """The error for a bank that does not exist, with the first few that do."""
    return BankNotFound(name, tuple(connection.execute(_BANKS).scalars()))


def fetched(connection: Connection, query: Executable, values: Values) -> list[Row]:
    """All rows of a select. Text that damage made invalid has replacement characters, and so another checksum."""
    try:
        return [tuple(row) for row in connection.execute(query, values).all()]
    except DBAPIError as error:
        if not str(error.orig).startswith("Could not decode"):
            raise
    with lenient_text(connection):
        return [tuple(row) for row in connection.execute(query, values).all()]


def unit_rows(connection: Connection, bank: int, unit_ids: Sequence[str]) -> dict[str, int]:
    """Row ids of unit ids; unknown ones are left out."""
    return _row_ids(connection, _UNIT_ROWS, bank, unit_ids)


def all_rows(target: CommitTarget, unit_ids: Sequence[str], created: Mapping[str, int]) -> dict[str, int]:
    """The same of units of which some were created by this commit, whose rows are known."""
    older = [unit for unit in unit_ids if unit not in created]
    return {**created, **unit_rows(target.connection, target.bank, older)}


def entity_rows(connection: Connection, bank: int, entity_ids: Sequence[str]) -> dict[str, int]:
    """Row ids of entity ids; unknown ones are left out."""
    return _row_ids(connection, _ENTITY_ROWS, bank, entity_ids)


def _row_ids(
    connection: Connection, statement: Select[str, int], bank: int, ids: Sequence[str]
) -> dict[str, int]:
    if not ids:
        return {}
    return dict(connection.execute(statement, {"bank": bank, "ids": ids}).all())


def unit_row(write: UnitWrite, bank: int, revision: int) -> Row:
    """OWN_COLUMNS, then bank, created and changed revision."""
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
        None if unit.confidence is None else float(unit.confidence),  # as the column gives it back
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
    """Columns `compact` and `compact_tokens` of a unit."""
    return (unit.compact.characters, unit.compact.tokens) if unit.compact else (None, None)


def _compact(characters: object, tokens: object, text: str, whole: int) -> CompactText | None:
    """The short form of a text; none where the columns tell of none that the text could have."""
    if not isinstance(characters, int) or not isinstance(tokens, int):
        return None
    return CompactText(characters, tokens) if 0 < characters < len(text) and 0 < tokens < whole else None


def unit_from(row: Row, bank: str, records: tuple[Record, ...]) -> MemoryUnit:
    """The unit of a row of UNIT_FIELDS, with its records."""
    unit_id, text, fact_type, mentioned, start, end, closed, context, confidence, *rest = row
    metadata, tags, document, chunk, thread, sources, speaker, tokens, _, kind, characters, short, *part = (
        rest
    )
    number, lasting, head = part
    return MemoryUnit(
        id=unit_id,
        bank=bank,
        text=text,
        fact_type=FactType(fact_type),
        mentioned_at=from_micros(mentioned),
        occurred=None if start is None else Interval(from_micros(start), from_micros(end)),
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
        compact=_compact(characters, short, text, tokens),
        records=records,
        closed_at=_moment(closed),
        kind=UnitKind(kind),
        part_of=head,
        number=number,
        lasting=bool(lasting),
    )


def entity_from(row: Row) -> Entity:
    """The entity of a row (entity_id, name, type, role, names, mentions, last_seen)."""
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
    """The event of a row (kind, effective_at, by_unit as unit id, reason)."""
    kind, effective_at, by_unit, reason = row
    return ValidityEvent(unit_id, ValidityKind(kind), from_micros(effective_at), by_unit, reason)


def header_from(row: Row) -> BankHeader:
    """The bank of a row (name, key, id, revision, embedder, profile)."""
    name, key, generation, revision, embedder, profile = row
    return BankHeader(name, key, generation, revision, embedder_from(embedder), profile_from(profile))


def fields_text(value: EmbedderIdentity | BankProfile) -> str:
    """The fields of an embedder's identity or a profile as JSON."""
    return json.dumps(asdict(value))


def mapping_text(mapping: Metadata) -> str:
    """A mapping as JSON, in its own order."""
    return json.dumps(dict(mapping))


def embedder_from(text: str | None) -> EmbedderIdentity | None:
    """The embedder of its JSON."""
    if text is None:
        return None
    fields = json.loads(text)
    return EmbedderIdentity(**{**fields, "thresholds": Thresholds(**fields["thresholds"])})


def profile_from(text: str) -> BankProfile:
    """The profile of its JSON."""
    fields = json.loads(text)
    values = {name: float(value) for name, value in fields["disposition"].items()}
    character = BigFive(**values) if "openness" in values else Disposition(**values)  # type: ignore[arg-type] # whole
    return BankProfile(
        fields["name"], fields["background"], character, bias_strength=float(fields["bias_strength"])
    )


def record_fields(record: Record) -> Row:
    """(value, is_number, measure, stated) of a record."""
    return str(record.value), int(isinstance(record.value, Decimal)), record.unit, record.stated


def record_from(row: Row, category: str | None) -> Record:
    """The record of a row of the columns that its checksum is of, with the name of its category."""
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

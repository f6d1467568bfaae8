"""Rows of the ledger's tables to model values and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from hindsight_integrations.model.entities import Entity, EntityRole, EntityType
from hindsight_integrations.model.profile import BankProfile, Disposition
from hindsight_integrations.model.time import Interval, from_micros, to_micros
from hindsight_integrations.model.units import FactType, MemoryUnit, Record, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import EmbedderIdentity, Thresholds, UnitWrite
from hindsight_integrations.ports.ledger import BankHeader

Row: TypeAlias = tuple[Any, ...]
"""One row as sqlite3 gives it: its column types are the schema's, unknown to the type checker."""

UNIT_COLUMNS = (
    "unit_id, text, fact_type, mentioned_at, occurred_start, occurred_end, closed_at, context, confidence, "
    "metadata, tags, document, chunk, thread, sources, speaker, tokens, record"
)
ENTITY_COLUMNS = (
    "entities.entity_id, entities.name, entities.type, entities.role, entities.names, entities.mentions, "
    "entities.last_seen"
)
BANK_COLUMNS = "name, key, revision, embedder, profile"


def unit_row(write: UnitWrite, bank: int, revision: int) -> Row:
    """UNIT_COLUMNS, then bank, created and changed revision."""
    unit = write.unit
    return (
        unit.id,
        unit.text,
        unit.fact_type.value,
        to_micros(unit.mentioned_at),
        to_micros(unit.occurred.start) if unit.occurred else None,
        to_micros(unit.occurred.end) if unit.occurred else None,
        _micros(unit.closed_at),
        unit.context,
        unit.confidence,
        mapping_text(unit.metadata),
        json.dumps(unit.tags),
        unit.document_id,
        unit.chunk,
        unit.thread,
        json.dumps(unit.sources),
        unit.speaker,
        unit.tokens,
        _record_text(unit.record),
        bank,
        revision,
        revision,
    )


def unit_from(row: Row, bank: str) -> MemoryUnit:
    """The unit of a row of UNIT_COLUMNS."""
    unit_id, text, fact_type, mentioned, start, end, closed, context, confidence, *rest = row
    metadata, tags, document, chunk, thread, sources, speaker, tokens, record = rest
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
        record=_record_from(record),
        closed_at=_moment(closed),
    )


def entity_from(row: Row) -> Entity:
    """The entity of a row of ENTITY_COLUMNS."""
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
    """The bank of a row of BANK_COLUMNS."""
    name, key, revision, embedder, profile = row
    return BankHeader(name, key, revision, embedder_from(embedder), profile_from(profile))


def embedder_text(embedder: EmbedderIdentity) -> str:
    """An embedder's identity as JSON."""
    return json.dumps(asdict(embedder))


def profile_text(profile: BankProfile) -> str:
    """A profile as JSON."""
    return json.dumps(asdict(profile))


def mapping_text(mapping: Mapping[str, str]) -> str:
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
    return BankProfile(**{**fields, "disposition": Disposition(**fields["disposition"])})


def _record_text(record: Record | None) -> str | None:
    if record is None:
        return None
    number = isinstance(record.value, Decimal)
    return json.dumps([record.kind, str(record.value), number, record.category, record.unit])


def _record_from(text: str | None) -> Record | None:
    if text is None:
        return None
    kind, value, number, category, unit = json.loads(text)
    return Record(kind, Decimal(value) if number else value, category, unit)


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)

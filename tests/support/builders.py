"""Builders of model values for tests: every field has a default, so that a test names only the relevant ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from hindsight_integrations.model.arrays import Vector
from hindsight_integrations.model.documents import item_text
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
from hindsight_integrations.model.entities import EntityRole, EntityType
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.model.watermark import Watermark
from hindsight_integrations.model.writes import EntityWrite, MentionWrite, UnitWrite, WriteSet

BANK = "bank"
DIMENSION = 4
START = datetime(2025, 3, 1, 12, tzinfo=UTC)
"""Instant 0 of the builders' clock."""


def at(hours: float) -> datetime:
    """The instant `hours` after START."""
    return START + timedelta(hours=hours)


def make_vector(seed: str, dimension: int = DIMENSION) -> Vector:
    """A unit vector (dimension,) that depends only on the seed's characters."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8])
    vector = np.random.default_rng(number).normal(size=dimension)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def make_embedder(name: str = "test", dimension: int = DIMENSION) -> EmbedderIdentity:
    """An embedder's identity with round thresholds."""
    return EmbedderIdentity(name, dimension, "", Thresholds(0.7, 0.3, 0.95))


def make_unit(
    unit_id: str,
    text: str = "",
    *,
    bank: str = BANK,
    fact_type: FactType = FactType.WORLD,
    hours: float = 0,
    tags: tuple[str, ...] = (),
) -> MemoryUnit:
    """A unit mentioned `hours` after START; `dataclasses.replace` sets the rest."""
    text = text or f"fact {unit_id}"
    return MemoryUnit(
        id=unit_id,
        bank=bank,
        text=text,
        fact_type=fact_type,
        mentioned_at=at(hours),
        tags=tags,
        tokens=len(text.split()),
    )


def with_vector(unit: MemoryUnit, dimension: int = DIMENSION) -> UnitWrite:
    """The unit with the vector of its id."""
    return UnitWrite(unit, make_vector(unit.id, dimension).tobytes())


def make_units(*unit_ids: str, bank: str = BANK) -> tuple[UnitWrite, ...]:
    """Plain units of these ids, an hour apart, with vectors."""
    return tuple(with_vector(make_unit(key, bank=bank, hours=place)) for place, key in enumerate(unit_ids))


def make_item(
    unit_id: str, document: str, number: int, value: str = "", *, field: str = "", hours: float = 0
) -> MemoryUnit:
    """An item of a document, mentioned `hours` after START."""
    record = Record(RecordKind.DOCUMENT_ITEM, value or f"item {unit_id}", field, stated=field)
    item = replace(make_unit(unit_id, item_text(record), hours=hours), records=(record,))
    return replace(item, kind=UnitKind.DOCUMENT_ITEM, part_of=document, number=number)


def make_entity(
    entity_id: str,
    *names: str,
    entity_type: EntityType = EntityType.PERSON,
    role: EntityRole = EntityRole.NONE,
) -> EntityWrite:
    """An entity write with these normalised names, by default its id."""
    known = names or (entity_id,)
    return EntityWrite(entity_id, known[0].title(), entity_type, known, role)


def make_event(
    unit_id: str,
    kind: ValidityKind,
    hours: float = 0,
    *,
    by_unit: str | None = None,
    reason: str = "",
) -> ValidityEvent:
    """A validity event effective `hours` after START."""
    return ValidityEvent(unit_id, kind, at(hours), by_unit, reason)


def make_write_set(
    revision: int = 0,
    *,
    bank: str = BANK,
    units: Sequence[UnitWrite] = (),
    entities: Sequence[EntityWrite] = (),
    mentions: Sequence[tuple[str, str]] = (),
    events: Sequence[ValidityEvent] = (),
) -> WriteSet:
    """A write set based on `revision`; mentions are (unit id, entity id). `dataclasses.replace` adds the rest."""
    return WriteSet(
        bank=bank,
        expected_revision=revision,
        units=tuple(units),
        entities=tuple(entities),
        mentions=tuple(MentionWrite(unit, entity, entity) for unit, entity in mentions),
        events=tuple(events),
    )


def make_mark(revision: int) -> Watermark:
    """The mark of a revision in an invented history: the same revision gives the same mark."""
    return Watermark("1ed9e4", 1, revision, f"{revision:016x}")

"""Opinions put forward as memory units to be: their tags, entities and ids (paper eq. 24)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hindsight_integrations.cara.opinions.put_forward import PutForward
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.names import names_any, normalise_name
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import NAMESPACE, FactType, MemoryUnit

GONE = "a memory it stands on was forgotten meanwhile"
NO_LONGER_TRUE = "what it stands on is no longer true"
TAGS_DIFFER = (
    "it stands on memories with different tags, and whoever may see one of them may not see the others"
)


@dataclass(frozen=True, slots=True)
class Occasion:
    """A reflection, as far as its opinions are concerned.

    Attributes:
        question: that was answered.
        at: when (aware UTC).
        operation: key under which a retry forms nothing twice; empty for none.
        revision: of the bank, whose memories the answer was made from.
    """

    question: str
    at: datetime
    operation: str
    revision: int


@dataclass(frozen=True, slots=True)
class Grounds:
    """What an opinion stands on, as it is when the opinion is formed.

    Attributes:
        units: the memories.
        entities: that they mention.
    """

    units: tuple[MemoryUnit, ...]
    entities: tuple[Entity, ...]

    @property
    def tags(self) -> tuple[str, ...]:
        """Those of its tagged memories, if `fault` finds nothing."""
        return next((unit.tags for unit in self.units if unit.tags), ())

    def fault(self, named: Collection[str]) -> str:
        """What keeps an opinion from standing on them; "" if nothing does.

        Args:
            named: ids of all it stands on.
        """
        if len(self.units) < len(set(named)):
            return GONE
        if not any(unit.closed_at is None for unit in self.units):
            return NO_LONGER_TRUE
        return TAGS_DIFFER if len({unit.tags for unit in self.units if unit.tags}) > 1 else ""


def read_grounds(reader: LedgerReader, bank: str, unit_ids: Sequence[str]) -> Grounds:
    """These memories as they are now; what is gone or damaged is left out."""
    rows = np.array(sorted(reader.units.row_ids(bank, unit_ids).values()), np.int64)
    mentioned = reader.entities.of_units(bank, rows)
    entities = {entity.id: entity for found in mentioned.values() for entity in found}
    return Grounds(tuple(reader.units.get(bank, rows).values()), tuple(entities.values()))


def entities_of(given: PutForward, grounds: Grounds, known: Mapping[str, Entity]) -> list[Entity]:
    """The known entities that the opinion is said to be about, and those of its grounds that it names.

    Args:
        given: the opinion.
        grounds: what it stands on.
        known: the bank's entities by those of `names_given` that it knows.
    """
    listed = {normalise_name(name) for name in given.entities}
    found = {
        entity.id: entity
        for entity in grounds.entities
        if listed & _names(entity) or names_any(given.text, _names(entity))
    }
    met = frozenset[str]().union(*(_names(entity) for entity in found.values()))
    found |= {known[name].id: known[name] for name in sorted(listed - met) if name in known}
    return list(found.values())


def names_given(given: Sequence[PutForward]) -> list[str]:
    """Normalised names of whom and what opinions are said to be about."""
    return sorted({normalise_name(name) for each in given for name in each.entities} - {""})


def opinion_unit(
    given: PutForward, occasion: Occasion, bank: str, *, position: int, tags: tuple[str, ...]
) -> MemoryUnit:
    """The unit of an opinion, but for its tokens: the same reflection again gives the same one.

    Args:
        given: the opinion.
        occasion: the reflection.
        bank: its bank.
        position: of the opinion among those of the answer.
        tags: that it has.
    """
    asked = occasion.operation or normalised_text(occasion.question)
    seed = ("opinion", bank, asked, str(position), normalised_text(given.text))
    return MemoryUnit(
        id=str(uuid.uuid5(NAMESPACE, "\x1e".join(seed))),
        bank=bank,
        text=given.text,
        fact_type=FactType.OPINION,
        mentioned_at=occasion.at,
        confidence=given.confidence,
        tags=tags,
    )


def _names(entity: Entity) -> frozenset[str]:
    return frozenset((normalise_name(entity.name), *entity.names))

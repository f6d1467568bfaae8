"""ObservationReader: what observations of entities are made from, and what they stand on (paper section 4.1.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hindsight_integrations.ports.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Observed:
    """What was made of an entity's facts.

    Attributes:
        entity_id: the entity.
        at_revision: the bank's revision whose facts were summed up; 0 if that was never done.
        stale: its facts have changed since.
        left_out: ids of the facts, those that are still valid, that were looked at and stand under no observation.
        units: ids of the observations made, in the order they were written.
    """

    entity_id: str
    at_revision: int = 0
    stale: bool = False
    left_out: tuple[str, ...] = ()
    units: tuple[str, ...] = ()


class ObservationReader(Protocol):
    """Reads of one bank's observations that were made from facts; those a caller retained are memories like any other."""

    def entity_facts(self, bank: str, entity_id: str) -> IntArray:
        """Row ids of the valid world and experience memories that mention an entity, ascending: F_e of paper eq. 6."""
        ...

    def observed(self, bank: str, entity_ids: Sequence[str]) -> dict[str, Observed]:
        """What was made of these entities, those included of which nothing was; unknown ones are left out."""
        ...

    def facts_changed(self, bank: str, entity_ids: Sequence[str]) -> frozenset[str]:
        """Those of these entities whose facts have changed since they were summed up, or never were summed up."""
        ...

    def grounds_of(self, bank: str, ids: IntArray) -> dict[int, tuple[str, ...]]:
        """Ids of the facts that each of these observations (by row id) was made from, in the order they were retained.

        Units that were not made from facts are left out.
        """
        ...

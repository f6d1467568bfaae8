"""What is known of an entity, summed up (paper section 4.1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.units import MemoryUnit


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """The observations made of an entity's facts.

    Attributes:
        entity: whom or what they are of.
        observations: what was made, in the order it was made; none before the first time. Observations that a caller
            retained are not among them.
        facts: by the id of each of them the ids of the facts it stands on.
        left_out: ids of the facts, still valid, that were looked at and stand under no observation.
        stale: its facts have changed since: it waits for `tasks.settle()` or a worker.
    """

    entity: Entity
    observations: tuple[MemoryUnit, ...]
    facts: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    stale: bool

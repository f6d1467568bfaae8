"""Entities: the people, places and things that memories mention (paper section 4.1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hindsight_integrations.model.units import MemoryUnit


class EntityType(StrEnum):
    """The entity types of extraction (paper section 4.1.2, step 6)."""

    PERSON = "PERSON"
    ORGANIZATION = "ORGANIZATION"
    LOCATION = "LOCATION"
    PRODUCT = "PRODUCT"
    CONCEPT = "CONCEPT"
    OTHER = "OTHER"

    @classmethod
    def _missing_(cls, value: object) -> EntityType:
        """Map the earlier paper's ORG to ORGANIZATION, and unknown types to OTHER."""
        name = str(value).upper()
        return cls.__members__.get({"ORG": "ORGANIZATION"}.get(name, name), cls.OTHER)


class EntityRole(StrEnum):
    """The role of an entity that most memories of a bank mention; spreading activation does not pass through it."""

    NONE = ""
    USER = "user"
    AGENT = "agent"
    SPEAKER = "speaker"


@dataclass(frozen=True, slots=True)
class Entity:
    """A canonical entity of one bank.

    Attributes:
        id: the stable id: uuid5 of the bank, the type and the first normalised name.
        name: the canonical name, as first written.
        type: the type.
        role: the role, if it is the user, the agent or a speaker.
        names: all its normalised names.
        mentions: the number of units that mention it.
        last_seen: the mention time of the latest unit that mentions it.
    """

    id: str
    name: str
    type: EntityType
    role: EntityRole = EntityRole.NONE
    names: tuple[str, ...] = ()
    mentions: int = 0
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity mentioned in a fact, with its name as written."""

    text: str
    type: EntityType = EntityType.OTHER
    role: EntityRole = EntityRole.NONE


class EntityChangeKind(StrEnum):
    """The kinds of manual entity changes."""

    MERGE = "merge"
    SPLIT = "split"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class EntityChange:
    """One logged manual change of entities.

    Attributes:
        id: the id to pass to `entities.undo`.
        kind: the kind of change.
        entity_id: the id of the kept entity, the split entity or the entity with new aliases.
        other_id: the id of the entity merged into it or split from it; empty for an alias.
        names: the normalised names that were moved or added.
        units: the number of mentions that were moved.
        made_at: the time of the change.
        undone: True if the change was undone.
    """

    id: int
    kind: EntityChangeKind
    entity_id: str
    other_id: str
    names: tuple[str, ...]
    units: int
    made_at: datetime
    undone: bool


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """The observations derived from an entity's facts.

    Attributes:
        entity: the entity.
        observations: the observations in order of creation, without those that a caller retained; empty before the first
            update.
        facts: the ids of the facts that support each observation, by observation id.
        left_out: the ids of the valid facts that support no observation.
        stale: True if its facts have changed since the last update; `tasks.settle()` or a worker updates it.
    """

    entity: Entity
    observations: tuple[MemoryUnit, ...]
    facts: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    stale: bool

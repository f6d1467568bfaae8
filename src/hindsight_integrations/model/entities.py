"""Entities: what memories are about (paper section 4.1.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hindsight_integrations.model.units import MemoryUnit


class EntityType(StrEnum):
    """The types extraction may give an entity (paper section 4.1.2, step 6)."""

    PERSON = "PERSON"
    ORGANIZATION = "ORGANIZATION"
    LOCATION = "LOCATION"
    PRODUCT = "PRODUCT"
    CONCEPT = "CONCEPT"
    OTHER = "OTHER"

    @classmethod
    def _missing_(cls, value: object) -> EntityType:
        """Map the earlier paper's ORG to ORGANIZATION, and types a model invents to OTHER."""
        name = str(value).upper()
        return cls.__members__.get({"ORG": "ORGANIZATION"}.get(name, name), cls.OTHER)


class EntityRole(StrEnum):
    """The role of an entity mentioned throughout a bank; such entities transmit no activation."""

    NONE = ""
    USER = "user"
    AGENT = "agent"
    SPEAKER = "speaker"


@dataclass(frozen=True, slots=True)
class Entity:
    """A canonical entity of one bank.

    Attributes:
        id: stable id, uuid5 over bank, type and the normalised name it was created under.
        name: canonical name, as first written.
        type: its type.
        role: whether it is the user, the agent or a speaker.
        names: all its normalised names.
        mentions: number of units that mention it.
        last_seen: mentioned_at of the latest unit that mentions it.
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
    """An entity mentioned in a fact: text as written, and type."""

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
        id: the argument of `entities.undo`.
        kind: merge, split or alias.
        entity_id: the entity kept, split or given aliases.
        other_id: the entity merged into it or split from it; empty for an alias.
        names: normalised names moved or added.
        units: number of mentions moved.
        made_at: when it was made.
        undone: whether it has been undone.
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
    """The observations made of an entity's facts.

    Attributes:
        entity: the entity.
        observations: in the order they were made; empty before the first time. Observations retained by a
            caller are not included.
        facts: ids of the facts each observation is based on, by observation id.
        left_out: ids of the valid facts that were considered but support no observation.
        stale: whether its facts have changed since; `tasks.settle()` or a worker will update it.
    """

    entity: Entity
    observations: tuple[MemoryUnit, ...]
    facts: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    stale: bool

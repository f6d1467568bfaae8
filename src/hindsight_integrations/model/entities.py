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
        """The earlier paper's ORG is ORGANIZATION; models invent types, which become OTHER rather than an error."""
        name = str(value).upper()
        return cls.__members__.get({"ORG": "ORGANIZATION"}.get(name, name), cls.OTHER)


class EntityRole(StrEnum):
    """Why an entity is everywhere in a bank: such entities transmit no activation."""

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
        names: every normalised name it answers to, its own included.
        mentions: how many units mention it.
        last_seen: mentioned_at of the latest unit mentioning it.
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
    """An entity as extraction found it in one fact: text as written, and its type."""

    text: str
    type: EntityType = EntityType.OTHER
    role: EntityRole = EntityRole.NONE


class EntityChangeKind(StrEnum):
    """What a caller did to entities by hand."""

    MERGE = "merge"
    SPLIT = "split"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class EntityChange:
    """One audited change of entities.

    Attributes:
        id: what `entities.undo` takes.
        kind: merge, split or alias.
        entity_id: the entity kept, split or given another name.
        other_id: the entity merged into it or split from it; empty for an alias.
        names: normalised names that moved or were given.
        units: how many mentions moved.
        made_at: when.
        undone: whether it was undone since.
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

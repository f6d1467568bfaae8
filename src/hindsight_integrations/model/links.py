"""Links between memory units (paper section 4.1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hindsight_integrations.model.arrays import FloatArray, IntArray
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.units import MemoryUnit


class LinkType(StrEnum):
    """The four edge types of the memory graph."""

    TEMPORAL = "temporal"
    SEMANTIC = "semantic"
    ENTITY = "entity"
    CAUSAL = "causal"


class CausalRelation(StrEnum):
    """The effect of one fact on another (paper section 4.1.4, item 3)."""

    CAUSES = "causes"
    CAUSED_BY = "caused_by"
    ENABLES = "enables"
    PREVENTS = "prevents"


@dataclass(frozen=True, slots=True)
class Link:
    """A weighted edge between two units, by unit id. Entity links are not stored, since mentions imply them.

    Attributes:
        source: the id of the source unit.
        target: the id of the target unit.
        type: TEMPORAL, SEMANTIC or CAUSAL.
        weight: the weight in [0, 1].
        relation: the relation of source to target, for causal links.
    """

    source: str
    target: str
    type: LinkType
    weight: float
    relation: CausalRelation | None = None


LINK_CODES: dict[tuple[LinkType, CausalRelation | None], int] = {
    (LinkType.TEMPORAL, None): 0,
    (LinkType.SEMANTIC, None): 1,
    (LinkType.CAUSAL, CausalRelation.CAUSES): 2,
    (LinkType.CAUSAL, CausalRelation.CAUSED_BY): 3,
    (LinkType.CAUSAL, CausalRelation.ENABLES): 4,
    (LinkType.CAUSAL, CausalRelation.PREVENTS): 5,
}
"""Codes of (type, relation) in `Edges.codes` and on disk. Entity links need no code, since mentions imply them."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Links between units, as parallel arrays of length n.

    Attributes:
        sources: row ids of units, int64.
        targets: row ids of units, int64.
        codes: values of LINK_CODES, int64.
        weights: weights in [0, 1], float32.
    """

    sources: IntArray
    targets: IntArray
    codes: IntArray
    weights: FloatArray


@dataclass(frozen=True, slots=True)
class Mentions:
    """Pairs of a unit and an entity it mentions, as parallel int64 arrays of row ids of length n."""

    units: IntArray
    entities: IntArray


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A part of the memory graph around a memory or an entity.

    Attributes:
        units: the memories, valid or not, the nearest first.
        entities: the entities, the nearest first.
        links: the temporal, semantic and causal links between these memories, the strongest first.
        mentions: the entity links, as (unit id, entity id).
        complete: False if `limit` excluded reachable memories or entities.
    """

    units: tuple[MemoryUnit, ...]
    entities: tuple[Entity, ...]
    links: tuple[Link, ...]
    mentions: tuple[tuple[str, str], ...]
    complete: bool

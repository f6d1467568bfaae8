"""Which opinions a fact may bear on: entity overlap or likeness (paper eq. 25). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.search.graph.activation import hub_degree


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """What a memory is about, as far as candidates go.

    Attributes:
        telling: ids of the entities it mentions that few memories do.
        hubs: ids of those that many do; neither has the user, the agent and the speakers.
        vector: as stored (dimension,).
    """

    telling: frozenset[str]
    hubs: frozenset[str]
    vector: Vector


def may_bear_on(opinion: About, fact: About, thresholds: Thresholds) -> bool:
    """Whether an opinion is one of a fact's candidates: they share an entity, or are alike (paper eq. 25).

    A hub tells little, so that with it they must be worth a look as well.
    """
    cosine = float(opinion.vector @ fact.vector)
    if cosine > theta_of(thresholds) or not opinion.telling.isdisjoint(fact.telling):
        return True
    return cosine >= thresholds.channel_floor and not opinion.hubs.isdisjoint(fact.hubs)


def theta_of(thresholds: Thresholds) -> float:
    """The cosine of paper eq. 25: midway between what is worth a look and what is linked.

    An opinion tells of more than each of its facts does: measured, few facts are as near to it as two facts that are linked.
    """
    return (thresholds.channel_floor + thresholds.semantic_link) / 2


def about(entities: Iterable[Entity], vector: Vector, memories: int) -> About:
    """What a memory is about.

    Args:
        entities: that it mentions.
        vector: its own.
        memories: how many the bank holds.
    """
    most = hub_degree(memories)
    named = [entity for entity in entities if entity.role is EntityRole.NONE]
    return About(
        frozenset(entity.id for entity in named if entity.mentions <= most),
        frozenset(entity.id for entity in named if entity.mentions > most),
        vector,
    )

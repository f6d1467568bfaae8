"""Which opinions a fact may bear on: entity overlap or likeness (paper eq. 25). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.entities import Entity, EntityRole
from hindsight_integrations.ports.arrays import Vector
from hindsight_integrations.search.graph.activation import hub_degree


def may_bear_on(
    opinion: tuple[Collection[str], Vector], fact: tuple[Collection[str], Vector], theta: float
) -> bool:
    """Whether an opinion is one of a fact's candidates: they share an entity, or are alike (paper eq. 25).

    Args:
        opinion: ids of its entities, see `telling`, and its vector.
        fact: the same of the fact.
        theta: the cosine beyond which they are alike.
    """
    entities, vector = opinion
    others, other = fact
    return not set(entities).isdisjoint(others) or float(vector @ other) > theta


def theta_of(thresholds: Thresholds) -> float:
    """The cosine of paper eq. 25: midway between what is worth a look and what is linked (decision 131).

    An opinion tells of more than each of its facts does: measured, few facts are as near to it as two facts that are linked.
    """
    return (thresholds.channel_floor + thresholds.semantic_link) / 2


def telling(entities: Iterable[Entity], memories: int) -> frozenset[str]:
    """Ids of the entities by which a fact may concern an opinion: neither hubs, nor the user, the agent and the speakers.

    Args:
        entities: that a memory mentions.
        memories: how many the bank holds.
    """
    most = hub_degree(memories)
    return frozenset(
        entity.id for entity in entities if entity.role is EntityRole.NONE and entity.mentions <= most
    )

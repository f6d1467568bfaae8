"""Array steps of walks through the graph: what may be visited, the nearest of an entity, the best of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hindsight_integrations.ports.arrays import BoolArray, Float64Array, FloatArray, IntArray
from hindsight_integrations.ports.memory_graph import Edges, Mentions

Similarity: TypeAlias = Callable[[IntArray], FloatArray]
"""Cosine of the query with each unit, (n,); NaN for a unit without a vector."""

Allowed: TypeAlias = Callable[[IntArray], BoolArray] | IntArray | None
"""Which units may be visited: a mask over ids, or the sorted ids themselves, or None for all."""


class Walkable(Protocol):
    """The part of a MemoryGraph that a walk sees; see there."""

    def links(self, units: IntArray) -> Edges:
        """Links of units, oriented away from them."""
        ...

    def entities_of(self, units: IntArray) -> Mentions:
        """Entities that units mention."""
        ...

    def units_of(self, entities: IntArray) -> Mentions:
        """Units that mention entities."""
        ...


FAN_OUT = 200  # units one entity may activate; 20 seeds with so many each take 6 ms (decision 084)


def permitted(ids: IntArray, allowed: Allowed) -> BoolArray:
    """Which of `ids` may be visited, (n,)."""
    if allowed is None:
        return np.ones(len(ids), np.bool_)
    return allowed(ids) if callable(allowed) else np.isin(ids, allowed)


def cosines(ids: IntArray, similarity: Similarity) -> FloatArray:
    """Similarity of each id, (n,); units without a vector count as farthest."""
    return np.nan_to_num(similarity(ids), nan=-np.inf) if len(ids) else np.empty(0, np.float32)


def strongest(ids: IntArray, values: Float64Array) -> tuple[IntArray, Float64Array]:
    """Each id once, ascending, with its largest value: the max of paper eq. 12."""
    if len(ids) == 0:
        return ids, values
    order = np.argsort(ids, kind="stable")
    ids, values = ids[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    return ids[starts], np.maximum.reduceat(values, starts)


def best(
    ids: IntArray, keys: tuple[npt.NDArray[np.generic], ...], limit: int, similarity: Similarity
) -> IntArray:
    """Positions of the `limit` best, best first: by each key rising, then cosine falling, then id.

    Keys are compared as they are; the first one decides which positions are worth a similarity look-up.
    """
    if limit <= 0 or len(ids) == 0:
        return np.empty(0, np.int64)
    pool = np.arange(len(ids))
    if limit < len(ids):
        pool = np.flatnonzero(keys[0] <= np.partition(keys[0], limit - 1)[limit - 1])
    near = cosines(ids[pool], similarity)
    order = np.lexsort((ids[pool], -near, *(key[pool] for key in reversed(keys))))
    return pool[order[:limit]]


def nearest_per_entity(mentions: Mentions, similarity: Similarity, cap: int = FAN_OUT) -> Mentions:
    """At most `cap` units of each entity, the nearest to the query, ties by unit id.

    Expects the port's order (by entity); keeps it.
    """
    starts = np.flatnonzero(np.diff(mentions.entities, prepend=mentions.entities[:1] - 1))
    sizes = np.diff(np.append(starts, len(mentions.entities)))
    if not np.any(sizes > cap):
        return mentions
    crowded = np.flatnonzero(np.repeat(sizes > cap, sizes))
    units, where = np.unique(mentions.units[crowded], return_inverse=True)
    near = cosines(units, similarity)[where]
    order = crowded[np.lexsort((mentions.units[crowded], -near, mentions.entities[crowded]))]
    crowded_sizes = sizes[sizes > cap]
    place = np.arange(len(order)) - np.repeat(np.cumsum(crowded_sizes) - crowded_sizes, crowded_sizes)
    keep = np.ones(len(mentions.units), np.bool_)
    keep[order[place >= cap]] = False
    return Mentions(mentions.units[keep], mentions.entities[keep])


def units_activated_by(
    graph: Walkable, entities: IntArray, *, allowed: Allowed, similarity: Similarity
) -> Mentions:
    """The permitted units of these entities, at most FAN_OUT each, ordered by entity.

    What may not be visited is left out before the cap, so that it takes no place.
    """
    mentions = graph.units_of(entities)
    keep = permitted(mentions.units, allowed)
    return nearest_per_entity(Mentions(mentions.units[keep], mentions.entities[keep]), similarity)

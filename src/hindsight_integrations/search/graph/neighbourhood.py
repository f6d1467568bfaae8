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


FAN_OUT = 200  # units one entity may activate; 20 seeds with so many each take 6 ms


SPARSE = 16  # a table over all ids between the first and the last pays as long as one in so many is there


def distinct(ids: IntArray) -> IntArray:
    """Each id once, ascending; by a table where they lie close together, which takes a tenth of sorting them."""
    if len(ids) == 0:
        return ids
    first, last = int(ids.min()), int(ids.max())
    if last - first >= SPARSE * len(ids):
        return np.unique(ids)
    there = np.zeros(last - first + 1, np.bool_)
    there[ids - first] = True
    return np.flatnonzero(there) + first


def permitted(ids: IntArray, allowed: Allowed) -> BoolArray:
    """Which of `ids` may be visited, (n,)."""
    if allowed is None:
        return np.ones(len(ids), np.bool_)
    return allowed(ids) if callable(allowed) else np.isin(ids, allowed)


def cosines(ids: IntArray, similarity: Similarity) -> FloatArray:
    """Similarity of each id, (n,); units without a vector count as farthest."""
    if len(ids) == 0:
        return np.empty(0, np.float32)
    found = similarity(ids)
    return np.where(np.isnan(found), np.float32(-np.inf), found)


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


def nearest_per_entity(mentions: Mentions, similarity: Similarity) -> Mentions:
    """At most FAN_OUT units of each entity, the nearest to the query, ties by unit id.

    Expects the port's order (by entity); keeps it.
    """
    sizes = _run_lengths(mentions.entities)
    crowded = sizes > FAN_OUT
    if not crowded.any():
        return mentions
    keep = np.ones(len(mentions.units), np.bool_)
    within = np.flatnonzero(np.repeat(crowded, sizes))
    near = cosines(mentions.units[within], similarity)
    ends = np.cumsum(sizes[crowded])
    for start, end in zip(ends - sizes[crowded], ends, strict=True):
        last = end - start - FAN_OUT
        nearness, units = near[start:end], mentions.units[within[start:end]]
        close = np.flatnonzero(nearness >= np.partition(nearness, last)[last])
        kept = close[np.lexsort((units[close], -nearness[close]))[:FAN_OUT]]
        keep[within[start:end]] = False
        keep[within[start + kept]] = True
    return Mentions(mentions.units[keep], mentions.entities[keep])


def _run_lengths(entities: IntArray) -> IntArray:
    """How long each run of equal entities is."""
    starts = np.flatnonzero(np.diff(entities, prepend=entities[:1] - 1))
    return np.diff(np.append(starts, len(entities)))


def nearest_together(mentions: Mentions, similarity: Similarity, limit: int) -> IntArray:
    """The `limit` nearest to the query of what `nearest_per_entity` keeps, ties by id; distinct, ascending.

    Of a unit among the `limit` nearest of them all, fewer than FAN_OUT nearer ones mention the same entity unless that
    entity has more than FAN_OUT among the `limit`. So mostly the fan-out of no entity needs to be worked out.
    """
    units = distinct(mentions.units)
    if len(units) > limit:
        near = cosines(units, similarity)
        units = np.sort(units[best(units, (-near,), limit, similarity)])
    sizes = _run_lengths(mentions.entities[np.isin(mentions.units, units)])
    if len(sizes) and sizes.max() > FAN_OUT:
        units = distinct(nearest_per_entity(mentions, similarity).units)
        return np.sort(units[best(units, (np.zeros(len(units)),), limit, similarity)])
    return units


def mentioning(graph: Walkable, entities: IntArray, allowed: Allowed) -> Mentions:
    """The permitted units of these entities, ordered by entity: what may not be visited takes no place in a fan-out."""
    mentions = graph.units_of(entities)
    keep = permitted(mentions.units, allowed)
    return Mentions(mentions.units[keep], mentions.entities[keep])

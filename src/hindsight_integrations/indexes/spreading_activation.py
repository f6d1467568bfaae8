"""Spreading activation over a MemoryGraph (paper section 4.2.2, eq. 12; earlier paper 3.1.3).

Hubs (`hub_entities`) transmit no activation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.model.arrays import (
    BoolArray,
    Float64Array,
    FloatArray,
    Hits,
    IntArray,
    Vector,
    no_hits,
    ranked,
)
from hindsight_integrations.model.links import LINK_CODES, CausalRelation, Edges, LinkType, Mentions

Similarity: TypeAlias = Callable[[IntArray], FloatArray]
"""Cosine of the query with each unit, (n,); NaN for a unit without a vector."""

Allowed: TypeAlias = Callable[[IntArray], BoolArray]
"""Function that returns a mask of the units that may be visited."""


class Walkable(Protocol):
    """The part of a MemoryGraph that a walk uses."""

    def links(self, units: IntArray) -> Edges:
        """Return links of units, oriented away from them."""
        ...

    def entities_of(self, units: IntArray) -> Mentions:
        """Return entities that units mention."""
        ...

    def units_of(self, entities: IntArray) -> Mentions:
        """Return units that mention entities."""
        ...


FAN_OUT = 200  # maximum number of units that one entity activates; 20 seeds with 200 units each take 6 ms


SPARSE = 16  # a table is used if at least one in this many ids of the range is present


def distinct(ids: IntArray) -> IntArray:
    """Return the distinct ids, ascending; dense ids are found by a table, ten times as fast as by sorting."""
    if len(ids) == 0:
        return ids
    first, last = int(ids.min()), int(ids.max())
    if last - first >= SPARSE * len(ids):
        return np.unique(ids)
    there = np.zeros(last - first + 1, np.bool_)
    there[ids - first] = True
    return np.flatnonzero(there) + first


def cosines(ids: IntArray, similarity: Similarity) -> FloatArray:
    """Return the similarity of each id, (n,); -inf for units without a vector."""
    if len(ids) == 0:
        return np.empty(0, np.float32)
    values = similarity(ids)
    return np.where(np.isnan(values), np.float32(-np.inf), values)


def strongest(ids: IntArray, values: Float64Array) -> tuple[IntArray, Float64Array]:
    """Return the distinct ids, ascending, with their largest values: the max of paper eq. 12."""
    if len(ids) == 0:
        return ids, values
    order = np.argsort(ids, kind="stable")
    ids, values = ids[order], values[order]
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    return ids[starts], np.maximum.reduceat(values, starts)


def best(
    ids: IntArray, keys: tuple[npt.NDArray[np.generic], ...], limit: int, similarity: Similarity
) -> IntArray:
    """Return positions of the `limit` best, best first: by ascending keys, then descending cosine, then id.

    Keys are compared exactly; the first one decides which positions need a similarity lookup.
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
    """Keep at most FAN_OUT units of each entity, the nearest to the query, ties by unit id.

    Expects and keeps the protocol's order (by entity).
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
    """Return the length of each run of equal entities."""
    starts = np.flatnonzero(np.diff(entities, prepend=entities[:1] - 1))
    return np.diff(np.append(starts, len(entities)))


def nearest_together(mentions: Mentions, similarity: Similarity, limit: int) -> IntArray:
    """Return the `limit` units nearest to the query that `nearest_per_entity` keeps, ties by id; ascending.

    The fan-out limit matters only for entities with more than FAN_OUT units among the `limit` nearest of all,
    which are rare.
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
    """Return the permitted units of these entities, by entity; other units must not count towards the fan-out."""
    mentions = graph.units_of(entities)
    keep = allowed(mentions.units)
    return Mentions(mentions.units[keep], mentions.entities[keep])


DECAY = 0.8  # delta of paper eq. 12 [earlier paper 3.1.3]
GAIN_CAP = 0.95  # below 1, so that activation cannot grow along an edge, as with 2.0 * 0.8 (chosen by hand)
ENTITY_WEIGHT = 1.0  # "constant, never decays" [paper eq. 3; earlier paper 2.5.3]
ENTITY_MULTIPLIER = 1.2  # mu(entity) > 1 [paper eq. 12]; the value is chosen by hand
CAUSAL_MULTIPLIERS = {  # mu of causal links [earlier paper 3.1.3]
    CausalRelation.CAUSES: 2.0,
    CausalRelation.CAUSED_BY: 2.0,
    CausalRelation.ENABLES: 1.5,
    CausalRelation.PREVENTS: 1.5,
}
OTHER_MULTIPLIER = 1.0  # mu of semantic and temporal links [paper eq. 12; earlier paper 3.1.3]


_MULTIPLIERS = np.full(len(LINK_CODES), OTHER_MULTIPLIER)  # mu of paper eq. 12 by link code
for (_, _relation), _code in LINK_CODES.items():
    if _relation is not None:
        _MULTIPLIERS[_code] = CAUSAL_MULTIPLIERS[_relation]


def gain(weights: Float64Array, multipliers: Float64Array, decay: float = DECAY) -> Float64Array:
    """Compute the share of activation that an edge transmits: w * delta * mu of paper eq. 12, at most 0.95."""
    return np.minimum(weights * decay * multipliers, GAIN_CAP)


def link_gain(edges: Edges) -> Float64Array:
    """Return the gain of each link, (n,): mu is 2 for causes and caused_by, 1.5 for enables and prevents, else 1."""
    return gain(edges.weights.astype(np.float64), _MULTIPLIERS[edges.codes])


def entity_gain() -> float:
    """Return the gain of a hop from a fact through an entity to another fact: 1.0 * 0.8 * 1.2, capped."""
    return float(gain(np.array([ENTITY_WEIGHT]), np.array([ENTITY_MULTIPLIER]))[0])


CAUSAL_CODES = [code for (kind, _), code in LINK_CODES.items() if kind is LinkType.CAUSAL]


class Causes:
    """A view of a graph with only its causal links, and without entities.

    It is used for questions that ask for a cause and name no entity to start from. Spreading over all links from
    similar units loses evidence recall.
    """

    def __init__(self, graph: Walkable) -> None:
        self._graph = graph

    def links(self, units: IntArray) -> Edges:
        """Return the causal links touching the given units."""
        edges = self._graph.links(units)
        kept = np.isin(edges.codes, CAUSAL_CODES)
        return Edges(edges.sources[kept], edges.targets[kept], edges.codes[kept], edges.weights[kept])

    def entities_of(self, units: IntArray) -> Mentions:
        """Return no mentions."""
        return Mentions(units[:0], units[:0])

    def units_of(self, entities: IntArray) -> Mentions:
        """Return no mentions."""
        return Mentions(entities[:0], entities[:0])


SEMANTIC_SEEDS = 20  # number of "the top semantic hits" [paper section 4.2.2]; the value is chosen by hand
MAX_HOPS = 4  # "limiting spread to ~4-5 hops" [earlier paper 3.1.3]
ACTIVATION_FLOOR = 0.1  # weaker activation is dropped (chosen by hand)
HUB_SHARE = 0.1  # an entity in more than this share of a bank's units is a hub (chosen by hand)
HUB_UNITS = 4  # a hub has more units than this (chosen by hand)

_TIE = 1e-6  # activations with a smaller difference may be equal as float32, in which they are ranked


def hub_degree(n_units: int) -> float:
    """Return the number of mentions above which an entity is a hub, in a bank with `n_units` units."""
    return max(HUB_UNITS, HUB_SHARE * n_units)


def hub_entities(entities: IntArray, degrees: IntArray, n_units: int, roles: IntArray) -> IntArray:
    """Return the hub entities, ascending; a mention in so many units does not indicate relevance.

    `roles` are the ids of the user, the agent and the speakers, which are always hubs.
    """
    return np.union1d(entities[degrees > hub_degree(n_units)], roles)


@dataclass(frozen=True, slots=True)
class _Activation:
    """The activation of units or entities: ids, ascending, with values and the hop at which each was reached."""

    ids: IntArray
    values: Float64Array
    hops: IntArray

    def absorb(self, ids: IntArray, values: Float64Array, hop: int) -> tuple[_Activation, _Activation]:
        """Merge in other activations (ids ascending), keeping the higher value; return the result and the part that increased."""
        names = np.union1d(self.ids, ids)
        merged = _Activation(names, np.zeros(len(names)), np.zeros(len(names), np.int64))
        old, new = np.searchsorted(names, self.ids), np.searchsorted(names, ids)
        merged.values[old], merged.hops[old] = self.values, self.hops
        # Compared as float32, like ranks, because an increase in the last digits would only change the hop.
        higher = values.astype(np.float32) > merged.values[new].astype(np.float32)
        rose = new[higher]
        merged.values[rose], merged.hops[rose] = values[higher], hop
        return merged, _Activation(names[rose], merged.values[rose], merged.hops[rose])

    def bar(self, limit: int) -> float:
        """Return the activation needed to be among the `limit` highest, at least the floor.

        Gains are below 1 and activations only increase, so units below it, and units that they would activate,
        cannot be among the highest later.
        """
        if limit > len(self.ids):
            return ACTIVATION_FLOOR
        lowest = np.partition(self.values, len(self.ids) - limit)[len(self.ids) - limit]
        return max(ACTIVATION_FLOOR, float(lowest) * (1.0 - _TIE))

    def above(self, bar: float) -> _Activation:
        """Return the part that reaches `bar`."""
        return self.only(self.values >= bar)

    def only(self, keep: BoolArray) -> _Activation:
        """Return the part that a mask selects."""
        return _Activation(self.ids[keep], self.values[keep], self.hops[keep])

    def at(self, ids: IntArray) -> Float64Array:
        """Return the activations of known ids."""
        return self.values[np.searchsorted(self.ids, ids)]

    def top(self, limit: int, similarity: Similarity) -> IntArray:
        """Return the positions of the most strongly activated nodes, best first; ties by hop, cosine, id."""
        # as float32, like Hits, so that paths of equal strength tie regardless of rounding
        return best(self.ids, (-self.values.astype(np.float32), self.hops), limit, similarity)


def _none() -> _Activation:
    return _Activation(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


_Step: TypeAlias = Callable[[_Activation], tuple[IntArray, Float64Array]]


@dataclass(frozen=True, slots=True)
class _Walk:
    """The constraints of a walk.

    Attributes:
        graph, muted, allowed, similarity, budget: as in `spread`.
        cut: whether only the `budget` most active units are returned, so that others need not be read.
    """

    graph: Walkable
    muted: IntArray
    allowed: Allowed
    similarity: Similarity
    budget: int
    cut: bool

    def bar(self, units: _Activation) -> float:
        """Return the activation below which a unit is ignored."""
        return units.bar(self.budget) if self.cut else ACTIVATION_FLOOR

    def admit(self, ids: IntArray, values: Float64Array, bar: float) -> tuple[IntArray, Float64Array]:
        """Return the permitted units whose largest value reaches the threshold, with that value; ids ascending."""
        enough = values >= bar
        ids, values = strongest(ids[enough], values[enough])
        keep = self.allowed(ids)
        return ids[keep], values[keep]

    def hop(
        self, units: _Activation, active: _Activation, risen: _Activation, hop: int
    ) -> tuple[IntArray, Float64Array]:
        """Return units one hop from all activated `units`, with their activation; ids ascending.

        Activation comes from the `active` units and the `risen` entities. The strongest entities come first: they raise the bar
        for other entities, and all entities for links. Units below the bar cannot be among the most active, and are not
        expanded.
        """
        bar = self.bar(units)
        reached = []
        for over, some in self._by_strength(risen):
            reached.append(self.admit(*over(some.above(bar / entity_gain())), bar))
            units, _ = units.absorb(*reached[-1], hop)
            bar = self.bar(units)
        reached.append(self.admit(*self._over_links(active.above(bar / GAIN_CAP)), bar))
        ids, values = (np.concatenate(parts) for parts in zip(*reached, strict=True))
        return strongest(ids, values)

    def _by_strength(self, risen: _Activation) -> list[tuple[_Step, _Activation]]:
        """Split the entities by strength; return the parts in the order of expansion, each with its step function."""
        if not self.cut or not len(risen.ids):
            return [(self._over_entities, risen)]
        first = risen.values == risen.values.max()
        return [(self._over_equals, risen.only(first)), (self._over_entities, risen.only(~first))]

    def _over_links(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Return units one link away from the activated ones, with their activation."""
        edges = self.graph.links(active.ids)
        return edges.targets, active.at(edges.sources) * link_gain(edges)

    def entities(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Return the entities that the activated units mention, without hubs, with the activation of the strongest unit."""
        mentions = self.graph.entities_of(active.ids)
        passing = ~np.isin(mentions.entities, self.muted)
        return strongest(mentions.entities[passing], active.at(mentions.units[passing]))

    def _over_entities(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Return units that mention the activated entities, with their activation."""
        mentions = mentioning(self.graph, active.ids, self.allowed)
        near = nearest_per_entity(mentions, self.similarity)
        return near.units, active.at(near.entities) * entity_gain()

    def _over_equals(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Return the `budget` nearest of the units that mention equally active entities.

        All these units have the same activation, so the others would rank behind the nearest.
        """
        mentions = mentioning(self.graph, active.ids, self.allowed)
        units = nearest_together(mentions, self.similarity, self.budget)
        return units, np.repeat(active.values[:1], len(units)) * entity_gain()

    def narrow(self, active: _Activation) -> _Activation:
        """Keep the beam: the `budget` most active units, ids ascending."""
        if len(active.ids) <= self.budget:
            return active
        kept = np.sort(active.top(self.budget, self.similarity))
        return _Activation(active.ids[kept], active.values[kept], active.hops[kept])


def spread(
    graph: Walkable,
    seeds: Hits,
    *,
    muted: IntArray,
    allowed: Allowed,
    budget: int,
    similarity: Similarity,
) -> Hits:
    """Spread activation: A(j, t+1) = max of A(i, t) * w * delta * mu over edges i-j (paper eq. 12).

    At most 4 hops; a unit keeps its maximum; activation below 0.1 is dropped. Two units that share an entity
    are one hop apart with w = 1. Units that may not be visited are neither returned nor transmit activation,
    including seeds.

    Args:
        graph: links and mentions.
        seeds: starting points, with activations in [0, 1] (semantic scores); the maximum counts for a repeated id.
        muted: entities that transmit no activation (`hub_entities`).
        allowed: the units that may be visited.
        budget: maximum number of units expanded at each hop, and of units returned.
        similarity: cosine with the query, for an entity's fan-out and for ties.

    Returns:
        Activated units, including seeds, with activations in [0.1, 1]; ties by hop, cosine, id.
    """
    if budget <= 0:
        return no_hits()
    units = _activated_from(seeds, _Walk(graph, muted, allowed, similarity, budget, cut=True))
    order = units.top(budget, similarity)
    return Hits(units.ids[order], units.values[order].astype(np.float32))


def _activated_from(seeds: Hits, walk: _Walk, hops: int = MAX_HOPS) -> _Activation:
    """Return the units that the seeds activate within a number of hops."""
    first = np.clip(seeds.scores.astype(np.float64), 0.0, 1.0)
    units, active = _none().absorb(*walk.admit(seeds.ids, first, ACTIVATION_FLOOR), 0)
    entities = _none()
    for hop in range(1, hops + 1):
        active = walk.narrow(active.above(walk.bar(units) / GAIN_CAP))
        if len(active.ids) == 0:
            break
        # Only entities whose activation increased are expanded; the units of others have theirs already.
        entities, risen = entities.absorb(*walk.entities(active), hop)
        units, active = units.absorb(*walk.hop(units, active, risen, hop), hop)
    return units


def spread_by_distance(
    graph: Walkable,
    seeds: Hits,
    *,
    steps: int,
    muted: IntArray,
    allowed: Allowed,
    budget: int,
    similarity: Similarity,
) -> Hits:
    """Spread activation (paper eq. 12), ranking the units of each distance from the seeds separately.

    This is for chains of possessives: the answer to "Alice's manager's team" is two hops away, not similar to the
    question, and would rank behind all units about Alice. Units of each distance are ranked by activation, then
    cosine, and a unit's score is its activation divided by that rank, so the best units of each distance come
    first.

    `steps` is the number of hops in the question, and the maximum distance of returned units; values above 4
    count as 4. The other arguments are those of `spread`.

    Returns:
        Units with scores in (0, 1].
    """
    if budget <= 0:
        return no_hits()
    walk = _Walk(graph, muted, allowed, similarity, budget, cut=False)
    units = _activated_from(seeds, walk, min(steps, MAX_HOPS))
    scores = np.zeros(len(units.ids), np.float32)
    for hop in np.unique(units.hops):
        at = np.flatnonzero(units.hops == hop)
        at = at[best(units.ids[at], (-units.values[at].astype(np.float32),), len(at), similarity)]
        scores[at] = units.values[at] / np.arange(1, len(at) + 1)
    return ranked(units.ids, scores, budget)


def entity_seeds(
    graph: Walkable, entities: IntArray, *, muted: IntArray, allowed: Allowed, similarity: Similarity
) -> Hits:
    """Return the units of the entities that a query names, as seeds one hop from an entity with activation 1.

    Returns:
        At most FAN_OUT permitted units per entity that is not muted, all with activation 0.95, nearest first.
    """
    named = np.setdiff1d(entities, muted)
    ids = distinct(nearest_per_entity(mentioning(graph, named, allowed), similarity).units)
    order = best(ids, (np.zeros(len(ids)),), len(ids), similarity)
    return Hits(ids[order], np.full(len(ids), entity_gain(), np.float32))


ALL_AT_ONCE = 10  # after a tenth of the bank has been looked up, all of it is scored in one pass


class Relevance:
    """Cosine of units with one question, cached during a recall; 0 for unknown vectors.

    A walk may look up most of the bank several times; one pass over all vectors is then faster than repeated
    lookups (100k units: 5 and 58 ms).
    """

    def __init__(self, view: BankView, vector: Vector) -> None:
        self._view, self._vector = view, vector
        self._looked_up = 0
        self._all: _Cosines | None = None
        self._one_pass = Lock()

    def __call__(self, ids: IntArray) -> FloatArray:
        """Return the cosines, (n,)."""
        self._looked_up += len(ids)
        if self._all is None and self._looked_up * ALL_AT_ONCE < len(self._view.columns):
            return self._computed(ids)
        return self.of_all().of(ids)

    def every(self) -> FloatArray:
        """Return the cosine of every unit of the columns, (n,)."""
        return self.of_all().of(self._view.columns.ids)

    def of_all(self) -> _Cosines:
        """Return the cosines of the whole bank, computed once; other threads wait for them."""
        with self._one_pass:
            if self._all is None:
                known = self._view.columns.ids
                self._all = _Cosines(known, self._computed(known))
            return self._all

    def _computed(self, ids: IntArray) -> FloatArray:
        values = self._view.scorer.similarities(self._vector, ids)
        return np.where(np.isnan(values), np.float32(0.0), values)


class _Cosines:
    """The cosine of every unit of a bank; 0 for other ids.

    Dense ids use a table over their range, since a binary search takes ten times as long as a table lookup.
    """

    def __init__(self, ids: IntArray, cosines: FloatArray) -> None:
        self._ids, self._cosines = ids, cosines
        self._first = int(ids[0]) if len(ids) else 0
        span = int(ids[-1]) - self._first + 1 if len(ids) else 0
        self._sparse = span > SPARSE * len(ids)
        if not self._sparse and span != len(ids):
            self._cosines = np.zeros(span, np.float32)
            self._cosines[ids - self._first] = cosines

    def of(self, ids: IntArray) -> FloatArray:
        """Return the cosines of these ids, (n,)."""
        if not len(self._cosines):
            return np.zeros(len(ids), np.float32)
        at = np.searchsorted(self._ids, ids) if self._sparse else ids - self._first
        inside = (at >= 0) & (at < len(self._cosines))
        at = np.where(inside, at, 0)
        if self._sparse:
            inside &= self._ids[at] == ids
        return np.where(inside, self._cosines[at], np.float32(0.0))

"""The graph channel: spreading activation over a MemoryGraph (paper section 4.2.2, eq. 12; earlier paper 3.1.3).

Hubs (`hub_entities`) transmit nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from hindsight_integrations.ports.arrays import BoolArray, Float64Array, Hits, IntArray, no_hits, ranked
from hindsight_integrations.search.graph.gains import GAIN_CAP, entity_gain, link_gain
from hindsight_integrations.search.graph.neighbourhood import (
    Allowed,
    Similarity,
    Walkable,
    best,
    distinct,
    mentioning,
    nearest_per_entity,
    nearest_together,
    permitted,
    strongest,
)

SEMANTIC_SEEDS = 20  # of "the top semantic hits" [paper section 4.2.2; the number has no source]
MAX_HOPS = 4  # "limiting spread to ~4-5 hops" [earlier paper 3.1.3]
ACTIVATION_FLOOR = 0.1  # weaker activation is dropped (no source)
HUB_SHARE = 0.1  # an entity in more than this share of a bank's units is a hub (the value has no source)
HUB_UNITS = 4  # ... but only beyond this many units (no source)

_TIE = 1e-6  # activations this close may be equal as the float32 they are ranked by


def hub_degree(n_units: int) -> float:
    """How many units may mention an entity in a bank of so many before it is a hub."""
    return max(HUB_UNITS, HUB_SHARE * n_units)


def hub_entities(entities: IntArray, degrees: IntArray, n_units: int, roles: IntArray) -> IntArray:
    """Entities that are everywhere, ascending: they say nothing about relevance.

    Args:
        entities: entity ids, (n,).
        degrees: how many units mention each, (n,).
        n_units: units in the bank.
        roles: the user, the agent and the speakers, hubs by what they are.
    """
    return np.union1d(entities[degrees > hub_degree(n_units)], roles)


@dataclass(frozen=True, slots=True)
class _Activation:
    """Activation of units (or of entities): ids ascending, activations, and the hop each was reached at."""

    ids: IntArray
    values: Float64Array
    hops: IntArray

    def absorb(self, ids: IntArray, values: Float64Array, hop: int) -> tuple[_Activation, _Activation]:
        """This field with higher activations taken over (ids ascending), and the part of it that rose."""
        names = np.union1d(self.ids, ids)
        merged = _Activation(names, np.zeros(len(names)), np.zeros(len(names), np.int64))
        old, new = np.searchsorted(names, self.ids), np.searchsorted(names, ids)
        merged.values[old], merged.hops[old] = self.values, self.hops
        # As float32, which is what units are ranked by: a rise in the last digits would only take a unit's hop from it.
        higher = values.astype(np.float32) > merged.values[new].astype(np.float32)
        rose = new[higher]
        merged.values[rose], merged.hops[rose] = values[higher], hop
        return merged, _Activation(names[rose], merged.values[rose], merged.hops[rose])

    def bar(self, limit: int) -> float:
        """What an activation must reach to be among the `limit` highest, and never less than the floor.

        Gains are below 1 and activations only rise, so what is under the bar now, and all it would activate, stays out.
        """
        if limit > len(self.ids):
            return ACTIVATION_FLOOR
        lowest = np.partition(self.values, len(self.ids) - limit)[len(self.ids) - limit]
        return max(ACTIVATION_FLOOR, float(lowest) * (1.0 - _TIE))

    def above(self, bar: float) -> _Activation:
        """The part of it that reaches `bar`."""
        return self.only(self.values >= bar)

    def only(self, keep: BoolArray) -> _Activation:
        """The part of it a mask chooses."""
        return _Activation(self.ids[keep], self.values[keep], self.hops[keep])

    def at(self, ids: IntArray) -> Float64Array:
        """Activations of ids it holds."""
        return self.values[np.searchsorted(self.ids, ids)]

    def top(self, limit: int, similarity: Similarity) -> IntArray:
        """Positions of the most active, best first; ties by hop, cosine, id."""
        # float32 as in Hits: two paths of equal strength must tie whatever order they were multiplied in.
        return best(self.ids, (-self.values.astype(np.float32), self.hops), limit, similarity)


def _none() -> _Activation:
    return _Activation(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


_Step: TypeAlias = Callable[[_Activation], tuple[IntArray, Float64Array]]


@dataclass(frozen=True, slots=True)
class _Walk:
    """Where activation may go, and how much of it is wanted.

    Attributes:
        graph, muted, allowed, similarity, budget: as in `spread`.
        cut: whether the `budget` most active units are all that is wanted; what cannot be one of them is not read then.
    """

    graph: Walkable
    muted: IntArray
    allowed: Allowed
    similarity: Similarity
    budget: int
    cut: bool

    def bar(self, units: _Activation) -> float:
        """Below what a unit is not worth activating."""
        return units.bar(self.budget) if self.cut else ACTIVATION_FLOOR

    def admit(self, ids: IntArray, values: Float64Array, bar: float) -> tuple[IntArray, Float64Array]:
        """Each permitted unit with its maximum, none below the bar; ids ascending."""
        enough = values >= bar
        ids, values = strongest(ids[enough], values[enough])
        keep = permitted(ids, self.allowed)
        return ids[keep], values[keep]

    def hop(
        self, units: _Activation, active: _Activation, risen: _Activation, hop: int
    ) -> tuple[IntArray, Float64Array]:
        """Units one hop from the activated ones, with what reaches them; ids ascending.

        The strongest entities come first: what they reach raises the bar for the others, and that for links. What is
        then below it neither ends among the most active nor passes anything on.

        Args:
            units: all that was activated so far.
            active: the units that pass on.
            risen: the entities that pass on.
            hop: which one this is.
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
        """The entities in the order they are walked, each part with its way of walking."""
        if not self.cut or not len(risen.ids):
            return [(self._over_entities, risen)]
        first = risen.values == risen.values.max()
        return [(self._over_equals, risen.only(first)), (self._over_entities, risen.only(~first))]

    def _over_links(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Units one link away from the activated ones, with what reaches them."""
        edges = self.graph.links(active.ids)
        return edges.targets, active.at(edges.sources) * link_gain(edges)

    def entities(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Entities the activated units mention, hubs left out, each with its strongest unit's activation."""
        mentions = self.graph.entities_of(active.ids)
        passing = ~np.isin(mentions.entities, self.muted)
        return strongest(mentions.entities[passing], active.at(mentions.units[passing]))

    def _over_entities(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Units that mention the activated entities, with what reaches them."""
        mentions = mentioning(self.graph, active.ids, self.allowed)
        near = nearest_per_entity(mentions, self.similarity)
        return near.units, active.at(near.entities) * entity_gain()

    def _over_equals(self, active: _Activation) -> tuple[IntArray, Float64Array]:
        """Of the units that mention entities all as active as each other, the `budget` nearest to the query.

        What reaches them is the same, so the others rank behind them.
        """
        mentions = mentioning(self.graph, active.ids, self.allowed)
        units = nearest_together(mentions, self.similarity, self.budget)
        return units, np.repeat(active.values[:1], len(units)) * entity_gain()

    def narrow(self, active: _Activation) -> _Activation:
        """The beam: at most `budget` most active units, ids ascending."""
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
    """Spreading activation: A(j, t+1) = max of A(i, t) * w * delta * mu over edges i-j (paper eq. 12).

    At most 4 hops; a unit keeps its maximum; activation below 0.1 is dropped. Two units that share an entity are one
    hop apart with w = 1, whatever number of nodes lies between. Units that may not be visited neither show nor
    transmit, seeds included.

    Args:
        graph: who is connected to whom.
        seeds: where it starts, with activations in [0, 1] (the semantic score of entry points); an id given twice
            keeps its maximum.
        muted: entities that transmit nothing (`hub_entities`).
        allowed: which units may be visited.
        budget: how many units are expanded at each hop, and returned.
        similarity: cosine with the query, for an entity's fan-out and for ties.

    Returns:
        Activated units, seeds included, with activations in [0.1, 1]; ties by hop, cosine, id.
    """
    if budget <= 0:
        return no_hits()
    units = _activated_from(seeds, _Walk(graph, muted, allowed, similarity, budget, cut=True))
    order = units.top(budget, similarity)
    return Hits(units.ids[order], units.values[order].astype(np.float32))


def _activated_from(seeds: Hits, walk: _Walk, hops: int = MAX_HOPS) -> _Activation:
    """What the seeds activate within so many hops."""
    first = np.clip(seeds.scores.astype(np.float64), 0.0, 1.0)
    units, active = _none().absorb(*walk.admit(seeds.ids, first, ACTIVATION_FLOOR), 0)
    entities = _none()
    for hop in range(1, hops + 1):
        active = walk.narrow(active.above(walk.bar(units) / GAIN_CAP))
        if len(active.ids) == 0:
            break
        # An entity passes on only what rose: its units have had the rest already.
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
    """Spreading activation (paper eq. 12) that ranks the units of each distance from the seeds among themselves.

    For a chain of possessives: what "Alice's manager's team" did stands two hops away, in words that need not be the
    question's, behind all there is on Alice herself. So each distance has its own ranking, by activation, then cosine,
    and a unit's score is its activation / its place there: the best of each distance come first, the nearer ahead.

    `steps` is how many hops the question asks for: nothing farther is returned, and at most 4 are walked. The other
    arguments are those of `spread`.

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
    """Units of the entities a query names, as seeds: one hop from an entity with activation 1.

    Returns:
        At most FAN_OUT permitted units per entity that is not muted, all with activation 0.95, nearest first.
    """
    named = np.setdiff1d(entities, muted)
    ids = distinct(nearest_per_entity(mentioning(graph, named, allowed), similarity).units)
    order = best(ids, (np.zeros(len(ids)),), len(ids), similarity)
    return Hits(ids[order], np.full(len(ids), entity_gain(), np.float32))

"""The causal part of a memory graph, which a question for a cause follows."""

from __future__ import annotations

import numpy as np
from graph_rows import any_unit, fill

from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.spreading_activation import Causes, spread
from hindsight_integrations.model.arrays import FloatArray, Hits, IntArray
from hindsight_integrations.model.links import LINK_CODES, CausalRelation, LinkType

TEMPORAL, CAUSES = LINK_CODES[LinkType.TEMPORAL, None], LINK_CODES[LinkType.CAUSAL, CausalRelation.CAUSES]


def level(ids: IntArray) -> FloatArray:
    """A similarity function that gives every unit the same value."""
    return np.full(len(ids), 0.5, np.float32)


def graph() -> RustworkxMemoryGraph:
    """1 causes 2, which causes 3; 4 happened at the time of 1; 5 shares an entity with 1."""
    graph = RustworkxMemoryGraph()
    links = [(1, 2, CAUSES, 1.0), (2, 3, CAUSES, 1.0), (1, 4, TEMPORAL, 1.0)]
    fill(graph, links=links, mentioned=[(1, 9), (5, 9)])
    return graph


def test_only_causal_links_are_followed() -> None:
    """From the first cause to its last effect, and to no unit that is only close in time or shares a name."""
    seeds = Hits(np.array([1]), np.array([0.9], np.float32))
    none = np.empty(0, np.int64)
    reached = spread(Causes(graph()), seeds, muted=none, allowed=any_unit, budget=10, similarity=level)
    assert sorted(reached.ids.tolist()) == [1, 2, 3]
    everything = spread(graph(), seeds, muted=none, allowed=any_unit, budget=10, similarity=level)
    assert sorted(everything.ids.tolist()) == [1, 2, 3, 4, 5]

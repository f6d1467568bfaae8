"""Causes: the part of a memory graph that answers "why" (paper section 4.1.4)."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.model.links import LinkType
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.memory_graph import LINK_CODES, Edges, Mentions
from hindsight_integrations.search.graph.neighbourhood import Walkable

CAUSAL_CODES = [code for (kind, _), code in LINK_CODES.items() if kind is LinkType.CAUSAL]


class Causes:
    """A graph of which only the causal links are seen: no other link, no entity.

    A question for a cause that names nothing else to walk from asks for these. Spreading over all links from whatever
    was similar costs evidence.
    """

    def __init__(self, graph: Walkable) -> None:
        self._graph = graph

    def links(self, units: IntArray) -> Edges:
        """The causal links touching the given units."""
        edges = self._graph.links(units)
        kept = np.isin(edges.codes, CAUSAL_CODES)
        return Edges(edges.sources[kept], edges.targets[kept], edges.codes[kept], edges.weights[kept])

    def entities_of(self, units: IntArray) -> Mentions:
        """None."""
        return Mentions(units[:0], units[:0])

    def units_of(self, entities: IntArray) -> Mentions:
        """None."""
        return Mentions(entities[:0], entities[:0])

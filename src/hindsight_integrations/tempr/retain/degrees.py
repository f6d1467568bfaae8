"""Links into a unit stay few however much a bank grows (design section 6: degree stays bounded)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from hindsight_integrations.model.links import LinkType
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.memory_graph import LINK_CODES, MemoryGraph
from hindsight_integrations.tempr.retain.linking import Pair

SEMANTIC_DEGREE = 50
"""Semantic links a unit may have in all. Its own five are the paper's; those of later units to it had no bound, and in a
bank of 100k synthetic facts the most linked one had 295 (benchmarks/retain_speed.py). Temporal links need none: 38."""


def semantic_degrees(graph: MemoryGraph, units: IntArray) -> dict[int, int]:
    """How many semantic links each of these units has, in either direction; units without any are left out."""
    if not len(units):
        return {}
    edges = graph.links(units)
    chosen = edges.sources[edges.codes == LINK_CODES[LinkType.SEMANTIC, None]]
    found, counts = np.unique(chosen, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def within_degree(pairs: Sequence[Pair], degrees: Mapping[int, int], limit: int) -> list[Pair]:
    """The pairs, strongest first, without those to another unit that is full by then.

    Args:
        pairs: links to be; `other` names units as `degrees` does.
        degrees: links the others have already.
        limit: links a unit may have.
    """
    met = Counter(degrees)
    kept = []
    for pair in sorted(pairs, key=lambda pair: (-pair.weight, pair.new, pair.other)):
        if met[pair.other] < limit:
            met[pair.other] += 1
            kept.append(pair)
    return kept

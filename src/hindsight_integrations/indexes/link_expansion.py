"""Link expansion, an alternative graph search: one hop, scored by the sum of three signals (recall docs, "Graph Scoring Detail")."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.indexes.spreading_activation import (
    CAUSAL_CODES,
    Allowed,
    Similarity,
    Walkable,
    best,
    permitted,
    strongest,
)
from hindsight_integrations.model.arrays import Float64Array, Hits, IntArray
from hindsight_integrations.model.links import LINK_CODES, Edges, LinkType

_SEMANTIC_CODE = LINK_CODES[LinkType.SEMANTIC, None]


def entity_signal(shared: IntArray) -> Float64Array:
    """Compute tanh(0.5 * shared entities), 0.46, 0.76, 0.91 for 1, 2, 3 (recall docs, "Graph Scoring Detail")."""
    return np.tanh(0.5 * shared.astype(np.float64))


def link_expansion(
    graph: Walkable,
    seeds: Hits,
    *,
    muted: IntArray,
    allowed: Allowed,
    budget: int,
    similarity: Similarity,
) -> Hits:
    """Expand one hop: tanh(0.5 * shared entities) + semantic + causal (recall docs, "Graph Scoring Detail").

    Shared entities are the distinct entities, without hubs, that a unit shares with any seed; semantic and causal
    are the weights of its strongest links of that kind to any seed. Fan-out is not limited, since a limit would
    miscount shared entities. The graph channel does not use this function: spreading activation reaches 20 points
    more evidence recall on facts at 256 tokens.

    Returns:
        At most `budget` units, without the seeds, with scores in (0, 3]; ties by cosine, id.
    """
    start = np.unique(seeds.ids[permitted(seeds.ids, allowed)])
    edges = graph.links(start)
    entities = np.setdiff1d(graph.entities_of(start).entities, muted)
    sharing, shared = np.unique(graph.units_of(entities).units, return_counts=True)
    signals = [
        (sharing, entity_signal(shared)),
        _strongest_link(edges, [_SEMANTIC_CODE]),
        _strongest_link(edges, CAUSAL_CODES),
    ]
    ids = np.setdiff1d(np.concatenate([units for units, _ in signals]), start)
    ids = ids[permitted(ids, allowed)]
    scores = np.zeros(len(ids))
    for units, values in signals:
        _, here, there = np.intersect1d(ids, units, assume_unique=True, return_indices=True)
        scores[here] += values[there]
    order = best(ids, (-scores.astype(np.float32),), budget, similarity)
    return Hits(ids[order], scores[order].astype(np.float32))


def _strongest_link(edges: Edges, codes: list[int]) -> tuple[IntArray, Float64Array]:
    """Return each target of links with these codes, with its largest weight."""
    kind = np.isin(edges.codes, codes)
    return strongest(edges.targets[kind], edges.weights[kind].astype(np.float64))

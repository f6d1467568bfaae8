"""A memory graph's arrays as plain rows, for readable tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hindsight_integrations.indexes.protocols import MemoryGraph
from hindsight_integrations.model.arrays import BoolArray, IntArray
from hindsight_integrations.model.links import Edges, Mentions

LinkRow = tuple[int, int, int, float]
Pair = tuple[int, int]


def int_array(values: Iterable[int] = ()) -> IntArray:
    """An int64 array of these values, (n,)."""
    return np.array(list(values), np.int64)


def any_unit(ids: IntArray) -> BoolArray:
    """Allow every unit."""
    return np.ones(len(ids), bool)


def units_among(allowed: Iterable[int]) -> Callable[[IntArray], BoolArray]:
    """Allow only these units."""
    known = int_array(allowed)
    return lambda ids: np.isin(ids, known)


def edges(rows: Iterable[LinkRow] = ()) -> Edges:
    """Edges from (source, target, code, weight) rows."""
    held = list(rows)
    ends = int_array(row[0] for row in held), int_array(row[1] for row in held)
    codes, weights = int_array(row[2] for row in held), np.array([row[3] for row in held], np.float32)
    return Edges(*ends, codes, weights)


def mentions(pairs: Iterable[Pair] = ()) -> Mentions:
    """Mentions from (unit, entity) pairs."""
    held = list(pairs)
    return Mentions(int_array(unit for unit, _ in held), int_array(entity for _, entity in held))


def fill(
    graph: MemoryGraph,
    *,
    units: Iterable[int] = (),
    links: Iterable[LinkRow] = (),
    mentioned: Iterable[Pair] = (),
) -> None:
    """Add units, links and mentions from plain rows."""
    graph.add(int_array(units), edges(links), mentions(mentioned))


def link_triples(found: Edges) -> list[tuple[int, int, int]]:
    """(source, target, code) rows of edges, in their order."""
    return list(zip(found.sources.tolist(), found.targets.tolist(), found.codes.tolist(), strict=True))


def pairs(found: Mentions) -> list[Pair]:
    """(unit, entity) rows of mentions, in their order."""
    return list(zip(found.units.tolist(), found.entities.tolist(), strict=True))

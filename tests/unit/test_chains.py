"""Chains of possessives: parsing, and ranking of the units along them."""

from __future__ import annotations

import numpy as np
import pytest
from graph_rows import any_unit
from table import every_row

from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.spreading_activation import spread_by_distance
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.language.questions import chain_steps
from hindsight_integrations.model.arrays import Hits, IntArray
from hindsight_integrations.model.links import Edges, Mentions

NONE = np.empty(0, np.int64)


@every_row(
    ("text", "steps"),
    [
        ("What did Alice's manager's team ship?", 2),
        ("Alice\u2019s manager\u2019s team\u2019s budget", 3),
        ("What's Alice's manager's team doing?", 2),
        ("What's Alice's plan?", 0),
        ("Who's Bob's manager?", 0),
        ("Alice's manager", 0),
        ("the managers of the teams", 0),
        ("Bob's car and Alice's bike's wheel", 2),
    ],
)
def test_possessives_are_counted(text: str, steps: int) -> None:
    """A chain has at least two possessives; the "'s" in "what's" is not one."""
    assert chain_steps(text, [ENGLISH]) == steps


def chain_graph() -> RustworkxMemoryGraph:
    """Unit 1 and 50 others (100..149) mention entity 7; 1 and 2 share entity 8; 2 and 3 share 9; 3 and 4 share 10."""
    graph = RustworkxMemoryGraph()
    crowd = list(range(100, 150))
    units = np.array([*crowd, 1, 1, 2, 2, 3, 3, 4])
    entities = np.array([*[7] * 50, 7, 8, 8, 9, 9, 10, 10])
    edges = Edges(NONE, NONE, NONE, np.empty(0, np.float32))
    graph.add(np.unique(units), edges, Mentions(units, entities))
    return graph


def dark(ids: IntArray) -> np.ndarray:
    """No unit is similar to the question."""
    return np.zeros(len(ids), np.float32)


def walked(steps: int, budget: int = 10) -> Hits:
    seeds = np.array([1, *range(100, 150)])
    first = Hits(seeds, np.full(len(seeds), 0.95, np.float32))
    return spread_by_distance(
        chain_graph(), first, steps=steps, muted=NONE, allowed=any_unit, budget=budget, similarity=dark
    )


def test_the_best_of_each_distance_comes_first() -> None:
    """Units one and two hops away are returned despite fifty units at the start, even past the budget."""
    found = walked(2)
    assert found.ids.tolist()[:3] == [1, 2, 3]
    assert len(found) == 10
    assert found.scores[:3].tolist() == pytest.approx([0.95, 0.95**2, 0.95**3])
    assert (np.diff(found.scores) <= 0).all()


def test_nothing_farther_than_the_chain_is_returned() -> None:
    """Two possessives return units up to two hops away; without a budget none."""
    assert 4 not in walked(2, 100).ids
    assert 4 in walked(3, 100).ids
    assert len(walked(2, 0)) == 0

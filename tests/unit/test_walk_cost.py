"""The cost of a graph walk, and that its shortcuts do not change the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from unittest.mock import patch

import numpy as np
from graph_rows import LinkRow, Pair, any_unit, fill, int_array, units_among
from hypothesis import example, given, settings
from hypothesis import strategies as st
from memory_graph_contract import CAUSED_BY, CAUSES, ENABLES, PREVENTS

from hindsight_integrations.indexes import spreading_activation as activation
from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.spreading_activation import entity_seeds, spread
from hindsight_integrations.model.arrays import FloatArray, Hits, IntArray
from hindsight_integrations.model.links import LINK_CODES, Edges, Mentions

NOBODY = int_array()
FEW = 3  # maximum number of units an entity activates here, so that a few units exceed it


# -- the same result ----------------------------------------------------------------------------------------------------

IDS = st.integers(0, 13)
WEIGHTS = st.sampled_from([0.2, 0.6, 0.8, 1.0])  # exact in a byte
LINKS = st.lists(
    st.tuples(IDS, IDS, st.sampled_from(sorted(LINK_CODES.values())), WEIGHTS).filter(lambda row: row[0] != row[1]),
    max_size=15, unique_by=lambda row: row[:3],
)  # fmt: skip
SAID = st.lists(st.tuples(IDS, st.integers(0, 4)), max_size=45, unique=True)
SEEDS = st.dictionaries(IDS, st.sampled_from([0.05, 0.3, 0.5, 0.75, 0.95, 1.0]), max_size=5)
NEARNESS = st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.9]), min_size=14, max_size=14)
MU = {CAUSES: 2.0, CAUSED_BY: 2.0, ENABLES: 1.5, PREVENTS: 1.5}
ENTITY_GAIN = 0.95


class PlainWalk:
    """Eq. 12 in plain Python: four hops, the floor, the beam and the fan-out; every edge is read."""

    def __init__(
        self, links: Sequence[LinkRow], said: Sequence[Pair], near: Sequence[float], allowed: set[int]
    ) -> None:
        self._edges: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for a, b, code, weight in links:
            passed = min(float(np.float32(weight)) * 0.8 * MU.get(code, 1.0), 0.95)
            self._edges[a].append((b, passed))
            self._edges[b].append((a, passed))
        self._said, self._near, self._allowed = said, near, allowed

    def __call__(self, seeds: Mapping[int, float], budget: int) -> dict[int, np.float32]:
        """Activations of the most active units, best first: ties by hop, nearness, id."""
        first = {unit: float(np.float32(value)) for unit, value in seeds.items() if unit in self._allowed}
        units = {unit: (value, 0) for unit, value in first.items() if value >= 0.1}
        active, entities = dict(units), dict[int, float]()
        for hop in range(1, 5):
            beam = {unit: active[unit][0] for unit in self._ranked(active)[:budget]}
            reached = self._reached(beam, entities)
            active = {
                unit: (value, hop)
                for unit, value in reached.items()
                if value >= 0.1
                and unit in self._allowed
                and np.float32(value) > np.float32(units.get(unit, (0.0, 0))[0])
            }
            units |= active
        return {unit: np.float32(units[unit][0]) for unit in self._ranked(units)[:budget]}

    def _ranked(self, units: Mapping[int, tuple[float, int]]) -> list[int]:
        return sorted(
            units,
            key=lambda unit: (-np.float32(units[unit][0]), units[unit][1], -self._near[unit], unit),
        )

    def _reached(self, beam: Mapping[int, float], entities: dict[int, float]) -> dict[int, float]:
        reached: dict[int, float] = defaultdict(float)
        lit: dict[int, float] = defaultdict(float)
        for unit, value in beam.items():
            for other, passed in self._edges[unit]:
                reached[other] = max(reached[other], value * passed)
            for entity in (entity for mentioning, entity in self._said if mentioning == unit):
                lit[entity] = max(lit[entity], value)
        for entity, value in lit.items():
            if np.float32(value) > np.float32(entities.get(entity, 0.0)):
                entities[entity] = value
                mentioning = [unit for unit, other in self._said if other == entity and unit in self._allowed]
                for unit in sorted(mentioning, key=lambda unit: (-self._near[unit], unit))[:FEW]:
                    reached[unit] = max(reached[unit], value * ENTITY_GAIN)
        return reached


@settings(max_examples=40, deadline=None)
@example([], [(0, 0), (1, 0), (2, 0)], {0: 0.05, 1: 1.0, 2: 0.95}, [0.1] * 14, 2, set())
@given(
    links=LINKS,
    said=SAID,
    seeds=SEEDS,
    near=NEARNESS,
    budget=st.integers(1, 15),
    closed=st.sets(IDS, max_size=4),
)
def test_what_is_not_read_would_not_have_been_found(
    links: list[LinkRow],
    said: list[Pair],
    seeds: dict[int, float],
    near: list[float],
    budget: int,
    closed: set[int],
) -> None:
    """The walk returns the same as reading every edge, including ties."""
    graph = RustworkxMemoryGraph()
    fill(graph, links=links, mentioned=said)
    valid = set(range(14)) - closed
    with patch.object(activation, "FAN_OUT", FEW):
        found = spread(
            graph,
            Hits(int_array(seeds), np.array(list(seeds.values()), np.float32)),
            muted=NOBODY,
            allowed=units_among(valid),
            budget=budget,
            similarity=lambda ids: np.array(near, np.float32)[ids],
        )
    expected = PlainWalk(links, said, near, valid)(seeds, budget)
    assert found.ids.tolist() == list(expected)
    assert found.scores.tolist() == [float(value) for value in expected.values()]


# -- the cost -----------------------------------------------------------------------------------------------------------

NAMED, BUDGET = 0, 300


class Counted:
    """A graph and a similarity that count their reads."""

    def __init__(self, graph: RustworkxMemoryGraph) -> None:
        self._graph = graph
        self.asked: dict[str, int] = defaultdict(int)

    def links(self, units: IntArray) -> Edges:
        self.asked["units whose links are read"] += len(units)
        return self._graph.links(units)

    def entities_of(self, units: IntArray) -> Mentions:
        self.asked["units whose entities are read"] += len(units)
        return self._graph.entities_of(units)

    def units_of(self, entities: IntArray) -> Mentions:
        self.asked["entities whose units are read"] += len(entities)
        return self._graph.units_of(entities)

    def similarity(self, ids: IntArray) -> FloatArray:
        self.asked["cosines"] += len(ids)
        return (ids % 101 / 101).astype(np.float32)


def popular(units: int, friends: int = 40) -> RustworkxMemoryGraph:
    """A named entity in 30 units, which mention 40 others, each of them in a number of other units; all linked in time."""
    graph = RustworkxMemoryGraph()
    said = [(unit, NAMED) for unit in range(30)] + [
        (unit, 1 + (unit + n) % friends) for unit in range(30) for n in range(3)
    ]
    said += [(30 + friend * units + n, 1 + friend) for friend in range(friends) for n in range(units)]
    total = 30 + friends * units
    fill(graph, links=[(unit, unit + 1, 0, 0.8) for unit in range(total - 1)], mentioned=said)
    return graph


def asked_of(graph: RustworkxMemoryGraph) -> dict[str, int]:
    counted = Counted(graph)
    seeds = entity_seeds(
        counted, int_array([NAMED]), muted=NOBODY, allowed=any_unit, similarity=counted.similarity
    )
    found = spread(
        counted, seeds, muted=NOBODY, allowed=any_unit, budget=BUDGET, similarity=counted.similarity
    )
    assert len(found) == BUDGET
    return counted.asked


def test_a_named_question_walks_as_far_in_a_bank_ten_times_as_large() -> None:
    """The number of units walked from does not depend on the bank's size."""
    small, large = (asked_of(popular(units)) for units in (210, 2_100))
    assert {name: count for name, count in small.items() if name != "cosines"} == {
        name: count for name, count in large.items() if name != "cosines"
    }
    assert large["units whose links are read"] <= BUDGET


def test_a_named_question_compares_each_unit_once() -> None:
    """Of thousands of equally active units only the best are compared again for sorting."""
    reachable = 30 + 40 * 500
    assert asked_of(popular(500))["cosines"] <= reachable + 4 * BUDGET


class CountedReads:
    """A rustworkx graph that counts reads of an entity's units."""

    def __init__(self, graph: object) -> None:
        self._graph = graph
        self.reads = 0

    def predecessor_indices(self, node: int) -> object:
        self.reads += 1
        return self._graph.predecessor_indices(node)  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self._graph, name)


def test_the_units_of_an_entity_are_read_once_until_it_is_mentioned_again() -> None:
    """A question about a frequently mentioned person reads no mention twice; new and forgotten mentions are noticed at once."""
    graph = RustworkxMemoryGraph()
    fill(graph, mentioned=[(unit, entity) for unit in range(50) for entity in (7, 8)])
    counted = graph._graph = CountedReads(graph._graph)  # type: ignore[assignment]
    both = int_array([7, 8])
    first = [graph.units_of(both).units.tolist() for _ in range(5)][-1]
    assert (counted.reads, first) == (2, [*range(50), *range(50)])
    fill(graph, mentioned=[(90, 8)])
    assert graph.units_of(both).units.tolist() == [*range(50), *range(50), 90]
    assert counted.reads == 3
    graph.remove(int_array([90]))
    assert graph.units_of(both).units.tolist() == first
    assert counted.reads == 4

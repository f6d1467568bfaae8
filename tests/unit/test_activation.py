"""The graph channel on rustworkx: worked examples, and agreement with a plain-Python eq. 12."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from graph_rows import LinkRow, Pair, any_unit, fill, int_array, units_among
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_graph_contract import (
    CAUSED_BY,
    CAUSES,
    ENABLES,
    PREVENTS,
    SEMANTIC,
    TEMPORAL,
)
from table import every_row

from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.spreading_activation import (
    entity_gain,
    entity_seeds,
    gain,
    hub_entities,
    spread,
)
from hindsight_integrations.model.arrays import FloatArray, Hits, IntArray
from hindsight_integrations.model.links import LINK_CODES

NOBODY = int_array()


def graph_of(links: Iterable[LinkRow] = (), said: Iterable[Pair] = ()) -> RustworkxMemoryGraph:
    graph = RustworkxMemoryGraph()
    fill(graph, links=links, mentioned=said)
    return graph


def seeded(activations: Mapping[int, float]) -> Hits:
    return Hits(int_array(activations), np.array(list(activations.values()), np.float32))


def indifferent(ids: IntArray) -> FloatArray:
    return np.zeros(len(ids), np.float32)


def walked(
    walk: Callable[..., Hits], graph: RustworkxMemoryGraph, seeds: Mapping[int, float], **options: Any
) -> dict[int, float]:
    """Return the results of a strategy, best first."""
    settings_ = {"muted": NOBODY, "allowed": any_unit, "budget": 100, "similarity": indifferent, **options}
    hits = walk(graph, seeded(seeds), **settings_)
    assert (hits.ids.dtype, hits.scores.dtype) == (np.dtype(np.int64), np.dtype(np.float32))
    return dict(zip(hits.ids.tolist(), hits.scores.tolist(), strict=True))


# -- eq. 12 by hand ---------------------------------------------------------------------------------------------------


def test_activation_decays_by_a_fifth_per_hop_and_stops_after_four() -> None:
    """A chain of links of weight 1 from a seed of 1: 1, 0.8, 0.64, 0.512, 0.4096, and no fifth hop."""
    chain = graph_of([(unit, unit + 1, SEMANTIC, 1.0) for unit in range(6)])
    assert walked(spread, chain, {0: 1.0}) == pytest.approx(
        {0: 1.0, 1: 0.8, 2: 0.64, 3: 0.512, 4: 0.4096}, abs=1e-6
    )


def test_what_falls_below_a_tenth_is_dropped() -> None:
    """From 0.5 over links of 0.4: 0.16, then 0.0512, which is below the threshold."""
    chain = graph_of([(0, 1, TEMPORAL, 0.4), (1, 2, TEMPORAL, 0.4)])
    assert walked(spread, chain, {0: 0.5}) == pytest.approx({0: 0.5, 1: 0.16}, abs=1e-6)


@every_row(
    ("code", "weight", "expected"),
    [
        (SEMANTIC, 0.8, 0.64), (TEMPORAL, 0.6, 0.48), (CAUSES, 0.4, 0.64), (CAUSED_BY, 0.4, 0.64),
        (ENABLES, 0.6, 0.72), (PREVENTS, 0.6, 0.72), (CAUSES, 1.0, 0.95), (ENABLES, 1.0, 0.95),
    ],
)  # fmt: skip
def test_each_kind_of_link_has_its_multiplier_and_none_beats_the_cap(
    code: int, weight: float, expected: float
) -> None:
    """w * 0.8 * mu: causal 2.0, enabling and preventing 1.5, others 1; never more than 0.95."""
    assert walked(spread, graph_of([(0, 1, code, weight)]), {0: 1.0})[1] == pytest.approx(expected, abs=1e-6)


def test_effects_lead_to_causes_as_causes_to_effects() -> None:
    """Causal links work in both directions with the same strength."""
    graph = graph_of([(0, 1, CAUSES, 0.4)])
    assert walked(spread, graph, {1: 1.0})[0] == walked(spread, graph, {0: 1.0})[1]


def test_a_unit_keeps_its_maximum_not_a_sum() -> None:
    """Of two paths with 0.64 and 0.32 the maximum counts."""
    graph = graph_of([(1, 3, SEMANTIC, 0.8), (2, 3, SEMANTIC, 0.4)])
    assert walked(spread, graph, {1: 1.0, 2: 1.0})[3] == pytest.approx(0.64, abs=1e-6)


def test_a_longer_strong_path_beats_a_short_weak_one() -> None:
    """0.2 straight is worth 0.16; two causal hops are worth 0.9025."""
    graph = graph_of([(0, 2, TEMPORAL, 0.2), (0, 1, CAUSES, 1.0), (1, 2, CAUSES, 1.0)])
    assert walked(spread, graph, {0: 1.0})[2] == pytest.approx(0.95**2, abs=1e-6)


def test_sharing_an_entity_is_one_hop() -> None:
    """Units that mention one entity are one hop apart (0.95), through a second entity two (0.9025); four hops reach 4."""
    graph = graph_of(said=[(unit, entity) for unit in range(7) for entity in (unit, unit + 1)])
    found = walked(spread, graph, {0: 1.0})
    assert found == pytest.approx({hop: 0.95**hop for hop in range(5)}, abs=1e-6)


def test_hubs_transmit_nothing() -> None:
    """Sharing the user as an entity transmits nothing; sharing Room 101 does."""
    graph = graph_of(said=[(0, 7), (1, 7), (0, 8), (2, 8)])
    assert set(walked(spread, graph, {0: 1.0}, muted=int_array([7]))) == {0, 2}


def test_units_outside_the_window_neither_show_nor_transmit() -> None:
    """Units outside the filter are neither returned nor traversed, whether given as ids or as a mask."""
    graph = graph_of([(0, 1, SEMANTIC, 1.0), (1, 2, SEMANTIC, 1.0), (0, 3, SEMANTIC, 1.0)])
    by_ids = walked(spread, graph, {0: 1.0, 1: 0.9}, allowed=units_among([0, 2, 3]))
    by_mask = walked(spread, graph, {0: 1.0, 1: 0.9}, allowed=lambda ids: ids != 1)
    assert set(by_ids) == {0, 3}
    assert by_ids == by_mask


def test_an_entity_lights_its_two_hundred_units_nearest_to_the_query() -> None:
    """Of an entity's 260 units, the 200 most similar to the question are activated."""
    graph = graph_of(said=[(unit, 7) for unit in range(260)])
    found = walked(spread, graph, {0: 1.0}, budget=1000, similarity=lambda ids: (-ids).astype(np.float32))
    assert set(found) == set(range(200))


def test_the_fan_out_is_spent_on_units_that_may_be_seen() -> None:
    """Closed units do not use up the fan-out."""
    graph = graph_of(said=[(unit, 7) for unit in range(260)])
    valid = units_among([0, *range(60, 260)])
    found = walked(
        spread, graph, {0: 1.0}, budget=1000, allowed=valid, similarity=lambda ids: (-ids).astype(np.float32)
    )
    assert set(found) == {0, *range(60, 259)}


def test_units_without_a_vector_are_the_farthest() -> None:
    """Units without a vector come last among equals."""
    graph = graph_of(said=[(unit, 7) for unit in range(4)])
    near = {0: 0.0, 1: math.nan, 2: 0.1, 3: 0.9}
    found = walked(
        spread,
        graph,
        {0: 1.0},
        similarity=lambda ids: np.array([near[unit] for unit in ids.tolist()], np.float32),
    )
    assert list(found) == [0, 3, 2, 1]


def test_ties_go_by_hop_then_cosine_then_id() -> None:
    """Ties are ordered by hops, then cosine, then id."""
    links = [(0, 1, SEMANTIC, 0.8), (1, 9, SEMANTIC, 1.0)]  # 9 at 0.512, two hops
    links += [(0, unit, CAUSES, 0.4) for unit in (7, 5, 6)]  # 5, 6, 7 at 0.64, one hop
    links += [
        (5, 8, SEMANTIC, 1.0),
        (20, 21, SEMANTIC, 0.64),
        (20, 22, SEMANTIC, 0.8),
    ]  # 8 at 0.512, two hops
    near = {7: 0.9, 9: 0.3, 8: 0.1}
    found = walked(
        spread,
        graph_of(links),
        {0: 1.0, 30: 0.512},
        similarity=lambda ids: np.array([near.get(unit, 0.0) for unit in ids.tolist()], np.float32),
    )
    assert list(found) == [0, 7, 1, 5, 6, 30, 9, 8]


def test_the_budget_limits_what_comes_back_to_the_most_active() -> None:
    """A smaller budget returns the head of a larger budget's result."""
    graph = graph_of(
        [(0, unit, SEMANTIC, 1.0 - 0.2 * (unit % 4)) for unit in range(1, 12)], [(1, 5), (12, 5)]
    )
    everything = list(walked(spread, graph, {0: 1.0}).items())
    assert list(walked(spread, graph, {0: 1.0}, budget=4).items()) == everything[:4]
    assert walked(spread, graph, {0: 1.0}, budget=0) == {}


def test_seeds_are_clipped_merged_and_may_be_unknown() -> None:
    """Seeds are clipped to [0.1, 1], duplicates keep the best, and a seed not in the graph is still returned."""
    seeds = Hits(int_array([5, 5, 6, 7]), np.array([0.3, 0.6, 1.2, 0.05], np.float32))
    hits = spread(graph_of(), seeds, muted=NOBODY, allowed=any_unit, budget=10, similarity=indifferent)
    assert (hits.ids.tolist(), hits.scores.tolist()) == ([6, 5], pytest.approx([1.0, 0.6]))


def test_no_seeds_no_activation() -> None:
    """Without seeds, nothing is activated."""
    graph = graph_of([(0, 1, SEMANTIC, 1.0)])
    assert walked(spread, graph, {}) == {}


# -- eq. 12 by properties ---------------------------------------------------------------------------------------------

IDS = st.integers(0, 11)
WEIGHTS = st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.0])  # exact in a byte
LINKS = st.lists(
    st.tuples(IDS, IDS, st.sampled_from(sorted(LINK_CODES.values())), WEIGHTS).filter(lambda row: row[0] != row[1]),
    max_size=20, unique_by=lambda row: row[:3],
)  # fmt: skip
SAID = st.lists(st.tuples(IDS, st.integers(0, 5)), max_size=16)
SEEDS = st.dictionaries(IDS, st.sampled_from([0.05, 0.3, 0.5, 0.75, 1.0]), max_size=4)
MU = {CAUSES: 2.0, CAUSED_BY: 2.0, ENABLES: 1.5, PREVENTS: 1.5}


def literal_spread(
    links: list[LinkRow], said: list[Pair], seeds: Mapping[int, float], muted: set[int], budget: int
) -> tuple[list[float], dict[int, float]]:
    """Compute eq. 12 edge by edge, with the design's floor, cap and beam."""
    gains = [(a, b, min(w * 0.8 * MU.get(code, 1.0), 0.95)) for a, b, code, w in links]
    shared = [(a, b) for a, one in said for b, other in said if a != b and one == other and one not in muted]
    gains += [(a, b, 0.95) for a, b in shared]
    gains += [(b, a, passed) for a, b, passed in gains]
    best = {unit: activation for unit, activation in seeds.items() if activation >= 0.1}
    active = dict(best)
    for _ in range(4):
        active = dict(sorted(active.items(), key=lambda item: (-np.float32(item[1]), item[0]))[:budget])
        reached: dict[int, float] = {}
        for a, b, passed in gains:
            if a in active and active[a] * passed >= 0.1:
                reached[b] = max(reached.get(b, 0.0), active[a] * passed)
        active = {unit: value for unit, value in reached.items() if value > best.get(unit, 0.0)}
        best |= active
    return sorted((float(np.float32(value)) for value in best.values()), reverse=True)[:budget], best


@settings(max_examples=40, deadline=None)
@given(
    links=LINKS,
    said=SAID,
    seeds=SEEDS,
    muted=st.sets(st.integers(0, 5), max_size=2),
    budget=st.integers(1, 15),
)
def test_spread_is_equation_12(
    links: list[LinkRow], said: list[Pair], seeds: dict[int, float], muted: set[int], budget: int
) -> None:
    """The vectorised walk gives the same result as eq. 12 edge by edge, under any budget."""
    found = walked(spread, graph_of(links, said), seeds, muted=int_array(sorted(muted)), budget=budget)
    activations, everyone = literal_spread(links, said, seeds, muted, budget)
    assert list(found.values()) == pytest.approx(activations, abs=1e-5)
    assert found == pytest.approx({unit: everyone[unit] for unit in found}, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(links=LINKS, said=SAID, seeds=SEEDS)
def test_activation_stays_in_range_and_under_the_best_seed(
    links: list[LinkRow], said: list[Pair], seeds: dict[int, float]
) -> None:
    """Activations are in [0.1, 1], sorted, at most the strongest seed, and no seed falls below its start."""
    found = walked(spread, graph_of(links, said), seeds)
    values = list(found.values())
    assert values == sorted(values, reverse=True)
    assert all(0.1 - 1e-6 <= value <= max(seeds.values()) + 1e-6 for value in values)
    assert all(found[unit] >= np.float32(value) for unit, value in seeds.items() if value >= 0.1)


@settings(max_examples=40, deadline=None)
@given(links=LINKS, said=SAID, seeds=SEEDS, more=LINKS, unit=IDS)
def test_more_links_and_stronger_seeds_never_lower_an_activation(
    links: list[LinkRow], said: list[Pair], seeds: dict[int, float], more: list[LinkRow], unit: int
) -> None:
    """More links or stronger seeds never lower an activation, unless the budget cuts."""
    before = walked(spread, graph_of(links, said), seeds)
    after = walked(spread, graph_of([*links, *more], said), seeds | {unit: 1.0})
    assert all(after[known] >= value - 1e-6 for known, value in before.items())


@given(
    weight=st.floats(0, 1), mu=st.floats(1, 2), decays=st.tuples(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
)
def test_gain_rises_with_decay_up_to_the_cap(weight: float, mu: float, decays: tuple[float, float]) -> None:
    """A larger decay factor passes on more, within [0, 0.95]."""
    weak, strong = (float(gain(np.array([weight]), np.array([mu]), delta)[0]) for delta in sorted(decays))
    assert 0.0 <= weak <= strong <= 0.95


# -- entities ---------------------------------------------------------------------------------------------------------


def test_entities_named_in_the_query_seed_their_units() -> None:
    """Each unit of a named entity starts at 0.95, nearest first; a muted one seeds nothing."""
    graph = graph_of(said=[(1, 7), (2, 7), (3, 8), (4, 9)])
    hits = entity_seeds(
        graph,
        int_array([7, 9]),
        muted=int_array([9]),
        allowed=any_unit,
        similarity=lambda ids: ids.astype(np.float32),
    )
    assert (hits.ids.tolist(), hits.scores.tolist()) == ([2, 1], pytest.approx([0.95, 0.95]))
    assert entity_gain() == pytest.approx(0.95)


def test_a_unit_naming_two_entities_is_one_seed_and_the_window_holds() -> None:
    """Seeds are distinct and allowed."""
    graph = graph_of(said=[(1, 7), (1, 8), (2, 7)])
    hits = entity_seeds(
        graph, int_array([7, 8]), muted=NOBODY, allowed=units_among([1]), similarity=indifferent
    )
    assert hits.ids.tolist() == [1]


def test_hubs_are_the_tenth_most_banks_talk_of_and_the_roles() -> None:
    """An entity in more than a tenth of 100 units is a hub, in a small bank in more than four; the user always is."""
    entities, degrees = int_array([1, 2, 3]), int_array([11, 10, 1])
    assert hub_entities(entities, degrees, 100, int_array([3])).tolist() == [1, 3]
    assert hub_entities(entities, int_array([5, 4, 1]), 8, NOBODY).tolist() == [1]

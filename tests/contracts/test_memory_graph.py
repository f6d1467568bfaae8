"""The memory graph fulfils the contract, and agrees with a simple reference implementation."""

from __future__ import annotations

from dict_memory_graph import DictMemoryGraph
from graph_rows import edges, fill, int_array, link_triples, mentions, pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_graph_contract import MemoryGraphContract

from hindsight_integrations.indexes.graph import RustworkxMemoryGraph
from hindsight_integrations.indexes.protocols import MemoryGraph
from hindsight_integrations.model.links import LINK_CODES


class TestRustworkxMemoryGraph(MemoryGraphContract):
    def make_graph(self) -> MemoryGraph:
        return RustworkxMemoryGraph()


class TestDictMemoryGraph(MemoryGraphContract):
    def make_graph(self) -> MemoryGraph:
        return DictMemoryGraph()


IDS = st.integers(0, 9)
# Weights that one byte represents exactly, so that rounding cannot make the two graphs differ.
WEIGHTS = st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
LINKS = st.tuples(IDS, IDS, st.sampled_from(sorted(LINK_CODES.values())), WEIGHTS).filter(
    lambda row: row[0] != row[1]
)
ADDITION = st.tuples(
    st.lists(IDS, max_size=3), st.lists(LINKS, max_size=8), st.lists(st.tuples(IDS, IDS), max_size=8)
)
Addition = tuple[list[int], list[tuple[int, int, int, float]], list[tuple[int, int]]]
STEPS = st.lists(st.one_of(ADDITION, st.lists(IDS, max_size=3)), max_size=6)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_both_graphs_tell_the_same_story(steps: list[Addition | list[int]]) -> None:
    """Both graphs give the same answers, whatever was added and removed before."""
    compact, plain = RustworkxMemoryGraph(), DictMemoryGraph()
    everything = int_array(range(10))
    for step in steps:
        for graph in (compact, plain):
            if isinstance(step, tuple):
                graph.add(int_array(step[0]), edges(step[1]), mentions(step[2]))
            else:
                graph.remove(int_array(step))
        assert compact.counts() == plain.counts()
        # Between the steps too, because a cached answer must not survive a change.
        assert pairs(compact.units_of(everything)) == pairs(plain.units_of(everything))
    ours, theirs = compact.links(everything), plain.links(everything)
    assert link_triples(ours) == link_triples(theirs)
    assert ours.weights.tolist() == theirs.weights.tolist()
    assert pairs(compact.entities_of(everything)) == pairs(plain.entities_of(everything))
    assert pairs(compact.units_of(everything)) == pairs(plain.units_of(everything))


def test_a_closed_graph_has_let_go() -> None:
    """Closing a bank frees its graph's memory."""
    graph = RustworkxMemoryGraph()
    fill(graph, units=[1], mentioned=[(1, 7)])
    graph.close()
    assert graph.counts() == (0, 0, 0, 0)

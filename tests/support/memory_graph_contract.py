"""The contract of every MemoryGraph, as tests. Subclass it, implement `make_graph`, name the class Test..."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from builders import make_mark
from graph_rows import fill, int_array, link_triples, pairs

from hindsight_integrations.indexes.protocols import MemoryGraph
from hindsight_integrations.model.links import LINK_CODES, CausalRelation, LinkType

TEMPORAL = LINK_CODES[LinkType.TEMPORAL, None]
SEMANTIC = LINK_CODES[LinkType.SEMANTIC, None]
CAUSES = LINK_CODES[LinkType.CAUSAL, CausalRelation.CAUSES]
CAUSED_BY = LINK_CODES[LinkType.CAUSAL, CausalRelation.CAUSED_BY]
ENABLES = LINK_CODES[LinkType.CAUSAL, CausalRelation.ENABLES]
PREVENTS = LINK_CODES[LinkType.CAUSAL, CausalRelation.PREVENTS]

WEIGHT_STEP = 1 / 255  # a graph may round weights to a byte
FAR = 2**40  # row ids may be large


class MemoryGraphContract(ABC):
    """The contract of `MemoryGraph`."""

    @abstractmethod
    def make_graph(self) -> MemoryGraph:
        """A new, empty graph."""

    @pytest.fixture
    def graph(self) -> Iterator[MemoryGraph]:
        """A new graph, closed afterwards."""
        graph = self.make_graph()
        yield graph
        graph.close()

    def test_a_new_graph_is_empty_and_has_reached_nothing(self, graph: MemoryGraph) -> None:
        """It has no watermark, so that it is filled from the beginning."""
        assert graph.watermark is None
        assert graph.counts() == (0, 0, 0, 0)

    def test_counts_tell_units_entities_links_and_mentions(self, graph: MemoryGraph) -> None:
        """Doctor compares these four numbers with the ledger's."""
        fill(graph, units=[1, 2, 3], links=[(1, 2, SEMANTIC, 0.8)], mentioned=[(1, 7), (2, 7), (2, 8)])
        assert graph.counts() == (3, 2, 1, 3)

    def test_links_come_from_both_sides_and_point_away(self, graph: MemoryGraph) -> None:
        """Activation spreads from effect to cause as well as from cause to effect."""
        fill(graph, links=[(1, 2, TEMPORAL, 0.5), (3, 1, SEMANTIC, 0.8)])
        assert link_triples(graph.links(int_array([1]))) == [(1, 2, TEMPORAL), (1, 3, SEMANTIC)]
        assert link_triples(graph.links(int_array([2]))) == [(2, 1, TEMPORAL)]

    def test_a_cause_seen_from_its_effect_is_caused_by(self, graph: MemoryGraph) -> None:
        """causes and caused_by are inverses; enables and prevents have none and keep their code."""
        fill(
            graph,
            links=[(1, 2, CAUSES, 1.0), (1, 3, CAUSED_BY, 1.0), (1, 4, ENABLES, 1.0), (1, 5, PREVENTS, 1.0)],
        )
        seen = [link_triples(graph.links(int_array([unit]))) for unit in (2, 3, 4, 5)]
        assert seen == [[(2, 1, CAUSED_BY)], [(3, 1, CAUSES)], [(4, 1, ENABLES)], [(5, 1, PREVENTS)]]

    def test_a_link_between_two_given_units_is_seen_from_each(self, graph: MemoryGraph) -> None:
        """Both units are linked to each other."""
        fill(graph, links=[(1, 2, CAUSES, 1.0)])
        assert link_triples(graph.links(int_array([1, 2]))) == [(1, 2, CAUSES), (2, 1, CAUSED_BY)]

    def test_links_are_ordered_by_given_unit_then_target_then_code(self, graph: MemoryGraph) -> None:
        """The list does not depend on the order in which the graph was written."""
        rows = [
            (5, 1, CAUSES, 1.0),
            (2, 9, SEMANTIC, 0.9),
            (2, 9, TEMPORAL, 0.4),
            (9, 5, TEMPORAL, 0.6),
            (2, 3, PREVENTS, 1.0),
        ]
        fill(graph, links=rows)
        expected = [
            (2, 3, PREVENTS), (2, 9, TEMPORAL), (2, 9, SEMANTIC), (5, 1, CAUSES), (5, 9, TEMPORAL),
        ]  # fmt: skip
        assert link_triples(graph.links(int_array([2, 5]))) == expected

    def test_weights_come_back_within_one_step(self, graph: MemoryGraph) -> None:
        """A weight of 0.73 may be rounded to a byte, but not more."""
        given = np.linspace(0.0, 1.0, 97)
        fill(graph, links=[(0, unit + 1, SEMANTIC, weight) for unit, weight in enumerate(given)])
        found = graph.links(int_array([0])).weights
        assert found.dtype == np.float32
        assert np.abs(found - given).max() <= WEIGHT_STEP
        assert (found[0], found[-1]) == (0.0, 1.0)

    def test_adding_again_changes_nothing(self, graph: MemoryGraph) -> None:
        """A replay after a crash adds no second link, and the first weight is kept."""
        rows, mentioned = [(1, 2, SEMANTIC, 0.8), (1, 2, CAUSES, 1.0)], [(1, 7), (2, 7)]
        fill(graph, units=[1, 2], links=rows, mentioned=mentioned)
        fill(graph, units=[1, 2], links=[(1, 2, SEMANTIC, 0.2), *rows], mentioned=mentioned + mentioned)
        assert graph.counts() == (2, 1, 2, 2)
        assert link_triples(graph.links(int_array([1]))) == [(1, 2, SEMANTIC), (1, 2, CAUSES)]
        assert graph.links(int_array([1])).weights[0] == pytest.approx(0.8, abs=WEIGHT_STEP)

    def test_repeats_within_one_batch_stay_single(self, graph: MemoryGraph) -> None:
        """One feed may contain a link twice."""
        fill(graph, units=[1, 1], links=[(1, 2, TEMPORAL, 0.6)] * 3, mentioned=[(1, 7)] * 3)
        assert graph.counts() == (2, 1, 1, 1)
        assert pairs(graph.units_of(int_array([7]))) == [(1, 7)]

    def test_other_kinds_and_the_other_direction_are_other_links(self, graph: MemoryGraph) -> None:
        """A link from 1 to 2 is separate from one in the other direction, and from a similarity link."""
        fill(graph, links=[(1, 2, CAUSES, 1.0), (2, 1, CAUSES, 1.0), (1, 2, SEMANTIC, 0.8)])
        assert graph.counts()[2] == 3
        expected = [(1, 2, SEMANTIC), (1, 2, CAUSES), (1, 2, CAUSED_BY)]
        assert link_triples(graph.links(int_array([1]))) == expected

    def test_a_link_or_mention_brings_its_unit(self, graph: MemoryGraph) -> None:
        """The parts of a feed may come in any order."""
        fill(graph, links=[(1, 2, TEMPORAL, 0.5)], mentioned=[(3, 7)])
        assert graph.counts()[0] == 3

    def test_mentions_are_ordered_from_either_side(self, graph: MemoryGraph) -> None:
        """Fan-out limits are applied to a list whose order is stable."""
        fill(graph, mentioned=[(4, 8), (2, 9), (4, 7), (2, 7), (3, 9)])
        assert pairs(graph.entities_of(int_array([2, 4]))) == [(2, 7), (2, 9), (4, 7), (4, 8)]
        assert pairs(graph.units_of(int_array([7, 9]))) == [(2, 7), (4, 7), (2, 9), (3, 9)]

    def test_a_unit_and_an_entity_may_have_the_same_number(self, graph: MemoryGraph) -> None:
        """Row ids of units and entities are independent, and may be large."""
        fill(graph, units=[FAR], links=[(FAR, 7, SEMANTIC, 0.8)], mentioned=[(7, FAR), (7, 7)])
        assert graph.counts() == (2, 2, 1, 2)
        assert pairs(graph.entities_of(int_array([7]))) == [(7, 7), (7, FAR)]
        assert pairs(graph.units_of(int_array([FAR]))) == [(7, FAR)]
        assert link_triples(graph.links(int_array([7]))) == [(7, FAR, SEMANTIC)]

    def test_unknown_and_no_ids_give_empty_int64_arrays(self, graph: MemoryGraph) -> None:
        """A query about an unknown unit finds nothing instead of failing."""
        fill(graph, units=[1], mentioned=[(1, 7)])
        for ids in (int_array(), int_array([404])):
            found, mentioned, by = graph.links(ids), graph.entities_of(ids), graph.units_of(ids)
            arrays = [found.sources, found.targets, found.codes, mentioned.units, mentioned.entities]
            arrays += [by.units, by.entities]
            assert [(len(array), array.dtype) for array in arrays] == [(0, np.dtype(np.int64))] * len(arrays)
            assert (len(found.weights), found.weights.dtype) == (0, np.dtype(np.float32))

    def test_removal_takes_links_and_mentions_along(self, graph: MemoryGraph) -> None:
        """After forget no trace of the unit is left; other units keep their links and mentions."""
        fill(graph, links=[(1, 2, CAUSES, 1.0), (2, 3, SEMANTIC, 0.8)], mentioned=[(1, 7), (2, 7), (1, 8)])
        graph.remove(int_array([1, 404, 1]))
        assert graph.counts() == (2, 1, 1, 1)
        assert link_triples(graph.links(int_array([1, 2]))) == [(2, 3, SEMANTIC)]
        assert pairs(graph.units_of(int_array([7, 8]))) == [(2, 7)]

    def test_a_removed_unit_comes_back_bare(self, graph: MemoryGraph) -> None:
        """A unit that is added after its removal has none of its earlier links."""
        fill(graph, links=[(1, 2, SEMANTIC, 0.8)], mentioned=[(1, 7), (2, 8)])
        graph.remove(int_array([1]))
        fill(graph, units=[1, 5], mentioned=[(6, 9)])
        assert graph.counts() == (4, 2, 0, 2)
        assert len(graph.links(int_array([1, 2, 5, 6])).sources) == 0
        assert pairs(graph.entities_of(int_array([1, 2, 5, 6]))) == [(2, 8), (6, 9)]

    def test_in_parts_or_at_once_is_the_same_graph(self, graph: MemoryGraph) -> None:
        """Catching up commit by commit gives the same graph as a rebuild from the ledger."""
        draw = np.random.default_rng(7)
        ends, codes = draw.integers(0, 40, (200, 2)), draw.integers(0, len(LINK_CODES), 200)
        rows = [(int(a), int(b), int(code), 0.6) for (a, b), code in zip(ends, codes, strict=True) if a != b]
        mentioned = [(int(unit), int(entity)) for unit, entity in draw.integers(0, 40, (150, 2))]
        for start in range(0, 200, 30):
            fill(graph, links=rows[start : start + 30], mentioned=mentioned[start : start + 30])
        whole = self.make_graph()
        fill(whole, links=rows, mentioned=mentioned)
        everyone = int_array(range(40))
        assert graph.counts() == whole.counts()
        assert link_triples(graph.links(everyone)) == link_triples(whole.links(everyone))
        assert pairs(graph.entities_of(everyone)) == pairs(whole.entities_of(everyone))
        whole.close()

    def test_advance_moves_the_watermark_and_clear_resets_it(self, graph: MemoryGraph) -> None:
        """A cleared graph is filled from the beginning."""
        fill(graph, units=[1], links=[(1, 2, TEMPORAL, 0.5)], mentioned=[(1, 7)])
        graph.advance(make_mark(12))
        assert str(graph.watermark) == str(make_mark(12))
        graph.clear()
        assert (graph.watermark, graph.counts()) == (None, (0, 0, 0, 0))
        fill(graph, units=[3])
        assert graph.counts() == (1, 0, 0, 0)

    def test_readers_and_the_writer_do_not_disturb_each_other(self, graph: MemoryGraph) -> None:
        """Recalls during a retain give complete, ordered answers."""
        fill(graph, links=[(0, 1, SEMANTIC, 0.8)], mentioned=[(0, 0)])

        def read(_: int) -> bool:
            links, by = link_triples(graph.links(int_array([0]))), pairs(graph.units_of(int_array([0])))
            return links == sorted(set(links)) and by == sorted(set(by)) and len(links) >= 1 <= len(by)

        def write(unit: int) -> bool:
            links = [(0, unit, SEMANTIC, 0.8), (unit, 0, TEMPORAL, 0.5)]
            fill(graph, links=links, mentioned=[(unit, 0), (unit, unit)])
            graph.remove(int_array([unit - 1] if unit % 3 == 0 else []))
            return True

        with ThreadPoolExecutor(4) as pool:
            writing = pool.submit(lambda: [write(unit) for unit in range(2, 150)])
            assert all(pool.map(read, range(300)))
            assert len(writing.result()) == 148
        assert len(pairs(graph.units_of(int_array([0])))) == 1 + 148 - 49

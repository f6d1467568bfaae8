"""Contract of the feed; part of `LedgerContract`."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from builders import (
    DIMENSION,
    at,
    make_entity,
    make_event,
    make_unit,
    make_units,
    make_vector,
    make_write_set,
    with_vector,
)
from ledger_support import (
    CLOSED,
    RESTORED,
    changes,
    commit,
    everything_of,
    rich_write_set,
)

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import NEVER, UNDATED
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.links import LINK_CODES, Link, LinkType
from hindsight_integrations.model.time import Interval, to_micros
from hindsight_integrations.model.units import FactType


def gaps_of(ledger: Ledger, bank: str, *, since: int) -> list[tuple[str, float, float]]:
    """Return the validity gaps of units changed after a revision, in hours after START."""
    gaps = changes(ledger, bank, since).columns.gaps
    assert gaps.dtype == np.int64
    names = ledger.units.unit_ids(bank, gaps[:, 0])
    begin, hour = to_micros(at(0)), to_micros(at(1)) - to_micros(at(0))
    return [
        (names[row], (closed - begin) / hour, (back - begin) / hour) for row, closed, back in gaps.tolist()
    ]


class TestFeed:
    """A feed contains exactly what was committed after a revision, and all its parts are from one state."""

    def test_vectors_in_blocks_are_those_asked_for_by_id(self, ledger: Ledger, bank: str) -> None:
        """Each row has its own vector, and none is missing or repeated, whether read in blocks or by id."""
        commit(ledger, make_write_set(bank=bank, units=make_units(*(f"u{n}" for n in range(9)), bank=bank)))
        commit(ledger, make_write_set(1, bank=bank, units=make_units("v1", "v2", bank=bank)))
        for since, expected in ((0, 11), (1, 2), (2, 0)):
            with ledger.feed(bank) as feed:
                ids, blocks = feed.embedded(since), list(feed.vectors(since))
                assert len(ids) == expected == sum(len(rows) for rows, _ in blocks)
                given = {
                    row: matrix[n].tolist() for rows, matrix in blocks for n, row in enumerate(rows.tolist())
                }
                assert [given[row] for row in ids.tolist()] == feed.vectors_of(ids)[1].tolist()

    def test_entities_are_found_by_how_many_units_mention_them(self, ledger: Ledger, bank: str) -> None:
        """Entities above a number of mentions are found without counting, and the numbers are up to date."""
        writes = make_write_set(
            bank=bank,
            units=make_units("u1", "u2", "u3", bank=bank),
            entities=[make_entity("e1", "alice"), make_entity("e2", "acme")],
            mentions=[("u1", "e1"), ("u2", "e1"), ("u3", "e1"), ("u3", "e2")],
        )
        commit(ledger, writes)
        assert self.mentioned(ledger, bank) == [[3, 1], [3], [3], []]
        ledger.erasure.erase(bank, Erasure(unit="u1"))
        assert self.mentioned(ledger, bank) == [[2, 1], [2], [], []]

    def mentioned(self, ledger: Ledger, bank: str) -> list[list[int]]:
        """Return degrees of the entities mentioned by more than 0, 1, 2.5 and 3 units."""
        with ledger.feed(bank) as feed:
            found = [feed.mentioned(bar) for bar in (0, 1, 2.5, 3)]
        assert all((ids[:-1] < ids[1:]).all() for ids, _ in found)
        return [degrees.tolist() for _, degrees in found]

    def test_columns_describe_units(self, ledger: Ledger, bank: str) -> None:
        """The columns recall filters by carry the units' times, type, validity, cost and tags."""
        span = Interval(at(-2), at(-1))
        dated = make_unit("u1", "two words", fact_type=FactType.EXPERIENCE, hours=3, tags=("a",))
        commit(
            ledger,
            make_write_set(
                units=[with_vector(replace(dated, occurred=span)), with_vector(make_unit("u2"))],
                events=[make_event("u2", CLOSED, 4)],
            ),
        )
        columns = changes(ledger, bank).columns
        rows = ledger.units.row_ids(bank, ["u1", "u2"])
        assert columns.ids.tolist() == [rows["u1"], rows["u2"]]
        assert columns.types.tolist() == [list(FactType).index(FactType.EXPERIENCE), 0]
        assert columns.starts.tolist() == [to_micros(span.start), UNDATED]
        assert columns.ends.tolist() == [to_micros(span.end), UNDATED]
        assert columns.mentioned.tolist() == [to_micros(at(3)), to_micros(at(0))]
        assert columns.closed.tolist() == [NEVER, to_micros(at(4))]
        assert columns.tokens.tolist() == [2, 2]
        assert columns.heads.tolist() == [0, 0]
        assert columns.tags == [("a",), ()]
        assert columns.ids.dtype == columns.closed.dtype == np.int64

    def test_feeds_tell_what_is_new_since_a_revision(self, ledger: Ledger, bank: str) -> None:
        """An index at revision r receives exactly what was committed after r."""
        commit(ledger, rich_write_set())
        later = make_write_set(1, units=make_units("u3"), mentions=[("u3", "e1"), ("u2", "e2")])
        commit(ledger, replace(later, links=(Link("u3", "u1", LinkType.TEMPORAL, 0.25),)))
        rows, names = (
            ledger.units.row_ids(bank, ["u1", "u2", "u3"]),
            ledger.entities.row_ids(bank, ["e1", "e2"]),
        )
        new, nothing = changes(ledger, bank, 1), changes(ledger, bank, 2)
        assert new.columns.ids.tolist() == [rows["u3"]]
        ids, vectors = new.vectors
        assert (ids.tolist(), vectors.shape) == ([rows["u3"]], (1, DIMENSION))
        assert vectors.dtype == np.float32
        assert vectors[0] == pytest.approx(make_vector("u3"))
        assert new.texts[1] == ["fact u3"]
        units, edges, mentions = new.graph
        assert units.tolist() == [rows["u3"]]
        assert (edges.sources.tolist(), edges.targets.tolist()) == ([rows["u3"]], [rows["u1"]])
        assert edges.codes.tolist() == [LINK_CODES[LinkType.TEMPORAL, None]]
        assert edges.weights.tolist() == [0.25]
        pairs = list(zip(mentions.units.tolist(), mentions.entities.tolist(), strict=True))
        assert pairs == [(rows["u2"], names["e2"]), (rows["u3"], names["e1"])]
        assert everything_of(ledger)[0] == 2
        assert len(nothing.columns.ids) == len(nothing.graph[1].sources) == 0

    def test_a_validity_event_moves_columns_only(self, ledger: Ledger, bank: str) -> None:
        """Closing a unit reports its columns again, but not its text, vector or links."""
        commit(ledger, make_write_set(units=make_units("u1", "u2")))
        commit(ledger, make_write_set(1, events=[make_event("u1", CLOSED, 1)]))
        new = changes(ledger, bank, 1)
        assert new.columns.ids.tolist() == [ledger.units.row_ids(bank, ["u1"])["u1"]]
        assert len(new.texts[1]) == len(new.vectors[0]) == len(new.graph[0]) == 0

    def test_columns_tell_when_a_unit_was_closed_before_it_was_restored(
        self, ledger: Ledger, bank: str
    ) -> None:
        """A closing that was undone, even before it took effect, becomes a gap from its earliest statement to its restoration."""
        log = [
            make_event("u1", CLOSED, 7),
            make_event("u1", CLOSED, 5, by_unit="u2"),
            make_event("u1", RESTORED, 9),
            make_event("u2", CLOSED, 6),
            make_event("u2", RESTORED, 6),
            make_event("u3", CLOSED, 8),
            make_event("u1", CLOSED, 12),
            make_event("u1", RESTORED, 15),
            make_event("u1", CLOSED, 20),
        ]
        commit(ledger, make_write_set(0, bank=bank, units=make_units("u1", "u2", "u3", bank=bank)))
        commit(ledger, make_write_set(1, bank=bank, events=log[:6]))
        assert gaps_of(ledger, bank, since=1) == [("u1", 5, 9)]
        commit(ledger, make_write_set(2, bank=bank, units=make_units("u4", bank=bank)))
        assert gaps_of(ledger, bank, since=2) == []
        commit(ledger, make_write_set(3, bank=bank, events=log[6:]))
        assert gaps_of(ledger, bank, since=0) == [("u1", 5, 9), ("u1", 12, 15)]
        assert gaps_of(ledger, bank, since=3) == [("u1", 5, 9), ("u1", 12, 15)]
        assert changes(ledger, bank, 4).columns.gaps.shape == (0, 3)

    def test_a_feed_is_of_one_state(self, ledger: Ledger, bank: str) -> None:
        """Columns, texts, vectors, graph and count are all from the feed's revision, despite concurrent commits."""
        wholes: list[list[int]] = []
        done = threading.Event()

        def follow() -> None:
            last = False
            while not last:
                last = done.is_set()
                new = changes(ledger, bank)
                parts = (new.columns.ids, new.texts[0], new.vectors[0], new.graph[0], new.graph[2].units)
                wholes.append([new.revision, new.count, *map(len, parts)])

        follower = threading.Thread(target=follow)
        follower.start()
        for revision in range(40):
            unit, entity = f"u{revision}", make_entity("e")
            units, mentions = make_units(unit), [(unit, "e")]
            commit(ledger, make_write_set(revision, units=units, entities=[entity], mentions=mentions))
        done.set()
        follower.join()
        assert wholes[-1][0] == 40
        assert [whole for whole in wholes if len(set(whole)) > 1] == []

    def test_each_part_has_its_own_since(self, ledger: Ledger, bank: str) -> None:
        """Indexes at different revisions can follow one feed."""
        for revision in range(3):
            commit(ledger, make_write_set(revision, units=make_units(f"u{revision}")))
        with ledger.feed(bank) as feed:
            assert (len(feed.texts(0)[1]), len(feed.embedded(1)), len(feed.columns(2).ids)) == (3, 2, 1)
            assert (feed.revision, feed.graph_epoch, feed.count()) == (3, 0, 3)

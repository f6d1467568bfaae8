"""Contract of erasure, edits and archives; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from archived import without_numbers
from builders import (
    DIMENSION,
    at,
    make_embedder,
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
    NO_IDS,
    NO_VECTORS,
    RESTORED,
    changes,
    commit,
    everything_of,
    rich_write_set,
)

from hindsight_integrations.errors import BankNotFound, InvalidRequest
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import ArchiveRow, EntitySplit, Json, Scrub, UnitEdit
from hindsight_integrations.model.arrays import NEVER
from hindsight_integrations.model.entities import EntityChangeKind
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.links import Link, LinkType
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import ValidityEvent
from hindsight_integrations.model.writes import MentionWrite, MessageKey


class TestErasure:
    """Erasure removes a unit with all its traces, and nothing of other units."""

    def test_an_erased_unit_leaves_no_trace(self, ledger: Ledger, bank: str) -> None:
        """Unit, vector, text, links, mentions and orphan entities go; the feed reports the row; others stay."""
        commit(ledger, rich_write_set())
        rows = ledger.units.row_ids(bank, ["u1", "u2"])
        receipt = ledger.erasure.erase(bank, Erasure(unit="u1"))
        assert (receipt.unit_ids, receipt.entity_ids, receipt.revision) == (("u1",), ("e2",), 2)
        assert [receipt.counts[kind] for kind in ("units", "vectors", "links", "entities")] == [1, 1, 1, 1]
        assert changes(ledger, bank, 1).removed.tolist() == [rows["u1"]]
        left = changes(ledger, bank)
        assert left.texts[1] == ["fact u2"]
        assert len(left.graph[1].sources) == 0
        assert left.vectors[0].tolist() == [rows["u2"]]
        assert ledger.entities.named(bank, ["acme", "alice"]).keys() == {"alice"}
        assert ledger.entities.named(bank, ["alice"])["alice"].mentions == 1

    def test_message_keys_outlive_their_memories(self, ledger: Ledger, bank: str) -> None:
        """A message whose memory was erased is still known as retained; only `everything` forgets message keys."""
        commit(ledger, rich_write_set())
        key = MessageKey("thread", "m1", "h1")
        ledger.erasure.erase(bank, Erasure(unit="u1"))
        assert ledger.turns.known(bank, [key]) == {key}
        receipt = ledger.erasure.erase(bank, Erasure(everything=True))
        assert (receipt.unit_ids, ledger.turns.known(bank, [key])) == (("u2",), frozenset())
        assert (ledger.units.count(bank), ledger.bank(bank).revision) == (0, 3)

    def test_what_the_erased_had_ended_holds_again(self, ledger: Ledger, bank: str) -> None:
        """What an erased unit had ended becomes valid again; receipt and feed report it, and none of its words remain in logs."""
        ended = [make_event("u1", CLOSED, 5, by_unit="u2", reason="she left")]
        commit(ledger, make_write_set(units=make_units("u1", "u2", "u3"), events=ended))
        receipt = ledger.erasure.erase(bank, Erasure(unit="u2"))
        assert (receipt.unit_ids, receipt.restored) == (("u2",), ("u1",))
        assert ledger.units.validity(bank, "u1") == []
        new, rows = changes(ledger, bank, 1), ledger.units.row_ids(bank, ["u1"])
        assert (new.columns.ids.tolist(), new.columns.closed.tolist()) == ([rows["u1"]], [NEVER])
        assert new.columns.gaps.tolist() == []
        assert ledger.units.get(bank, new.columns.ids)[rows["u1"]].closed_at is None
        assert ledger.units.damaged(bank) == ()

    @pytest.mark.parametrize(
        ("others", "closed_at"),
        [
            ([make_event("u1", CLOSED, 7, by_unit="u3")], at(7)),
            ([make_event("u1", CLOSED, 4, by_unit="u3")], at(4)),
            ([make_event("u1", CLOSED, 8)], at(8)),
            ([make_event("u1", CLOSED, 7, by_unit="u3"), make_event("u1", RESTORED, 9)], None),
        ],
        ids=["later", "earlier", "by hand", "undone since"],
    )
    def test_what_something_else_ended_too_stays_ended(
        self, ledger: Ledger, bank: str, others: list[ValidityEvent], closed_at: datetime | None
    ) -> None:
        """A memory ended by another unit too stays ended, from that unit's time on."""
        ended = make_event("u1", CLOSED, 5, by_unit="u2")
        commit(ledger, make_write_set(units=make_units("u1", "u2", "u3"), events=[ended, *others]))
        receipt = ledger.erasure.erase(bank, Erasure(unit="u2"))
        assert receipt.restored == ()
        assert ledger.units.validity(bank, "u1") == others
        row = ledger.units.row_ids(bank, ["u1"])["u1"]
        assert ledger.units.get(bank, np.array([row]))[row].closed_at == closed_at

    def test_of_two_that_ended_it_the_last_to_go_restores_it(self, ledger: Ledger, bank: str) -> None:
        """Of two units that ended a memory, erasing the last restores it; a dry run predicts it."""
        events = [make_event("u1", CLOSED, hours, by_unit=f"u{hours}") for hours in (2, 3)]
        commit(ledger, make_write_set(units=make_units("u1", "u2", "u3"), events=events))
        assert ledger.erasure.erase(bank, Erasure(unit="u2")).restored == ()
        assert ledger.erasure.erase(bank, Erasure(unit="u3"), dry_run=True).restored == ("u1",)
        assert ledger.erasure.erase(bank, Erasure(units=("u1", "u3"))).restored == ()
        assert ledger.units.count(bank) == 0

    def test_a_name_only_the_erased_unit_used_goes(self, ledger: Ledger, bank: str) -> None:
        """An entity loses a name that only the erased unit used."""
        writes = replace(
            make_write_set(units=make_units("u1", "u2"), entities=[make_entity("e1", "alice chen", "alice")]),
            mentions=(MentionWrite("u1", "e1", "Alice Chen"), MentionWrite("u2", "e1", "Alice")),
        )
        commit(ledger, writes)
        ledger.erasure.erase(bank, Erasure(unit="u1"))
        (alice,) = ledger.entities.find(bank, "alice")
        assert (alice.name, alice.names, alice.mentions) == ("Alice", ("alice",), 1)
        assert ledger.entities.find(bank, "alice chen") == []
        assert ledger.entities.candidates(bank, ["chen"], 5) == {"chen": []}

    @pytest.mark.parametrize(
        ("erasure", "left"),
        [
            (Erasure(document="d1"), 2),
            (Erasure(entity="e1"), 1),
            (Erasure(entity="unknown"), 3),
            (Erasure(window=Interval(at(0.5), at(1.5))), 2),
            (Erasure(window=Interval(at(-9), at(-8))), 2),
            (Erasure(unit="unknown"), 3),
        ],
    )
    def test_each_selector_takes_what_it_names(
        self, ledger: Ledger, bank: str, erasure: Erasure, left: int
    ) -> None:
        """Erasure selects by document, entity or time window; unknown targets change nothing."""
        units = make_units("u1", "u2", "u3")
        units = (
            replace(units[0], unit=replace(units[0].unit, document_id="d1")),
            units[1],
            replace(units[2], unit=replace(units[2].unit, occurred=Interval(at(-10), at(-8.5)))),
        )
        entities, mentions = [make_entity("e1")], [("u1", "e1"), ("u2", "e1")]
        commit(ledger, make_write_set(units=units, entities=entities, mentions=mentions))
        receipt = ledger.erasure.erase(bank, erasure)
        assert ledger.units.count(bank) == left
        assert receipt.revision == ledger.revision(bank) == (1 if left == 3 else 2)

    def test_a_dropped_bank_is_unknown(self, ledger: Ledger, bank: str) -> None:
        """Dropping a bank leaves other banks intact, and its row ids are not reused."""
        commit(ledger, rich_write_set())
        highest = max(ledger.units.row_ids(bank, ["u1", "u2"]).values())
        ledger.create_bank("other")
        commit(ledger, rich_write_set(bank="other"))
        assert ledger.erasure.drop_bank(bank).counts["units"] == 2
        assert ledger.erasure.scrub() in (Scrub.CLEAN, Scrub.NOT_OURS)  # PostgreSQL cleans its own files
        with pytest.raises(BankNotFound):
            ledger.revision(bank)
        assert ledger.units.count("other") == 2
        ledger.create_bank(bank)
        commit(ledger, rich_write_set())
        assert min(ledger.units.row_ids(bank, ["u1", "u2"]).values()) > highest


class TestNameErasure:
    """Erasing some names of an entity, and dry runs."""

    def test_some_names_of_an_entity_go_alone(self, ledger: Ledger, bank: str) -> None:
        """Erasing some names erases the units that use them; the entity keeps its other names."""
        alice = make_entity("e1", "alice", "alicia")
        writes = make_write_set(units=make_units("u1", "u2"), entities=[alice])
        mentions = (MentionWrite("u1", "e1", "Alice"), MentionWrite("u2", "e1", "Alicia"))
        commit(ledger, replace(writes, mentions=mentions))
        receipt = ledger.erasure.erase(bank, Erasure(entity="e1", names=("alice",)))
        assert (receipt.unit_ids, receipt.entity_ids, receipt.counts["names"]) == (("u1",), (), 1)
        (entity,) = ledger.entities.listed(bank, "", 9)
        assert (entity.name, entity.names, entity.mentions) == ("Alicia", ("alicia",), 1)

    def test_a_dry_run_says_what_would_go_and_changes_nothing(self, ledger: Ledger, bank: str) -> None:
        """A dry run lists the names and changes nothing; the erasure then does exactly that."""
        commit(ledger, rich_write_set())
        before = everything_of(ledger), list(ledger.archive.rows(bank))
        for erasure in (Erasure(unit="u1"), Erasure(entity="e1"), Erasure(everything=True)):
            foreseen = ledger.erasure.erase(bank, erasure, dry_run=True)
            assert (everything_of(ledger), list(ledger.archive.rows(bank))) == before
            assert (foreseen.dry_run, foreseen.revision) == (True, before[0][0])
        assert "alice chen" in foreseen.names
        done = ledger.erasure.erase(bank, Erasure(everything=True))
        assert (done.unit_ids, done.entity_ids, done.counts) == (
            foreseen.unit_ids,
            foreseen.entity_ids,
            foreseen.counts,
        )
        assert (done.dry_run, done.names) == (False, ())

    def test_names_are_certain_that_it_goes_by_or_was_given(self, ledger: Ledger, bank: str) -> None:
        """An entity's own name and its aliases are certain names; names from other commits are not."""
        commit(ledger, rich_write_set())
        assert ledger.entities.exact_names(bank, "e1") == {"alice"}
        ledger.entities.alias(bank, "e1", ["boss"], at(7))
        change = ledger.entities.alias(bank, "e1", ["alice chen"], at(8))
        assert ledger.entities.exact_names(bank, "e1") == {"alice", "boss", "alice chen"}
        ledger.entities.undo(bank, change.id)
        ledger.entities.merge(bank, "e2", "e1", at(9))
        assert ledger.entities.exact_names(bank, "e2") == {"acme", "alice", "boss"}


class TestEdit:
    """Edits and entity changes are audited, undoable where promised, and reported by the feed."""

    def test_an_edit_is_reported_again(self, ledger: Ledger, bank: str) -> None:
        """Text, vector, columns and the graph's epoch move; causal links stay, the others are replaced."""
        writes = rich_write_set()
        commit(ledger, replace(writes, links=(*writes.links, Link("u2", "u1", LinkType.SEMANTIC, 0.9))))
        unit = replace(make_unit("u1", "another fact", tags=("new",)), closed_at=at(5))
        links = (Link("u1", "u2", LinkType.TEMPORAL, 0.25),)
        edit = UnitEdit(unit, make_vector("other").tobytes(), links, ("text", "tags"))
        revision, new = ledger.units.edit(bank, edit, at(9)), changes(ledger, bank, 1)
        assert revision == ledger.revision(bank) == new.graph_epoch == 2
        rows = ledger.units.row_ids(bank, ["u1", "u2"])
        assert ledger.units.get(bank, np.array([rows["u1"]], np.int64)) == {rows["u1"]: unit}
        assert (new.texts[1], new.columns.tags) == (["another fact"], [("new",)])
        assert new.vectors[1].tolist() == [make_vector("other").tolist()]
        assert sorted(changes(ledger, bank).graph[1].codes.tolist()) == [0, 4]
        assert ledger.units.edits(bank, "u1") == [(at(9), ("text", "tags"))]
        with pytest.raises(InvalidRequest, match="nobody"):
            ledger.units.edit(bank, UnitEdit(make_unit("nobody"), None, None, ()), at(9))

    def test_a_merge_moves_names_and_mentions_and_can_be_undone(self, ledger: Ledger, bank: str) -> None:
        """A merged entity has all names and mentions; undoing restores both entities."""
        commit(ledger, rich_write_set())
        before = ledger.entities.listed(bank, "", 9)
        change = ledger.entities.merge(bank, "e1", "e2", at(7))
        assert (change.kind, change.units, change.names) == (EntityChangeKind.MERGE, 1, ("acme",))
        (merged,) = ledger.entities.listed(bank, "", 9)
        assert (merged.id, merged.mentions, merged.names) == ("e1", 2, ("alice", "alice chen", "acme"))
        assert changes(ledger, bank).graph_epoch == ledger.revision(bank) == 2
        assert ledger.entities.changes(bank) == [change]
        assert ledger.entities.undo(bank, change.id) == replace(change, undone=True)
        assert ledger.entities.listed(bank, "", 9) == before
        with pytest.raises(InvalidRequest, match="it is already undone"):
            ledger.entities.undo(bank, change.id)

    def test_a_split_moves_what_it_names_and_can_be_undone(self, ledger: Ledger, bank: str) -> None:
        """Split entities have separate names and mentions; undoing merges them again."""
        commit(ledger, rich_write_set())
        before = ledger.entities.listed(bank, "", 9)
        change = ledger.entities.split(bank, EntitySplit("e1", "e9", "Chen", ("alice chen",), ("u2",)), at(7))
        found = {
            entity.id: (entity.names, entity.mentions) for entity in ledger.entities.listed(bank, "al", 9)
        }
        assert found == {"e1": (("alice",), 1), "e9": (("alice chen",), 1)}
        assert ledger.entities.mention_texts(bank, "e9") == [("u2", "e1")]
        ledger.entities.undo(bank, change.id)
        assert ledger.entities.listed(bank, "", 9) == before

    def test_an_alias_is_found_until_undone(self, ledger: Ledger, bank: str) -> None:
        """An alias finds the entity until it is undone; later changes must be undone first."""
        commit(ledger, rich_write_set())
        change = ledger.entities.alias(bank, "e1", ["boss"], at(7))
        assert ledger.entities.named(bank, ["boss"])["boss"].id == "e1"
        later = ledger.entities.merge(bank, "e2", "e1", at(8))
        with pytest.raises(InvalidRequest, match=str(later.id)):
            ledger.entities.undo(bank, change.id)
        ledger.entities.undo(bank, later.id)
        ledger.entities.undo(bank, change.id)
        assert ledger.entities.named(bank, ["boss"]) == {}


class TestEmbedder:
    """A bank records its embedder and never mixes vectors of two."""

    def test_the_embedder_is_recorded(self, ledger: Ledger, bank: str) -> None:
        """A bank remembers its embedder; recording it alone is no commit."""
        assert ledger.set_embedder(bank, make_embedder(), NO_IDS, NO_VECTORS) == 0
        assert ledger.bank(bank).embedder == make_embedder()
        with pytest.raises(InvalidRequest):
            commit(ledger, make_write_set(units=[with_vector(make_unit("u"), DIMENSION + 1)]))

    def test_embedding_again_replaces_vectors(self, ledger: Ledger, bank: str) -> None:
        """After reindex with another model the feed gives the new vectors once, and only them."""
        commit(ledger, make_write_set(units=make_units("u1", "u2")))
        ids = changes(ledger, bank).columns.ids
        longer = np.eye(2, DIMENSION + 2, dtype=np.float32)
        other = make_embedder("other", DIMENSION + 2)
        assert ledger.set_embedder(bank, other, ids, longer) == 2
        found, vectors = changes(ledger, bank, 1).vectors
        assert found.tolist() == ids.tolist()
        assert vectors.tolist() == longer.tolist()
        assert len(changes(ledger, bank, 2).vectors[0]) == len(changes(ledger, bank, 1).columns.ids) == 0
        assert ledger.bank(bank).embedder == other
        commit(ledger, make_write_set(2, units=[with_vector(make_unit("u3"), DIMENSION + 2)]))

    def test_half_a_re_embedding_is_refused(self, ledger: Ledger, bank: str) -> None:
        """A bank never has vectors of two dimensions."""
        commit(ledger, make_write_set(units=make_units("u1", "u2")))
        before = everything_of(ledger)
        for ids in (changes(ledger, bank).columns.ids[:1], NO_IDS):
            with pytest.raises(InvalidRequest):
                ledger.set_embedder(bank, make_embedder("o", 6), ids, np.ones((len(ids), 6), np.float32))
        assert everything_of(ledger) == before
        assert ledger.bank(bank).embedder is None


class TestArchive:
    """A bank exported and imported row by row is the same bank."""

    def test_a_bank_round_trips(self, ledger: Ledger, bank: str) -> None:
        """A bank restored under another name exports the same rows."""
        commit(ledger, rich_write_set())
        ledger.entities.alias(bank, "e1", ["boss"], at(7))
        rows = list(ledger.archive.rows(bank))
        ledger.create_bank("copy")
        assert ledger.archive.restore("copy", iter(rows)) == 2
        assert without_numbers(ledger.archive.rows("copy")) == without_numbers(rows)
        assert ledger.entities.listed("copy", "", 9) == ledger.entities.listed(bank, "", 9)
        assert ledger.units.validity("copy", "u1") == ledger.units.validity(bank, "u1")
        key = MessageKey("thread", "m1", "h1")
        assert ledger.turns.known("copy", [key]) == {key}
        assert ledger.units.count("copy") == len(changes(ledger, "copy", 0).texts[1]) == 2

    def test_a_bad_row_leaves_the_bank_empty(self, ledger: Ledger, bank: str) -> None:
        """An invalid row rejects the whole import; a bank with content accepts none."""
        commit(ledger, rich_write_set())
        rows = list(ledger.archive.rows(bank))
        ledger.create_bank("copy")
        stray: dict[str, Json] = {"unit": 999, "entity": 1, "text": "x"}
        bad: list[tuple[str, dict[str, Json]]] = [
            ("spell", {}),
            ("mentions", stray),
            ("units", {"unit_id": "x"}),
        ]
        for kind, fields in bad:
            with pytest.raises(InvalidRequest, match="archive"):
                ledger.archive.restore("copy", iter([*rows, ArchiveRow(kind, fields)]))
            assert (ledger.units.count("copy"), ledger.entities.listed("copy", "", 9)) == (0, [])
        with pytest.raises(InvalidRequest, match="empty"):
            ledger.archive.restore(bank, iter(rows))

"""Contract of documents and their items (model/documents.py); part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_entity,
    make_event,
    make_item,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_observations import ALICE, observe, seen, tell
from ledger_opinions import form
from ledger_support import CLOSED, NO_IDS, RESTORED, changes, commit

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import UnitEdit
from hindsight_integrations.model.arrays import IN_DOCUMENT, NEVER
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.units import MemoryUnit, UnitKind
from hindsight_integrations.model.writes import UnitWrite


def said(unit: MemoryUnit, message: str) -> UnitWrite:
    """Build the unit of a message in the thread."""
    return with_vector(replace(unit, thread="t", sources=(message,)))


def document(ledger: Ledger) -> None:
    """Build the list "d" of message m1 with items i1 and i2, and i3 added by message m2."""
    first = [
        said(make_unit("d", "Packing list"), "m1"),
        said(make_item("i1", "d", 1, "two shirts", field="clothes"), "m1"),
        said(make_item("i2", "d", 2, "passport"), "m1"),
    ]
    commit(ledger, make_write_set(units=first))
    commit(ledger, make_write_set(1, units=[said(make_item("i3", "d", 3, "a hat", hours=1), "m2")]))


def read(ledger: Ledger, *unit_ids: str, bank: str = BANK) -> list[MemoryUnit]:
    """Read the units from the ledger."""
    rows = ledger.units.row_ids(bank, unit_ids)
    units = ledger.units.get(bank, np.array(list(rows.values()), np.int64))
    return [units[rows[unit_id]] for unit_id in unit_ids]


def rows(ledger: Ledger, *unit_ids: str) -> list[int]:
    """Return row ids, in the given order."""
    found = ledger.units.row_ids(BANK, unit_ids)
    return [found[unit_id] for unit_id in unit_ids]


def names(ledger: Ledger, ids: object) -> list[str]:
    """Return the unit ids of row ids."""
    found = np.array(ids, np.int64)
    known = ledger.units.unit_ids(BANK, found)
    return [known[row] for row in found.tolist()]


@pytest.mark.usefixtures("bank")
class TestDocumentItems:
    """An item is a separate unit: found, dated, closed and restored by itself, but part of its document."""

    def test_an_item_is_read_back_whole(self, ledger: Ledger) -> None:
        """An item keeps its document, number, record and sources, and is not counted as a memory."""
        document(ledger)
        added = said(make_item("i3", "d", 3, "a hat", hours=1), "m2").unit
        assert read(ledger, "i3") == [added]
        assert [(item.part_of, item.number) for item in read(ledger, "d", "i2")] == [(None, 3), ("d", 2)]
        assert ledger.units.count(BANK) == 1
        assert changes(ledger).count == 4
        assert ledger.units.damaged(BANK) == ()

    def test_items_are_listed_by_number(self, ledger: Ledger) -> None:
        """Items are listed by number, closed ones too, whatever the order in which they were written."""
        units = [*make_units("d", "e", "plain"), with_vector(make_item("b", "d", 2))]
        commit(ledger, make_write_set(units=[*units, with_vector(make_item("x", "e", 1))]))
        ledger.create_bank("other")
        more = [with_vector(make_item("c", "d", 3)), with_vector(make_item("a", "d", 1))]
        commit(ledger, make_write_set(1, units=more, events=[make_event("b", CLOSED, 2)]))
        d, e, plain = rows(ledger, "d", "e", "plain")
        found = ledger.units.items_of(BANK, np.array([plain, e, d, 9999]))
        assert {row: names(ledger, own) for row, own in found.items()} == {d: ["a", "b", "c"], e: ["x"]}
        assert ledger.units.items_of(BANK, np.array([e])).keys() == {e}
        assert ledger.units.items_of(BANK, NO_IDS) == {}
        assert ledger.units.items_of("other", np.array([d])) == {}

    def test_columns_say_the_document_of_an_item(self, ledger: Ledger) -> None:
        """Columns name an item's document and type, so that selecting memories by type returns no items."""
        document(ledger)
        columns, (head, *items) = changes(ledger).columns, rows(ledger, "d", "i1", "i2", "i3")
        assert columns.ids.tolist() == [head, *items]
        assert columns.heads.tolist() == [0, head, head, head]
        assert columns.heads.dtype == np.int64
        assert columns.types.tolist() == [0, IN_DOCUMENT, IN_DOCUMENT, IN_DOCUMENT]

    def test_items_are_found_by_message_and_record(self, ledger: Ledger) -> None:
        """A message that added one item leads to that item only."""
        document(ledger)
        assert names(ledger, ledger.units.of_messages(BANK, [("t", "m1")])) == ["d", "i1", "i2"]
        assert names(ledger, ledger.units.of_messages(BANK, [("t", "m2")])) == ["i3"]
        found = ledger.records.rows(BANK, kind=RecordKind.DOCUMENT_ITEM)
        assert names(ledger, found) == ["i1", "i2", "i3"]
        clothes = ledger.records.rows(BANK, kind=RecordKind.DOCUMENT_ITEM, category="clothes")
        assert names(ledger, clothes) == ["i1"]

    def test_an_item_has_a_validity_of_its_own(self, ledger: Ledger) -> None:
        """An item can have a validity gap of its own; its document and the other items are not affected."""
        document(ledger)
        events = [make_event("i1", CLOSED, 3, reason="too warm"), make_event("i2", CLOSED, 4)]
        commit(ledger, make_write_set(2, events=events))
        commit(ledger, make_write_set(3, events=[make_event("i1", RESTORED, 6)]))
        assert [unit.closed_at for unit in read(ledger, "d", "i1", "i2", "i3")] == [None, None, at(4), None]
        assert [event.kind for event in ledger.units.validity(BANK, "i1")] == [CLOSED, RESTORED]
        assert ledger.units.validity(BANK, "d") == []
        columns = changes(ledger).columns
        assert columns.closed.tolist() == [NEVER, NEVER, to_micros(at(4)), NEVER]
        (i1,) = rows(ledger, "i1")
        assert columns.gaps.tolist() == [[i1, to_micros(at(3)), to_micros(at(6))]]
        assert names(ledger, ledger.units.of_messages(BANK, [("t", "m1")])) == ["d", "i1"]
        assert names(ledger, ledger.units.of_messages(BANK, [("t", "m1")], closed=True)) == ["i2"]

    def test_a_change_of_an_item_is_a_change_of_its_document(self, ledger: Ledger) -> None:
        """New, ended and restored items report the document as changed; writing the same again reports nothing."""
        document(ledger)
        item = said(make_item("i3", "d", 3, "a hat", hours=1), "m2")
        assert names(ledger, changes(ledger, since=1).columns.ids) == ["d", "i3"]
        assert len(changes(ledger, since=1).texts[1]) == 1
        for revision, kind in ((2, CLOSED), (3, RESTORED)):
            event = make_event("i1", kind, revision)
            commit(ledger, make_write_set(revision, events=[event]))
            assert names(ledger, changes(ledger, since=revision).columns.ids) == ["d", "i1"]
            assert names(ledger, ledger.mental_models.changed_facts(BANK, revision, 9)) == ["d"]
        assert commit(ledger, make_write_set(4, units=[item], events=[event])).revision == 4

    @pytest.mark.parametrize("change", ["added", "ended", "corrected", "erased"])
    def test_observations_on_a_document_end_with_each_change_of_its_items(
        self, ledger: Ledger, change: str
    ) -> None:
        """Observations based on a document end with each change of its items; others stay unless their author had read an erased item."""
        tell(ledger, *make_units("d", "f"))
        item = make_item("i1", "d", 1)
        commit(ledger, make_write_set(ledger.revision(BANK), units=[with_vector(item)]))
        observe(ledger, {"o1": ("d",), "o2": ("f",)})
        revision = ledger.revision(BANK)
        if change == "added":
            commit(ledger, make_write_set(revision, units=[with_vector(make_item("i2", "d", 2))]))
        elif change == "ended":
            commit(ledger, make_write_set(revision, events=[make_event("i1", CLOSED, 2)]))
        elif change == "corrected":
            ledger.units.edit(BANK, UnitEdit(replace(item, text="tea"), None, None, ("text",)), at(3))
        else:
            assert set(ledger.erasure.erase(BANK, Erasure(unit="i1")).unit_ids) == {"i1", "o1", "o2"}
        assert seen(ledger) == (True, () if change == "erased" else ("o2",))
        assert names(ledger, ledger.observations.entity_facts(BANK, ALICE)) == ["d", "f"]


@pytest.mark.usefixtures("bank")
class TestErasedItems:
    """Forgetting a document erases its items; forgetting a message erases the item made from it."""

    @pytest.mark.parametrize("erasure", [Erasure(unit="d"), Erasure(units=("d",)), Erasure(entity="e1")])
    def test_with_a_document_go_its_items(self, ledger: Ledger, erasure: Erasure) -> None:
        """Erasing a document by id or entity erases its items; a dry run predicts it, and other documents keep theirs."""
        document(ledger)
        other = [with_vector(make_unit("other")), with_vector(make_item("i9", "other", 1))]
        writes = make_write_set(2, units=other, entities=[make_entity("e1")], mentions=[("d", "e1")])
        commit(ledger, writes)
        gone = rows(ledger, "d", "i1", "i2", "i3")
        foreseen = ledger.erasure.erase(BANK, erasure, dry_run=True)
        receipt = ledger.erasure.erase(BANK, erasure)
        assert receipt.unit_ids == foreseen.unit_ids == ("d", "i1", "i2", "i3")
        assert receipt.counts["records"] == 3
        assert changes(ledger, since=3).removed.tolist() == gone
        assert names(ledger, changes(ledger).columns.ids) == ["other", "i9"]

    def test_a_message_takes_only_the_item_made_from_it(self, ledger: Ledger) -> None:
        """Erasing a message erases its item; the document keeps the others and is reported as changed."""
        document(ledger)
        receipt = ledger.erasure.erase(BANK, Erasure(thread="t", message="m2"))
        assert receipt.unit_ids == ("i3",)
        (head,) = rows(ledger, "d")
        assert names(ledger, ledger.units.items_of(BANK, np.array([head]))[head]) == ["i1", "i2"]
        assert names(ledger, changes(ledger, since=2).columns.ids) == ["d"]

    def test_an_item_of_another_message_outlives_its_document(self, ledger: Ledger) -> None:
        """An item from another message survives its document as a separate memory, and the feed reports it again."""
        document(ledger)
        receipt = ledger.erasure.erase(BANK, Erasure(thread="t", message="m1"))
        assert (receipt.unit_ids, receipt.restored) == (("d", "i1", "i2"), ())
        (orphan,) = read(ledger, "i3")
        assert (orphan.kind, orphan.part_of, orphan.number, orphan.closed_at) == (
            UnitKind.MEMORY,
            None,
            0,
            None,
        )
        new = changes(ledger, since=2).columns
        assert (names(ledger, new.ids), new.heads.tolist()) == (["i3"], [0])
        assert new.types.tolist() == [0]
        assert ledger.units.damaged(BANK) == ()

    def test_what_a_message_had_taken_off_a_document_is_on_it_again(self, ledger: Ledger) -> None:
        """Forgetting the message that removed an item restores the item and marks what was made from the shorter list as outdated."""
        document(ledger)
        struck = said(make_unit("off", hours=2), "m3")
        events = [make_event(item, CLOSED, 2, by_unit="off", reason="off the list") for item in ("i1", "i2")]
        events.append(make_event("i2", CLOSED, 5))
        commit(ledger, make_write_set(2, units=[struck], events=events))
        tell(ledger, with_vector(make_unit("d")))
        observe(ledger, {"o1": ("d",)})
        revision = ledger.revision(BANK)
        receipt = ledger.erasure.erase(BANK, Erasure(thread="t", message="m3"))
        assert (receipt.unit_ids, receipt.restored) == (("off",), ("i1",))
        assert [item.closed_at for item in read(ledger, "i1", "i2")] == [None, at(5)]
        assert ledger.units.validity(BANK, "i1") == []
        assert names(ledger, changes(ledger, since=revision).columns.ids) == ["d", "i1", "i2"]
        assert seen(ledger) == (True, ())

    def test_opinions_on_a_document_go_with_an_erased_item(self, ledger: Ledger) -> None:
        """An opinion based on a document is erased with any of its items; opinions on other facts stay."""
        units = [*make_units("d", "f"), with_vector(make_item("i1", "d", 1))]
        commit(ledger, make_write_set(units=units))
        form(ledger, "o1", "d")
        form(ledger, "o2", "f")
        receipt = ledger.erasure.erase(BANK, Erasure(unit="i1"))
        assert (set(receipt.unit_ids), receipt.counts["opinions"]) == ({"i1", "o1"}, 1)
        assert [log.id for log in ledger.opinions.get(BANK)] == ["o2"]


class TestArchivedItems:
    """Items survive export and import unchanged."""

    def test_items_go_in_and_out_of_an_archive(self, ledger: Ledger, bank: str) -> None:
        """Items keep document and number in an archive, whatever the order of rows and even if the document was forgotten."""
        document(ledger)
        later = [with_vector(make_item("i9", "later", 1)), with_vector(make_unit("later"))]
        lost = [said(make_unit("lost"), "m8"), said(make_item("i8", "lost", 4), "m9")]
        events = [make_event("i2", CLOSED, 5, by_unit="later", reason="at home")]
        commit(ledger, make_write_set(2, units=[*later, *lost], events=events))
        assert ledger.erasure.erase(bank, Erasure(thread="t", message="m8")).unit_ids == ("lost",)
        ledger.create_bank("copy")
        ledger.archive.restore("copy", iter(list(ledger.archive.rows(bank))))
        ids = ("d", "i1", "i2", "i3", "i9", "later", "i8")
        expected = [replace(unit, bank="copy") for unit in read(ledger, *ids)]
        assert read(ledger, *ids, bank="copy") == expected
        assert [unit.part_of for unit in expected] == [None, "d", "d", "d", "later", None, None]
        for unit_id in ids:
            assert ledger.units.validity("copy", unit_id) == ledger.units.validity(bank, unit_id)
        (head,) = ledger.units.row_ids("copy", ["d"]).values()
        found = ledger.units.items_of("copy", np.array([head]))[head]
        assert list(ledger.units.unit_ids("copy", np.array(found)).values()) == ["i1", "i2", "i3"]
        assert ledger.units.damaged("copy") == ()

"""Contract of store items; part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_unit,
    make_units,
    make_vector,
    make_write_set,
)
from ledger_support import changes, commit

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import STORED
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.items import Item, ItemDelete, ItemWrite, Namespace
from hindsight_integrations.model.tasks import TaskKind, TaskState
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.testing.doubles import FrozenClock

A, AB, A_DEEP, DOTTED = ("a",), ("ab",), ("a", "b"), ("a.b",)
HOUR = timedelta(hours=1)


def make_text(unit_id: str, bank: str = BANK, *, vector: bool = True) -> UnitWrite:
    """Build a text of an item."""
    unit = replace(make_unit(unit_id, bank=bank), kind=UnitKind.ITEM)
    return UnitWrite(unit, make_vector(unit_id).tobytes() if vector else b"")


def make_item(
    namespace: Namespace, key: str, *units: UnitWrite, value: str = '{"n": 1}', ttl: timedelta | None = None
) -> ItemWrite:
    """Build an item with these texts."""
    return ItemWrite(namespace, key, value, ttl, units)


def listed(
    ledger: Ledger, prefix: Namespace = (), hours: float = 0, *, searchable: bool | None = None
) -> list[str]:
    """Return the keys of the items under a prefix at a time."""
    found = ledger.items.listed(BANK, prefix, at(hours), searchable=searchable, limit=100)
    return [item.key for _, item in found]


class TestItemReads:
    """Items are read as they were put, by key, by row and by prefix."""

    def test_an_item_comes_back(self, ledger: Ledger, bank: str) -> None:
        """Value and times are read back; unknown keys give None, in the given order."""
        ledger.items.write(bank, [make_item(DOTTED, "k", value='{"é": [1, null]}', ttl=HOUR)], at(0))
        item = Item(DOTTED, "k", {"é": [1, None]}, at(0), at(0), at(1))
        assert ledger.items.get(bank, [(A_DEEP, "k"), (DOTTED, "k"), (DOTTED, "l")], at(0)) == [
            None,
            item,
            None,
        ]
        ((row, same),) = ledger.items.listed(bank, (), at(0), limit=9)
        assert same == item
        assert ledger.items.at_rows(bank, [row, row + 1], at(0)) == {row: item}

    def test_a_put_keeps_when_the_item_was_made(self, ledger: Ledger, bank: str) -> None:
        """An update keeps the creation time, unless the item had expired."""
        ledger.items.write(bank, [make_item(A, "k"), make_item(A, "m", ttl=HOUR)], at(0))
        ledger.items.write(bank, [make_item(A, "k"), make_item(A, "m")], at(2))
        (kept, anew) = ledger.items.get(bank, [(A, "k"), (A, "m")], at(2))
        assert kept is not None
        assert anew is not None
        assert (kept.created_at, kept.updated_at, anew.created_at, anew.expires_at) == (
            at(0),
            at(2),
            at(2),
            None,
        )

    def test_a_prefix_is_of_whole_labels(self, ledger: Ledger, bank: str) -> None:
        """Prefixes match whole labels, not characters or escaped dots."""
        ledger.items.write(
            bank, [make_item(each, "/".join(each)) for each in (A, AB, A_DEEP, DOTTED, ("A",))], at(0)
        )
        assert sorted(listed(ledger, A)) == ["a", "a/b"]
        assert listed(ledger, A_DEEP) == ["a/b"]
        assert ledger.items.namespaces(bank, A, at(0)) == [A, A_DEEP]
        assert ledger.items.namespaces(bank, (), at(0)) == sorted([A, AB, A_DEEP, DOTTED, ("A",)])

    def test_the_newest_come_first(self, ledger: Ledger, bank: str) -> None:
        """Items are sorted newest first, then by namespace and key; pages are consecutive."""
        ledger.items.write(bank, [make_item(A, "x"), make_item(A, "y"), make_item(AB, "a")], at(0))
        ledger.items.write(bank, [make_item(A, "y", value="{}")], at(1))
        assert listed(ledger) == ["y", "x", "a"]
        (one,) = ledger.items.listed(bank, (), at(1), limit=1, offset=1)
        assert one[1].key == "x"

    def test_what_has_texts_is_told_apart(self, ledger: Ledger, bank: str) -> None:
        """Items with and without texts are distinguished, since searches rank the former and list the latter."""
        ledger.items.write(bank, [make_item(A, "found", make_text("t1")), make_item(A, "plain")], at(0))
        assert (listed(ledger, searchable=True), listed(ledger, searchable=False)) == (["found"], ["plain"])
        assert ledger.items.unit_ids(bank, [(A, "found"), (A, "plain")]) == {"t1"}

    def test_banks_do_not_share_items(self, ledger: Ledger, bank: str) -> None:
        """Banks do not share items or their texts."""
        ledger.create_bank("other")
        ledger.items.write(bank, [make_item(A, "k")], at(0))
        ledger.items.write("other", [make_item(A, "k", make_text("t1", "other"), value='{"n": 2}')], at(0))
        assert [each and each.value for each in ledger.items.get(bank, [(A, "k")], at(0))] == [{"n": 1}]
        assert len(changes(ledger).texts[0]) == 0


class TestItemUnits:
    """Texts of items are units that indexes follow, but not memories."""

    def test_indexes_get_the_texts(self, ledger: Ledger, bank: str) -> None:
        """The feed contains the texts with vectors, their own type and their item."""
        revision = ledger.items.write(bank, [make_item(A_DEEP, "k", make_text("t1"), make_text("t2"))], at(0))
        new = changes(ledger)
        assert (revision, new.revision, len(new.texts[0]), len(new.vectors[0])) == (1, 1, 2, 2)
        assert (new.columns.types >= STORED).all()
        with ledger.feed(bank) as feed:
            units = feed.item_units(0)
            assert len(feed.item_units(1).units) == 0
        ((row, _),) = ledger.items.listed(bank, (), at(0), limit=1)
        assert units.units.tolist() == new.columns.ids.tolist()
        assert (units.items.tolist(), units.namespaces) == ([row, row], [A_DEEP, A_DEEP])

    def test_they_are_no_memories(self, ledger: Ledger, bank: str) -> None:
        """Items do not appear in the count of memories or in the graph."""
        commit(ledger, make_write_set(0, units=make_units("u1")))
        ledger.items.write(bank, [make_item(A, "k", make_text("t1"))], at(0))
        assert ledger.units.count(bank) == 1
        assert len(changes(ledger).graph[0]) == 1

    def test_what_has_no_text_raises_no_revision(self, ledger: Ledger, bank: str) -> None:
        """An item without text does not raise the revision."""
        assert ledger.items.write(bank, [make_item(A, "k"), ItemDelete(A, "never there")], at(0)) == 0

    def test_texts_that_stay_are_kept(self, ledger: Ledger, bank: str) -> None:
        """Unchanged texts may be written without vectors; removed ones do not count as erasure."""
        ledger.items.write(bank, [make_item(A, "k", make_text("t1"), make_text("t2"))], at(0))
        before = changes(ledger)
        ledger.items.write(bank, [make_item(A, "k", make_text("t2", vector=False), make_text("t3"))], at(1))
        after = changes(ledger, since=before.revision)
        assert after.removed.tolist() == before.columns.ids[:1].tolist()
        assert (len(after.texts[0]), after.erased, after.count) == (1, False, 2)
        assert ledger.items.unit_ids(bank, [(A, "k")]) == {"t2", "t3"}

    def test_a_text_without_vector_that_is_not_there(self, ledger: Ledger, bank: str) -> None:
        """A text without vector that was removed meanwhile raises a conflict, and nothing is written."""
        with pytest.raises(RevisionConflict):
            ledger.items.write(
                bank, [make_item(A, "k", make_text("t1", vector=False)), make_item(A, "l")], at(0)
            )
        assert listed(ledger) == []

    def test_vectors_fit_the_bank(self, ledger: Ledger, bank: str) -> None:
        """Vectors of another embedder are rejected."""
        commit(ledger, make_write_set(0, units=make_units("u1")))
        short = UnitWrite(make_text("t1").unit, np.zeros(2, "<f4").tobytes())
        with pytest.raises(InvalidRequest, match="vectors"):
            ledger.items.write(bank, [make_item(A, "k", short)], at(0))

    def test_a_deleted_item_takes_its_texts_along(self, ledger: Ledger, bank: str) -> None:
        """Deleting an item removes its texts and leaves residue, which one scrub starts to remove."""
        ledger.items.write(
            bank, [make_item(A, "k", make_text("t1")), make_item(A, "l", make_text("t2"))], at(0)
        )
        ledger.items.write(bank, [ItemDelete(A, "k")], at(1))
        assert (listed(ledger), changes(ledger).count, changes(ledger).erased) == (["l"], 1, False)
        assert (ledger.items.residue(bank), ledger.items.expired_banks(at(1))) == (2, [bank])
        assert ledger.items.begin_scrub(bank)
        assert changes(ledger).erased
        assert (
            ledger.items.residue(bank),
            ledger.items.begin_scrub(bank),
            ledger.items.expired_banks(at(1)),
        ) == (
            0,
            False,
            [],
        )


class TestItemEnds:
    """Items expire and can be forgotten."""

    def test_an_expired_item_is_not_there(self, ledger: Ledger, bank: str) -> None:
        """No read returns an item from its expiry on; a refresh before that extends it."""
        ledger.items.write(
            bank, [make_item(A, "k", ttl=HOUR), make_item(AB, "l", ttl=HOUR), make_item(A, "m")], at(0)
        )
        assert ledger.items.refresh(bank, [(AB, "l"), (A, "m"), (A, "none")], at(0.5)) == 1
        assert sorted(listed(ledger, hours=1)) == ["l", "m"]
        assert ledger.items.get(bank, [(A, "k")], at(1)) == [None]
        assert ledger.items.namespaces(bank, (), at(1.5)) == [A]
        assert ledger.items.refresh(bank, [(A, "k")], at(1)) == 0

    def test_what_expired_is_deleted(self, ledger: Ledger, bank: str) -> None:
        """Expiry deletes the items with their texts, and nothing else."""
        ledger.items.write(
            bank, [make_item(A, "k", make_text("t1"), ttl=HOUR), make_item(A, "l", ttl=2 * HOUR)], at(0)
        )
        assert (ledger.items.expire(bank, at(0.9)), ledger.items.expired_banks(at(1))) == (0, [bank])
        assert ledger.items.expire(bank, at(1)) == 1
        assert (changes(ledger).count, listed(ledger, hours=1)) == (0, ["l"])

    def test_a_task_waits_for_the_next_to_expire(self, ledger: Ledger, bank: str, clock: FrozenClock) -> None:
        """One task is queued for the next expiry, however many items there are; an earlier expiry adds one."""
        clock.set(at(0))
        ledger.items.write(bank, [make_item(A, f"k{n}", ttl=(n + 2) * HOUR) for n in range(5)], at(0))
        ledger.items.write(bank, [make_item(A, "later", ttl=9 * HOUR)], at(0))
        assert [(task.kind, task.not_before) for task in ledger.tasks.of_bank(bank)] == [
            (TaskKind.EXPIRE_ITEMS, at(2))
        ]
        ledger.items.write(bank, [make_item(A, "sooner", ttl=HOUR)], at(0))
        assert [task.not_before for task in ledger.tasks.of_bank(bank)] == [at(2), at(1)]
        clock.set(at(1))
        task = ledger.tasks.lease([TaskKind.EXPIRE_ITEMS], lasting=HOUR, early=True)
        assert task is not None
        assert task.not_before == at(1)
        assert ledger.items.expire(bank, at(1), [task.claim]) == 1
        assert [task.state for task in ledger.tasks.of_bank(bank)] == [TaskState.PENDING, TaskState.DONE]

    def test_forgetting_is_an_erasure(self, ledger: Ledger, bank: str) -> None:
        """Forgetting one item or a prefix is an erasure, which the feed reports at once."""
        ledger.items.write(
            bank, [make_item(each, "k", make_text(f"t{n}")) for n, each in enumerate((A, A_DEEP, AB))], at(0)
        )
        assert (ledger.items.forget(bank, A, "none"), changes(ledger).erased) == (0, False)
        assert ledger.items.forget(bank, AB, "k") == 1
        assert (listed(ledger, AB), changes(ledger).erased, len(changes(ledger).removed)) == ([], True, 1)
        assert ledger.items.forget(bank, A, None) == 2
        assert (listed(ledger), changes(ledger).count) == ([], 0)

    def test_everything_takes_items_along(self, ledger: Ledger, bank: str) -> None:
        """Erasing everything in a bank erases items; erasing memories of a period does not."""
        commit(ledger, make_write_set(0, units=make_units("u1")))
        ledger.items.write(bank, [make_item(A, "k", make_text("t1"))], at(0))
        ledger.erasure.erase(bank, Erasure(unit="t1"))
        assert listed(ledger) == ["k"]
        ledger.erasure.erase(bank, Erasure(everything=True))
        assert (listed(ledger), changes(ledger).count) == ([], 0)

    def test_an_archive_carries_them(self, ledger: Ledger, bank: str) -> None:
        """An archive contains values, times and texts."""
        commit(ledger, make_write_set(0, units=make_units("u1")))
        ledger.items.write(
            bank, [make_item(DOTTED, "k", make_text("t1"), ttl=HOUR), make_item(A, "l")], at(0)
        )
        rows = list(ledger.archive.rows(bank))
        ledger.erasure.drop_bank(bank)
        ledger.create_bank(bank)
        ledger.archive.restore(bank, iter(rows))
        assert sorted(listed(ledger)) == ["k", "l"]
        assert ledger.items.unit_ids(bank, [(DOTTED, "k")]) == {"t1"}
        assert (sorted(listed(ledger, hours=1)), changes(ledger).count) == (["l"], 2)

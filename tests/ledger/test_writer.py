"""Contract of transactions and commits; part of `LedgerContract`."""

from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from builders import (
    DIMENSION,
    at,
    make_entity,
    make_event,
    make_item,
    make_unit,
    make_units,
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

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.arrays import NEVER
from hindsight_integrations.model.links import CausalRelation, Link, LinkType
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import FactType, ValidityKind
from hindsight_integrations.model.writes import NOWHERE, ChunkWrite, DocumentWrite, MessageKey, WriteSet

ONE, TWO = ChunkWrite("d", 0, "one ", "h0", position=0), ChunkWrite("d", 1, "two", "h1", position=1)
DOCUMENT = DocumentWrite("d", "h", "", at(0))


class TestCommit:
    """Commits are atomic, idempotent, and rejected on an outdated revision; validity is a log."""

    def test_a_commit_is_read_back_whole(self, ledger: Ledger, bank: str) -> None:
        """Every field of a retained unit is read back."""
        unit = replace(
            make_unit("u", "Alice spent 3.41 USD", fact_type=FactType.OPINION, tags=("a", "b")),
            occurred=Interval(at(-30), at(-6)),
            context="a chat",
            confidence=0.75,
            metadata={"z": "1", "a": "ü"},
            document_id="d1",
            chunk=3,
            thread="t",
            sources=("m1", "m2"),
            records=(
                Record(RecordKind.EXPENSE, Decimal("3.410"), "coffee", "USD"),
                Record(RecordKind.TASK, "3.4"),
            ),
        )
        plain = replace(make_unit("v"), records=(Record(RecordKind.TASK, "3.41"),))
        receipt = commit(ledger, make_write_set(units=[with_vector(unit), with_vector(plain)]))
        assert (receipt.revision, receipt.created) == (1, ("u", "v"))
        rows = ledger.units.row_ids(bank, ["u", "v", "unknown"])
        found = ledger.units.get(bank, np.array([rows["v"], rows["u"], 10**9], np.int64))
        assert found == {rows["u"]: unit, rows["v"]: plain}
        assert str(found[rows["u"]].records) == str(unit.records)
        wanted = np.array([rows["v"], 10**9, rows["u"]], np.int64)
        assert ledger.units.unit_ids(bank, wanted) == {rows["v"]: "v", rows["u"]: "u"}

    def test_the_same_write_set_twice_changes_nothing(self, ledger: Ledger, bank: str) -> None:
        """Repeating a write set changes nothing, including counts and revision."""
        commit(ledger, rich_write_set())
        before, entity = everything_of(ledger), ledger.entities.named(bank, ["alice"])["alice"]
        receipt = commit(ledger, rich_write_set(1))
        assert receipt.created == ()
        assert everything_of(ledger) == before
        assert ledger.entities.named(bank, ["alice"])["alice"] == entity
        assert len(ledger.units.validity(bank, "u1")) == 1

    def test_what_is_there_is_left_as_it_is(self, ledger: Ledger, bank: str) -> None:
        """A unit, link or entity written again keeps its first content."""
        commit(ledger, rich_write_set())
        again = replace(
            make_write_set(
                1,
                units=[with_vector(make_unit("u1", "rewritten")), *make_units("u3")],
                entities=[replace(make_entity("e1", "alice"), name="Somebody")],
            ),
            links=(Link("u1", "u2", LinkType.CAUSAL, 0.9, CausalRelation.ENABLES),),
        )
        assert commit(ledger, again).created == ("u3",)
        assert "rewritten" not in changes(ledger, bank).texts[1]
        assert changes(ledger, bank).graph[1].weights.tolist() == [0.5]
        assert ledger.entities.named(bank, ["alice"])["alice"].name == "Alice"

    def test_a_write_decided_on_an_old_revision_is_refused(self, ledger: Ledger, bank: str) -> None:
        """A write decided on an old revision is rejected as a whole."""
        commit(ledger, make_write_set(units=make_units("u1")))
        with pytest.raises(RevisionConflict) as caught:
            commit(ledger, make_write_set(units=make_units("u2")))
        assert (caught.value.expected, caught.value.actual) == (0, 1)
        assert ledger.units.row_ids(bank, ["u1", "u2"]).keys() == {"u1"}

    def test_an_empty_write_set_is_no_commit(self, ledger: Ledger, bank: str) -> None:
        """An empty write set does not raise the revision."""
        assert commit(ledger, make_write_set()).revision == 0
        assert ledger.revision(bank) == 0

    @pytest.mark.parametrize(
        "broken",
        [
            replace(make_write_set(), links=(Link("u1", "ghost", LinkType.SEMANTIC, 0.8),)),
            replace(make_write_set(), links=(Link("u1", "u1", LinkType.ENTITY, 0.8),)),
            make_write_set(mentions=[("ghost", "e1")]),
            make_write_set(mentions=[("u1", "ghost")]),
            make_write_set(events=[make_event("ghost", CLOSED)]),
            make_write_set(events=[make_event("u1", CLOSED, by_unit="ghost")]),
            make_write_set(units=[with_vector(make_item("x", "ghost", 1))]),
            make_write_set(units=make_units("x", bank="another")),
            make_write_set(units=[with_vector(make_unit("x"), DIMENSION + 1)]),
        ],
    )
    def test_a_write_set_naming_what_is_not_there_is_refused_whole(
        self, ledger: Ledger, bank: str, broken: WriteSet
    ) -> None:
        """A dangling reference or a foreign vector rejects the whole write set."""
        commit(ledger, rich_write_set())
        before = everything_of(ledger)
        good = (*make_units("u9"), *broken.units)
        message = MessageKey("", "m9", "")
        with pytest.raises(InvalidRequest):
            commit(ledger, replace(broken, expected_revision=1, units=good, messages=(message,)))
        assert everything_of(ledger) == before
        assert ledger.turns.known(bank, [message]) == frozenset()

    def test_row_ids_only_grow(self, ledger: Ledger, bank: str) -> None:
        """Row ids are never reused, even after a rejected write set."""
        commit(ledger, make_write_set(units=make_units("u1", "u2")))
        with pytest.raises(InvalidRequest):
            commit(ledger, make_write_set(1, units=make_units("u3"), mentions=[("u3", "ghost")]))
        commit(ledger, make_write_set(1, units=make_units("u2", "u4")))
        rows = ledger.units.row_ids(bank, ["u1", "u2", "u4"])
        assert rows["u1"] < rows["u2"] < rows["u4"]

    def test_a_closed_unit_can_be_restored(self, ledger: Ledger, bank: str) -> None:
        """Closing sets closed_at to the earliest statement, restoring clears it, and the log has both."""
        commit(ledger, make_write_set(units=make_units("u", "by")))
        row = ledger.units.row_ids(bank, ["u"])["u"]

        def closed_at(revision: int, kind: ValidityKind, hours: float) -> object:
            event = make_event("u", kind, hours, by_unit="by", reason="r")
            commit(ledger, make_write_set(revision, events=[event]))
            return ledger.units.get(bank, np.array([row]))[row].closed_at

        assert closed_at(1, CLOSED, 7) == at(7)
        assert closed_at(2, CLOSED, 5) == at(5)
        assert closed_at(3, CLOSED, 9) == at(5)
        assert closed_at(4, RESTORED, 10) is None
        assert closed_at(5, CLOSED, 12) == at(12)
        kinds = [event.kind for event in ledger.units.validity(bank, "u")]
        assert kinds == [CLOSED, CLOSED, CLOSED, RESTORED, CLOSED]
        assert ledger.units.validity(bank, "u")[0] == make_event("u", CLOSED, 5, by_unit="by", reason="r")
        assert ledger.units.validity(bank, "by") == ledger.units.validity(bank, "unknown") == []

    def test_an_event_repeated_after_a_restore_does_not_close_again(self, ledger: Ledger, bank: str) -> None:
        """A repeated retraction that was undone meanwhile stays undone."""
        closing = make_event("u", CLOSED, 1)
        commit(ledger, make_write_set(units=make_units("u"), events=[closing]))
        commit(ledger, make_write_set(1, events=[make_event("u", RESTORED, 2)]))
        commit(ledger, make_write_set(2, events=[closing]))
        assert changes(ledger, bank).columns.closed.tolist() == [NEVER]


class TestDocument:
    """Documents, and which wording of a message is current."""

    def test_a_document_is_its_chunks(self, ledger: Ledger, bank: str) -> None:
        """A document's text is read back as retained; an unknown document is None."""
        commit(ledger, replace(make_write_set(), documents=(DOCUMENT,), chunks=(TWO, ONE)))
        stored = ledger.units.document(bank, "d")
        assert stored is not None
        assert (stored.text, stored.content_hash, stored.next_ordinal) == ("one two", "h", 2)
        assert ledger.units.document(bank, "other") is None

    def test_a_changed_document_replaces_the_stored_one(self, ledger: Ledger, bank: str) -> None:
        """A changed document's new chunks are read in order, and ordinals are never reused."""
        commit(ledger, replace(make_write_set(), documents=(DOCUMENT,), chunks=(ONE, TWO)))
        three = ChunkWrite("d", 2, "three ", "h2", position=0)
        changes = (three, replace(TWO, position=NOWHERE), replace(ONE, position=1))
        later = replace(DOCUMENT, content_hash="h'", mentioned_at=at(9))
        commit(ledger, replace(make_write_set(1), documents=(later,), chunks=changes))
        stored = ledger.units.document(bank, "d")
        assert stored is not None
        assert (stored.text, stored.content_hash, stored.next_ordinal) == ("three one ", "h'", 3)

    def test_the_same_document_again_is_no_change(self, ledger: Ledger, bank: str) -> None:
        """Writing an identical document does not raise the revision."""
        writes = replace(make_write_set(), documents=(DOCUMENT,), chunks=(ONE, TWO))
        first = commit(ledger, writes).revision
        assert commit(ledger, replace(writes, expected_revision=first)).revision == first
        assert ledger.revision(bank) == first

    def test_the_latest_wording_of_a_message_counts(self, ledger: Ledger, bank: str) -> None:
        """A message is known only in its latest wording, also after it was edited back."""
        old, new, other = MessageKey("t", "m", "old"), MessageKey("t", "m", "new"), MessageKey("u", "m", "x")
        for revision, key in enumerate((old, new, old)):
            commit(ledger, replace(make_write_set(revision), messages=(key, other)))
            assert ledger.turns.known(bank, [old, new, other]) == {key, other}
        assert commit(ledger, replace(make_write_set(3), messages=(old, other))).revision == 3


class TestTransaction:
    """A decision is committed on the state that it read."""

    def test_a_transaction_reads_what_it_commits_on(self, ledger: Ledger, bank: str) -> None:
        """Reads and feed in a transaction show the state that the commit is based on."""
        commit(ledger, rich_write_set())
        with ledger.transaction(bank) as transaction:
            known = transaction.turns.known(bank, [MessageKey("thread", "m1", "h1")])
            assert (len(known), transaction.feed.revision) == (1, 1)
            assert transaction.entities.named(bank, ["alice"])["alice"].mentions == 2
            rows = transaction.units.row_ids(bank, ["u1", "u2"])
            assert transaction.feed.columns(0).ids.tolist() == list(rows.values())
            writes = make_write_set(transaction.feed.revision, units=make_units("u3"))
            assert transaction.commit(writes).created == ("u3",)
        assert (ledger.revision(bank), ledger.units.count(bank)) == (2, 3)

    def test_a_transaction_left_without_a_commit_changes_nothing(self, ledger: Ledger, bank: str) -> None:
        """A transaction without a commit, or with an error, changes nothing and releases other writers."""
        with ledger.transaction(bank):
            pass
        with pytest.raises(ZeroDivisionError), ledger.transaction(bank):
            raise ZeroDivisionError
        assert commit(ledger, make_write_set(units=make_units("u"))).revision == 1

    def test_a_transaction_commits_once_and_to_its_own_bank(self, ledger: Ledger, bank: str) -> None:
        """A second commit, or one to another bank, is rejected; the first stays."""
        ledger.create_bank("other")
        with ledger.transaction(bank) as transaction:
            with pytest.raises(InvalidRequest):
                transaction.commit(make_write_set(bank="other"))
            transaction.commit(make_write_set(units=make_units("u1")))
            with pytest.raises(RuntimeError):
                transaction.commit(make_write_set(1, units=make_units("u2")))
        assert ledger.units.count(bank) == 1

    def test_writers_wait_for_each_other(self, ledger: Ledger, bank: str) -> None:
        """A writer waits for the other's transaction and then decides on its result; none is rejected."""

        def write(name: str) -> None:
            for number in range(10):
                with ledger.transaction(bank) as transaction:
                    units = make_units(f"{name}{number}")
                    transaction.commit(make_write_set(transaction.feed.revision, units=units))

        writers = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for each in writers:
            each.start()
        for each in writers:
            each.join()
        assert ledger.revision(bank) == ledger.units.count(bank) == 30

    def test_readers_do_not_wait_for_a_decision(self, ledger: Ledger, bank: str) -> None:
        """Readers see the previous state while a transaction is open, without waiting."""
        commit(ledger, make_write_set(units=make_units("u1")))
        counts: list[int] = []
        with ledger.transaction(bank) as transaction:
            reader = threading.Thread(target=lambda: counts.append(ledger.units.count(bank)))
            reader.start()
            reader.join(10)
            assert counts == [1]
            transaction.commit(make_write_set(1, units=make_units("u2")))
        assert ledger.units.count(bank) == 2

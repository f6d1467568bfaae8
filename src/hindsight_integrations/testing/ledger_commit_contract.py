"""What every Ledger promises of commits and validity, as tests; a part of `LedgerContract`."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from hindsight_integrations.errors import InvalidRequest, RevisionConflict
from hindsight_integrations.model.links import CausalRelation, Link, LinkType
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import FactType, Record, ValidityKind
from hindsight_integrations.model.writes import MessageKey, WriteSet
from hindsight_integrations.ports.arrays import NEVER
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.testing.builders import (
    DIMENSION,
    at,
    make_entity,
    make_event,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from hindsight_integrations.testing.ledger_support import (
    AMENDED,
    CLOSED,
    RESTORED,
    LedgerFixtures,
    everything_of,
    rich_write_set,
)


class LedgerCommitContract(LedgerFixtures):
    """Commits are whole, idempotent and refused when decided on an old revision; validity is a log."""

    def test_a_commit_is_read_back_whole(self, ledger: Ledger, bank: str) -> None:
        """Every field of a retained unit survives the ledger."""
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
            record=Record("expense", Decimal("3.410"), "coffee", "USD"),
        )
        plain = replace(make_unit("v"), record=Record("todo", "3.41"))
        receipt = ledger.commit(make_write_set(units=[with_vector(unit), with_vector(plain)]))
        assert (receipt.revision, receipt.created) == (1, ("u", "v"))
        rows = ledger.row_ids(bank, ["u", "v", "unknown"])
        found = ledger.units(bank, np.array([rows["v"], rows["u"], 10**9], np.int64))
        assert found == {rows["u"]: unit, rows["v"]: plain}
        assert str(found[rows["u"]].record) == str(unit.record)
        asked = np.array([rows["v"], 10**9, rows["u"]], np.int64)
        assert ledger.unit_ids(bank, asked) == {rows["v"]: "v", rows["u"]: "u"}

    def test_the_same_write_set_twice_changes_nothing(self, ledger: Ledger, bank: str) -> None:
        """A retried retain leaves memory exactly as it was, down to counts and revision."""
        ledger.commit(rich_write_set())
        before, entity = everything_of(ledger), ledger.entities_named(bank, ["alice"])["alice"]
        receipt = ledger.commit(rich_write_set(1))
        assert receipt.created == ()
        assert everything_of(ledger) == before
        assert ledger.entities_named(bank, ["alice"])["alice"] == entity
        assert len(ledger.validity(bank, "u1")) == 1

    def test_what_is_there_is_left_as_it_is(self, ledger: Ledger, bank: str) -> None:
        """A unit, link or entity that is written again with other content keeps its first content."""
        ledger.commit(rich_write_set())
        again = replace(
            make_write_set(
                1,
                units=[with_vector(make_unit("u1", "rewritten")), *make_units("u3")],
                entities=[replace(make_entity("e1", "alice"), name="Somebody")],
            ),
            links=(Link("u1", "u2", LinkType.CAUSAL, 0.9, CausalRelation.ENABLES),),
        )
        assert ledger.commit(again).created == ("u3",)
        assert "rewritten" not in ledger.texts(bank, 0)[1]
        assert ledger.graph(bank, 0)[1].weights.tolist() == [0.5]
        assert ledger.entities_named(bank, ["alice"])["alice"].name == "Alice"

    def test_a_write_decided_on_an_old_revision_is_refused(self, ledger: Ledger, bank: str) -> None:
        """Two writers cannot overwrite each other: the later one is told, and nothing of its set is kept."""
        ledger.commit(make_write_set(units=make_units("u1")))
        with pytest.raises(RevisionConflict) as caught:
            ledger.commit(make_write_set(units=make_units("u2")))
        assert (caught.value.expected, caught.value.actual) == (0, 1)
        assert ledger.row_ids(bank, ["u1", "u2"]).keys() == {"u1"}

    def test_an_empty_write_set_is_no_commit(self, ledger: Ledger, bank: str) -> None:
        """Retaining nothing leaves the revision alone."""
        assert ledger.commit(make_write_set()).revision == 0
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
            make_write_set(units=make_units("x", bank="another")),
            make_write_set(units=[with_vector(make_unit("x"), DIMENSION + 1)]),
        ],
    )
    def test_a_write_set_naming_what_is_not_there_is_refused_whole(
        self, ledger: Ledger, bank: str, broken: WriteSet
    ) -> None:
        """A dangling reference or a foreign vector is an error, and nothing of its write set is kept."""
        ledger.commit(rich_write_set())
        before = everything_of(ledger)
        good = (*make_units("u9"), *broken.units)
        with pytest.raises(InvalidRequest):
            ledger.commit(
                replace(broken, expected_revision=1, units=good, messages=(MessageKey("", "m9", ""),))
            )
        assert everything_of(ledger) == before
        assert ledger.known_messages(bank, [MessageKey("", "m9", "")]) == frozenset()

    def test_messages_are_known_exactly(self, ledger: Ledger, bank: str) -> None:
        """A message counts as retained only if thread, id and content all agree."""
        kept = [MessageKey("t", str(number), "h") for number in range(1000)]
        ledger.commit(replace(make_write_set(), messages=tuple(kept)))
        others = [MessageKey("t2", "1", "h"), MessageKey("t", "1", "other"), MessageKey("t", "1000", "h")]
        assert ledger.known_messages(bank, [*others, *kept, *kept]) == frozenset(kept)
        assert ledger.known_messages(bank, []) == frozenset()

    def test_row_ids_only_grow(self, ledger: Ledger, bank: str) -> None:
        """A row id, once given, is never given to another unit, refused write sets included."""
        ledger.commit(make_write_set(units=make_units("u1", "u2")))
        with pytest.raises(InvalidRequest):
            ledger.commit(make_write_set(1, units=make_units("u3"), mentions=[("u3", "ghost")]))
        ledger.commit(make_write_set(1, units=make_units("u2", "u4")))
        rows = ledger.row_ids(bank, ["u1", "u2", "u4"])
        assert rows["u1"] < rows["u2"] < rows["u4"]

    def test_a_closed_unit_can_be_restored(self, ledger: Ledger, bank: str) -> None:
        """Closing sets closed_at to the earliest statement, restoring clears it, and the log tells both."""
        ledger.commit(make_write_set(units=make_units("u", "by")))
        row = ledger.row_ids(bank, ["u"])["u"]

        def closed_at(revision: int, kind: ValidityKind, hours: float) -> object:
            ledger.commit(
                make_write_set(revision, events=[make_event("u", kind, hours, by_unit="by", reason="r")])
            )
            return ledger.units(bank, np.array([row]))[row].closed_at

        assert closed_at(1, CLOSED, 7) == at(7)
        assert closed_at(2, CLOSED, 5) == at(5)
        assert closed_at(3, CLOSED, 9) == at(5)
        assert closed_at(4, AMENDED, 3) == at(5)
        assert closed_at(5, RESTORED, 10) is None
        assert closed_at(6, CLOSED, 12) == at(12)
        kinds = [event.kind for event in ledger.validity(bank, "u")]
        assert kinds == [AMENDED, CLOSED, CLOSED, CLOSED, RESTORED, CLOSED]
        assert ledger.validity(bank, "u")[0] == make_event("u", AMENDED, 3, by_unit="by", reason="r")
        assert ledger.validity(bank, "by") == ledger.validity(bank, "unknown") == []

    def test_an_event_repeated_after_a_restore_does_not_close_again(self, ledger: Ledger, bank: str) -> None:
        """A retried retraction that was undone meanwhile stays undone."""
        closing = make_event("u", CLOSED, 1)
        ledger.commit(make_write_set(units=make_units("u"), events=[closing]))
        ledger.commit(make_write_set(1, events=[make_event("u", RESTORED, 2)]))
        ledger.commit(make_write_set(2, events=[closing]))
        assert ledger.columns(bank, 0).closed.tolist() == [NEVER]

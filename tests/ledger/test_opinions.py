"""Contract of opinions and their evidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_entity,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_opinions import (
    CONTRADICT,
    REINFORCE,
    add,
    close,
    evidence,
    form,
    formation,
    log_of,
    opinion_unit,
    restore,
    reword,
    valid,
    writing,
)
from ledger_support import CLOSED, RESTORED, commit
from table import every_row

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.opinions import (
    OpinionOrigin,
    OpinionsWrite,
    RewordingWrite,
    confidence_of,
    opinion_of,
)
from hindsight_integrations.model.units import FactType
from hindsight_integrations.model.writes import ObservedWrite


class TestOpinions:
    """Opinions are formed once, rewordings are logged, and evidence is written once and never changed."""

    @pytest.fixture
    def held(self, ledger: Ledger, bank: str) -> Ledger:
        """A bank with four facts, and an opinion based on the first two."""
        assert bank == BANK
        commit(ledger, make_write_set(0, units=make_units("f1", "f2", "f3", "f4")))
        form(ledger, "o", "f2", "f1")
        return ledger

    def test_an_opinion_is_read_as_it_was_formed(self, ledger: Ledger, bank: str) -> None:
        """Confidence, times, profile, reasons, grounds, tags and entities are read back, and the revision rises."""
        commit(ledger, make_write_set(0, units=make_units("f1", "f2"), entities=[make_entity("alice")]))
        formed = formation("o", "f2", "f1", operation="run")
        writes = writing(
            ledger, OpinionsWrite((formed,)), opinion_unit("o", tags=("work",)), mentions=[("o", "alice")]
        )
        assert commit(ledger, writes).revision == 2
        (log,) = ledger.opinions.get(bank)
        assert (log.id, log.confidence, log.formed_at, log.revision) == ("o", 0.7, at(5), 2)
        assert (log.origin, log.operation, log.profile) == (OpinionOrigin.REFLECT, "run", 3)
        assert (log.reasoning, log.tags, log.entities, log.assessed_to) == (
            "because",
            ("work",),
            ("Alice",),
            1,
        )
        (version,) = log.versions
        assert (version.unit_id, version.text, version.since) == ("o", "fact o", at(5))
        assert (version.reason, version.based_on, version.closed_at) == ("", ("f1", "f2"), None)
        assert ledger.opinions.get(bank, ["o", "nobody"]) == [log]
        assert ledger.opinions.get(bank, []) == []

    def test_a_retained_opinion_is_one_that_was_given(self, ledger: Ledger, bank: str) -> None:
        """A retained opinion unit without a formation is a given opinion with confidence 0.5."""
        units = [
            opinion_unit("o"),
            replace(opinion_unit("p"), unit=replace(opinion_unit("p").unit, confidence=0.9)),
        ]
        commit(ledger, make_write_set(0, units=units))
        assert [(log.id, log.confidence, log.origin) for log in ledger.opinions.get(bank)] == [
            ("o", 0.5, OpinionOrigin.GIVEN),
            ("p", 0.9, OpinionOrigin.GIVEN),
        ]
        assert [version.unit_id for log in ledger.opinions.get(bank) for version in log.versions] == [
            "o",
            "p",
        ]

    def test_forming_twice_changes_nothing(self, held: Ledger) -> None:
        """Forming the same opinion again, even with another confidence, changes nothing."""
        before, revision = held.opinions.get(BANK), held.revision(BANK)
        form(held, "o", "f3", confidence=0.1)
        assert (held.opinions.get(BANK), held.revision(BANK)) == (before, revision)

    def test_an_operation_is_known_even_if_it_formed_nothing(self, held: Ledger) -> None:
        """A repeated reflection learns what it formed the first time, even if nothing."""
        assert held.opinions.formed_by(BANK, "run") is None
        formed = [formation(unit, operation="run") for unit in ("p", "q")]
        commit(held, writing(held, OpinionsWrite(tuple(formed)), opinion_unit("p"), opinion_unit("q")))
        commit(held, writing(held, OpinionsWrite(operation="idle")))
        assert held.opinions.formed_by(BANK, "run") == ("p", "q")
        assert held.opinions.formed_by(BANK, "idle") == ()
        revision = held.revision(BANK)
        commit(held, writing(held, OpinionsWrite(operation="idle")))
        assert held.revision(BANK) == revision

    def test_a_rewording_closes_the_wording_before_and_keeps_the_opinion(self, held: Ledger) -> None:
        """A reworded opinion keeps its id and all grounds of the old wording."""
        reword(held, "o", "o2", "f3")
        log = log_of(held)
        assert [(each.unit_id, each.reason) for each in log.versions] == [("o", ""), ("o2", "reworded as o2")]
        assert [each.closed_at for each in log.versions] == [at(8), None]
        assert log.versions[1].based_on == ("f1", "f2", "f3")
        rows = held.units.row_ids(BANK, ["o", "o2", "f1"])
        assert held.opinions.of_units(BANK, np.array(list(rows.values()))) == {
            rows["o"]: "o",
            rows["o2"]: "o",
        }
        assert len(held.opinions.get(BANK)) == 1

    def test_an_earlier_wording_is_the_opinion_of_then(self, held: Ledger) -> None:
        """As of an earlier time or revision, the opinion has its earlier wording and state."""
        revision = held.revision(BANK)
        reword(held, "o", "o2", "f3", hours=8)
        close(held, "f1", "f2", "f3", hours=10)
        closed = held.revision(BANK)
        restore(held, "f1", hours=12)
        log = log_of(held)
        for then, unit, closed_at in (
            (opinion_of(log), "o2", None),
            (opinion_of(log, as_of=at(7)), "o", None),
            (opinion_of(log, as_of_revision=revision), "o", None),
            (opinion_of(log, as_of=at(9)), "o2", None),
            (opinion_of(log, as_of=at(11)), "o2", at(10)),
            (opinion_of(log, as_of_revision=closed), "o2", at(10)),
            (opinion_of(log, as_of=at(12)), "o2", None),
        ):
            assert then is not None
            assert (then.unit_id, then.closed_at) == (unit, closed_at)

    def test_two_valid_wordings_of_one_opinion_are_refused(self, held: Ledger) -> None:
        """A rewording that does not close the previous wording is rejected."""
        write = OpinionsWrite(reworded=(RewordingWrite("o", "o2", "", ()),))
        with pytest.raises(InvalidRequest, match="closes the wording before"):
            commit(held, writing(held, write, opinion_unit("o2")))
        assert held.units.row_ids(BANK, ["o2"]) == {}

    def test_evidence_is_written_once_and_read_in_order(self, held: Ledger) -> None:
        """The first assessment of a fact is kept; the log is ordered by time, then unit id."""
        add(
            held,
            evidence("o", "f4", CONTRADICT, hours=7),
            evidence("o", "f3", restates=("f4", "nobody", "f3")),
        )
        revision = held.revision(BANK)
        add(held, evidence("o", "f3", CONTRADICT, hours=1))
        assert held.revision(BANK) == revision
        log = log_of(held)
        assert [(row.unit_id, row.assessment) for row in log.evidence] == [
            ("f3", REINFORCE),
            ("f4", CONTRADICT),
        ]
        row = log.evidence[0]
        assert (row.sources, row.version, row.restates) == (("speaker of f3",), "o", ("f4",))
        assert (row.reason, row.effective_at, row.revision, row.validity) == ("seen f3", at(6), revision, ())
        assert confidence_of(log) == pytest.approx(0.55)

    def test_what_became_of_a_fact_is_read_with_its_row(self, held: Ledger) -> None:
        """An evidence row shows since when its fact is closed or restored, and counts accordingly."""
        add(held, evidence("o", "f3"))
        close(held, "f3", hours=10)
        assert [change.kind for change in log_of(held).evidence[0].validity] == [CLOSED]
        assert confidence_of(log_of(held)) == 0.7
        assert confidence_of(log_of(held), as_of=at(9)) == 0.85
        restore(held, "f3", hours=11)
        changes = log_of(held).evidence[0].validity
        assert [(change.kind, change.effective_at) for change in changes] == [
            (CLOSED, at(10)),
            (RESTORED, at(11)),
        ]
        assert confidence_of(log_of(held)) == 0.85

    @every_row(
        "write",
        [
            OpinionsWrite((formation("f1"),)),
            OpinionsWrite((formation("nobody"),)),
            OpinionsWrite((formation("new", "nobody"),)),
            OpinionsWrite((formation("new", confidence=7.0),)),
            OpinionsWrite((formation("new", confidence=float("nan")),)),
            OpinionsWrite(reworded=(RewordingWrite("nobody", "new", "", ()),)),
            OpinionsWrite(reworded=(RewordingWrite("f1", "new", "", ()),)),
            OpinionsWrite(evidence=(evidence("nobody", "f1"),)),
            OpinionsWrite(evidence=(evidence("o", "nobody"),)),
            OpinionsWrite(evidence=(evidence("o", "p"),)),
            OpinionsWrite(evidence=(evidence("o", "s"),)),
            OpinionsWrite(evidence=(evidence("o", "f1", version="p"),)),
            OpinionsWrite(evidence=(replace(evidence("o", "f1"), sources=()),)),
            OpinionsWrite(evidence=(replace(evidence("o", "f1"), step=1.0),)),
            OpinionsWrite(assessed={"nobody": 1}),
        ],
    )
    def test_what_cannot_be_an_opinion_or_evidence_is_refused_whole(
        self, held: Ledger, write: OpinionsWrite
    ) -> None:
        """Invalid opinions or evidence reject the whole write set."""
        given = [opinion_unit("p"), with_vector(make_unit("s", fact_type=FactType.OBSERVATION))]
        commit(held, make_write_set(held.revision(BANK), units=given))
        before = held.revision(BANK), held.opinions.get(BANK)
        with pytest.raises(InvalidRequest):
            commit(held, writing(held, write, opinion_unit("new")))
        assert (held.revision(BANK), held.opinions.get(BANK)) == before

    def test_evidence_of_another_bank_is_refused(self, held: Ledger) -> None:
        """Evidence that refers to another bank's opinions or facts is rejected."""
        held.create_bank("other")
        commit(held, make_write_set(0, bank="other", units=make_units("g", bank="other")))
        assert held.opinions.get("other") == []
        assert held.opinions.of_units("other", np.array(list(held.units.row_ids(BANK, ["o"]).values()))) == {}
        with pytest.raises(InvalidRequest):
            add(held, evidence("o", "g"))

    def test_how_far_facts_were_looked_at_only_grows(self, held: Ledger) -> None:
        """Tasks that end out of order never lower the revision up to which facts were assessed."""
        for to, kept in ((2, 2), (1, 2), (10_000, held.revision(BANK) + 2)):
            commit(held, writing(held, OpinionsWrite(assessed={"o": to})))
            assert log_of(held).assessed_to == kept

    def test_facts_since_a_revision_are_those_to_be_assessed(self, held: Ledger) -> None:
        """New and restored facts are listed for assessment, opinions and closed facts are not."""
        revision = held.revision(BANK)
        assert held.opinions.facts_since(BANK, revision).tolist() == []
        told = [
            with_vector(make_unit("e", fact_type=FactType.EXPERIENCE)),
            *make_units("f5", "f6"),
            opinion_unit("p"),
        ]
        commit(held, make_write_set(revision, units=told))
        close(held, "f5", "f4")
        rows = held.units.row_ids(BANK, ["e", "f6", "f4"])
        assert held.opinions.facts_since(BANK, revision).tolist() == sorted([rows["e"], rows["f6"]])
        restore(held, "f4")
        assert held.opinions.facts_since(BANK, revision).tolist() == sorted(rows.values())

    def test_an_opinion_ends_with_its_last_ground_and_comes_back_with_one(self, held: Ledger) -> None:
        """An opinion is closed with its last ground and restored with any of them."""
        close(held, "f1", hours=10)
        assert valid(held, "o") == [True]
        close(held, "f2", hours=9)
        assert log_of(held).versions[0].closed_at == at(10)
        restore(held, "f2", hours=12)
        assert valid(held, "o", "f1") == [True, False]
        close(held, "f2", hours=9)
        close(held, "f2", hours=8)
        assert valid(held, "o") == [False]

    def test_an_opinion_taken_back_by_hand_stays_so(self, held: Ledger) -> None:
        """An opinion closed for another reason is not restored with its grounds."""
        close(held, "o", hours=8)
        close(held, "f1", "f2")
        restore(held, "f1", "f2")
        assert valid(held, "o") == [False]

    def test_of_several_wordings_the_newest_alone_follows_its_grounds(self, held: Ledger) -> None:
        """Restoring a fact does not restore a replaced wording."""
        reword(held, "o", "o2", "f3")
        close(held, "f1", "f2", "f3")
        assert valid(held, "o", "o2") == [False, False]
        restore(held, "f1")
        assert valid(held, "o", "o2") == [False, True]

    def test_opinions_worded_from_observations_stand_on_their_facts(self, held: Ledger) -> None:
        """An opinion based on an observation has the observation's facts as grounds."""
        revision = held.revision(BANK)
        writes = make_write_set(
            revision,
            units=[with_vector(make_unit("s", fact_type=FactType.OBSERVATION))],
            entities=[make_entity("alice")],
            mentions=[("f3", "alice"), ("s", "alice")],
        )
        commit(held, replace(writes, observed=ObservedWrite("alice", {"s": ("f3",)}, (), revision + 1)))
        form(held, "p", "s", "o")
        assert log_of(held, "p").versions[0].based_on == ("f1", "f2", "f3")

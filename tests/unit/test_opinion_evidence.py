"""Rows of an opinion's evidence log, and their sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from builders import at, make_unit
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.config import OpinionConfig
from hindsight_integrations.language.packs import ENGLISH
from hindsight_integrations.language.specifics import specifics
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.opinions import (
    Assessment,
    Evidence,
    EvidenceStrength,
    EvidenceWrite,
    OpinionLog,
    OpinionOrigin,
    OpinionVersion,
    UpdateRule,
    confidence_of,
)
from hindsight_integrations.model.profile import BankProfile, BigFive, Disposition
from hindsight_integrations.model.turns import Role, SourceTurn
from hindsight_integrations.model.units import FactType
from hindsight_integrations.reflect.opinions.evidence import (
    AssessedFact,
    Fact,
    evidence_rows,
    is_evidence,
    sources_of,
    step_of,
    unsaid,
)

THRESHOLDS = Thresholds(semantic_link=0.6, channel_floor=0.2, duplicate=0.9)


def turn(speaker: str, role: Role = Role.USER) -> SourceTurn:
    return SourceTurn("t", speaker, "words", speaker, role, at(0))


def fact(
    unit_id: str, *sources: str, means: int = 0, hours: float = 0, tags: tuple[str, ...] = (), text: str = ""
) -> Fact:
    """Build a fact whose vector represents its meaning."""
    vector = np.zeros(8, np.float32)
    vector[means] = 1.0
    unit = make_unit(unit_id, text or f"it means {'abcdefgh'[means]}", hours=hours, tags=tags)
    return Fact(unit, vector, sources, specifics(unit.text, ENGLISH))


def log_of(
    *evidence: Evidence, based_on: tuple[str, ...] = (), tags: tuple[str, ...] = (), confidence: float = 0.7
) -> OpinionLog:
    return OpinionLog(
        id="opinion",
        confidence=confidence,
        formed_at=at(0),
        recorded_at=at(0),
        revision=1,
        origin=OpinionOrigin.REFLECT,
        operation="",
        profile=0,
        reasoning="",
        tags=tags,
        entities=(),
        versions=(OpinionVersion("opinion", "I think so, because of that.", at(0), "", based_on, 1),),
        evidence=evidence,
    )


def recorded(write: EvidenceWrite) -> Evidence:
    """Return a row as the ledger returns it."""
    return Evidence(
        unit_id=write.unit_id,
        sources=write.sources,
        assessment=write.assessment,
        strength=write.strength,
        rule=write.rule,
        step=write.step,
        reason=write.reason,
        version=write.version,
        effective_at=write.effective_at,
        recorded_at=at(100),
        revision=2,
        restates=write.restates,
    )


def judged(
    one: Fact, assessment: Assessment = Assessment.REINFORCE, restates: tuple[str, ...] = ()
) -> AssessedFact:
    return AssessedFact(one, assessment, EvidenceStrength.STRONG, "It says so.", restates)


def rows_of(
    log: OpinionLog,
    assessed: Sequence[AssessedFact],
    known: Sequence[Fact] = (),
    repeating: Sequence[Fact] = (),
    *,
    step: float = 0.15,
) -> tuple[EvidenceWrite, ...]:
    return evidence_rows(
        log,
        assessed,
        {each.unit.id: each for each in known},
        thresholds=THRESHOLDS,
        rule=UpdateRule.ADDITIVE,
        step=step,
        repeating=repeating,
    )


def test_sources_are_who_spoke() -> None:
    """Sources are the speakers of the cited turns, except the agent."""
    unit = make_unit("u")
    spoken = (turn("Ada "), turn("bot", Role.ASSISTANT), turn("ADA"), turn("Ben"))
    assert sources_of(unit, spoken) == ("ada", "ben")
    assert sources_of(unit, (turn("bot", Role.ASSISTANT),)) == ()


def test_without_turns_the_document_or_the_conversation_speaks() -> None:
    """A world memory always has a source; an experience without a stored conversation may be the agent's words."""
    unit = make_unit("u")
    assert sources_of(replace(unit, document_id="d", thread="t"), ()) == ("document:d",)
    assert sources_of(replace(unit, thread="t"), ()) == ("thread:t",)
    assert sources_of(replace(unit, thread="t", sources=("m",), speaker="Ada"), ()) == ("ada",)
    lived = replace(unit, fact_type=FactType.EXPERIENCE, thread="t")
    assert sources_of(lived, ()) == ("thread:t",)
    assert sources_of(replace(lived, sources=("m",)), ()) == ()
    assert sources_of(replace(lived, speaker="assistant"), ()) == ()


@pytest.mark.parametrize("network", [FactType.OPINION, FactType.OBSERVATION])
def test_what_the_agent_concluded_is_no_evidence(network: FactType) -> None:
    """Opinions and observations are not evidence."""
    assert sources_of(make_unit("u", fact_type=network), (turn("Ada"),)) == ()


def test_evidence_is_as_visible_as_its_opinion() -> None:
    """Untagged facts are always evidence; tagged ones need the opinion's tags."""
    tagged = log_of(tags=("a",))
    assert is_evidence(fact("f", "ada", tags=("a",)), tagged)
    assert is_evidence(fact("f", "ada"), tagged)
    assert not is_evidence(fact("f", "ada", tags=("a", "b")), tagged)
    assert not is_evidence(fact("f", "ada", tags=("a",)), log_of())
    assert not is_evidence(fact("f"), log_of())


def test_a_fact_is_weighed_once() -> None:
    """A fact in the log, or one the opinion was worded from, is not assessed again."""
    one, ground = fact("one", "ada"), fact("ground", "ada", means=1)
    log = log_of(based_on=("ground",))
    (row,) = rows_of(log, [judged(one), judged(ground)], [ground])
    assert (row.unit_id, row.sources, row.effective_at) == ("one", ("ada",), at(0))
    known = log_of(recorded(row), based_on=("ground",))
    assert rows_of(known, [judged(one), judged(ground)], [one, ground]) == ()


def test_what_a_source_says_again_takes_over_its_row() -> None:
    """A repetition by the same source copies assessment, strength and step of the first row, but no reason."""
    first, again = fact("first", "ada"), fact("again", "ada", hours=1)
    (row,) = rows_of(log_of(), [judged(first)])
    log = log_of(recorded(row))
    assert unsaid(log, [again], {"first": first}, thresholds=THRESHOLDS) == []
    (copy,) = rows_of(log, [judged(again, Assessment.CONTRADICT)], [first], step=0.1)
    assert (copy.assessment, copy.strength, copy.step) == (row.assessment, row.strength, row.step)
    assert copy.restates == ("first",)
    assert "It says so" not in copy.reason


def test_another_source_is_corroboration() -> None:
    """The same statement by another source is assessed and counts."""
    first, other = fact("first", "ada"), fact("other", "ben", hours=1)
    assert unsaid(log_of(), [first, other], {}, thresholds=THRESHOLDS) == [first, other]
    rows = rows_of(log_of(), [judged(first), judged(other)])
    assert [row.restates for row in rows] == [(), ()]


def test_of_several_sources_a_new_one_is_asked_about() -> None:
    """A statement of Ada, repeated by Ada and Ben, is assessed separately and connected with hers."""
    first, both = fact("first", "ada"), fact("both", "ada", "ben", hours=1)
    (row,) = rows_of(log_of(), [judged(first)])
    log = log_of(recorded(row))
    assert unsaid(log, [both], {"first": first}, thresholds=THRESHOLDS) == [both]
    (second,) = rows_of(log, [judged(both, Assessment.WEAKEN)], [first])
    assert (second.assessment, second.restates) == (Assessment.WEAKEN, ("first",))


def test_what_repeats_a_ground_is_neutral() -> None:
    """Repeating a ground by its own source is neutral; by another source it counts."""
    ground, again, other = (
        fact("ground", "ada"),
        fact("again", "ada", hours=1),
        fact("other", "ben", hours=2),
    )
    log = log_of(based_on=("ground",))
    assert unsaid(log, [again, other], {"ground": ground}, thresholds=THRESHOLDS) == [other]
    rows = rows_of(log, [judged(again), judged(other)], [ground])
    assert [row.assessment for row in rows] == [Assessment.NEUTRAL, Assessment.REINFORCE]


def test_an_assessor_may_name_what_is_said_again() -> None:
    """An assessor may name a repetition by the same source; others are ignored."""
    first, reworded = fact("first", "ada"), fact("reworded", "ada", means=1, hours=1)
    other = fact("other", "ben", means=2, hours=2)
    (row,) = rows_of(log_of(), [judged(first)])
    rows = rows_of(
        log_of(recorded(row)),
        [judged(reworded, Assessment.WEAKEN, ("first",)), judged(other, Assessment.WEAKEN, ("first",))],
        [first],
    )
    assert [(each.assessment, each.restates) for each in rows] == [
        (Assessment.REINFORCE, ("first",)),
        (Assessment.WEAKEN, ()),
    ]


def test_repetitions_wait_for_what_they_repeat() -> None:
    """A repetition gets no row before the fact it repeats has one."""
    first, again = fact("first", "ada"), fact("again", "ada", hours=1)
    assert rows_of(log_of(), [], [], [again]) == ()
    rows = rows_of(log_of(), [judged(first)], [], [again])
    assert [row.unit_id for row in rows] == ["first", "again"]


FACTS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.sets(st.sampled_from(["ada", "ben", "cleo"]), min_size=1, max_size=2),
        st.integers(0, 9),
    ),
    max_size=8,
)
VERDICTS = (Assessment.REINFORCE, Assessment.CONTRADICT, Assessment.WEAKEN, Assessment.NEUTRAL)


def delivered(batches: Sequence[Sequence[Fact]], ground: Fact) -> OpinionLog:
    """Return the log after these deliveries, one task each, with an assessor that decides by meaning only."""
    log, known = log_of(based_on=(ground.unit.id,)), {ground.unit.id: ground}
    for batch in batches:
        asked = unsaid(log, batch, known, thresholds=THRESHOLDS)
        left = [each for each in batch if each not in asked]
        assessed = [judged(each, VERDICTS[int(np.argmax(each.vector))]) for each in asked]
        rows = rows_of(log, assessed, list(known.values()), left)
        known.update({each.unit.id: each for each in batch})
        log = replace(log, evidence=(*log.evidence, *map(recorded, rows)))
    return log


@given(FACTS, st.data())
def test_the_order_and_number_of_deliveries_move_nothing(
    given_facts: list[tuple[int, set[str], int]], data: st.DataObject
) -> None:
    """The confidence does not depend on the order or repetition of deliveries."""
    facts = [
        fact(f"f{place}", *sorted(sources), means=means, hours=hours)
        for place, (means, sources, hours) in enumerate(given_facts)
    ]
    ground = fact("ground", "ada", means=data.draw(st.integers(0, 4)))
    once = delivered([facts], ground)
    shuffled = data.draw(st.permutations(facts))
    cut = data.draw(st.integers(0, len(facts)))
    apart = delivered([shuffled[:cut], shuffled[cut:]], ground)
    one_by_one = delivered([[each] for each in shuffled], ground)
    again = delivered([facts, facts, shuffled], ground)
    assert len(once.evidence) == len(facts)
    assert {confidence_of(log) for log in (once, apart, one_by_one, again)} == {confidence_of(once)}
    assert {len(log.evidence) for log in (apart, one_by_one, again)} == {len(facts)}


def test_reasons_are_short_and_on_one_line() -> None:
    """Reasons are shortened to one line."""
    long = AssessedFact(fact("f", "ada"), Assessment.WEAKEN, EvidenceStrength.MILD, "so\n " * 300)
    (row,) = rows_of(log_of(), [long])
    assert len(row.reason) <= 200
    assert "\n" not in row.reason


def test_skeptical_profiles_take_smaller_steps() -> None:
    """0.15 becomes 0.125 and 0.10; with the other rule its own rate changes likewise; Big Five profiles keep the step."""

    def step(skepticism: int, rule: UpdateRule = UpdateRule.ADDITIVE, *, cautious: bool = True) -> float:
        profile = BankProfile(disposition=Disposition(skepticism, 3, 3))
        return step_of(profile, OpinionConfig(rule=rule, cautious_steps=cautious))

    assert [step(level) for level in range(1, 6)] == pytest.approx([0.15, 0.15, 0.15, 0.125, 0.10])
    assert step(5, cautious=False) == 0.15
    assert step(5, UpdateRule.MULTIPLICATIVE) == pytest.approx(0.2 * 2 / 3)
    assert step_of(BankProfile(disposition=BigFive(neuroticism=1.0)), OpinionConfig()) == 0.15

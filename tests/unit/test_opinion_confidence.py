"""Confidence from the evidence log, by properties: bounds, order, sources, validity, times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from builders import at
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.model.opinions import (
    Assessment,
    Evidence,
    EvidenceStrength,
    OpinionLog,
    OpinionOrigin,
    OpinionVersion,
    UpdateRule,
    ValidityChange,
    confidence_of,
    counted,
    trajectory,
    updated,
)
from hindsight_integrations.model.units import ValidityKind

SHARE = st.floats(0.0, 1.0)
STEP = st.floats(0.01, 0.99)
RULES = st.sampled_from(list(UpdateRule))
HOURS = st.integers(-3, 12)


@st.composite
def validity(draw: st.DrawFn) -> tuple[ValidityChange, ...]:
    """Generate closings and restorings with effective times in any order."""
    kinds = draw(st.lists(st.sampled_from([ValidityKind.CLOSED, ValidityKind.RESTORED]), max_size=4))
    return tuple(ValidityChange(kind, at(draw(HOURS)), revision) for revision, kind in enumerate(kinds, 10))


@st.composite
def evidence(draw: st.DrawFn, most: int = 7) -> list[Evidence]:
    """Generate rows of a few facts and sources, with repetitions."""
    size = draw(st.integers(0, most))
    names = [f"f{place}" for place in range(size)]
    return [
        Evidence(
            unit_id=name,
            sources=tuple(sorted(draw(st.sets(st.sampled_from("abc"), min_size=1, max_size=2)))),
            assessment=draw(st.sampled_from(list(Assessment))),
            strength=draw(st.sampled_from(list(EvidenceStrength))),
            rule=draw(RULES),
            step=draw(st.sampled_from([0.05, 0.1, 0.15, 0.2, 0.9])),
            reason="",
            version="opinion",
            effective_at=at(draw(HOURS)) + timedelta(microseconds=draw(st.sampled_from([0, 1, 999_999]))),
            recorded_at=at(50),
            revision=draw(st.integers(1, 5)),
            restates=tuple(draw(st.sets(st.sampled_from(names), max_size=2)) - {name}),
            validity=draw(validity()),
        )
        for name in names
    ]


def log_of(rows: Sequence[Evidence], confidence: float = 0.5) -> OpinionLog:
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
        tags=(),
        entities=(),
        versions=(OpinionVersion("opinion", "I think so.", at(0), "", (), 1),),
        evidence=tuple(rows),
    )


def row(
    unit_id: str,
    *sources: str,
    assessment: Assessment = Assessment.REINFORCE,
    hours: float = 1,
    restates: tuple[str, ...] = (),
    rule: UpdateRule = UpdateRule.ADDITIVE,
) -> Evidence:
    return Evidence(
        unit_id=unit_id,
        sources=sources,
        assessment=assessment,
        strength=EvidenceStrength.STRONG,
        rule=rule,
        step=0.15 if rule is UpdateRule.ADDITIVE else 0.2,
        reason="",
        version="opinion",
        effective_at=at(hours),
        recorded_at=at(hours),
        revision=2,
        restates=restates,
    )


def closed(one: Evidence, hours: float, *, restored: float | None = None) -> Evidence:
    changes = [ValidityChange(ValidityKind.CLOSED, at(hours), 3)]
    if restored is not None:
        changes.append(ValidityChange(ValidityKind.RESTORED, at(restored), 4))
    return replace(one, validity=tuple(changes))


@given(SHARE, st.sampled_from(list(Assessment)), st.sampled_from(list(EvidenceStrength)), RULES, STEP)
def test_an_update_stays_between_none_and_full_and_goes_the_right_way(
    confidence: float, assessment: Assessment, strength: EvidenceStrength, rule: UpdateRule, step: float
) -> None:
    """Reinforcement never lowers, contradiction never raises, neutral keeps the confidence; strong changes it at least as much as mild."""
    after = updated(confidence, assessment, strength, rule=rule, step=step)
    assert 0.0 <= after <= 1.0
    if assessment is Assessment.NEUTRAL:
        assert after == pytest.approx(confidence, abs=1e-9)
    elif assessment is Assessment.REINFORCE:
        assert after >= confidence - 1e-9
    else:
        assert after <= confidence + 1e-9
    mild = updated(confidence, assessment, EvidenceStrength.MILD, rule=rule, step=step)
    strong = updated(confidence, assessment, EvidenceStrength.STRONG, rule=rule, step=step)
    assert abs(strong - confidence) >= abs(mild - confidence) - 1e-9


@given(evidence(), SHARE, st.data())
def test_the_order_of_arrival_moves_nothing(rows: list[Evidence], start: float, data: st.DataObject) -> None:
    """The confidence does not depend on the order in which rows were recorded, now or at any time."""
    shuffled = data.draw(st.permutations(rows))
    later = [replace(each, revision=data.draw(st.integers(1, 9))) for each in shuffled]
    for as_of in (None, at(data.draw(HOURS))):
        expected = confidence_of(log_of(rows, start), as_of=as_of)
        assert 0.0 <= expected <= 1.0
        assert confidence_of(log_of(shuffled, start), as_of=as_of) == expected
        assert confidence_of(log_of(later, start), as_of=as_of) == expected
    assert trajectory(log_of(shuffled, start)) == trajectory(log_of(rows, start))


@given(evidence(), SHARE, st.integers(0, 6))
def test_of_a_revision_it_is_what_the_log_was_then(rows: list[Evidence], start: float, revision: int) -> None:
    """At a revision, later rows and validity changes are ignored."""
    then = [
        replace(each, validity=tuple(change for change in each.validity if change.revision <= revision))
        for each in rows
        if each.revision <= revision
    ]
    of_revision = confidence_of(log_of(rows, start), as_of_revision=revision)
    assert of_revision == confidence_of(log_of(then, start))


@given(evidence(), SHARE)
def test_the_trajectory_is_the_confidence_at_every_moment(rows: list[Evidence], start: float) -> None:
    """The trajectory gives the confidence at every time and ends with the final one."""
    log = log_of(rows, start)
    points = trajectory(log)
    assert [point.before for point in points[1:]] == [point.after for point in points[:-1]]
    for half_hours in range(30):
        moment = at(half_hours / 2)
        reached = [point.after for point in points if point.moment <= moment]
        assert confidence_of(log, as_of=moment) == reached[-1]
    assert confidence_of(log, as_of=at(1000)) == confidence_of(log) == points[-1].after


@given(evidence(), SHARE)
def test_each_source_counts_once_for_a_statement(rows: list[Evidence], start: float) -> None:
    """Of equal statements, each source counts once."""
    same = [replace(each, restates=(rows[0].unit_id,)) for each in rows]
    counting = counted(same)
    assert len(counting) <= len({source for each in same for source in each.sources})
    alone = [replace(each, sources=("a",)) for each in same]
    assert len(counted(alone)) <= 1


@given(st.integers(1, 50), RULES)
def test_repeating_moves_nothing_and_corroboration_does(times: int, rule: UpdateRule) -> None:
    """Repetitions by one source count once; other sources count too."""
    names = [f"f{place:02}" for place in range(times)]
    said = [
        row(name, "ada", hours=place, restates=tuple(names[:place][-1:]), rule=rule)
        for place, name in enumerate(names)
    ]
    assert confidence_of(log_of(said)) == confidence_of(log_of(said[:1]))
    spoken = [replace(each, sources=(f"speaker {each.unit_id}",)) for each in said]
    assert len(counted(spoken)) == times
    if times > 1:
        assert confidence_of(log_of(spoken, 0.2)) > confidence_of(log_of(said, 0.2))


@given(evidence(most=5), SHARE)
def test_a_neutral_fact_moves_nothing(rows: list[Evidence], start: float) -> None:
    """A neutral fact has no effect at any position."""
    idle = row("idle", "z", assessment=Assessment.NEUTRAL)
    assert confidence_of(log_of([*rows, idle], start)) == confidence_of(log_of(rows, start))


def test_a_closed_fact_counts_until_then_and_again_when_it_is_restored() -> None:
    """A fact counts while it is valid, in conversation time."""
    log = log_of([closed(row("f", "ada", hours=1), 3, restored=5)], 0.7)
    held = {hour: confidence_of(log, as_of=at(hour)) for hour in (0, 1, 2.5, 3, 4.5, 5, 9)}
    assert held == {0: 0.7, 1: 0.85, 2.5: 0.85, 3: 0.7, 4.5: 0.7, 5: 0.85, 9: 0.85}
    assert confidence_of(log, as_of_revision=3) == 0.7
    assert confidence_of(log, as_of_revision=2) == confidence_of(log) == 0.85


def test_a_remaining_copy_takes_the_place_of_one_withdrawn() -> None:
    """If a statement is withdrawn, another copy of it counts from its own time on."""
    first, copy = row("first", "ada", hours=1), row("copy", "ada", hours=2, restates=("first",))
    assert confidence_of(log_of([first, copy], 0.7)) == 0.85
    withdrawn = closed(first, 4)
    log = log_of([withdrawn, copy], 0.7)
    assert [each.unit_id for each in counted(log.evidence)] == ["copy"]
    assert confidence_of(log) == 0.85
    assert trajectory(log)[-1].after == 0.85
    assert confidence_of(log_of([withdrawn, closed(copy, 5)], 0.7)) == 0.7


def test_the_papers_trajectory_under_both_orders_of_arrival() -> None:
    """0.70, 0.85, 0.55 (paper section 5.7.1), from support and a strong contradiction, whichever was retained first."""
    support = row("support", "ada", hours=1)
    against = row("against", "ben", hours=2, assessment=Assessment.CONTRADICT)
    for rows in ([support, against], [against, support]):
        assert [point.after for point in trajectory(log_of(rows, 0.7))] == [0.7, 0.85, 0.55]


def test_moments_are_compared_by_the_second() -> None:
    """Times are compared by the second, as in recall."""
    moment: datetime = at(1)
    late = replace(row("f", "ada"), effective_at=moment + timedelta(microseconds=5))
    assert confidence_of(log_of([late], 0.7), as_of=moment) == 0.85


def test_a_thousand_rows_that_say_the_same_are_replayed_quickly() -> None:
    """A thousand repeated rows are computed quickly, and so is a trajectory of 300."""
    names = [f"f{place:04}" for place in range(300)]
    chain = [
        row(name, "ada", hours=place, restates=tuple(names[place + 1 : place + 2]))
        for place, name in enumerate(names)
    ]
    assert [point.after for point in trajectory(log_of(chain, 0.7))] == [0.7, 0.85]

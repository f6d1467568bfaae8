"""Confidence equals a reference computation, for any log in any order."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from builders import at
from hypothesis import given
from hypothesis import strategies as st
from replayed_confidence import counting, replayed

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
    history_of,
)
from hindsight_integrations.model.units import ValidityKind

FACTS = [f"fact{number}" for number in range(7)]


@st.composite
def validities(draw: st.DrawFn) -> tuple[ValidityChange, ...]:
    """The validity changes of a fact: closed and restored alternately, at any conversation times, one revision after the other."""
    hours = draw(st.lists(st.integers(0, 40), max_size=4))
    kinds = [ValidityKind.CLOSED, ValidityKind.RESTORED] * 2
    return tuple(
        ValidityChange(kind, at(hour), 20 + 5 * number)
        for number, (kind, hour) in enumerate(zip(kinds, sorted(hours), strict=False))
    )


@st.composite
def logs(draw: st.DrawFn) -> OpinionLog:
    """Logs with few facts and sources, so that sources repeat themselves and facts restate each other in cycles."""
    ids = draw(st.lists(st.sampled_from(FACTS), unique=True))
    rows = [
        Evidence(
            unit_id=unit_id,
            sources=tuple(
                sorted(draw(st.sets(st.sampled_from(("ann", "bob", "eve")), min_size=1, max_size=2)))
            ),
            assessment=draw(st.sampled_from(Assessment)),
            strength=draw(st.sampled_from(EvidenceStrength)),
            rule=draw(st.sampled_from(UpdateRule)),
            step=draw(st.sampled_from((0.1, 0.125, 0.15, 0.2))),
            reason="",
            version="opinion",
            effective_at=at(draw(st.integers(0, 20))),
            recorded_at=at(30),
            revision=draw(st.integers(2, 20)),
            restates=tuple(draw(st.sets(st.sampled_from(FACTS), max_size=2)) - {unit_id}),
            validity=draw(validities()),
        )
        for unit_id in ids
    ]
    return OpinionLog(
        id="opinion",
        confidence=draw(st.sampled_from((0.0, 0.3, 0.7, 1.0))),
        formed_at=at(0),
        recorded_at=at(0),
        revision=1,
        origin=OpinionOrigin.REFLECT,
        operation="",
        profile=0,
        reasoning="",
        tags=(),
        entities=(),
        versions=(OpinionVersion("opinion", "I think so, because of that.", at(0), "", (), 1),),
        evidence=tuple(rows),
    )


@pytest.mark.promise(
    "An opinion's confidence is the same as if its evidence had been delivered exactly once, even if it is delivered twice, late, or interrupted by a kill."
)
@given(
    logs(), st.none() | st.integers(0, 45), st.none() | st.integers(1, 40), st.integers(0, 999), st.randoms()
)
def test_the_plain_reading_gives_the_same(
    log: OpinionLog, hour: int | None, revision: int | None, micro: int, rng: random.Random
) -> None:
    """Now, as of a time and as of a revision; in any order of the rows; and the history ends with the same confidence."""
    as_of = None if hour is None else at(hour) + timedelta(microseconds=micro)
    expected = float(replayed(log, as_of=as_of, as_of_revision=revision))
    rows = [row.unit_id for row in counting(log, as_of=as_of, as_of_revision=revision)]
    shuffled = replace(log, evidence=tuple(rng.sample(log.evidence, len(log.evidence))))
    for each in (log, shuffled):
        found = counted(each.evidence, as_of=as_of, as_of_revision=revision)
        assert [row.unit_id for row in found] == rows
        assert confidence_of(each, as_of=as_of, as_of_revision=revision) == pytest.approx(expected, abs=1e-7)
        history = history_of(each, as_of=as_of, as_of_revision=revision)
        assert history.confidence == pytest.approx(expected, abs=1e-7)
        assert [entry.evidence.unit_id for entry in history.entries if entry.counts] == rows

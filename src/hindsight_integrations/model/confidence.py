"""Confidence of an opinion: recomputed from its evidence log, never stored (paper section 5.5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from hindsight_integrations.model.opinions import (
    Assessment,
    Evidence,
    EvidenceEntry,
    EvidenceStrength,
    Opinion,
    OpinionHistory,
    OpinionLog,
    UpdateRule,
    ValidityChange,
)
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.units import ValidityKind

MILD_SHARE = 0.5  # of a step that mild evidence makes; eq. 26 knows no strengths
STRONG_SUPPORT = 0.2  # alpha [reference, "Opinion Confidence Updates"]
MILD_SUPPORT = 0.05  # alpha' [reference, "Opinion Confidence Updates"]
CONTRADICTION_DECAY = 0.5  # gamma [reference, "Opinion Confidence Updates"]

_DIGITS = 9  # kept: 0.7 + 0.15 is 0.85


@dataclass(frozen=True, slots=True)
class ConfidenceChange:
    """One point of an opinion's trajectory (paper section 5.7.1).

    Attributes:
        moment: conversation time.
        before: confidence until then; None where the opinion was formed.
        after: confidence from then on.
        unit_ids: the facts that began to count, or ceased to, at that moment; none where it was formed.
    """

    moment: datetime
    before: float | None
    after: float
    unit_ids: tuple[str, ...] = ()


def updated(
    confidence: float,
    assessment: Assessment,
    strength: EvidenceStrength,
    *,
    rule: UpdateRule,
    step: float,
) -> float:
    """C' from c for one assessment, in [0, 1] (paper eq. 26; reference, "Opinion Confidence Updates").

    Args:
        confidence: c, in [0, 1].
        assessment: how the fact bears on the opinion; neutral changes nothing.
        strength: mild evidence goes half the way of strong one, but for the reference's own mild support.
        rule: which formula.
        step: a of eq. 26, in (0, 1); of the other rule the strong support's alpha, to which its other rates keep their ratio.
    """
    if assessment is Assessment.NEUTRAL:
        return confidence
    share = MILD_SHARE if strength is EvidenceStrength.MILD else 1.0
    if rule is UpdateRule.ADDITIVE:
        steps = {
            Assessment.REINFORCE: 1.0,
            Assessment.WEAKEN: -1.0,
            Assessment.CONTRADICT: -2.0,
        }
        return _within(confidence + steps[assessment] * share * step)
    scale = step / STRONG_SUPPORT
    if assessment is Assessment.REINFORCE:
        rate = STRONG_SUPPORT if strength is EvidenceStrength.STRONG else MILD_SUPPORT
        return _within(confidence + rate * scale * (1.0 - confidence))
    return _within(confidence * (1.0 - (1.0 - CONTRADICTION_DECAY) * share * scale))


def confidence_of(
    log: OpinionLog, *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> float:
    """The confidence of an opinion, replayed from its formation in order of (effective_at, unit id).

    Args:
        log: the opinion.
        as_of: conversation time; what was evidence, and valid, then. None means all that is valid now.
        as_of_revision: what the bank had recorded by that revision; None means all.
    """
    return _moved(log.confidence, counted(log.evidence, as_of=as_of, as_of_revision=as_of_revision))


def counted(
    evidence: Iterable[Evidence], *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> list[Evidence]:
    """The rows that count, in order of (effective_at, unit id): of valid facts, each source once for what it says.

    Facts that say the same, by `Evidence.restates`, are one statement, whichever came first. A row counts if one of its
    sources has not made the statement in a row before it.
    """
    known = [row for row in evidence if as_of_revision is None or row.revision <= as_of_revision]
    statements = _statements(known)
    spoken: dict[str, set[str]] = {}
    found = []
    for row in sorted(known, key=lambda row: (row.effective_at, row.unit_id)):
        late = as_of is not None and not no_later(row.effective_at, as_of)
        if late or _closing(row.validity, as_of, as_of_revision) is not None:
            continue
        said_by = spoken.setdefault(statements[row.unit_id], set())
        if not said_by.issuperset(row.sources):
            found.append(row)
        said_by.update(row.sources)
    return found


def history_of(
    log: OpinionLog, *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> OpinionHistory:
    """Every row of the log, recorded and effective by then, with what it did; options as of `confidence_of`."""
    counting = {row.unit_id for row in counted(log.evidence, as_of=as_of, as_of_revision=as_of_revision)}
    entries, confidence = [], log.confidence
    for row in sorted(log.evidence, key=lambda row: (row.effective_at, row.unit_id)):
        late = as_of_revision is not None and row.revision > as_of_revision
        if late or (as_of is not None and not no_later(row.effective_at, as_of)):
            continue
        before, counts = confidence, row.unit_id in counting
        if counts:
            confidence = updated(before, row.assessment, row.strength, rule=row.rule, step=row.step)
        entries.append(EvidenceEntry(row, counts, before, confidence))
    return OpinionHistory(log, tuple(entries), confidence)


def opinion_of(
    log: OpinionLog, *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> Opinion | None:
    """The opinion at a moment; None where it was not formed yet. Options as of `confidence_of`."""
    worded = [
        version
        for version in log.versions
        if (as_of is None or no_later(version.since, as_of))
        and (as_of_revision is None or version.revision <= as_of_revision)
    ]
    if not worded:
        return None
    closings = [_closing(each.validity, as_of, as_of_revision) for each in worded]
    at = max((at for at, closed in enumerate(closings) if closed is None), default=-1)
    wording = worded[at]
    counting = counted(log.evidence, as_of=as_of, as_of_revision=as_of_revision)
    return Opinion(
        id=log.id,
        unit_id=wording.unit_id,
        text=wording.text,
        confidence=confidence_of(log, as_of=as_of, as_of_revision=as_of_revision),
        formed_at=log.formed_at,
        reworded_at=wording.since if wording is not log.versions[0] else None,
        entities=log.entities,
        tags=log.tags,
        origin=log.origin,
        evidence=len(counting),
        closed_at=closings[at],
    )


def trajectory(log: OpinionLog, *, as_of_revision: int | None = None) -> list[ConfidenceChange]:
    """How the confidence moved over conversation time, from the formation on (paper section 5.7.1).

    Only moments at which it changed are in it, to the second; evidence older than the opinion counts from the formation on.
    """
    rows = [row for row in log.evidence if as_of_revision is None or row.revision <= as_of_revision]
    moments = {row.effective_at.replace(microsecond=0) for row in rows}
    moments |= {change.effective_at.replace(microsecond=0) for row in rows for change in row.validity}
    points = [ConfidenceChange(log.formed_at, None, log.confidence)]
    before: frozenset[str] = frozenset()
    for moment in sorted({max(moment, log.formed_at) for moment in moments}):
        counting = counted(rows, as_of=moment, as_of_revision=as_of_revision)
        now, after = frozenset(row.unit_id for row in counting), _moved(log.confidence, counting)
        if after != points[-1].after:
            points.append(ConfidenceChange(moment, points[-1].after, after, tuple(sorted(now ^ before))))
        before = now
    return points


def _moved(confidence: float, rows: Iterable[Evidence]) -> float:
    """A confidence after these rows, one after the other."""
    for row in rows:
        confidence = updated(confidence, row.assessment, row.strength, rule=row.rule, step=row.step)
    return confidence


def _within(confidence: float) -> float:
    return round(min(1.0, max(0.0, confidence)), _DIGITS)


def _closing(
    log: Iterable[ValidityChange], as_of: datetime | None, as_of_revision: int | None
) -> datetime | None:
    """From when on a unit does not hold at a moment, by its validity log; None if it holds.

    It does not once it is closed, of several closings the first counts, nor between a closing and its restoring.
    """
    closed: datetime | None = None
    gaps: list[tuple[datetime, datetime]] = []
    for change in log:
        if as_of_revision is not None and change.revision > as_of_revision:
            break
        if change.kind is ValidityKind.CLOSED:
            closed = change.effective_at if closed is None else min(closed, change.effective_at)
        elif change.kind is ValidityKind.RESTORED and closed is not None:
            gaps.append((closed, change.effective_at))
            closed = None
    if as_of is None or (closed is not None and no_later(closed, as_of)):
        return closed
    return next((start for start, end in gaps if no_later(start, as_of) and not no_later(end, as_of)), None)


def _statements(rows: Sequence[Evidence]) -> dict[str, str]:
    """For each fact the one that stands for all that say the same: connected by `restates`, in whatever order they came."""
    stands_for = {row.unit_id: row.unit_id for row in rows}

    def root(unit: str) -> str:
        while stands_for[unit] != unit:
            stands_for[unit] = stands_for[stands_for[unit]]  # the way is shorter next time
            unit = stands_for[unit]
        return unit

    for row in rows:
        for other in row.restates:
            if other in stands_for:
                first, second = sorted((root(row.unit_id), root(other)))
                stands_for[second] = first
    return {unit: root(unit) for unit in stands_for}

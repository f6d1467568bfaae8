"""Opinions with their evidence logs, and the confidence computed from them (paper sections 5.4.1 and 5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hindsight_integrations.model.display import Displayed, Table, count, day, fields
from hindsight_integrations.model.rows import Tabular
from hindsight_integrations.model.time import no_later
from hindsight_integrations.model.units import ValidityKind


class Assessment(StrEnum):
    """The effect of a fact on an opinion: Assess(o, f) of paper section 5.5."""

    REINFORCE = "reinforce"
    WEAKEN = "weaken"
    CONTRADICT = "contradict"
    NEUTRAL = "neutral"


class EvidenceStrength(StrEnum):
    """The strength of a fact's effect on an opinion."""

    STRONG = "strong"
    MILD = "mild"


class UpdateRule(StrEnum):
    """The formula by which an assessment changes a confidence."""

    ADDITIVE = "additive"
    """The confidence changes by fixed steps (paper eq. 26)."""
    MULTIPLICATIVE = "multiplicative"
    """The confidence changes in proportion to its value (reference, "Opinion Confidence Updates")."""


class Conviction(StrEnum):
    """The conviction of an opinion, as a word for its confidence (earlier paper 8.4)."""

    VERY_STRONG = "very strong"
    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    VERY_WEAK = "very weak"


CONVICTIONS = (
    (0.9, Conviction.VERY_STRONG),
    (0.7, Conviction.STRONG),
    (0.5, Conviction.MODERATE),
    (0.3, Conviction.WEAK),
)
"""The minimum confidence of each conviction [earlier paper 8.4]; below the last one it is VERY_WEAK."""


def conviction(confidence: float) -> Conviction:
    """Return the conviction that corresponds to a confidence (earlier paper 8.4)."""
    return next((word for least, word in CONVICTIONS if confidence >= least), Conviction.VERY_WEAK)


UNKNOWN_CONFIDENCE = 0.5  # initial confidence of an opinion that is retained without one


class OpinionOrigin(StrEnum):
    """The origin of an opinion."""

    REFLECT = "reflect"
    """The agent formed it while answering (paper section 5.4.2)."""
    EXTRACTION = "extraction"
    """It was extracted from a message of the agent."""
    GIVEN = "given"
    """The caller retained it as an opinion."""


@dataclass(frozen=True, slots=True)
class ValidityChange:
    """One entry of the validity log of a fact, or of an opinion's wording.

    Attributes:
        kind: CLOSED or RESTORED.
        effective_at: the conversation time at which it takes effect.
        revision: the bank's revision at which it was recorded.
    """

    kind: ValidityKind
    effective_at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of an opinion's evidence log: the permanent assessment of one fact.

    Attributes:
        unit_id: the id of the fact.
        sources: the people or documents that stated it; never empty (see `sources_of` in
            `reflect/opinions/evidence.py`).
        assessment: the effect of the fact on the opinion.
        strength: the strength of the effect.
        rule: the update rule.
        step: the rule's step size for this row, in (0, 1): `a` of paper eq. 26, from the profile at that time.
        reason: a human-readable explanation; may be empty.
        version: the unit id of the wording that was assessed.
        effective_at: the conversation time from which it counts, which is the mention time of the fact.
        recorded_at: the time at which the row was written.
        revision: the bank's revision at which it was written.
        restates: the ids of facts in the log with the same statement; each source counts once among them.
        validity: the validity changes of the fact, oldest revision first.
    """

    unit_id: str
    sources: tuple[str, ...]
    assessment: Assessment
    strength: EvidenceStrength
    rule: UpdateRule
    step: float
    reason: str
    version: str
    effective_at: datetime
    recorded_at: datetime
    revision: int
    restates: tuple[str, ...] = ()
    validity: tuple[ValidityChange, ...] = ()


@dataclass(frozen=True, slots=True)
class OpinionVersion:
    """One wording of an opinion: a unit of the opinion network.

    Attributes:
        unit_id: the id of the unit.
        text: the statement with its reasoning, in the first person.
        since: the conversation time from which this wording applies.
        reason: the reason for the rewording; empty for the first wording.
        based_on: the ids of the facts on which the wording is based.
        revision: the bank's revision at which it was written.
        closed_at: the conversation time at which the wording ended; None while it is current.
        validity: the validity changes of the unit, oldest revision first.
    """

    unit_id: str
    text: str
    since: datetime
    reason: str
    based_on: tuple[str, ...]
    revision: int
    closed_at: datetime | None = None
    validity: tuple[ValidityChange, ...] = ()


@dataclass(frozen=True, slots=True)
class OpinionLog:
    """The full log of one opinion: its formation, wordings and evidence (paper eq. 24 and section 5.5).

    Attributes:
        id: the unit id of its first wording.
        confidence: the initial confidence c_0, in [0, 1].
        formed_at: the conversation time of its formation.
        recorded_at: the time at which it was written.
        revision: the bank's revision at which it was written.
        origin: the origin of the opinion.
        operation: the caller's key of the reflection that formed it; empty if the caller passed none.
        profile: the number of the profile change in effect when it was formed; 0 for none.
        reasoning: the reasoning behind its formation.
        tags: the visibility tags, sorted.
        entities: the canonical names of the entities that it mentions.
        versions: its wordings, oldest first; at least one.
        evidence: its evidence, by (effective_at, unit id).
        assessed_to: the revision up to which the bank's facts were assessed as evidence.
    """

    id: str
    confidence: float
    formed_at: datetime
    recorded_at: datetime
    revision: int
    origin: OpinionOrigin
    operation: str
    profile: int
    reasoning: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    versions: tuple[OpinionVersion, ...]
    evidence: tuple[Evidence, ...] = ()
    assessed_to: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Opinion(Displayed):
    """An opinion of the agent at one moment: o = (t, c, tau, b, E) of paper eq. 24.

    Attributes:
        id: the id of the opinion, which rewording does not change.
        unit_id: the id of the wording.
        text: the statement with its reasoning, in the first person.
        confidence: the confidence c in [0, 1], computed from the evidence log.
        formed_at: the time of formation tau (aware UTC).
        reworded_at: the time of this wording; None for the first one.
        entities: the canonical names of the entities E.
        tags: the visibility tags, sorted.
        origin: the origin of the opinion.
        evidence: the number of facts that count as evidence.
        closed_at: the time at which the agent gave it up; None while the agent holds it.
    """

    id: str
    unit_id: str
    text: str
    confidence: float
    formed_at: datetime
    reworded_at: datetime | None
    entities: tuple[str, ...]
    tags: tuple[str, ...]
    origin: OpinionOrigin
    evidence: int
    closed_at: datetime | None = None

    @property
    def strength(self) -> Conviction:
        """The conviction that corresponds to its confidence (earlier paper 8.4)."""
        return conviction(self.confidence)

    def _display_text(self) -> str:
        return self.text

    def _display_facts(self) -> tuple[str, ...]:
        ended = f"no longer held since {day(self.closed_at)}" if self.closed_at else ""
        confidence = f"confidence {self.confidence:.2f} ({self.strength.value})"
        return confidence, f"{count(self.evidence, 'fact')} as evidence", ended

    def _display_tables(self) -> tuple[Table, ...]:
        return (
            fields(
                opinion=self.text,
                confidence=f"{self.confidence:.2f} ({self.strength.value})",
                formed=self.formed_at,
                reworded=self.reworded_at,
                closed=self.closed_at,
                evidence=self.evidence,
                entities=self.entities,
                tags=self.tags,
                id=self.id,
            ),
        )


@dataclass(frozen=True, slots=True)
class EvidenceEntry:
    """A row of an opinion's evidence log and its effect on the confidence.

    Attributes:
        evidence: the row.
        counts: True if it changes the confidence, because its fact is valid and its source has not made the same statement
            before.
        before: the confidence before this row, in the order of (effective_at, unit id).
        after: the confidence after this row; equal to `before` if it does not count.
    """

    evidence: Evidence
    counts: bool
    before: float
    after: float


@dataclass(frozen=True, slots=True, repr=False)
class OpinionHistory(Displayed, Tabular):
    """The steps by which an opinion reached its confidence.

    Attributes:
        log: the recorded formation, wordings and evidence.
        entries: the evidence in the order of application, with the confidence before and after each row.
        confidence: the final confidence.
    """

    log: OpinionLog
    entries: tuple[EvidenceEntry, ...]
    confidence: float

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "effective_at": entry.evidence.effective_at,
                "assessment": entry.evidence.assessment.value,
                "strength": entry.evidence.strength.value,
                "counts": entry.counts,
                "before": entry.before,
                "after": entry.after,
                "sources": list(entry.evidence.sources),
                "reason": entry.evidence.reason,
                "unit_id": entry.evidence.unit_id,
                "opinion_id": self.log.id,
            }
            for entry in self.entries
        ]

    def _display_text(self) -> str:
        return self.log.versions[-1].text

    def _display_facts(self) -> tuple[str, ...]:
        wordings = len(self.log.versions)
        return (
            f"confidence {self.log.confidence:.2f} to {self.confidence:.2f}",
            f"{count(len(self.entries), 'fact')} as evidence",
            count(wordings, "wording") if wordings > 1 else "",
        )

    def _display_tables(self) -> tuple[Table, ...]:
        wordings = [(version.text, version.since, version.reason) for version in self.log.versions]
        rows = [
            (
                entry.evidence.effective_at,
                f"{entry.evidence.assessment.value} ({entry.evidence.strength.value})",
                f"{entry.before:.2f} → {entry.after:.2f}" if entry.counts else "does not count",
                entry.evidence.sources,
                entry.evidence.reason,
            )
            for entry in self.entries
        ]
        return (
            Table(("wording", "since", "reason"), wordings),
            Table(("when", "assessment", "confidence", "said by", "reason"), rows),
        )


@dataclass(frozen=True, slots=True)
class FormationWrite:
    """A new opinion. Its first wording is a unit of the same write set, with its mentions.

    Attributes:
        unit_id: the id of that unit, which is also the id of the opinion.
        confidence: the initial confidence c_0 in [0, 1].
        formed_at: the conversation time of its formation (aware UTC).
        origin: the origin of the opinion.
        operation: the key of the reflection that forms it; empty for none.
        profile: the number of the profile change in effect; 0 for none.
        reasoning: the reasoning behind its formation.
        based_on: the ids of the facts on which the wording is based.
        assessed_to: the revision up to which facts were considered; later facts will be assessed as evidence.
    """

    unit_id: str
    confidence: float
    formed_at: datetime
    origin: OpinionOrigin
    operation: str = ""
    profile: int = 0
    reasoning: str = ""
    based_on: tuple[str, ...] = ()
    assessed_to: int = 0


@dataclass(frozen=True, slots=True)
class RewordingWrite:
    """A new wording of an opinion. It is a unit of the same write set; an event in this set invalidates the previous wording.

    Attributes:
        opinion_id: the id of the opinion.
        unit_id: the unit id of the new wording.
        reason: the reason for the rewording.
        based_on: the ids of the facts on which it is based, including those of the previous wording.
    """

    opinion_id: str
    unit_id: str
    reason: str
    based_on: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvidenceWrite:
    """A new row of an opinion's evidence log; an existing row for the same opinion and fact stays unchanged.

    Attributes:
        opinion_id: the id of the opinion.
        unit_id, sources, assessment, strength, rule, step, reason, version, effective_at, restates: as in
            `Evidence`.
    """

    opinion_id: str
    unit_id: str
    sources: tuple[str, ...]
    assessment: Assessment
    strength: EvidenceStrength
    rule: UpdateRule
    step: float
    reason: str
    version: str
    effective_at: datetime
    restates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpinionsWrite:
    """The changes of one operation to a bank's opinions.

    Attributes:
        formed: the new opinions.
        reworded: the new wordings.
        evidence: the new rows of evidence logs.
        assessed: the revision up to which the bank's facts were assessed, by opinion id.
        operation: the key of the reflection, which prevents a retry from forming an opinion twice; empty for none.
    """

    formed: tuple[FormationWrite, ...] = ()
    reworded: tuple[RewordingWrite, ...] = ()
    evidence: tuple[EvidenceWrite, ...] = ()
    assessed: Mapping[str, int] = field(default_factory=dict)
    operation: str = ""


MILD_SHARE = 0.5  # factor for mild evidence; our extension, because eq. 26 has no strengths
STRONG_SUPPORT = 0.2  # alpha [reference, "Opinion Confidence Updates"]
MILD_SUPPORT = 0.05  # alpha' [reference, "Opinion Confidence Updates"]
CONTRADICTION_DECAY = 0.5  # gamma [reference, "Opinion Confidence Updates"]

_DIGITS = 9  # number of decimals to which confidences are rounded, so that 0.7 + 0.15 is 0.85


@dataclass(frozen=True, slots=True)
class ConfidenceChange:
    """One point of an opinion's trajectory (paper section 5.7.1).

    Attributes:
        moment: the conversation time of the change.
        before: the confidence before the change; None for the formation.
        after: the confidence after the change.
        unit_ids: the ids of the facts that started or stopped counting at that moment; empty for the formation.
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
    """Compute c' from c for one assessment, in [0, 1] (paper eq. 26; reference, "Opinion Confidence Updates").

    Args:
        confidence: the current confidence c, in [0, 1].
        assessment: the effect of the fact on the opinion; NEUTRAL changes nothing.
        strength: the strength of the effect. MILD has half the effect of STRONG, except for multiplicative support, for which
            the reference defines a separate rate.
        rule: the update rule.
        step: `a` of eq. 26, in (0, 1); for MULTIPLICATIVE the alpha of strong support, by which the other rates are scaled.
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
    """Compute an opinion's confidence by applying its evidence in order of (effective_at, unit id).

    Args:
        log: the log of the opinion.
        as_of: a conversation time; uses the evidence that was in effect and valid at that time. None means now.
        as_of_revision: uses only changes recorded up to that revision; None means all.
    """
    return _replayed(log.confidence, counted(log.evidence, as_of=as_of, as_of_revision=as_of_revision))


def counted(
    evidence: Iterable[Evidence], *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> list[Evidence]:
    """Return the rows that count as evidence, by (effective_at, unit id): valid facts, each statement once per source.

    Facts connected by `Evidence.restates` are one statement. A row counts if one of its sources has not made the statement in
    an earlier row.
    """
    known = [row for row in evidence if as_of_revision is None or row.revision <= as_of_revision]
    statements = _statements(known)
    spoken: dict[str, set[str]] = {}
    counting = []
    for row in sorted(known, key=lambda row: (row.effective_at, row.unit_id)):
        late = as_of is not None and not no_later(row.effective_at, as_of)
        if late or _closing(row.validity, as_of, as_of_revision) is not None:
            continue
        said_by = spoken.setdefault(statements[row.unit_id], set())
        if not said_by.issuperset(row.sources):
            counting.append(row)
        said_by.update(row.sources)
    return counting


def history_of(
    log: OpinionLog, *, as_of: datetime | None = None, as_of_revision: int | None = None
) -> OpinionHistory:
    """Return the rows of the log with their effects on the confidence. The options are those of `confidence_of`.

    Rows recorded after `as_of_revision` or effective after `as_of` are omitted.
    """
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
    """Return the opinion at a moment; None if it did not exist yet. The options are those of `confidence_of`."""
    worded = [
        version
        for version in log.versions
        if (as_of is None or no_later(version.since, as_of))
        and (as_of_revision is None or version.revision <= as_of_revision)
    ]
    if not worded:
        return None
    closings = [_closing(version.validity, as_of, as_of_revision) for version in worded]
    at = max((at for at, closed in enumerate(closings) if closed is None), default=-1)
    wording = worded[at]
    counting = counted(log.evidence, as_of=as_of, as_of_revision=as_of_revision)
    return Opinion(
        id=log.id,
        unit_id=wording.unit_id,
        text=wording.text,
        confidence=_replayed(log.confidence, counting),
        formed_at=log.formed_at,
        reworded_at=wording.since if wording is not log.versions[0] else None,
        entities=log.entities,
        tags=log.tags,
        origin=log.origin,
        evidence=len(counting),
        closed_at=closings[at],
    )


def trajectory(log: OpinionLog, *, as_of_revision: int | None = None) -> list[ConfidenceChange]:
    """Return the changes of the confidence over conversation time, starting with the formation (paper section 5.7.1).

    Only moments of change are included, with a precision of one second. Evidence older than the opinion counts from its
    formation.
    """
    rows = [row for row in log.evidence if as_of_revision is None or row.revision <= as_of_revision]
    moments = {row.effective_at.replace(microsecond=0) for row in rows}
    moments |= {change.effective_at.replace(microsecond=0) for row in rows for change in row.validity}
    points = [ConfidenceChange(log.formed_at, None, log.confidence)]
    before: frozenset[str] = frozenset()
    for moment in sorted({max(moment, log.formed_at) for moment in moments}):
        counting = counted(rows, as_of=moment, as_of_revision=as_of_revision)
        now, after = frozenset(row.unit_id for row in counting), _replayed(log.confidence, counting)
        if after != points[-1].after:
            points.append(ConfidenceChange(moment, points[-1].after, after, tuple(sorted(now ^ before))))
        before = now
    return points


def _replayed(confidence: float, rows: Iterable[Evidence]) -> float:
    """Apply evidence rows to an initial confidence."""
    for row in rows:
        confidence = updated(confidence, row.assessment, row.strength, rule=row.rule, step=row.step)
    return confidence


def _within(confidence: float) -> float:
    return round(min(1.0, max(0.0, confidence)), _DIGITS)


def _closing(
    log: Iterable[ValidityChange], as_of: datetime | None, as_of_revision: int | None
) -> datetime | None:
    """Return the time at which a unit that is invalid at a moment was closed, from its validity log; None if it is valid.

    The earliest of several closings counts. A unit is also invalid between a closing and its restoration.
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
    """Map each fact to the representative of its group of facts connected by `restates`."""
    parents = {row.unit_id: row.unit_id for row in rows}

    def root(unit: str) -> str:
        while parents[unit] != unit:
            parents[unit] = parents[parents[unit]]  # path compression
            unit = parents[unit]
        return unit

    for row in rows:
        for other in row.restates:
            if other in parents:
                first, second = sorted((root(row.unit_id), root(other)))
                parents[second] = first
    return {unit: root(unit) for unit in parents}

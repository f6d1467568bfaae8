"""How a decision moves the opinions that are held, and which way: what a person is shown before it is written. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hindsight_integrations.cara.opinions.deciding import Decided, Decision
from hindsight_integrations.cara.opinions.evidence import held_wording
from hindsight_integrations.cara.opinions.facts import Fact
from hindsight_integrations.cara.opinions.situation import Situation
from hindsight_integrations.model.confidence import confidence_of
from hindsight_integrations.model.opinions import Evidence, EvidenceWrite, OpinionLog, ValidityChange
from hindsight_integrations.model.reflections import OpinionMove, OpinionMovement, OpinionOutcome
from hindsight_integrations.model.units import ValidityKind


def moves(found: Situation, decision: Decision, at: datetime) -> tuple[OpinionMove, ...]:
    """What a decision does to the confidence of the opinions it is about, in the order they were put forward.

    Args:
        found: what was read, whose logs the decision's rows join.
        decision: taken on it.
        at: when the rows would be written (aware UTC).
    """
    logs = {log.id: log for log in found.logs}
    made = []
    for decided in decision.decided:
        before = dict(logs)
        for row in decided.evidence:
            logs[row.opinion_id] = _joined(logs[row.opinion_id], row, found, at)
        made.append(_move(decided, before, logs))
    return tuple(made)


def _move(decided: Decided, before: Mapping[str, OpinionLog], after: Mapping[str, OpinionLog]) -> OpinionMove:
    change, opinion_id = decided.change, decided.change.opinion_id or ""
    if change.outcome is OpinionOutcome.FORMED:
        return OpinionMove(change, OpinionMovement.FORM, after=change.confidence)
    held = before.get(opinion_id)
    if held is None:  # refused, or said twice by the same answer
        return OpinionMove(change, OpinionMovement.NEUTRAL)
    wording = held_wording(held) or held.versions[-1]
    return OpinionMove(
        change,
        OpinionMovement(decided.assessment or OpinionMovement.NEUTRAL),
        before=confidence_of(held),
        after=confidence_of(after[opinion_id]),
        held=wording.text,
        evidence=tuple(row.unit_id for row in decided.evidence if row.opinion_id == opinion_id),
    )


def _joined(log: OpinionLog, row: EvidenceWrite, found: Situation, at: datetime) -> OpinionLog:
    """The log with a row more, as the ledger will give it back."""
    written = Evidence(
        unit_id=row.unit_id,
        sources=row.sources,
        assessment=row.assessment,
        strength=row.strength,
        rule=row.rule,
        step=row.step,
        reason=row.reason,
        version=row.version,
        effective_at=row.effective_at,
        recorded_at=at,
        revision=found.revision + 1,
        restates=row.restates,
        validity=_validity(found.facts[row.unit_id]),
    )
    evidence: Sequence[Evidence] = (*log.evidence, written)
    ordered = sorted(evidence, key=lambda each: (each.effective_at, each.unit_id))
    return replace(log, evidence=tuple(ordered))


def _validity(fact: Fact) -> tuple[ValidityChange, ...]:
    closed = fact.unit.closed_at
    return () if closed is None else (ValidityChange(ValidityKind.CLOSED, closed, 0),)

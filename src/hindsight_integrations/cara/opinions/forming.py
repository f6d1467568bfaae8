"""Forming opinions: those that are new are kept, those that are not become evidence (paper section 5.4.2).

Read, compare, decide, commit once; what changes meanwhile is read again, and only what was not compared is asked of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.cara.opinions.deciding import Decided, Decision, decide
from hindsight_integrations.cara.opinions.drafts import Occasion
from hindsight_integrations.cara.opinions.evidence import held_wording
from hindsight_integrations.cara.opinions.facts import Fact
from hindsight_integrations.cara.opinions.put_forward import PutForward
from hindsight_integrations.cara.opinions.relating import Compared, Relations, relate
from hindsight_integrations.cara.opinions.situation import Situation, read_situation, unchanged
from hindsight_integrations.cara.opinions.tools import OpinionTools
from hindsight_integrations.errors import ModelError, RevisionConflict
from hindsight_integrations.model.opinions import (
    Evidence,
    EvidenceWrite,
    OpinionLog,
    OpinionsWrite,
    ValidityChange,
    confidence_of,
)
from hindsight_integrations.model.reflections import (
    OpinionChange,
    OpinionMove,
    OpinionMovement,
    OpinionOutcome,
)
from hindsight_integrations.model.units import ValidityKind
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.search.bank_view import BankView


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


ATTEMPTS = 8  # decisions taken anew because opinions or memories changed meanwhile
NOT_EMBEDDED = "it could not be embedded"
BUSY = "the bank changed at every try to keep it"


@dataclass(frozen=True, slots=True)
class Formed:
    """What became of the opinions put forward.

    Attributes:
        changes: of each, in the order given; of a repeated operation, those formed by it the first time.
        moves: the same with what it does to the confidence of what is held; none of a repeated operation.
        repeated: the operation was recorded before.
        calls: how often the model was called.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
    """

    changes: tuple[OpinionChange, ...]
    moves: tuple[OpinionMove, ...] = ()
    repeated: bool = False
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


async def foreseen(
    given: Sequence[PutForward], occasion: Occasion, relations: Relations, tools: OpinionTools
) -> Formed:
    """What would become of the opinions of an answer, as the bank is now; nothing is written.

    Args:
        given: opinions that may be kept.
        occasion: the reflection.
        relations: of pairs that were compared; takes those that are compared now.
        tools: of the engine.
    """
    if not isinstance(found := await _decided(given, occasion, relations, tools), tuple):
        return found
    situation, decision = found
    return _formed(decision.changes, relations, moves(situation, decision, occasion.at))


async def form_opinions(
    given: Sequence[PutForward], occasion: Occasion, tools: OpinionTools, relations: Relations | None = None
) -> Formed:
    """Keep the opinions of an answer that are new, and weigh what the others stand on as evidence of those that are held.

    Nothing is written of an opinion that cannot be compared with one that is held, or that stands on what is gone.

    Args:
        given: opinions that may be kept.
        occasion: the reflection.
        tools: of the engine.
        relations: of pairs that were compared already, and what that cost; nobody is asked of these again.
    """
    relations = relations or Relations()
    for _ in range(ATTEMPTS):
        if not isinstance(found := await _decided(given, occasion, relations, tools), tuple):
            return found
        situation, decision = found
        if await tools.workers.write(_commit, decision, situation, occasion, tools):
            return _formed(decision.changes, relations, moves(situation, decision, occasion.at))
    return _refused(given, BUSY, relations)


async def _decided(
    given: Sequence[PutForward], occasion: Occasion, relations: Relations, tools: OpinionTools
) -> tuple[Situation, Decision] | Formed:
    """Read, compare, decide; or what became of them where nothing is left to be decided."""
    try:
        found = await tools.workers.read(read_situation, given, occasion, tools)
    except ModelError:  # of the embedder; the answer is there all the same
        return _refused(given, NOT_EMBEDDED, relations)
    if found.before is not None:
        return Formed(found.before, repeated=True)
    await _compare(found, relations, tools)
    return found, await tools.workers.read(decide, found, relations.found, occasion, tools)


async def _compare(found: Situation, relations: Relations, tools: OpinionTools) -> None:
    """Have the new opinions compared with those near them; where the model fails, those are not kept."""
    compared = [Compared(draft.given.text, draft.near) for draft in found.drafts if draft.near]
    try:
        await relate(compared, tools.model, relations)
    except ModelError:
        return  # the answer is there all the same; `decide` says what was not compared


def _formed(
    changes: tuple[OpinionChange, ...], relations: Relations, moved: tuple[OpinionMove, ...]
) -> Formed:
    return Formed(
        changes,
        moved,
        calls=relations.calls,
        tokens_in=relations.tokens_in,
        tokens_out=relations.tokens_out,
    )


def _refused(given: Sequence[PutForward], reason: str, relations: Relations) -> Formed:
    changes = tuple(
        OpinionChange(OpinionOutcome.REFUSED, each.text, each.confidence, reason=reason) for each in given
    )
    moved = tuple(OpinionMove(change, OpinionMovement.NEUTRAL) for change in changes)
    return _formed(changes, relations, moved)


def _commit(decision: Decision, found: Situation, occasion: Occasion, tools: OpinionTools) -> bool:
    """Commit if opinions and grounds are what they were when they were read; False, and nothing is written, if not."""
    if not decision.writes_anything and not occasion.operation:
        return True
    projector = tools.projector
    try:
        with projector.transaction() as (view, transaction):
            if view.revision != found.revision and not unchanged(found, occasion, transaction, tools):
                return False
            transaction.commit(write_set(decision, occasion, view))
    except RevisionConflict:
        return False
    projector.catch_up()
    return True


def write_set(decision: Decision, occasion: Occasion, view: BankView) -> WriteSet:
    """What a decision changes. The assessment of facts that came while the answer was made the ledger enqueues itself."""
    return WriteSet(
        bank=view.bank,
        expected_revision=view.revision,
        units=decision.units,
        mentions=decision.mentions,
        events=decision.events,
        opinions=OpinionsWrite(
            formed=decision.formed,
            reworded=decision.reworded,
            evidence=decision.evidence,
            operation=occasion.operation,
        ),
    )

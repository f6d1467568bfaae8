"""Forming opinions: those that are new are kept, those that are not become evidence (paper section 5.4.2; decision 132).

Read, compare, decide, commit once; what changes meanwhile is read again, and only what was not compared is asked of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_integrations.cara.opinions.deciding import Decision, decide
from hindsight_integrations.cara.opinions.drafts import Occasion
from hindsight_integrations.cara.opinions.put_forward import PutForward
from hindsight_integrations.cara.opinions.relating import Compared, Relations, relate
from hindsight_integrations.cara.opinions.situation import Situation, read_situation, unchanged
from hindsight_integrations.cara.opinions.tools import OpinionTools
from hindsight_integrations.errors import ModelError, RevisionConflict
from hindsight_integrations.model.opinions import OpinionsWrite
from hindsight_integrations.model.reflections import OpinionChange, OpinionOutcome
from hindsight_integrations.model.writes import WriteSet
from hindsight_integrations.search.bank_view import BankView

ATTEMPTS = 8  # decisions taken anew because opinions or memories changed meanwhile
NOT_EMBEDDED = "it could not be embedded"
BUSY = "the bank changed at every try to keep it"


@dataclass(frozen=True, slots=True)
class Formed:
    """What became of the opinions put forward.

    Attributes:
        changes: of each, in the order given; of a repeated operation, those formed by it the first time.
        repeated: the operation was recorded before.
        calls: how often the model was called.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
    """

    changes: tuple[OpinionChange, ...]
    repeated: bool = False
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


async def form_opinions(given: Sequence[PutForward], occasion: Occasion, tools: OpinionTools) -> Formed:
    """Keep the opinions of an answer that are new, and weigh what the others stand on as evidence of those that are held.

    Nothing is written of an opinion that cannot be compared with one that is held, or that stands on what is gone.

    Args:
        given: opinions that may be kept.
        occasion: the reflection.
        tools: of the engine.
    """
    relations = Relations()
    for _ in range(ATTEMPTS):
        try:
            found = await tools.workers.read(read_situation, given, occasion, tools)
        except ModelError:  # of the embedder; the answer is there all the same
            return _formed(_refused(given, NOT_EMBEDDED), relations)
        if found.before is not None:
            return Formed(found.before, repeated=True)
        await _compare(found, relations, tools)
        decision = await tools.workers.read(decide, found, relations.found, occasion, tools)
        if await tools.workers.write(_commit, decision, found, occasion, tools):
            return _formed(decision.changes, relations)
    return _formed(_refused(given, BUSY), relations)


async def _compare(found: Situation, relations: Relations, tools: OpinionTools) -> None:
    """Have the new opinions compared with those near them; where the model fails, those are not kept."""
    compared = [Compared(draft.given.text, draft.near) for draft in found.drafts if draft.near]
    try:
        await relate(compared, tools.model, relations)
    except ModelError:
        return  # the answer is there all the same; `decide` says what was not compared


def _formed(changes: tuple[OpinionChange, ...], relations: Relations) -> Formed:
    return Formed(
        changes, calls=relations.calls, tokens_in=relations.tokens_in, tokens_out=relations.tokens_out
    )


def _refused(given: Sequence[PutForward], reason: str) -> tuple[OpinionChange, ...]:
    return tuple(
        OpinionChange(OpinionOutcome.REFUSED, each.text, each.confidence, reason=reason) for each in given
    )


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

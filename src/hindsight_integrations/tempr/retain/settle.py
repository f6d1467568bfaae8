"""Settling: runs the tasks a bank's ledger keeps, one after the other, each in one commit (decision 020)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.results import Dropped, Settled
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.search.bank_view import Projector
from hindsight_integrations.tempr.retain.drafts import Origin, draft_facts
from hindsight_integrations.tempr.retain.extraction.llm import LLMExtractor
from hindsight_integrations.tempr.retain.extraction.result import Extraction, without_sources
from hindsight_integrations.tempr.retain.pipeline import store
from hindsight_integrations.tempr.retain.prepare import shown
from hindsight_integrations.tempr.retain.proposal import Proposal
from hindsight_integrations.tempr.retain.task_payload import StoredPassage, stored_passage
from hindsight_integrations.tempr.retain.tools import RetainTools
from hindsight_integrations.tempr.retain.turns import turns_of, waiting_id, whole_messages

logger = logging.getLogger("hindsight_integrations")

LEASE = timedelta(minutes=15)  # longer than a model call with repairs; a killed process's task waits as long
MAX_ATTEMPTS = 12  # with delays doubling up to an hour: most of a working day before a task is given up
REASON_CHARACTERS = 500

FIRST_DELAY = timedelta(minutes=1)
LONGEST_DELAY = timedelta(hours=1)


def retry_delay(attempts: int) -> timedelta:
    """How long a task rests after so many failed attempts: 1, 2, 4 ... minutes, at most an hour."""
    return min(FIRST_DELAY * (1 << min(max(attempts - 1, 0), 10)), LONGEST_DELAY)


OVERTAKEN = (Dropped("a passage that waited", "what it was made from has been replaced since"),)

Handler = Callable[[Task], Awaitable[Settled]]
"""Does one task, and gives back what it brought."""


def handlers(tools: RetainTools) -> dict[TaskKind, Handler]:
    """Who does which kind of task; kinds that need a model are left waiting without one."""
    llm = tools.llm
    if llm is None:
        return {}

    async def extract(task: Task) -> Settled:
        return await extract_waiting(task, llm, tools)

    return {TaskKind.EXTRACT_PARKED: extract, TaskKind.EXTRACT_QUEUED: extract}


async def settle(tools: RetainTools, able: Mapping[TaskKind, Handler]) -> Settled:
    """Run due tasks of the kinds in `able` until none is due.

    Raises:
        EngineClosed: the engine was closed meanwhile; what was begun is due again when its lease ends.
    """
    settled = Settled()
    bank = tools.projector
    while able:
        task = await tools.workers.write(
            bank.ledger.lease_due, tuple(able), lasting=LEASE, bank=bank.name, early=True
        )
        if task is None:
            break
        settled = await _run(task, able[task.kind], tools, settled)
    return settled


async def _run(task: Task, handler: Handler, tools: RetainTools, settled: Settled) -> Settled:
    if task.attempts > MAX_ATTEMPTS:  # its process was killed each time, so nobody counted it out
        return await _failed(task, "it was begun too often without an end", tools, settled)
    # Whatever a handler raises is that task's failure and no other's: a poisoned task must not stop the queue.
    (outcome,) = await asyncio.gather(handler(task), return_exceptions=True)
    if isinstance(outcome, Settled):
        return replace(
            settled,
            done=(*settled.done, task.id),
            created=settled.created + outcome.created,
            dropped=(*settled.dropped, *outcome.dropped),
            tokens_in=settled.tokens_in + outcome.tokens_in,
            tokens_out=settled.tokens_out + outcome.tokens_out,
        )
    if not isinstance(outcome, Exception):  # cancellation and interrupts are the caller's
        raise outcome
    if isinstance(outcome, MalformedOutput):
        spent = settled.tokens_in + outcome.tokens_in, settled.tokens_out + outcome.tokens_out
        settled = replace(settled, tokens_in=spent[0], tokens_out=spent[1])
    logger.warning("task %d failed at attempt %d: %s", task.id, task.attempts, type(outcome).__name__)
    return await _failed(task, f"{type(outcome).__name__}: {outcome}", tools, settled)


async def _failed(task: Task, reason: str, tools: RetainTools, settled: Settled) -> Settled:
    bank, reason = tools.projector, reason[:REASON_CHARACTERS]
    retry_in = retry_delay(task.attempts) if task.attempts < MAX_ATTEMPTS else None
    await tools.workers.write(bank.ledger.fail_task, task.claim, reason=reason, retry_in=retry_in)
    return replace(settled, failed={**settled.failed, task.id: reason})


def present_part(stored: StoredPassage, origin: Origin, bank: Projector) -> Passage:
    """What of a passage still stands: not messages edited since, nor a part of a document that was replaced."""
    if origin.document_id is not None:
        document = bank.ledger.document(bank.name, origin.document_id)
        present = {chunk.ordinal for chunk in document.chunks} if document else set()
        messages = stored.messages if stored.chunk in present else ()
    else:
        ids = {key.message_id for key in bank.ledger.known_messages(bank.name, stored.keys)}
        messages = tuple(message for message in stored.messages if not stored.keys or message.id in ids)
    return Passage(messages, stored.before, origin.context)


async def extract_waiting(task: Task, llm: LLMExtractor, tools: RetainTools) -> Settled:
    """Extract the passage a task keeps, and write its facts and the task's end in one commit.

    Raises:
        InvalidRequest: the payload is damaged.
        ModelError: the model is unavailable, or its answer is still malformed after repairs.
        TaskClosed: somebody else finished the task meanwhile; nothing was written.
    """
    stored, origin = stored_passage(task)
    passage = await tools.workers.read(present_part, stored, origin, tools.projector)
    if passage.messages:
        (passage,) = await shown([passage], origin.tags, tools, memories=bool(stored.keys))
        extraction = await llm.extract_again(passage)
    else:
        extraction = Extraction(((),), dropped=OVERTAKEN)
    if origin.document_id is not None:
        extraction = without_sources(extraction)
    here = replace(
        origin, bank=tools.projector.name
    )  # an archive may have brought the task from a bank of another name
    by_id = {message.id or "": message for message in passage.messages}
    drafts, dropped = draft_facts(extraction, here, ordinals=(stored.chunk,), messages=by_id)
    messages = whole_messages(stored.keys, passage.messages)
    moments = {key.place: origin.moments[key.message_id] for key in messages}
    proposal = Proposal(
        drafts=drafts,
        speakers=frozenset(stored.speakers),
        turns=turns_of(messages, moments, origin.tags) if tools.keep_turns else (),
        completed=(task.claim,),
        extracted=tuple(waiting_id(origin, message) for message in stored.messages),
        dropped=(*extraction.dropped, *dropped),
        tokens_in=extraction.tokens_in,
        tokens_out=extraction.tokens_out,
    )
    (result,) = await store([proposal], tools)
    return Settled(
        created=result.created,
        dropped=result.dropped,
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
    )

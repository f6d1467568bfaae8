"""Extracting a passage that waited for a model, as a task: as the retain would have done it then."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.model.results import Dropped, Settled
from hindsight_integrations.model.tasks import Task
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.retain.drafts import Origin, draft_facts
from hindsight_integrations.retain.extraction import Extraction, LLMExtractor, without_sources
from hindsight_integrations.retain.pipeline import store
from hindsight_integrations.retain.prepare import shown
from hindsight_integrations.retain.proposal import Proposal, forgettings
from hindsight_integrations.retain.turns import (
    StoredPassage,
    stored_passage,
    turns_of,
    waiting_id,
    whole_messages,
)
from hindsight_integrations.services import Services

OVERTAKEN = (Dropped("a passage that waited", "what it was made from has been replaced since"),)


def present_part(stored: StoredPassage, origin: Origin, bank: Projector) -> Passage:
    """What of a passage still stands: not messages edited since, nor a part of a document that was replaced."""
    if origin.document_id is not None:
        document = bank.ledger.units.document(bank.name, origin.document_id)
        present = {chunk.ordinal for chunk in document.chunks} if document else set()
        messages = stored.messages if stored.chunk in present else ()
    else:
        ids = {key.message_id for key in bank.ledger.turns.known(bank.name, stored.keys)}
        messages = tuple(message for message in stored.messages if not stored.keys or message.id in ids)
    return Passage(messages, stored.before, origin.context)


async def extract_waiting(task: Task, llm: LLMExtractor, projector: Projector, services: Services) -> Settled:
    """Extract the passage a task keeps, and write its facts and the task's end in one commit.

    Raises:
        InvalidRequest: the payload is damaged.
        ModelError: the model is unavailable, or its answer is still malformed after repairs.
        TaskClosed: the lease is over; nothing was written.
    """
    stored, origin = stored_passage(task)
    passage = await services.workers.read(present_part, stored, origin, projector)
    if passage.messages:
        (passage,) = await shown([passage], origin.tags, projector, services, memories=bool(stored.keys))
        extraction = await llm.extract_again(passage)
    else:
        extraction = Extraction(((),), dropped=OVERTAKEN)
    if origin.document_id is not None:
        extraction = without_sources(extraction)
    here = replace(
        origin, bank=projector.name
    )  # an archive may have brought the task from a bank of another name
    by_id = {message.id or "": message for message in passage.messages}
    drafts, dropped = draft_facts(extraction, here, ordinals=(stored.chunk,), messages=by_id)
    messages = whole_messages(stored.keys, passage.messages)
    moments = {key.place: origin.moments[key.message_id] for key in messages}
    proposal = Proposal(
        drafts=drafts,
        speakers=frozenset(stored.speakers),
        turns=turns_of(messages, moments, origin.tags) if services.config.retain.source_turns else (),
        completed=(task.claim,),
        extracted=tuple(waiting_id(origin, message) for message in stored.messages),
        dropped=(*extraction.dropped, *dropped),
        forget=forgettings(extraction.forget, here),
        tokens_in=extraction.tokens_in,
        tokens_out=extraction.tokens_out,
    )
    (result,) = await store([proposal], projector, services)
    return Settled(
        created=result.created,
        dropped=result.dropped,
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
    )

"""Retain, top to bottom (paper section 4.1): intake, extraction, drafts, vectors, commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from hindsight_integrations.config import AS_SET, ExtractionOptions
from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.ledger.values import Receipt
from hindsight_integrations.model.results import EXCERPT_CHARACTERS, Dropped, RetainResult
from hindsight_integrations.model.tasks import TaskKind
from hindsight_integrations.model.units import FactType, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.retain.agent_opinions import HELD_ALREADY
from hindsight_integrations.retain.changes import (
    DOCUMENT_CHANGED,
    FORKED,
    MESSAGE_EDITED,
    NOT_ASKED,
    Judgement,
    judgement_on,
    with_withdrawals,
)
from hindsight_integrations.retain.commit import commit, decide
from hindsight_integrations.retain.drafts import Draft
from hindsight_integrations.retain.embedding import Vectors, embed, waiting_writes, with_tokens
from hindsight_integrations.retain.extraction import extractor_of
from hindsight_integrations.retain.prepare import prepare
from hindsight_integrations.retain.proposal import Proposal, joined
from hindsight_integrations.retain.turns import parked
from hindsight_integrations.services import Services
from hindsight_integrations.validation.retain_request import RetainRequest

_LISTED = (
    "unit_ids",
    "dropped",
    "parked",
    "queued",
    "closed",
    "removed",
    "ambiguous",
    "forget_requested",
    "superseded",
    "restored",
)
"""What a result lists, of each document its own."""

_VERSIONS = frozenset({FORKED, MESSAGE_EDITED, DOCUMENT_CHANGED})


async def retain(requests: Sequence[RetainRequest], projector: Projector, services: Services) -> RetainResult:
    """Turn messages or documents into memory units, links and entities, in one commit; one result for all of them.

    Raises:
        ModelError: extraction or embedding failed; nothing was written.
    """
    async with services.in_flight.alone(frozenset().union(*(request.slots for request in requests))):
        proposals = [found for request in requests if (found := await prepare(request, projector, services))]
        if not proposals:
            return _together([await nothing_new(request, projector, services) for request in requests])
        return _together(await store(proposals, projector, services, requests[0].options))


async def store(
    proposals: Sequence[Proposal],
    projector: Projector,
    services: Services,
    options: ExtractionOptions = AS_SET,
) -> list[RetainResult]:
    """Embed several retains in one batch and commit them together; a result for each.

    They must have no message or document in common. All of them or none is written.
    """
    whole = joined(proposals)

    def measure() -> tuple[list[Draft], Vectors]:
        made = embed(whole.drafts, services.embedder)
        if whole.waiting:
            made = replace(made, waiting=waiting_writes(whole, services.tokens, services.embedder))
        return with_tokens(whole.drafts, services.tokens), made

    counted, vectors = await services.workers.read(measure)
    whole = replace(whole, drafts=counted)
    judgement = await _judgement(whole, vectors, projector, services, options)
    receipt, writes, retraction, behind = await services.workers.write(
        commit, whole, vectors, projector, services.languages, judgement
    )
    kept, created = {item.unit.id for item in writes.units}, set(receipt.created)
    results: Iterable[RetainResult] = (
        replace(_result(one, kept, created, receipt), behind=behind) for one in proposals
    )
    first, *others = (with_withdrawals(result, retraction) for result in results)
    # What is of the whole commit is told with the first of its retains.
    first = replace(first, forget_requested=tuple(retraction.forgotten))
    return [_with_version_changes(_with_tokens(first, judgement), writes.events), *others]


async def _judgement(
    proposal: Proposal, vectors: Vectors, projector: Projector, services: Services, options: ExtractionOptions
) -> Judgement:
    """What the model says of statements that say no memory's very words, on the bank as it is now.

    The commit decides again on the bank as it is then; what the model was not asked about stays ambiguous.
    """
    stating = any(each.invalidates and each.said_by_person and not each.given for each in proposal.drafts)
    llm = extractor_of(services, options)
    if llm is None or not stating:
        return NOT_ASKED
    async with projector.viewing() as view:
        try:
            _, retraction = await services.workers.read(decide, proposal, vectors, view, services.languages)
        except RevisionConflict:  # the commit raises it as well
            return NOT_ASKED
    return await judgement_on(retraction.open, llm)


def _together(results: Sequence[RetainResult]) -> RetainResult:
    counts = Counter[FactType]()
    for result in results:
        counts.update(result.counts)

    listed: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(result, name) for result in results)) for name in _LISTED
    }
    return replace(
        results[-1],
        counts=dict(counts),
        created=sum(result.created for result in results),
        skipped_messages=sum(result.skipped_messages for result in results),
        tokens_in=sum(result.tokens_in for result in results),
        tokens_out=sum(result.tokens_out for result in results),
        calls=sum(result.calls for result in results),
        **listed,
    )


def _with_tokens(result: RetainResult, judgement: Judgement) -> RetainResult:
    """The result with what the judgement cost: one request for all retains of a commit, told with the first."""
    return replace(
        result,
        tokens_in=result.tokens_in + judgement.tokens_in,
        tokens_out=result.tokens_out + judgement.tokens_out,
        calls=result.calls + judgement.calls,
    )


def _with_version_changes(result: RetainResult, events: Sequence[ValidityEvent]) -> RetainResult:
    """The result with what edits, forks and new versions of documents closed and restored, of the events of its commit."""
    closed = dict.fromkeys(
        event.unit_id
        for event in events
        if event.kind is ValidityKind.CLOSED and event.reason in _VERSIONS and event.by_unit is None
    )
    ended = {event.unit_id for event in events if event.kind is ValidityKind.CLOSED}
    restored = dict.fromkeys(
        event.unit_id
        for event in events
        if event.kind is ValidityKind.RESTORED and event.unit_id not in ended
    )
    return replace(result, superseded=tuple(closed), restored=tuple(restored))


async def nothing_new(request: RetainRequest, projector: Projector, services: Services) -> RetainResult:
    """The result of a retain of what the bank knows already."""
    revision = await services.workers.read(projector.ledger.revision, projector.name)
    return RetainResult((), 0, {}, len(request.intake.keys), request.intake.dropped, revision)


def _result(proposal: Proposal, kept: set[str], created: set[str], receipt: Receipt) -> RetainResult:
    """What became of one of the retains of a commit: `kept` and `created` are the unit ids of them all."""
    heads = [draft.unit for draft in proposal.drafts if draft.unit.kind is UnitKind.MEMORY]
    units = [unit for unit in heads if unit.id in kept]
    held = [
        Dropped(draft.unit.text[:EXCERPT_CHARACTERS], HELD_ALREADY)
        for draft in proposal.drafts
        if draft.unit.fact_type is FactType.OPINION and draft.unit.id not in kept
    ]
    counts = Counter(unit.fact_type for unit in units if unit.id in created)
    payloads = {passage.task.payload for passage in proposal.waiting}
    waiting = [task for task in receipt.tasks if task.payload in payloads]
    return RetainResult(
        unit_ids=tuple(unit.id for unit in units),
        created=sum(counts.values()),
        counts={kind: counts[kind] for kind in FactType if counts[kind]},
        skipped_messages=proposal.skipped,
        dropped=(*proposal.dropped, *held),
        revision=receipt.revision,
        tokens_in=proposal.tokens_in,
        tokens_out=proposal.tokens_out,
        calls=proposal.calls,
        parked=parked(waiting, TaskKind.EXTRACT_PARKED),
        queued=parked(waiting, TaskKind.EXTRACT_QUEUED),
    )

"""The entry points of retain (paper section 4.1): retain, retain_many, follow and extract_waiting.

Each prepares its input, computes vectors and token counts, and commits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from hindsight_integrations.config import AS_SET, ExtractionOptions
from hindsight_integrations.errors import (
    BankForgotten,
    BankLocked,
    EngineClosed,
    HindsightError,
    LedgerUnreachable,
    RevisionConflict,
)
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.ledger.values import Receipt
from hindsight_integrations.model.results import (
    EXCERPT_CHARACTERS,
    USAGE_FIELDS,
    Dropped,
    ItemOutcome,
    RetainResult,
    Settled,
    with_usage,
)
from hindsight_integrations.model.tasks import Task, TaskKind
from hindsight_integrations.model.turns import OnFork, Role, ThreadMark
from hindsight_integrations.model.units import FactType, MemoryUnit, UnitKind, ValidityEvent, ValidityKind
from hindsight_integrations.prompts.extract_facts import Passage
from hindsight_integrations.prompts.repair import malformed
from hindsight_integrations.retain.changes import (
    DOCUMENT_CHANGED,
    FORKED,
    MESSAGE_EDITED,
    NOT_ASKED,
    Judgement,
    judgement_on,
    with_withdrawals,
)
from hindsight_integrations.retain.commit import HELD_ALREADY, commit, decide
from hindsight_integrations.retain.drafts import (
    FollowedThread,
    Origin,
    Proposal,
    UnitDraft,
    draft_facts,
    forgettings,
    joined,
    measured,
)
from hindsight_integrations.retain.extraction import Extraction, LLMExtractor, extractor_of, without_sources
from hindsight_integrations.retain.prepare import prepare, shown, without_recalled
from hindsight_integrations.retain.threads import read_fork, thread_digests
from hindsight_integrations.retain.turns import (
    StoredPassage,
    parked,
    parked_again,
    stored_passage,
    turns_of,
    waiting_id,
    whole_messages,
)
from hindsight_integrations.services import Services
from hindsight_integrations.validation.intake import ConversationIntake
from hindsight_integrations.validation.messages import id_of, role_of
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
"""Fields of a result that are concatenated when several documents are retained."""

_VERSIONS = frozenset({FORKED, MESSAGE_EDITED, DOCUMENT_CHANGED})


async def retain(requests: Sequence[RetainRequest], projector: Projector, services: Services) -> RetainResult:
    """Turn messages or documents into memory units, links and entities, in one commit with one result.

    Raises:
        ModelError: extraction or embedding failed; nothing was written.
    """
    async with services.in_flight.alone(frozenset().union(*(request.slots for request in requests))):
        proposals = [new for request in requests if (new := await prepare(request, projector, services))]
        if not proposals:
            return _together([await nothing_new(request, projector, services) for request in requests])
        return _together(await store(proposals, projector, services, requests[0].options))


async def store(
    proposals: Sequence[Proposal],
    projector: Projector,
    services: Services,
    options: ExtractionOptions = AS_SET,
) -> list[RetainResult]:
    """Compute vectors and token counts for several retains and commit all or none of them; return a result for each.

    They must not share a message or document.
    """
    whole = await services.workers.read(measured, joined(proposals), services.embedder, services.tokens)
    judgement = await _judgement(whole, projector, services, options)
    receipt, writes, retraction, behind = await services.workers.write(
        commit, whole, projector, services, judgement
    )
    kept, created = {item.unit.id for item in writes.units}, set(receipt.created)
    results: Iterable[RetainResult] = (
        replace(_result(one, kept, created, receipt), behind=behind) for one in proposals
    )
    first, *others = (with_withdrawals(result, retraction) for result in results)
    # Values of the whole commit are part of the first result, such as the cost of the judgement.
    first = with_usage(replace(first, forget_requested=tuple(retraction.forgotten)), judgement.usage)
    return [_with_version_changes(first, writes.events), *others]


async def _judgement(
    proposal: Proposal, projector: Projector, services: Services, options: ExtractionOptions
) -> Judgement:
    """Ask the model about statements without an equal memory, based on the bank's current revision.

    The commit decides on the revision that it finds; statements that the model was not asked about stay
    ambiguous.
    """
    stating = any(each.invalidates and each.said_by_person and not each.given for each in proposal.drafts)
    llm = extractor_of(services, options)
    if llm is None or not stating:
        return NOT_ASKED
    async with projector.viewing() as view:
        try:
            _, retraction = await services.workers.read(decide, proposal, view, services)
        except RevisionConflict:  # the commit will raise the same error
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
        **{name: sum(getattr(result, name) for result in results) for name in USAGE_FIELDS},
        **listed,
    )


def _with_version_changes(result: RetainResult, events: Sequence[ValidityEvent]) -> RetainResult:
    """Add the memories that edits, forks and new versions of documents invalidated and restored."""
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
    """Return the result of a retain whose messages or document are all stored already."""
    revision = await services.workers.read(projector.ledger.revision, projector.name)
    return RetainResult((), 0, {}, len(request.intake.keys), request.intake.dropped, revision)


def _result(proposal: Proposal, kept: set[str], created: set[str], receipt: Receipt) -> RetainResult:
    """Build the result of one retain; `kept` and `created` are the unit ids of the whole commit."""
    heads = [draft.unit for draft in proposal.drafts if draft.unit.kind is UnitKind.MEMORY]
    units = [unit for unit in heads if unit.id in kept]
    known_opinions = [
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
        dropped=(*proposal.dropped, *known_opinions),
        revision=receipt.revision,
        **asdict(proposal.usage),
        parked=parked(waiting, TaskKind.EXTRACT_PARKED),
        queued=parked(waiting, TaskKind.EXTRACT_QUEUED, TaskKind.EXTRACT_WAITING),
    )


OVERTAKEN = (Dropped("a queued passage", "its source has been replaced since"),)


@dataclass(frozen=True, slots=True)
class WaitingPart:
    """The messages of one task, or some of them, that are extracted in one passage."""

    stored: StoredPassage
    origin: Origin

    @property
    def characters(self) -> int:
        """The length of the messages."""
        return sum(len(message.text) for message in self.stored.messages)

    @property
    def waiting(self) -> list[str]:
        """The ids of the waiting turns of the messages."""
        return [waiting_id(self.origin, message) for message in self.stored.messages]


def present_passages(parts: Sequence[WaitingPart], bank: Projector, limit: int) -> list[list[WaitingPart]]:
    """Group the messages of tasks into passages, without edited messages and replaced parts of documents.

    Messages that a fork dropped do not share a passage with others, since a memory made from one of them becomes invalid.

    Args:
        parts: the parts of one conversation in order, or one part of a document.
        bank: the bank.
        limit: the maximum number of characters of a passage, unless a single part is longer.
    """
    present = [_present(part, bank) for part in parts]
    places = [(part.origin.thread, each.id or "") for part in present for each in part.stored.messages]
    dropped = bank.ledger.turns.dropped(bank.name, places) if parts[0].stored.keys else frozenset()
    passages: list[list[WaitingPart]] = []
    for gone in (False, True):
        size = limit + 1
        for part in present:
            messages = tuple(
                each
                for each in part.stored.messages
                if ((part.origin.thread, each.id or "") in dropped) == gone
            )
            if not messages:
                continue
            some = replace(part, stored=replace(part.stored, messages=messages))
            if size + some.characters > limit:
                passages.append([])
                size = 0
            passages[-1].append(some)
            size += some.characters
    return passages


def _present(part: WaitingPart, bank: Projector) -> WaitingPart:
    stored, document_id = part.stored, part.origin.document_id
    if document_id is not None:
        document = bank.ledger.units.document(bank.name, document_id)
        chunks = {chunk.ordinal for chunk in document.chunks} if document else set()
        messages = stored.messages if stored.chunk in chunks else ()
    else:
        ids = {key.message_id for key in bank.ledger.turns.known(bank.name, stored.keys)}
        messages = tuple(message for message in stored.messages if not stored.keys or message.id in ids)
    return replace(part, stored=replace(stored, messages=messages))


async def extract_waiting(task: Task, llm: LLMExtractor, projector: Projector, services: Services) -> Settled:
    """Extract the passages of a task and of those leased with it, and commit their facts together with the completion.

    A passage of several tasks without a usable answer is tried again later, each task alone.

    Raises:
        InvalidRequest: the payload is damaged.
        ModelError: the model is unavailable, or the answer to a task without others is still malformed after repairs.
        TaskClosed: the lease has expired; nothing was written.
    """
    parts = [WaitingPart(*stored_passage(each)) for each in task.members]
    grouped = await services.workers.read(present_passages, parts, projector, llm.limit)
    extraction = await _extract_again(grouped, llm, projector, services)
    if extraction.waiting and not task.others:
        reason = extraction.waiting[0].reason
        raise malformed(llm.model_name, reason, extraction.usage)
    failed = {item.chunk: item.reason for item in extraction.waiting}
    answered = [part for place, some in enumerate(grouped) if place not in failed for part in some]
    again = [(part, reason) for place, reason in failed.items() for part in grouped[place]]
    origin = _joint_origin(parts, projector.name)
    by_id = {message.id or "": message for part in answered for message in part.stored.messages}
    drafts, dropped = draft_facts(
        extraction, origin, ordinals=[some[0].stored.chunk for some in grouped], messages=by_id
    )
    messages = whole_messages([key for part in parts for key in part.stored.keys], by_id.values())
    moments = {key.place: origin.moments[key.message_id] for key in messages}
    kept = {unit_id for part, _ in again for unit_id in part.waiting}
    proposal = Proposal(
        drafts=_with_metadata(drafts, parts),
        speakers=frozenset(speaker for part in parts for speaker in part.stored.speakers),
        turns=turns_of(messages, moments, origin.tags) if services.config.retain.source_turns else (),
        completed=tuple(each.claim for each in task.members),
        extracted=tuple(unit_id for part in parts for unit_id in part.waiting if unit_id not in kept),
        waiting=tuple(parked_again(part.stored, part.origin, reason) for part, reason in again),
        dropped=(*extraction.dropped, *dropped),
        forget=forgettings(extraction.forget, origin),
        usage=extraction.usage,
    )
    (result,) = await store([proposal], projector, services)
    return Settled(
        created=result.created,
        dropped=result.dropped,
        tokens_in=result.tokens_in,
        tokens_out=result.tokens_out,
        tokens_cached=result.tokens_cached,
        calls=result.calls,
    )


async def _extract_again(
    grouped: Sequence[Sequence[WaitingPart]], llm: LLMExtractor, projector: Projector, services: Services
) -> Extraction:
    """Extract the facts of passages; each passage is shown with the memories that it may change."""
    if not grouped:
        return Extraction((), dropped=OVERTAKEN)
    cut = [
        Passage(
            tuple(message for part in some for message in part.stored.messages),
            some[0].stored.before,
            some[0].origin.context,
        )
        for some in grouped
    ]
    first = grouped[0][0]
    of_conversation = bool(first.stored.keys)
    passages = await shown(cut, first.origin.tags, projector, services, memories=of_conversation)
    extraction = await llm.extract_again(passages)
    if first.origin.document_id is not None:
        return without_sources(extraction)
    # The messages themselves, which are in the bank as waiting turns that their facts would repeat.
    own = [(first.origin.thread, message.id or "") for passage in cut for message in passage.messages]
    return await without_recalled(extraction, passages, projector, services, dropped=own)


def _joint_origin(parts: Sequence[WaitingPart], bank: str) -> Origin:
    """Return the origin of the messages of several tasks, which differ only in their metadata.

    `bank` is the current name: a task that was restored from an archive may contain another one.
    """
    moments = {message: at for part in parts for message, at in part.origin.moments.items()}
    last = max(part.origin.mentioned_at for part in parts)
    return replace(parts[-1].origin, bank=bank, moments=moments, mentioned_at=last)


def _with_metadata(drafts: Sequence[UnitDraft], parts: Sequence[WaitingPart]) -> list[UnitDraft]:
    """Give each draft the metadata of its last source message."""
    metadata = {each.id: part.origin.metadata for part in parts for each in part.stored.messages}

    def own(unit: MemoryUnit) -> MemoryUnit:
        last = unit.sources[-1] if unit.sources else None
        return replace(unit, metadata=metadata[last]) if last in metadata else unit

    return [replace(draft, unit=own(draft.unit)) for draft in drafts]


EARLIER_MESSAGES = 20  # number of known messages before the new ones that are shown as context

Requested = Callable[[Sequence[Any]], RetainRequest | None]
"""A function that builds a request from some messages; it returns None if none of them is to be retained."""


@dataclass(frozen=True, slots=True)
class ThreadList:
    """The current list of messages of a conversation.

    Attributes:
        items: all messages, as the caller passed them.
        thread: the id of the conversation.
        namespace: the name of this list; a thread may have several.
        at: the current time (aware UTC).
        on_fork: what happens to memories made from messages that a fork dropped.
    """

    items: Sequence[Any]
    thread: str
    namespace: str
    at: datetime
    on_fork: OnFork


async def follow(
    conversation: ThreadList,
    requested: Requested,
    projector: Projector,
    services: Services,
    *,
    remember: bool = True,
) -> RetainResult:
    """Retain the new messages of a conversation, and make the memories of its current branch the valid ones.

    Args:
        conversation: the current list of messages of the conversation.
        requested: a function that builds the request for some of its messages; it returns None if none is to be retained.
        projector: the bank.
        services: the engine's services.
        remember: False marks new messages as known without storing anything.

    Raises:
        ModelError: extraction or embedding failed; nothing was written.
    """
    bank = projector.name
    async with services.in_flight.alone({(bank, conversation.thread, "list", conversation.namespace)}):
        before, start, digest = await services.workers.read(_read_position, conversation, projector)
        if start == len(conversation.items) and start == before.seen:
            revision = await services.workers.read(projector.ledger.revision, bank)
            return RetainResult((), 0, {}, 0, (), revision)
        first = max(0, start - EARLIER_MESSAGES)
        request = requested(conversation.items[first:])
        if start and request and await services.workers.read(_returns_to_branch, request, projector):
            start = first = 0
            request = requested(conversation.items)
        earlier = {id_of(item) for item in conversation.items[first:start]}
        followed = _followed(conversation, request, earlier, before, digest=digest, whole=not start)
        if request is None:
            (result,) = await store([Proposal((), followed=followed)], projector, services)
            return result
        async with services.in_flight.alone(request.slots):
            fork = await services.workers.read(read_fork, followed, projector.ledger, bank)
            proposal = None
            if remember:
                request = replace(request, dropped=fork.gone, absent=fork.absent)
                proposal = await prepare(request, projector, services)
            proposal = proposal or _known(request)
            proposal = replace(proposal, followed=followed)
            (result,) = await store([proposal], projector, services, request.options)
            return result


def _returns_to_branch(request: RetainRequest, projector: Projector) -> bool:
    """Return whether one of the messages was dropped earlier.

    Even a list that only grew may return to a dropped branch.
    """
    places = [key.place for key in request.intake.keys]
    return bool(projector.ledger.turns.dropped(projector.name, places))


def _read_position(conversation: ThreadList, projector: Projector) -> tuple[ThreadMark, int, str]:
    """Return the thread's stored mark, the position of its first new message (0 unless it was only continued) and its digest."""
    before = projector.ledger.turns.thread_mark(projector.name, conversation.thread, conversation.namespace)
    beginning, digest = thread_digests(conversation.items, before.seen)
    continued = len(conversation.items) >= before.seen > 0 and beginning == before.digest
    return before, before.seen if continued else 0, digest


def _followed(
    conversation: ThreadList,
    request: RetainRequest | None,
    earlier: Collection[str | None],
    before: ThreadMark,
    *,
    digest: str,
    whole: bool,
) -> FollowedThread:
    keys = request.intake.keys if request else ()
    said = request.intake.messages if request and isinstance(request.intake, ConversationIntake) else ()
    return FollowedThread(
        thread=conversation.thread,
        namespace=conversation.namespace,
        messages=tuple((key.message_id, key.content_hash) for key in keys if key.message_id not in earlier),
        whole=whole,
        before=before,
        seen=len(conversation.items),
        digest=digest,
        at=max([conversation.at, *(request.intake.moments.values() if request else ())]),
        on_fork=conversation.on_fork,
        asked=frozenset(each.id for each in said if each.id and role_of(each) is Role.USER),
    )


def _known(request: RetainRequest) -> Proposal:
    """Build a proposal for messages that are all known; only their branch may have changed."""
    keys = request.intake.keys
    return Proposal((), keys=keys, moments=request.intake.moments, skipped=len(keys))


Given = RetainRequest | HindsightError
"""A validated item, or the error that its validation raised."""

STOPPING = (EngineClosed, BankForgotten, BankLocked, LedgerUnreachable)
"""Errors that stop a bulk retain, because every further item would fail in the same way, perhaps after a long wait."""


async def retain_many(
    items: Sequence[Given],
    projector: Projector,
    services: Services,
    *,
    batch_size: int,
    concurrent: int,
    progress: Callable[[int, int], object] | None = None,
) -> list[ItemOutcome]:
    """Retain the items in order, one commit per batch.

    A batch is written atomically, and stored items are recognised by their ids, so repeating the call after a crash retains
    the remaining items.

    Args:
        items: the items to retain.
        projector: the bank.
        services: the engine's services.
        batch_size: maximum number of items per commit.
        concurrent: maximum number of items prepared at the same time.
        progress: a function called after each batch with the number of finished items and of all items.
    """
    outcomes: list[ItemOutcome] = []
    for batch in batches(items, batch_size):
        outcomes += await _retain_batch(batch, projector, services, concurrent)
        if progress:
            progress(len(outcomes), len(items))
    return outcomes


def batches(items: Sequence[Given], size: int) -> Iterator[list[Given]]:
    """Yield batches of the items in order.

    Two versions of one message or document never share a batch, since the later one replaces the earlier one.
    """
    batch: list[Given] = []
    taken: set[tuple[str, str, str]] = set()
    for item in items:
        slots = item.slots if isinstance(item, RetainRequest) else frozenset()
        if batch and (len(batch) >= size or slots & taken):
            yield batch
            batch, taken = [], set()
        batch.append(item)
        taken |= slots
    if batch:
        yield batch


async def _retain_batch(
    batch: Sequence[Given], projector: Projector, services: Services, concurrent: int
) -> list[ItemOutcome]:
    """Retain a batch in one commit; if that fails, retain each item alone, so that only the faulty item fails.

    Returns:
        One outcome per item, in order.
    """
    slots = frozenset(slot for item in batch if isinstance(item, RetainRequest) for slot in item.slots)
    async with services.in_flight.alone(slots):
        outcomes = await _retain_together(batch, projector, services, concurrent)
    # Outside the block, because each `retain` needs the slots that this call holds inside it.
    return [
        outcome or await _retain_alone(item, projector, services)
        for item, outcome in zip(batch, outcomes, strict=True)
    ]


async def _retain_together(
    batch: Sequence[Given], projector: Projector, services: Services, concurrent: int
) -> list[ItemOutcome | None]:
    """Prepare the items and store them in one commit; None for each of several items if the commit failed."""
    gate = asyncio.Semaphore(concurrent)
    read = await asyncio.gather(*(_read(item, projector, services, gate) for item in batch))
    proposals = [item for item in read if isinstance(item, Proposal)]
    stored: Iterator[ItemOutcome | None]
    try:
        results = await store(proposals, projector, services) if proposals else []
        stored = iter([ItemOutcome(result) for result in results])
    except STOPPING:
        raise
    except HindsightError as error:
        stored = iter([ItemOutcome(None, error)] if len(proposals) == 1 else [None] * len(proposals))
    return [next(stored) if isinstance(item, Proposal) else item for item in read]


async def _read(
    item: Given, projector: Projector, services: Services, gate: asyncio.Semaphore
) -> Proposal | ItemOutcome:
    if isinstance(item, HindsightError):
        return ItemOutcome(None, item)
    try:
        async with gate:
            proposal = await prepare(item, projector, services)
    except STOPPING:
        raise
    except HindsightError as error:
        return ItemOutcome(None, error)
    return proposal or ItemOutcome(await nothing_new(item, projector, services))


async def _retain_alone(item: Given, projector: Projector, services: Services) -> ItemOutcome:
    if isinstance(item, HindsightError):
        return ItemOutcome(None, item)
    try:
        return ItemOutcome(await retain([item], projector, services))
    except STOPPING:
        raise
    except HindsightError as error:
        return ItemOutcome(None, error)

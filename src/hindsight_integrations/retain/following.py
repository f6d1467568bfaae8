"""Following a conversation: its whole list of messages comes in, what changed of it is retained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.model.results import RetainResult
from hindsight_integrations.model.turns import OnFork, Role, ThreadMark
from hindsight_integrations.retain.pipeline import store
from hindsight_integrations.retain.prepare import prepare
from hindsight_integrations.retain.proposal import FollowedThread, Proposal
from hindsight_integrations.retain.threads import read_fork, thread_digests
from hindsight_integrations.services import Services
from hindsight_integrations.validation.intake import ConversationIntake
from hindsight_integrations.validation.messages import id_of, role_of
from hindsight_integrations.validation.retain_request import RetainRequest

EARLIER_MESSAGES = 20  # of the list, known already, given along as context of new ones

Requested = Callable[[Sequence[Any]], RetainRequest | None]
"""Makes a request of some messages; None where none of them is to be retained."""


@dataclass(frozen=True, slots=True)
class ThreadList:
    """The list of messages of a conversation, as it is now.

    Attributes:
        items: all of them, as the caller has them.
        thread: the conversation.
        namespace: which of its lists this is.
        at: now, or when the caller says it is (aware UTC).
        on_fork: what becomes of messages that a fork dropped.
    """

    items: Sequence[Any]
    thread: str
    namespace: str
    at: datetime
    on_fork: OnFork


async def follow(
    given: ThreadList,
    requested: Requested,
    projector: Projector,
    services: Services,
    *,
    remember: bool = True,
) -> RetainResult:
    """Retain what is new of a conversation, and bring its memories to the branch it is on.

    Args:
        given: the conversation.
        requested: makes a request of some of its messages.
        projector: the bank.
        services: the engine's.
        remember: False marks what is new as known and stores nothing of it.

    Raises:
        ModelError: extraction or embedding failed; nothing was written.
    """
    bank = projector.name
    async with services.in_flight.alone({(bank, given.thread, "list", given.namespace)}):
        before, start, digest = await services.workers.read(_where, given, projector)
        if start == len(given.items) and start == before.seen:
            revision = await services.workers.read(projector.ledger.revision, bank)
            return RetainResult((), 0, {}, 0, (), revision)
        first = max(0, start - EARLIER_MESSAGES)
        request = requested(given.items[first:])
        if start and request and await services.workers.read(_returns, request, projector):
            start = first = 0
            request = requested(given.items)
        earlier = {id_of(item) for item in given.items[first:start]}
        followed = _followed(given, request, earlier, before, digest=digest, whole=not start)
        if request is None:
            (result,) = await store([Proposal((), followed=followed)], projector, services)
            return result
        async with services.in_flight.alone(request.slots):
            fork = await services.workers.read(read_fork, followed, projector.ledger, bank)
            proposal = None
            if remember:
                proposal = await prepare(replace(request, dropped=fork.gone), projector, services)
            proposal = proposal or _known(request)
            proposal = replace(proposal, followed=followed)
            (result,) = await store([proposal], projector, services, request.options)
            return result


def _returns(request: RetainRequest, projector: Projector) -> bool:
    """Whether a message had been dropped: a list may come back to a branch by going on, too."""
    places = [key.place for key in request.intake.keys]
    return bool(projector.ledger.turns.dropped(projector.name, places))


def _where(given: ThreadList, projector: Projector) -> tuple[ThreadMark, int, str]:
    """How far the thread was read before, from where on its list is new (0 unless it was only continued), and its digest."""
    before = projector.ledger.turns.thread_mark(projector.name, given.thread, given.namespace)
    beginning, digest = thread_digests(given.items, before.seen)
    continued = len(given.items) >= before.seen > 0 and beginning == before.digest
    return before, before.seen if continued else 0, digest


def _followed(
    given: ThreadList,
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
        thread=given.thread,
        namespace=given.namespace,
        messages=tuple((key.message_id, key.content_hash) for key in keys if key.message_id not in earlier),
        whole=whole,
        before=before,
        seen=len(given.items),
        digest=digest,
        at=max([given.at, *(request.intake.moments.values() if request else ())]),
        on_fork=given.on_fork,
        asked=frozenset(each.id for each in said if each.id and role_of(each) is Role.USER),
    )


def _known(request: RetainRequest) -> Proposal:
    """Of messages that are known, all of them; the branch they stand on may be another."""
    keys = request.intake.keys
    return Proposal((), keys=keys, moments=request.intake.moments, skipped=len(keys))

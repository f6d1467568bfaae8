"""Proposals: what retains want to write, as far as it can be decided without the bank. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from hindsight_integrations.model.facts import renumbered
from hindsight_integrations.model.results import Dropped
from hindsight_integrations.model.tasks import TaskClaim, TaskWrite
from hindsight_integrations.model.turns import OnFork, ThreadMark
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.model.writes import ForgetRequest, MessageKey, Place, TurnWrite
from hindsight_integrations.retain.documents import DocumentPlan
from hindsight_integrations.retain.drafts import Draft, Origin


@dataclass(frozen=True, slots=True)
class WaitingPassage:
    """A passage not extracted yet, or a snippet not merged into the background yet.

    Attributes:
        task: does that later.
        keys: the messages it keeps; none for a passage of a document.
        units: these messages as turns, found by recall meanwhile; none for a document.
    """

    task: TaskWrite
    keys: frozenset[MessageKey] = frozenset()
    units: tuple[MemoryUnit, ...] = ()


@dataclass(frozen=True, slots=True)
class FollowedThread:
    """The messages of a conversation as they are now, to be compared with its log when they are committed.

    Attributes:
        thread: the conversation.
        namespace: which of its lists of messages.
        messages: (id, content hash) of those to be retained, in order; where `whole` is false the new ones alone.
        asked: ids of those that a user wrote.
        whole: these are all of the list, which was not just continued.
        before: how far the thread was read before.
        seen: how many messages the list has.
        digest: over them.
        at: when a fork that shows here was made, at the latest (aware UTC).
        on_fork: what becomes of what it dropped.
    """

    thread: str
    namespace: str
    messages: tuple[tuple[str, str], ...]
    whole: bool
    before: ThreadMark
    seen: int
    digest: str
    at: datetime
    on_fork: OnFork = OnFork.SUPERSEDE
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A request to forget, and what decides which memories it may close.

    Attributes:
        request: what is asked.
        asked: stands for the messages that ask: their thread, tags and time; it is not written.
    """

    request: ForgetRequest
    asked: MemoryUnit


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one retain, or several in one commit, want to write.

    Attributes:
        drafts: units to be, in order.
        keys: the messages they came from, all of them.
        speakers: speakers of the conversation.
        moments: when each message, or the document, was written in this wording.
        documents: the documents they came from, and what changed in them.
        turns: the text of these messages; none where it is not to be kept.
        waiting: passages not extracted yet.
        completed: leases of the tasks whose outcome this is; their messages are known already, so `keys` is empty.
        extracted: ids of the units of turns that waited for these tasks.
        revision: the bank revision documents were compared at.
        skipped: messages the bank had in this wording before.
        dropped: what was not kept, and why.
        forget: what people asked to forget.
        followed: the conversation these messages continue, if the caller gave it whole; of one retain alone.
        tokens_in: prompt tokens the extraction cost.
        tokens_out: completion tokens it cost.
        calls: how often the model was called for it.
    """

    drafts: Sequence[Draft]
    keys: tuple[MessageKey, ...] = ()
    speakers: frozenset[str] = frozenset()
    moments: Mapping[Place, datetime] = field(default_factory=dict)
    documents: tuple[DocumentPlan, ...] = ()
    turns: tuple[TurnWrite, ...] = ()
    waiting: tuple[WaitingPassage, ...] = ()
    completed: tuple[TaskClaim, ...] = ()
    extracted: tuple[str, ...] = ()
    revision: int = 0
    skipped: int = 0
    dropped: tuple[Dropped, ...] = ()
    forget: tuple[Forgetting, ...] = ()
    followed: FollowedThread | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0


def joined(proposals: Sequence[Proposal]) -> Proposal:
    """Several proposals, which have no message or document in common, as one commit's."""
    return Proposal(
        drafts=_joined_drafts([proposal.drafts for proposal in proposals]),
        keys=tuple(key for proposal in proposals for key in proposal.keys),
        speakers=frozenset().union(*(proposal.speakers for proposal in proposals)),
        moments={place: at for proposal in proposals for place, at in proposal.moments.items()},
        documents=tuple(plan for proposal in proposals for plan in proposal.documents),
        turns=tuple(turn for proposal in proposals for turn in proposal.turns),
        waiting=tuple(passage for proposal in proposals for passage in proposal.waiting),
        completed=tuple(task for proposal in proposals for task in proposal.completed),
        extracted=tuple(unit for proposal in proposals for unit in proposal.extracted),
        revision=max(proposal.revision for proposal in proposals),
        forget=tuple(each for proposal in proposals for each in proposal.forget),
        followed=next((each.followed for each in proposals if each.followed), None),
    )


def forgettings(requests: Iterable[ForgetRequest], origin: Origin) -> tuple[Forgetting, ...]:
    """The requests of one conversation, each with what stands for its messages."""
    return tuple(
        Forgetting(
            request,
            MemoryUnit(
                id="",
                bank=origin.bank,
                text=request.what,
                fact_type=FactType.WORLD,
                mentioned_at=max(
                    (origin.moments[each] for each in request.sources if each in origin.moments),
                    default=origin.mentioned_at,
                ),
                tags=origin.tags,
                thread=origin.thread,
                sources=request.sources,
            ),
        )
        for request in requests
    )


def _joined_drafts(lists: Sequence[Sequence[Draft]]) -> list[Draft]:
    """Several lists of drafts as one; causal claims point at the same drafts as before."""
    together: list[Draft] = []
    for drafts in lists:
        places = {place: place + len(together) for place in range(len(drafts))}
        together += [replace(draft, causes=tuple(renumbered(draft.causes, places))) for draft in drafts]
    return together

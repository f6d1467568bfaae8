"""Compare a conversation with its log to find new messages, those dropped by a fork, and those that returned. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.turns import OnFork, Thread, ThreadEntry, ThreadMark, ThreadWrite
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent
from hindsight_integrations.model.writes import Place
from hindsight_integrations.retain.changes import (
    FORKED,
    returning_events,
    stated_again_events,
    undone_events,
)
from hindsight_integrations.retain.drafts import FollowedThread


@dataclass(frozen=True, slots=True)
class ThreadChange:
    """The difference between a list of messages and the log of its thread.

    Attributes:
        entries: the new and changed entries of the log.
        gone: the ids of messages that a fork dropped.
        back: the ids of dropped messages that are part of the conversation again.
        head: the id of the branch's last message; None if the branch is empty.
    """

    entries: tuple[ThreadEntry, ...] = ()
    gone: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    head: str | None = None


def thread_digests(items: Sequence[Any], first: int) -> tuple[str, str]:
    """Return two digests of a list of messages of any role and type: of its first `first` messages, and of all.

    The messages are not converted, since a list may have thousands.

    Args:
        items: the list.
        first: the number of messages in the first digest.
    """
    signatures = list(map(_signature, items))
    digest = hashlib.sha256("".join(signatures[:first]).encode("utf-8", "surrogatepass"))
    beginning = digest.hexdigest()
    digest.update("".join(signatures[first:]).encode("utf-8", "surrogatepass"))
    return beginning, digest.hexdigest()


def _signature(item: Any) -> str:  # noqa: ANN401 - a Message, dict or LangChain message
    try:
        return f"{item.type}\x1f{item.id}\x1f{item.name}\x1f{item.content}\x1e"
    except AttributeError:  # not a LangChain message
        if isinstance(item, Mapping):
            return f"{sorted((_written(key), _written(value)) for key, value in item.items())}\x1e"
        return f"{item!r}\x1e"


def _written(value: object) -> str:
    try:
        return str(value)
    except (
        ValueError
    ):  # an integer with more digits than Python allows; validation rejects it if it is retained
        return type(value).__name__


def thread_change(
    thread: Thread,
    messages: Sequence[tuple[str, str]],
    *,
    on_fork: OnFork,
    asked: Collection[str] = frozenset(),
) -> ThreadChange:
    """Compare a list of messages with the thread as of the last call.

    A missing message was dropped by a fork, unless it is an ancestor of the list's last known message: then the client
    only trimmed the list. Nothing counts as dropped if list and log have no message in common, or only the first one,
    followed by a new user message, because some clients trim in this way. (A user's edit of the second message looks
    the same and invalidates nothing.)

    Args:
        thread: the thread as of the last call.
        messages: (id, content hash) of the current list, in order; only messages that are retained.
        on_fork: what happens to memories made from dropped messages.
        asked: the ids of the list's messages that a user wrote.
    """
    log = thread.entries
    listed = dict(messages)
    if _trimmed_to_first(thread, messages, asked):
        added = tuple(_added(log, messages[1:], thread.mark.head))
        return ThreadChange(added, head=messages[-1][0])
    known = any(each in log for each, _ in messages)
    added = tuple(_added(log, messages, None if known else thread.mark.head))
    last_known = next((each for each, _ in reversed(messages) if each in log), None)
    head = messages[-1][0] if messages else thread.mark.head
    if last_known is None:
        return ThreadChange(added, head=head)
    branch = {*_ancestors(last_known, log), *listed}
    back = [each for each, entry in log.items() if entry.gone and each in branch]
    dropped = [each for each, entry in log.items() if not entry.gone and each not in branch]
    gone = dropped if on_fork is OnFork.SUPERSEDE else []
    changed = (
        ThreadEntry(each, listed.get(each, entry.content_hash), entry.parent, gone=each in gone)
        for each, entry in log.items()
        if each in gone or each in back or listed.get(each, entry.content_hash) != entry.content_hash
    )
    return ThreadChange((*changed, *added), tuple(gone), tuple(back), head)


def _trimmed_to_first(thread: Thread, messages: Sequence[tuple[str, str]], asked: Collection[str]) -> bool:
    """Return whether a list consists of the thread's first message and new ones, the first of them from a user."""
    log, ids = thread.entries, [each for each, _ in messages]
    if len(ids) < 2 or ids[1] not in asked or thread.mark.head == ids[0]:
        return False
    first = log.get(ids[0])
    return first is not None and first.parent is None and not any(each in log for each in ids[1:])


def _added(
    log: Mapping[str, ThreadEntry], messages: Sequence[tuple[str, str]], before: str | None
) -> Iterator[ThreadEntry]:
    """Yield entries for new messages, each with its predecessor; the first follows `before`."""
    for each, content_hash in messages:
        if each not in log:
            yield ThreadEntry(each, content_hash, before)
        before = each


def _ancestors(message_id: str, log: Mapping[str, ThreadEntry]) -> Iterator[str]:
    """Yield the id of a message and of its predecessors, the latest first."""
    seen: set[str] = set()
    each: str | None = message_id
    while each is not None and each in log and each not in seen:
        seen.add(each)
        yield each
        each = log[each].parent


@dataclass(frozen=True, slots=True)
class Fork:
    """The changes that a new list of messages makes to the log of its thread.

    Attributes:
        gone: the dropped messages.
        back: the dropped messages that returned.
        absent: all messages of the log that are not part of the current conversation.
        moments: the time at which each message was dropped or returned.
        write: the new entries of the log; None without a followed thread.
    """

    gone: tuple[Place, ...] = ()
    back: tuple[Place, ...] = ()
    absent: frozenset[Place] = frozenset()
    moments: Mapping[Place, datetime] = field(default_factory=dict)
    write: ThreadWrite | None = None

    def events(self, closing: Sequence[MemoryUnit], view: BankView) -> list[ValidityEvent]:
        """Return the events by which dropped and returned messages restore and invalidate other memories.

        Args:
            closing: units that the commit invalidates; the events of their own invalidation are not included.
            view: a view of the bank.
        """
        if not self.moments:
            return []
        at, ledger, dropped = max(self.moments.values()), view.ledger, set(self.gone)
        ending = [u for u in closing if not dropped.isdisjoint((u.thread, source) for source in u.sources)]
        returning = returning_events(ledger, view.bank, self.back, gone=self.absent, at=at)
        undone = undone_events(ledger, view.bank, ending, gone=self.absent, at=at, reason=FORKED)
        again = stated_again_events(ledger, view.bank, [event.unit_id for event in returning], at=at)
        ended = {event.unit_id for event in again}
        holding = (event for event in (*returning, *undone) if event.unit_id not in ended)
        return [*holding, *again]


NO_FORK = Fork()


def read_fork(followed: FollowedThread, ledger: LedgerReader, bank: str) -> Fork:
    """Compare a followed thread with its log."""
    place = (followed.thread, followed.namespace)
    # If messages were only added, the log is not needed, because they follow the last known message.
    thread = ledger.turns.thread(bank, *place) if followed.whole else Thread(followed.before)
    change = thread_change(thread, followed.messages, on_fork=followed.on_fork, asked=followed.asked)
    gone = tuple((followed.thread, each) for each in change.gone)
    back = tuple((followed.thread, each) for each in change.back)
    left = (each for each, entry in thread.entries.items() if entry.gone and each not in change.back)
    return Fork(
        gone=gone,
        back=back,
        absent=frozenset({*gone, *((followed.thread, each) for each in left)}),
        moments=dict.fromkeys((*gone, *back), followed.at),
        write=ThreadWrite(*place, ThreadMark(followed.seen, followed.digest, change.head), change.entries),
    )

"""A fork, as a commit finds it: what it dropped, what it brings back, and how far the thread is read now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from hindsight_integrations.ledger.ledger import LedgerReader
from hindsight_integrations.model.threads import Thread, ThreadMark, ThreadWrite
from hindsight_integrations.model.units import MemoryUnit, ValidityEvent
from hindsight_integrations.model.writes import Place
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.retain.proposal import FollowedThread
from hindsight_integrations.tempr.retain.superseding import (
    FORKED,
    returning_events,
    stated_again_events,
    undone_events,
)
from hindsight_integrations.tempr.retain.threads import thread_change


@dataclass(frozen=True, slots=True)
class Fork:
    """What a thread's new list of messages does to its log.

    Attributes:
        gone: messages it dropped.
        back: messages it brings back.
        absent: all messages of the log that are not part of the conversation now.
        moments: when those it dropped went, or came back.
        write: the log as it is then; None where nobody followed a thread.
    """

    gone: tuple[Place, ...] = ()
    back: tuple[Place, ...] = ()
    absent: frozenset[Place] = frozenset()
    moments: Mapping[Place, datetime] = field(default_factory=dict)
    write: ThreadWrite | None = None

    def events(self, closing: Sequence[MemoryUnit], view: BankView) -> list[ValidityEvent]:
        """What holds again, or no more, because of what was dropped and what is back; without the closing of units.

        Args:
            closing: units that are closed.
            view: of the bank.
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
    # A list that was only continued needs no log: what is new follows its head.
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

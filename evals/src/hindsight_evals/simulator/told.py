"""The turns that stated each memory, and when it ended; the source of the items of questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hindsight_evals.episode import GoldWithdrawal, Item
from hindsight_evals.simulator.memories import Change, Entry, MemoryKind


@dataclass(slots=True)
class Told:
    """One version of a memory.

    Attributes:
        entry: the memory.
        sources: ids of the turns that stated it.
        ended: the session that ended it; None while it is valid.
    """

    entry: Entry
    sources: frozenset[str]
    ended: int | None = None

    def item(self) -> Item:
        """Return the memory as an item to look for in a context."""
        return Item(self.entry.text, self.sources, valid=self.ended is None)


@dataclass(slots=True)
class Memories:
    """All memories ever stated, in order."""

    told: list[Told] = field(default_factory=list)
    _held: dict[tuple[str, ...], Told] = field(default_factory=dict)

    def note(self, session: int, change: Change, sources: frozenset[str]) -> GoldWithdrawal | None:
        """Record a change that these turns stated; return the statement that it makes untrue, if any."""
        gone = self._held.pop(change.before.key) if change.before else None
        if gone:
            gone.ended = session
        if change.after:
            self._held[change.after.key] = told = Told(change.after, sources)
            self.told.append(told)
        return GoldWithdrawal(gone.entry.text, gone.sources) if gone else None

    def valid(self, kind: MemoryKind) -> Iterator[Told]:
        """Yield the valid memories of a kind."""
        return (told for told in self.told if told.entry.kind is kind and told.ended is None)

    def gone(self, kind: MemoryKind) -> Iterator[Told]:
        """Yield the memories of a kind that ended and have not become true again in the same words."""
        holds = {told.entry.text for told in self.valid(kind)}
        return (
            told
            for told in self.told
            if told.entry.kind is kind and told.ended is not None and told.entry.text not in holds
        )


def items(valid: Sequence[Told], gone: Sequence[Told], *, most_gone: int) -> tuple[Item, ...]:
    """Return items of the valid memories, and of at most `most_gone` memories that ended last."""
    latest = sorted(gone, key=lambda told: told.ended or 0)[-most_gone:]
    return tuple(told.item() for told in (*valid, *latest))

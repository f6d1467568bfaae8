"""Which turns told which memory, and until when it held: what questions take their items from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hindsight_evals.episode import GoldWithdrawal, Item
from hindsight_evals.simulator.memories import Change, Entry, MemoryKind


@dataclass(slots=True)
class Told:
    """One version of a memory.

    Attributes:
        entry: what it says.
        sources: ids of the turns that told it.
        ended: the session that ended it; None while it holds.
    """

    entry: Entry
    sources: frozenset[str]
    ended: int | None = None

    def item(self) -> Item:
        """It as something to look for in a context."""
        return Item(self.entry.text, self.sources, valid=self.ended is None)


@dataclass(slots=True)
class Memories:
    """All that was ever told, in order."""

    told: list[Told] = field(default_factory=list)
    _held: dict[tuple[str, ...], Told] = field(default_factory=dict)

    def note(self, session: int, change: Change, sources: frozenset[str]) -> GoldWithdrawal | None:
        """Take down a change that these turns told. What it makes untrue, if anything."""
        gone = self._held.pop(change.before.key) if change.before else None
        if gone:
            gone.ended = session
        if change.after:
            self._held[change.after.key] = told = Told(change.after, sources)
            self.told.append(told)
        return GoldWithdrawal(gone.entry.text, gone.sources) if gone else None

    def valid(self, kind: MemoryKind) -> Iterator[Told]:
        """What holds of a kind."""
        return (told for told in self.told if told.entry.kind is kind and told.ended is None)

    def gone(self, kind: MemoryKind) -> Iterator[Told]:
        """What no longer holds of a kind, and is not true anew in the same words."""
        holds = {told.entry.text for told in self.valid(kind)}
        return (
            told
            for told in self.told
            if told.entry.kind is kind and told.ended is not None and told.entry.text not in holds
        )


def items(valid: Sequence[Told], gone: Sequence[Told], *, most_gone: int) -> tuple[Item, ...]:
    """Items of what holds, and of what was ended last, at most so many of these."""
    latest = sorted(gone, key=lambda told: told.ended or 0)[-most_gone:]
    return tuple(told.item() for told in (*valid, *latest))

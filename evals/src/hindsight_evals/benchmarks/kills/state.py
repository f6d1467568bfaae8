"""What a data directory holds, as a set of lines, and which states a kill may leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hindsight_integrations import EmbedderMismatch, Hindsight, MemoryBank

Line: TypeAlias = tuple[str, ...]
"""("bank", name), ("unit" or "closed", bank, text), ("mention", bank, text, entity), ("vectors", bank, embedder)."""

State: TypeAlias = frozenset[Line]


@dataclass(frozen=True, slots=True)
class Change:
    """A step that is wholly done or not at all.

    Attributes:
        adds: lines that are there afterwards.
        removes: lines that are gone.
        erased: words that no file may hold once the operation was acknowledged.
    """

    adds: State = frozenset()
    removes: State = frozenset()
    erased: tuple[str, ...] = ()


def apply(state: State, changes: Iterable[Change]) -> State:
    """The state after the changes."""
    for change in changes:
        state = (state - change.removes) | change.adds
    return state


def left_over(before: State, changes: Sequence[Change], seen: State) -> list[str]:
    """What of a state cannot be explained by some of the changes, each wholly done or not at all; empty if all can."""
    done = [change for change in changes if change.adds <= seen and not change.removes & seen]
    expected = apply(before, done)
    missing = [f"lost: {line}" for line in sorted(expected - seen)]
    return missing + [f"unexplained: {line}" for line in sorted(seen - expected)]


def bank_lines(bank: MemoryBank, name: str) -> State:
    """The lines of one bank."""
    lines: set[Line] = {("bank", name)}
    for unit in bank.iterate_units(include_invalidated=True):
        lines.add(("unit" if unit.closed_at is None else "closed", name, unit.text))
    for entity in bank.entities.list(limit=1000):
        mentioning = bank.units(entity=entity.id, include_invalidated=True, limit=1000).units
        lines |= {("mention", name, unit.text, entity.name) for unit in mentioning}
    return frozenset(lines)


def read_state(hindsight: Hindsight, *, other: State = frozenset()) -> State:
    """The lines of every bank.

    Args:
        hindsight: the engine.
        other: lines of banks that answer under another embedder only.
    """
    lines: set[Line] = set()
    for name in hindsight.banks():
        try:
            lines |= bank_lines(hindsight.bank(name), name)
        except EmbedderMismatch:
            lines |= {("bank", name), *(line for line in other if line[1] == name)}
    return frozenset(lines)

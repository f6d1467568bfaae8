"""The content of a data directory as a set of lines, and the states that a kill may leave."""

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
    """A change that is either complete or absent.

    Attributes:
        adds: the added lines.
        removes: the removed lines.
        erased: words that no file may contain after the operation was acknowledged.
    """

    adds: State = frozenset()
    removes: State = frozenset()
    erased: tuple[str, ...] = ()


def apply(state: State, changes: Iterable[Change]) -> State:
    """Return the state after the changes."""
    for change in changes:
        state = (state - change.removes) | change.adds
    return state


def left_over(before: State, changes: Sequence[Change], seen: State) -> list[str]:
    """Return differences from every state that a subset of the changes can produce; empty if one matches."""
    done = [change for change in changes if change.adds <= seen and not change.removes & seen]
    expected = apply(before, done)
    missing = [f"lost: {line}" for line in sorted(expected - seen)]
    return missing + [f"unexplained: {line}" for line in sorted(seen - expected)]


def bank_lines(bank: MemoryBank, name: str) -> State:
    """Return the lines of one bank."""
    lines: set[Line] = {("bank", name)}
    for unit in bank.iterate_units(include_invalidated=True):
        lines.add(("unit" if unit.closed_at is None else "closed", name, unit.text))
    for entity in bank.entities.list(limit=1000):
        mentioning = bank.units(entity=entity.id, include_invalidated=True, limit=1000).units
        lines |= {("mention", name, unit.text, entity.name) for unit in mentioning}
    return frozenset(lines)


def read_state(hindsight: Hindsight, *, other: State = frozenset()) -> State:
    """Read the lines of every bank.

    Args:
        hindsight: the engine.
        other: lines of banks that work only with another embedder.
    """
    lines: set[Line] = set()
    for name in hindsight.banks():
        try:
            lines |= bank_lines(hindsight.bank(name), name)
        except EmbedderMismatch:
            lines |= {("bank", name), *(line for line in other if line[1] == name)}
    return frozenset(lines)

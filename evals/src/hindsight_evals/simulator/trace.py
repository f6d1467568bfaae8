"""Traces: the memories before and after every session, with a consistency check (Memora 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hindsight_evals.simulator.memories import ALLOWED, Change, Entry, Key, Operation

State = Mapping[Key, Entry]
"""The valid memories at one moment."""


@dataclass(frozen=True, slots=True)
class Step:
    """One session of a trace.

    Attributes:
        session: its number, from 1.
        before: the state at its beginning.
        changes: its changes, in order; none in a memory-neutral session.
        after: the state at its end.
    """

    session: int
    before: State
    changes: tuple[Change, ...]
    after: State


class ImpossibleChange(ValueError):
    """A change of a missing memory, an addition of an existing one, or an operation that its kind does not allow (Memora A.3)."""

    def __init__(self, change: Change, reason: str) -> None:
        super().__init__(
            f"{change.operation} of {change.entry.key}: {reason}. The trace was not made by the simulator."
        )


def applied(state: State, change: Change) -> State:
    """Return the state after a change.

    Raises:
        ImpossibleChange: the state does not allow it.
    """
    if change.operation not in ALLOWED[change.kind]:
        raise ImpossibleChange(change, "no such memory is ever changed so")
    held = dict(state)
    if change.before is not None and held.pop(change.before.key, None) != change.before:
        raise ImpossibleChange(change, "it does not hold")
    if (change.before is None) != (change.operation is Operation.ADD):
        raise ImpossibleChange(change, "what is added has no past, and all else has one")
    if change.before and change.after and change.before.kind is not change.after.kind:
        raise ImpossibleChange(change, "it becomes another kind of memory")
    if change.after is not None:
        if change.after.key in held:
            raise ImpossibleChange(change, "it holds already")
        held[change.after.key] = change.after
    return MappingProxyType(held)


def replay(sessions: Iterable[tuple[Change, ...]]) -> Iterator[Step]:
    """Yield the trace of the sessions' changes, starting with an empty state.

    Raises:
        ImpossibleChange: a change is not possible in its state.
    """
    state: State = MappingProxyType({})
    for number, changes in enumerate(sessions, 1):
        before = state
        for change in changes:
            state = applied(state, change)
        yield Step(number, before, changes, state)

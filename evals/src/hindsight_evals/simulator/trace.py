"""Traces: what is remembered before and after every session, and whether a trace adds up (Memora 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hindsight_evals.simulator.memories import ALLOWED, Change, Entry, Key, Operation

State = Mapping[Key, Entry]
"""What holds at one moment."""


@dataclass(frozen=True, slots=True)
class Step:
    """One session of a trace.

    Attributes:
        session: its number, from 1.
        before: what held when it began.
        changes: what it did, in order; none in a memory-neutral session.
        after: what held when it ended.
    """

    session: int
    before: State
    changes: tuple[Change, ...]
    after: State


class ImpossibleChange(ValueError):
    """A change of what is not there, an addition of what is, or one its kind of memory does not know (Memora A.3)."""

    def __init__(self, change: Change, reason: str) -> None:
        super().__init__(
            f"{change.operation} of {change.entry.key}: {reason}. The trace was not made by the simulator."
        )


def applied(state: State, change: Change) -> State:
    """The state after a change.

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
    """The trace of the sessions' changes, from nothing.

    Raises:
        ImpossibleChange: a session does what cannot be done.
    """
    state: State = MappingProxyType({})
    for number, changes in enumerate(sessions, 1):
        before = state
        for change in changes:
            state = applied(state, change)
        yield Step(number, before, changes, state)

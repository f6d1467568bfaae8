"""The memories of simulated people, and the operations allowed on each kind (Memora A.2, A.3, Table 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum


class MemoryKind(StrEnum):
    """The kinds of memory: preferences, activities and goals."""

    PREFERENCE = "preference"
    TODO = "todo"
    CALENDAR_EVENT = "calendar_event"
    FOOD_EXPENSE = "food_expense"
    STEPS = "steps"
    DOCUMENT = "document"
    FOOD_BUDGET = "food_budget"
    STEP_TARGET = "step_target"


class Operation(StrEnum):
    """A session's operation on a memory."""

    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


_ALL = frozenset(Operation)

ALLOWED: Mapping[MemoryKind, frozenset[Operation]] = {
    MemoryKind.PREFERENCE: _ALL,
    MemoryKind.TODO: frozenset({Operation.ADD, Operation.DELETE}),
    MemoryKind.CALENDAR_EVENT: _ALL,
    MemoryKind.FOOD_EXPENSE: frozenset({Operation.ADD}),
    MemoryKind.STEPS: frozenset({Operation.ADD}),
    MemoryKind.DOCUMENT: _ALL,
    MemoryKind.FOOD_BUDGET: frozenset({Operation.ADD, Operation.UPDATE}),
    MemoryKind.STEP_TARGET: frozenset({Operation.ADD, Operation.UPDATE}),
}
"""Operational constraints (Memora A.3): logs are append-only, goals are set and changed, the other kinds also deleted."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of one memory after a session.

    Attributes:
        kind: the kind of memory.
        key: its identity; at any time there is one entry per key.
        text: its value, with the words in which it is stated and searched for.
        day: the day on which it happened or was stated.
        values: values for templates, by placeholder.
    """

    kind: MemoryKind
    key: Key
    text: str
    day: date
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Change:
    """One operation on one memory.

    Attributes:
        operation: the operation.
        before: the memory before it; None if it is new.
        after: the memory after it; None if it is deleted.
    """

    operation: Operation
    before: Entry | None = None
    after: Entry | None = None

    @property
    def entry(self) -> Entry:
        """The changed memory: the new state, or the deleted one."""
        entry = self.after or self.before
        assert entry is not None  # noqa: S101 - a change is of something
        return entry

    @property
    def kind(self) -> MemoryKind:
        """The kind of the changed memory."""
        return self.entry.kind

"""What the simulator's people remember, and what may happen to each kind of it (Memora A.2, A.3, Table 6)."""

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
    """What a session does to a memory."""

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
"""Operational constraints (Memora A.3): logs are only appended to, goals are set and changed, the rest comes and goes."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as it is after some session.

    Attributes:
        kind: what kind of memory.
        key: what it is the memory of; one entry a key at any time.
        text: its value in the words in which it is told, and looked for.
        day: when it happened or was said.
        values: what templates may say of it, by placeholder.
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
        operation: what is done.
        before: the memory until then; None for what is new.
        after: the memory from then on; None for what is gone.
    """

    operation: Operation
    before: Entry | None = None
    after: Entry | None = None

    @property
    def entry(self) -> Entry:
        """What the change is about: the memory from then on, or that which is gone."""
        entry = self.after or self.before
        assert entry is not None  # noqa: S101 - a change is of something
        return entry

    @property
    def kind(self) -> MemoryKind:
        """The kind of memory it changes."""
        return self.entry.kind

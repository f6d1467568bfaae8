"""Mental models: standing questions whose answers are kept (reference, "Retrieval Priority")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Directive:
    """A rule that every answer keeps.

    Attributes:
        id: its own for good.
        text: the rule.
        tags: it holds for questions that name one of these; without any it holds for all.
        created_at: when it was given (aware UTC).
    """

    id: str
    text: str
    tags: tuple[str, ...]
    created_at: datetime


def in_force(directives: Iterable[Directive], tags: Sequence[str]) -> tuple[Directive, ...]:
    """The directives that hold for a question with these tags, in the order they were given."""
    wanted = set(tags)
    return tuple(each for each in directives if not each.tags or wanted & set(each.tags))


class RefreshTrigger(StrEnum):
    """When a mental model's question is answered anew."""

    MANUAL = "manual"
    """When somebody asks for it."""
    AUTO = "auto"
    """Also when memories in its scope have changed, as a task."""


class ModelState(StrEnum):
    """What is to be made of a mental model's text."""

    NEW = "new"
    """Its question was never answered."""
    NOTHING_KNOWN = "nothing known"
    """Its question was asked, and memory had no answer."""
    CURRENT = "current"
    """Nothing in its scope has changed since it was answered."""
    STALE = "stale"
    """Memories in its scope came or changed since: the text may be out of date."""
    WITHDRAWN = "withdrawn"
    """A memory that the text stood on was withdrawn, corrected or forgotten: there is no text until it is refreshed."""


@dataclass(frozen=True, slots=True)
class MentalModel:
    """A standing question with its answer of the last refresh.

    Attributes:
        id: its own for good; another model of the same name has another.
        name: by which it is called, unique in its bank.
        question: the standing question.
        tags: visibility tags, sorted; it is answered from memories with the same tags, or without any.
        trigger: when it is answered anew.
        max_tokens: what its text may cost.
        created_at: when it was made (aware UTC).
        text: the answer; empty where there is none, see `state`.
        extractive: the text is memories as they are: no model wrote it.
        based_on: ids of the memories the text stands on.
        refreshed_at: when the question was last answered; None if it never was.
        revision: of the bank, whose memories answered it.
        checked_to: revision up to which changes were looked at, and none was in its scope.
        withdrawn: a memory it stood on was withdrawn, corrected or forgotten since, or closed or restored.
        stale: memories in its scope changed since it was answered.
    """

    id: str
    name: str
    question: str
    tags: tuple[str, ...]
    trigger: RefreshTrigger
    max_tokens: int
    created_at: datetime
    text: str = ""
    extractive: bool = False
    based_on: tuple[str, ...] = ()
    refreshed_at: datetime | None = None
    revision: int = 0
    checked_to: int = 0
    withdrawn: bool = False
    stale: bool = False

    @property
    def state(self) -> ModelState:
        """What is to be made of its text."""
        if self.refreshed_at is None:
            return ModelState.NEW
        if self.withdrawn:
            return ModelState.WITHDRAWN
        if self.stale:
            return ModelState.STALE
        return ModelState.CURRENT if self.text else ModelState.NOTHING_KNOWN


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The answer to a mental model's question, to be kept.

    Attributes:
        text: empty where memory knows nothing.
        extractive: no model wrote it.
        based_on: ids of the memories it stands on; at least one where there is a text.
        refreshed_at: when (aware UTC).
    """

    text: str
    extractive: bool
    based_on: tuple[str, ...]
    refreshed_at: datetime


@dataclass(frozen=True, slots=True)
class RefreshWrite:
    """What became of looking at a mental model.

    Attributes:
        model_id: the model.
        at_revision: the bank's revision whose memories these are.
        answer: in place of the one before; None where nothing in its scope has changed.
        read: ids of all memories that whoever wrote the answer was shown.
    """

    model_id: str
    at_revision: int
    answer: ModelAnswer | None = None
    read: tuple[str, ...] = ()

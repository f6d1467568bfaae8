"""Mental models: standing questions with stored answers, and directives (reference, "Retrieval Priority")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Directive:
    """A rule for every answer.

    Attributes:
        id: its permanent id.
        text: the rule.
        tags: it applies to questions with one of these tags; without any, to all.
        created_at: when it was added (aware UTC).
    """

    id: str
    text: str
    tags: tuple[str, ...]
    created_at: datetime


def in_force(directives: Iterable[Directive], tags: Sequence[str]) -> tuple[Directive, ...]:
    """Return the directives that apply to a question with these tags, oldest first."""
    wanted = set(tags)
    return tuple(rule for rule in directives if not rule.tags or wanted & set(rule.tags))


class RefreshTrigger(StrEnum):
    """When a mental model is refreshed."""

    MANUAL = "manual"
    """Only on request."""
    AUTO = "auto"
    """On request, and by a task when memories in its scope have changed."""


class ModelState(StrEnum):
    """The state of a mental model's text."""

    NEW = "new"
    """The question was never answered."""
    NOTHING_KNOWN = "nothing known"
    """The question was asked, and memory had no answer."""
    CURRENT = "current"
    """Nothing in its scope has changed since it was answered."""
    STALE = "stale"
    """Memories in its scope have changed since; the text may be out of date."""
    WITHDRAWN = "withdrawn"
    """A cited memory was withdrawn, corrected or erased; there is no text until the next refresh."""


@dataclass(frozen=True, slots=True)
class MentalModel:
    """A standing question with its latest answer.

    Attributes:
        id: its permanent id; never reused, even for the same name.
        name: unique in its bank.
        question: the standing question.
        tags: visibility tags, sorted; it is answered from memories with the same tags, or without any.
        trigger: when it is refreshed.
        max_tokens: token limit of its text.
        created_at: when it was created (aware UTC).
        text: the answer; empty if there is none, see `state`.
        extractive: whether the text is verbatim memories, not written by a model.
        based_on: ids of the memories the text cites.
        refreshed_at: when the question was last answered; None if never.
        revision: the bank's revision it was answered from.
        checked_to: revision up to which no change affected its scope.
        withdrawn: whether a cited memory was withdrawn, corrected, erased, closed or restored since.
        stale: whether memories in its scope have changed since it was answered.
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
        """The state of its text."""
        if self.refreshed_at is None:
            return ModelState.NEW
        if self.withdrawn:
            return ModelState.WITHDRAWN
        if self.stale:
            return ModelState.STALE
        return ModelState.CURRENT if self.text else ModelState.NOTHING_KNOWN


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A new answer to a mental model's question.

    Attributes:
        text: empty if memory has no answer.
        extractive: whether the text is verbatim memories, not written by a model.
        based_on: ids of the memories it cites; at least one if there is a text.
        refreshed_at: when it was made (aware UTC).
    """

    text: str
    extractive: bool
    based_on: tuple[str, ...]
    refreshed_at: datetime


@dataclass(frozen=True, slots=True)
class RefreshWrite:
    """The result of checking or refreshing a mental model.

    Attributes:
        model_id: the model.
        at_revision: the bank's revision it was answered from or checked at.
        answer: replaces the previous one; None if nothing in its scope has changed.
        read: ids of all memories shown to the answer's writer.
    """

    model_id: str
    at_revision: int
    answer: ModelAnswer | None = None
    read: tuple[str, ...] = ()

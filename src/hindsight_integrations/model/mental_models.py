"""Mental models, which are questions with stored answers; and directives (reference, "Retrieval Priority")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Directive:
    """A rule for every answer.

    Attributes:
        id: the permanent id.
        text: the text of the rule.
        tags: the tags of the questions to which it applies; empty means all questions.
        created_at: the time at which it was added (aware UTC).
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
    """The trigger of a mental model's refreshes."""

    MANUAL = "manual"
    """Only on request."""
    AUTO = "auto"
    """On request, and by a task when memories in its scope have changed."""


class ModelState(StrEnum):
    """The state of a mental model's text."""

    NEW = "new"
    """The question has not been asked yet."""
    NOTHING_KNOWN = "nothing known"
    """The question was asked, but no memory answers it."""
    CURRENT = "current"
    """No memory in its scope has changed since the last answer."""
    STALE = "stale"
    """Memories in its scope have changed since the last answer; the text may be outdated."""
    WITHDRAWN = "withdrawn"
    """A cited memory was withdrawn, corrected or erased; there is no text until the next refresh."""


@dataclass(frozen=True, slots=True)
class MentalModel:
    """A question with its latest answer.

    Attributes:
        id: the permanent id, which is never reused, even for the same name.
        name: the name, unique in its bank.
        question: the question.
        tags: the visibility tags, sorted; the question is answered from memories with these tags or without
            tags.
        trigger: the trigger of refreshes.
        max_tokens: the token limit of its text.
        created_at: the time of its creation (aware UTC).
        text: the answer; empty if there is none, see `state`.
        extractive: True if the text consists of verbatim memories, False if a model wrote it.
        based_on: the ids of the memories that the text cites.
        refreshed_at: the time of the last answer; None if never.
        revision: the bank's revision from which it was answered.
        checked_to: the revision up to which no change affected its scope.
        withdrawn: True if a cited memory was withdrawn, corrected, erased, closed or restored after the
            answer.
        stale: True if memories in its scope have changed since the answer.
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
        """The state of the text."""
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
        text: the text; empty if no memory answers the question.
        extractive: True if the text consists of verbatim memories, False if a model wrote it.
        based_on: the ids of the memories that it cites; at least one if there is a text.
        refreshed_at: the time of the answer (aware UTC).
    """

    text: str
    extractive: bool
    based_on: tuple[str, ...]
    refreshed_at: datetime


@dataclass(frozen=True, slots=True)
class RefreshWrite:
    """The result of checking or refreshing a mental model.

    Attributes:
        model_id: the id of the mental model.
        at_revision: the bank's revision at which it was answered or checked.
        answer: the new answer; None if no memory in its scope has changed.
        read: the ids of all memories from which the answer was written.
    """

    model_id: str
    at_revision: int
    answer: ModelAnswer | None = None
    read: tuple[str, ...] = ()

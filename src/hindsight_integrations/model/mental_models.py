"""Mental models: standing questions with the answers kept for them (reference, "Retrieval Priority")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class MentalModel:
    """A standing question and its kept answer.

    Attributes:
        id: of the mental model.
        name: what it is called.
        question: what it answers.
        text: the answer; empty where there is none yet.
        based_on: ids of the memories it stands on.
        tags: visibility tags, sorted.
        refreshed_at: when it was answered (aware UTC); None where it was not yet.
        stale: memories in its scope have changed since.
    """

    id: str
    name: str
    question: str
    text: str
    based_on: tuple[str, ...]
    tags: tuple[str, ...]
    refreshed_at: datetime | None
    stale: bool

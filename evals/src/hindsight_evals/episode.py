"""Episodes, the common form of all datasets: sessions in order, and questions with the requirements of a right answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import PlainSerializer

from hindsight_integrations import ExtractedFact, Message

TurnIds = Annotated[frozenset[str], PlainSerializer(sorted, return_type=list[str])]
"""Ids of turns, serialised in sorted order, so that equal results give equal files."""


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A text that any system may store: an extracted fact, or a turn without extraction.

    Attributes:
        id: unique within the episode.
        text: the text; for a turn, the speaker and the text.
        sources: ids of the turns it is based on.
        moment: the time of these turns.
    """

    id: str
    text: str
    sources: TurnIds
    moment: datetime


@dataclass(frozen=True, slots=True)
class GoldWithdrawal:
    """A statement that a session makes untrue, according to the ground truth.

    Only the reference system that is told about deletions sees it (peers/).

    Attributes:
        text: the statement that is no longer true, in the words of the ground truth.
        sources: ids of the earlier turns that stated it.
    """

    text: str
    sources: TurnIds


@dataclass(frozen=True, slots=True)
class Session:
    """One session.

    Attributes:
        id: unique within the episode.
        moment: its start.
        messages: its turns, in order, each with a time and an id that is unique within the episode.
        facts: the extracted facts; None without extraction, so that turns are stored themselves.
        withdrawals: the statements that it makes untrue.
    """

    id: str
    moment: datetime
    messages: tuple[Message, ...]
    facts: tuple[ExtractedFact, ...] | None = None
    withdrawals: tuple[GoldWithdrawal, ...] = ()

    @property
    def texts(self) -> tuple[MemoryText, ...]:
        """Return the texts for a system without its own extraction: the facts, or else the turns."""
        if self.facts is None:
            return tuple(
                MemoryText(message.id or "", message.spoken, frozenset({message.id or ""}), self.moment)
                for message in self.messages
            )
        return tuple(
            MemoryText(f"{self.id}/{place}", fact.narrative, frozenset(fact.sources), self.moment)
            for place, fact in enumerate(self.facts)
        )


class CriterionKind(StrEnum):
    """The kind of requirement on an answer (Memora 3.5)."""

    PRESENCE = "memory_presence"
    ABSENCE = "forgetting_absence"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A yes-or-no question about an answer, for a judge (Memora appendix C).

    Attributes:
        id: unique within the episode.
        text: the question.
        kind: whether something valid must be present, or something invalid absent.
        expected: the required reply: True for yes.
    """

    id: str
    text: str
    kind: CriterionKind
    expected: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A part of the ground truth that a context should contain, or should not state as true.

    Attributes:
        text: those of its words that occur in the conversations.
        sources: ids of the turns that state it as true; only a text based on one of them states it.
        valid: whether it is true at the time of the question.
    """

    text: str
    sources: TurnIds
    valid: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """A question's entry in a corrected answer key."""

    answer: str
    evidence: TurnIds


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        id: unique within the episode.
        text: the question.
        moment: the time at which it is asked.
        kind: the dataset's own name for its category, type or task.
        answer: the reference answer; empty if only criteria are given.
        evidence: ids of the turns that answer it; empty if there are none or the dataset does not name them.
        criteria: the requirements that a judge checks.
        items: the items by which a context is scored without a judge.
        answerable: False if the right answer is that it cannot be known.
        correction: the entry of a corrected key; None if it agrees or does not exist.
    """

    id: str
    text: str
    moment: datetime
    kind: str
    answer: str = ""
    evidence: TurnIds = frozenset()
    criteria: tuple[Criterion, ...] = ()
    items: tuple[Item, ...] = ()
    answerable: bool = True
    correction: Correction | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """One life to remember, and questions about it.

    Attributes:
        name: unique within the dataset.
        dataset: the dataset's name.
        period: its length, for tables: "weekly", "oracle"; empty if the dataset has only one length.
        sessions: the sessions in order of time.
        questions: the questions, all asked after the last session.
    """

    name: str
    dataset: str
    period: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

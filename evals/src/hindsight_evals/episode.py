"""Episode: what every dataset becomes: sessions in order, and questions with what a right answer needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import PlainSerializer

from hindsight_integrations import ExtractedFact, Message

TurnIds = Annotated[frozenset[str], PlainSerializer(sorted, return_type=list[str])]
"""Ids of turns; written in order, so that the same result is the same file."""


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A text as any system may keep it: an extracted fact, or a turn where nothing was extracted.

    Attributes:
        id: unique within the episode.
        text: what it says; of a turn speaker and text.
        sources: ids of the turns it stands on.
        moment: when they were said.
    """

    id: str
    text: str
    sources: TurnIds
    moment: datetime


@dataclass(frozen=True, slots=True)
class GoldWithdrawal:
    """What a session makes untrue, by the dataset's ground truth; shown to no system but the one that is told (peers/).

    Attributes:
        text: what no longer holds, as the ground truth words it.
        sources: ids of the earlier turns that said it.
    """

    text: str
    sources: TurnIds


@dataclass(frozen=True, slots=True)
class Session:
    """One session.

    Attributes:
        id: unique within the episode.
        moment: when it began.
        messages: its turns, in order, each with an id that is unique within the episode and a time.
        facts: what was extracted from it; None where nothing was, so that each turn stands for itself.
        withdrawals: what it makes untrue.
    """

    id: str
    moment: datetime
    messages: tuple[Message, ...]
    facts: tuple[ExtractedFact, ...] | None = None
    withdrawals: tuple[GoldWithdrawal, ...] = ()

    @property
    def texts(self) -> tuple[MemoryText, ...]:
        """The texts a system without extraction of its own keeps: the facts, or else the turns."""
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
    """What a criterion asks of an answer (Memora 3.5)."""

    PRESENCE = "memory_presence"
    ABSENCE = "forgetting_absence"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A yes-or-no question about an answer, for a judge (Memora appendix C).

    Attributes:
        id: unique within the episode.
        text: the question.
        kind: whether something valid must be there, or something invalidated must not.
        expected: the answer that meets it: True for yes.
    """

    id: str
    text: str
    kind: CriterionKind
    expected: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of the ground truth that a context should hold, or should not hold as true.

    Attributes:
        text: its words, of those that the conversations say.
        sources: ids of the turns that state it as true; a text that stands on none of them does not state it.
        valid: whether it holds when the question is asked.
    """

    text: str
    sources: TurnIds
    valid: bool


@dataclass(frozen=True, slots=True)
class Correction:
    """What a corrected answer key says of a question."""

    answer: str
    evidence: TurnIds


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        id: unique within the episode.
        text: the question.
        moment: when it is asked.
        kind: the dataset's own name of its sort: a category, a type, a task.
        answer: the reference; empty where criteria alone decide.
        evidence: ids of the turns that answer it; empty where nothing does, or where the dataset does not say.
        criteria: what a judge asks of an answer.
        items: what a context is measured by without a judge.
        answerable: False where the right answer is that nobody can know.
        correction: what a corrected key says; None where it agrees or there is none.
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
    """One life to remember, and what is asked about it.

    Attributes:
        name: unique within the dataset.
        dataset: the dataset's name.
        period: how long it is, for tables: "weekly", "oracle"; empty where the dataset has one length.
        sessions: in the order in which they happen.
        questions: all asked after the last session.
    """

    name: str
    dataset: str
    period: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

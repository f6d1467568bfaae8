"""LoCoMo conversations as the benchmarks of the engine need them: messages by session, and the questions that have evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from hindsight_evals.datasets.locomo import Category, load_locomo
from hindsight_evals.episode import Episode
from hindsight_evals.episode import Question as Asked
from hindsight_integrations.model.requests import Message

ANSWERABLE = frozenset(set(Category) - {Category.ADVERSARIAL})


@dataclass(frozen=True, slots=True)
class Session:
    """One session: its number from 1, when it began, and its turns with ids and times."""

    number: int
    moment: datetime
    messages: tuple[Message, ...]


class Key(StrEnum):
    """Which answer key names the evidence."""

    RAW = "raw"
    """LoCoMo's own."""
    AUDIT = "audit"
    """Corrected where an audit found it wrong (dial481/locomo-audit, CC BY-NC 4.0)."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category, and the ids of the turns that answer it (never empty).

    Attributes:
        evidence: by LoCoMo's own key.
        audited: by the corrected key; None where no corrections were read.
    """

    text: str
    category: Category
    evidence: frozenset[str]
    audited: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """One LoCoMo conversation: sessions in order, and the questions that have evidence."""

    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def asked_at(self) -> datetime:
        """From when the questions are asked: the last session."""
        return self.sessions[-1].moment


def load_conversation(path: Path, *, audit: Path | None = None) -> Conversation:
    """Read one `conv-*.json`, and its corrections from the folder `audit`.

    The questions are the same with and without corrections: those LoCoMo's own key has evidence for.
    """
    [episode] = load_locomo(path, corrections=audit)
    return Conversation(path.stem, _sessions(episode), _questions(episode, audited=audit is not None))


def _sessions(episode: Episode) -> tuple[Session, ...]:
    return tuple(
        Session(int(each.id.removeprefix("session_")), each.moment, each.messages)
        for each in episode.sessions
    )


def _questions(episode: Episode, *, audited: bool) -> tuple[Question, ...]:
    categories = {category.label: category for category in Category}
    return tuple(
        Question(each.text, categories[each.kind], each.evidence, _corrected(each) if audited else None)
        for each in episode.questions
        if each.evidence
    )


def _corrected(question: Asked) -> frozenset[str]:
    """The evidence after correction: what the audit says, where it says anything."""
    correction = question.correction
    return correction.evidence if correction and correction.evidence else question.evidence

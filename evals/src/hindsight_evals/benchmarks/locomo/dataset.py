"""LoCoMo conversations for the benchmarks of the engine: messages by session, and the questions that have evidence."""

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
    """One session: its number from 1, its start, and its turns with ids and times."""

    number: int
    moment: datetime
    messages: tuple[Message, ...]


class Key(StrEnum):
    """The answer key that names the evidence."""

    RAW = "raw"
    """LoCoMo's own key."""
    AUDIT = "audit"
    """The key with the corrections of an audit (dial481/locomo-audit, CC BY-NC 4.0)."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category, and the ids of the turns that answer it (never empty).

    Attributes:
        evidence: by LoCoMo's own key.
        audited: by the corrected key; None if no corrections were read.
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
        """The time at which the questions are asked: that of the last session."""
        return self.sessions[-1].moment


def load_conversation(path: Path, *, audit: Path | None = None) -> Conversation:
    """Read one `conv-*.json`, and its corrections from the folder `audit`.

    The questions do not depend on the corrections: they are those with evidence in LoCoMo's own key.
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
    """Return the corrected evidence; LoCoMo's own if the audit has none."""
    correction = question.correction
    return correction.evidence if correction and correction.evidence else question.evidence

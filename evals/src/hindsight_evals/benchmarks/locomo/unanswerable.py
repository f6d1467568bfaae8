"""Questions that a conversation does not answer: LoCoMo's adversarial ones, and questions of another conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hindsight_evals.benchmarks.locomo.dataset import ANSWERABLE, Conversation
from hindsight_evals.datasets.locomo import Category

BORROWED = 40  # number of questions from another conversation


class Kind(StrEnum):
    """Whether the conversation answers a question, and if not, why."""

    ANSWERED = "answered"
    WRONG_PERSON = "wrong person"
    """LoCoMo category 5: the question names the wrong speaker."""
    NEVER_MENTIONED = "never mentioned"
    """Another conversation's question, with the names of this one's speakers."""
    STRANGER = "stranger"
    """Another conversation's question, unchanged, about people unknown to this one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its kind."""

    text: str
    kind: Kind


def asked_of(conversation: Conversation, lender: Conversation | None) -> Iterator[Asked]:
    """Yield a conversation's own questions, and up to BORROWED of another's, every second one with this one's names.

    A few of those with replaced names do have an answer by chance.
    """
    for question in conversation.questions:
        wrong = question.category is Category.ADVERSARIAL
        yield Asked(question.text, Kind.WRONG_PERSON if wrong else Kind.ANSWERED)
    if lender is None:
        return
    texts = [question.text for question in lender.questions if question.category in ANSWERABLE]
    names = dict(zip(speakers(lender), speakers(conversation), strict=False))
    for place, text in enumerate(texts[:: max(1, len(texts) // BORROWED)][:BORROWED]):
        if place % 2:
            yield Asked(text, Kind.STRANGER)
        else:
            yield Asked(renamed(text, names), Kind.NEVER_MENTIONED)


def lenders(conversations: Sequence[Conversation], fitted: frozenset[str]) -> dict[str, Conversation]:
    """Return the lending conversation of each: the next one in the same split, so that no split contains the other's questions."""
    splits = [
        [one for one in conversations if one.name in fitted],
        [one for one in conversations if one.name not in fitted],
    ]
    return {
        one.name: split[(place + 1) % len(split)]
        for split in splits
        if len(split) > 1
        for place, one in enumerate(split)
    }


def speakers(conversation: Conversation) -> list[str]:
    """Return the names of a conversation's speakers, in alphabetical order."""
    said = (message.speaker for session in conversation.sessions for message in session.messages)
    return sorted(set(said))


def renamed(text: str, names: dict[str, str]) -> str:
    """Replace names in a text simultaneously."""
    if not names:
        return text
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, names))})\b", lambda found: names[found[0]], text)

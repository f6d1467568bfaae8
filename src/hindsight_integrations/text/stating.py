"""What of a message states something: its questions, requests and admissions of knowing nothing do not. Pure."""

from __future__ import annotations

import re

from hindsight_integrations.text.asking_words import AskingWords
from hindsight_integrations.text.language import Language

_ENDS = re.compile(
    r"(?<=[.!?…])(?<!\s\d\.)(?<!\s\d\d\.)[\"'\u201d\u2019)\]]*\s+(?!\()|\n+"
)  # but not behind an ordinal or the number of a choice; what stands in brackets behind a sentence belongs to it
_MARKS = re.compile(r"^[\s\-*•>¿¡\"'\u201c\u201e]+")


def spoken_sentences(text: str) -> list[str]:
    """The sentences and lines of a message."""
    return [part for piece in _ENDS.split(text) if (part := piece.strip())]


def stating_sentences(text: str, language: Language, *, agent: bool) -> list[str]:
    """The sentences of a message that say something that may be remembered.

    A question that carries a statement ("Did I tell you that I moved?", "What can I cook, I'm vegan?") is kept. Of an agent
    greetings and admissions that it knows nothing are left out too.

    Args:
        text: of the message.
        language: it is in.
        agent: whether it is the agent's.
    """
    asking = language.asking
    return [
        each
        for each in spoken_sentences(text)
        if not (_asks(each, asking) or (agent and _idle(each, asking)))
    ]


def only_asks(text: str, language: Language) -> bool:
    """Whether a message of a user only asks: at least one question, and beside it interjections at most."""
    parts = spoken_sentences(text)
    asked = [_asks(part, language.asking) for part in parts]
    return any(asked) and all(
        each or language.asking.interjection.fullmatch(_MARKS.sub("", part))
        for each, part in zip(asked, parts, strict=True)
    )


def without_lead_in(sentence: str, language: Language) -> str:
    """A sentence without the words by which a memory is introduced ("I remember that", "You told me:")."""
    return language.asking.lead_in.sub("", sentence).strip()


def _asks(sentence: str, words: AskingWords) -> bool:
    said = _MARKS.sub("", sentence)
    if words.tells.search(said):
        return False
    if words.request.match(said) or words.unmarked.fullmatch(said):
        return True
    return said.rstrip("\"'\u201d\u2019)] ").endswith("?") and words.opener.match(said) is not None


def _idle(sentence: str, words: AskingWords) -> bool:
    """Whether a sentence of an agent's gives nothing to remember."""
    said = _MARKS.sub("", sentence)
    return (
        words.interjection.fullmatch(said) is not None
        or words.answer.fullmatch(said) is not None
        or not words.lead_in.sub("", said).strip(" .!")
        or said.rstrip("\"'\u201d\u2019)] ").endswith("?")
        or words.nothing_known.search(said) is not None
    )

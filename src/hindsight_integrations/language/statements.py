"""Extract the statements of a message, dropping questions, requests and small talk."""

from __future__ import annotations

import re

from hindsight_integrations.language.language import AskingWords, Language
from hindsight_integrations.language.packs import LANGUAGES

_ENDS = re.compile(
    r"(?<=[.!?…])(?<!\s\d\.)(?<!\s\d\d\.)[\"'\u201d\u2019)\]]*\s+(?!\()|\n+"
)  # not after an ordinal or list number; a parenthesis after a sentence belongs to it
_MARKS = re.compile(r"^[\s\-*•>¿¡\"'\u201c\u201e]+")


def spoken_sentences(text: str) -> list[str]:
    """Split a message into sentences and lines."""
    return [part for piece in _ENDS.split(text) if (part := piece.strip())]


def stating_sentences(text: str, language: Language, *, agent: bool) -> list[str]:
    """Extract the declarative sentences of a message.

    Questions that contain a statement ("Did I tell you that I moved?", "What can I cook, I'm vegan?") are kept. An agent's
    greetings, and its statements that it has no memory of something, are dropped too.

    Args:
        text: the message's text.
        language: its language.
        agent: whether the agent wrote it.
    """
    asking = language.asking
    return [
        each
        for each in spoken_sentences(text)
        if not (_asks(each, asking) or (agent and _idle(each, asking)))
    ]


def only_asks(text: str, language: Language) -> bool:
    """Return whether a user's message consists of questions and at most interjections."""
    parts = spoken_sentences(text)
    asked = [_asks(part, language.asking) for part in parts]
    return any(asked) and all(
        each or language.asking.interjection.fullmatch(_MARKS.sub("", part))
        for each, part in zip(asked, parts, strict=True)
    )


def without_lead_in(sentence: str, language: Language) -> str:
    """Remove the introduction of a memory from a sentence ("I remember that", "You told me:")."""
    return language.asking.lead_in.sub("", sentence).strip()


def _asks(sentence: str, words: AskingWords) -> bool:
    said = _MARKS.sub("", sentence)
    if words.tells.search(said):
        return False
    if words.request.match(said) or words.unmarked.fullmatch(said):
        return True
    return said.rstrip("\"'\u201d\u2019)] ").endswith("?") and words.opener.match(said) is not None


def _idle(sentence: str, words: AskingWords) -> bool:
    """Return whether an agent's sentence contains nothing to remember."""
    said = _MARKS.sub("", sentence)
    return (
        words.interjection.fullmatch(said) is not None
        or words.answer.fullmatch(said) is not None
        or not words.lead_in.sub("", said).strip(" .!")
        or said.rstrip("\"'\u201d\u2019)] ").endswith("?")
        or words.nothing_known.search(said) is not None
    )


_LONGEST = 80  # maximum length of small talk, in characters
_ASSENTS = {"ok", "okay", "k", "sounds good", "alright", "genau", "passt", "vale"}
_SIGNS = "\U0001f44d\U0001f44e\U0001f44c\u2705\u2714\u274c\u2716"  # thumbs up and down, OK hand, check marks, crosses
_STATES = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|will|[a-z]{3,}ed|met|went|bin|ist|sind|war|hat|habe|wird|heißt|soy|es|son|está|estoy|tengo)\b"
    r"|'(?:m|re|s|ve|ll)\b",
    re.IGNORECASE,
)  # a verb, which marks a clause as a statement
_BREAKS = re.compile(r"[,;:\u2013\u2014]\s*")


def is_small_talk(text: str, *, answers: bool = False) -> bool:
    """Return whether a message has no words or consists of greetings, thanks and interjections in a known language.

    Args:
        text: the message's text.
        answers: whether a bare "yes" or "no" counts too: it needs no recall, but its answer may be worth retaining.
    """
    if len(text) > _LONGEST:
        return False
    parts = [part for sentence in spoken_sentences(text) for part in _BREAKS.split(sentence) if _says(part)]
    return all(any(_is_idle(part, language, answers) for language in LANGUAGES.values()) for part in parts)


def is_assent(text: str) -> bool:
    """Return whether a message only agrees or disagrees: "ok", a thumbs-up."""
    words = text.strip().rstrip(".!,").strip()
    return words.casefold() in _ASSENTS or (not _says(words) and any(sign in words for sign in _SIGNS))


def without_requests_to_forget(text: str) -> str:
    """Remove requests to forget something from a message, in a known language.

    Statements next to them are kept: "Forget my old number, my new one is 5512." A clause after a comma belongs to the
    request unless it has a verb ("Forget my job, my boss and my salary").
    """
    kept, asked = [], False
    for sentence in spoken_sentences(text):
        request = any(language.asking.forgetting.match(sentence) for language in LANGUAGES.values())
        clause = _BREAKS.split(sentence, maxsplit=1)[1:] if request else [sentence]
        kept += [each for each in clause if not request or _STATES.search(each)]
        asked |= request
    return " ".join(kept) if asked else text


def _says(part: str) -> bool:
    return any(letter.isalnum() for letter in part)


def _is_idle(part: str, language: Language, answers: bool) -> bool:
    words = _without_marks(part)
    asking = language.asking
    return bool(asking.interjection.fullmatch(words) or (answers and asking.answer.fullmatch(words)))


def _without_marks(part: str) -> str:
    """Strip emojis and punctuation around the words."""
    first = next(place for place, letter in enumerate(part) if letter.isalnum())
    last = max(place for place, letter in enumerate(part) if letter.isalnum())
    return part[first : last + 1]

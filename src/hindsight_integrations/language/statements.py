"""What of a message states something, as opposed to its questions, requests and small talk."""

from __future__ import annotations

import re

from hindsight_integrations.language.language import AskingWords, Language
from hindsight_integrations.language.packs import LANGUAGES

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


_LONGEST = 80  # characters; what is longer says something
_ASSENTS = {"ok", "okay", "k", "sounds good", "alright", "genau", "passt", "vale"}
_SIGNS = "\U0001f44d\U0001f44e\U0001f44c\u2705\u2714\u274c\u2716"  # thumbs up and down, OK hand, check marks, crosses
_STATES = re.compile(
    r"\b(?:am|is|are|was|were|has|have|had|will|[a-z]{3,}ed|met|went|bin|ist|sind|war|hat|habe|wird|heißt|soy|es|son|está|estoy|tengo)\b"
    r"|'(?:m|re|s|ve|ll)\b",
    re.IGNORECASE,
)  # a verb, by which a clause says something of its own
_BREAKS = re.compile(r"[,;:\u2013\u2014]\s*")


def is_small_talk(text: str, *, answers: bool = False) -> bool:
    """Whether a message has no words, or each of its parts is a greeting, thanks or an interjection in a language we know.

    Args:
        text: of the message.
        answers: whether a bare "yes" or "no" counts too. It asks for no memory, but what it answers may be worth keeping.
    """
    if len(text) > _LONGEST:
        return False
    parts = [part for sentence in spoken_sentences(text) for part in _BREAKS.split(sentence) if _says(part)]
    return all(any(_is_idle(part, language, answers) for language in LANGUAGES.values()) for part in parts)


def is_assent(text: str) -> bool:
    """Whether a message agrees or disagrees in a word or a sign: "ok", "no", a thumbs-up."""
    words = text.strip().rstrip(".!,").strip()
    return words.casefold() in _ASSENTS or (not _says(words) and any(sign in words for sign in _SIGNS))


def without_requests_to_forget(text: str) -> str:
    """A message without the sentences and clauses that ask the memory to forget something, in a language we know.

    What is said beside them is kept: "Forget my old number, my new one is 5512." A clause behind a comma is part of the request
    unless it has a verb ("Forget my job, my boss and my salary").
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
    """The part without emojis and marks around its words, but for what ends a sentence."""
    first = next(place for place, letter in enumerate(part) if letter.isalnum())
    last = max(place for place, letter in enumerate(part) if letter.isalnum())
    return part[first : last + 1]

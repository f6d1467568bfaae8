"""Messages that are no memory: small talk ("hi", "ok, thanks!", an emoji), and requests to forget. Pure."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.stating import spoken_sentences

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

"""Which of several languages a text is in, and whether two texts are in the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.text.language import Language

LEAST_SHARE = 0.1  # of a text's words that are stop words of its language; of prose a third to a half are
LEAST_WORDS = 7  # of a text without stop words that is taken for another language; names alone are shorter
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, languages: Sequence[Language]) -> Language:
    """The language with the most words of a text among its stop words; of equal ones the first.

    Args:
        text: in any language.
        languages: at least one, the likeliest first.
    """
    if len(languages) == 1:
        return languages[0]
    words = _WORD.findall(text.casefold())
    return max(languages, key=lambda language: sum(word in language.stop_words for word in words))


def written_in(text: str, languages: Sequence[Language]) -> Language | None:
    """The language a text is surely in: enough of its words are among that one's stop words; None if of none.

    Args:
        text: in any language.
        languages: that are known, the likeliest first.
    """
    words = _WORD.findall(text.casefold())
    found = [(sum(word in language.stop_words for word in words), language) for language in languages]
    most, language = max(found, key=lambda one: one[0])
    return language if most and most >= LEAST_SHARE * len(words) else None


def in_another_language(text: str, sample: str, languages: Sequence[Language]) -> bool:
    """Whether a text is surely in another language than a sample: by its script, or by its stop words.

    Args:
        text: a sentence or two.
        sample: what it should be in the language of.
        languages: that are known.
    """
    if _is_latin(text) != _is_latin(sample):
        return True
    own = written_in(sample, languages)
    if own is None:
        return False
    words = _WORD.findall(text.casefold())
    common = sum(word in own.stop_words for word in words)
    if len(words) >= LEAST_WORDS and common < LEAST_SHARE * len(words):
        seen = frozenset(_WORD.findall(sample.casefold()))
        if not common or sum(word in seen for word in words) < len(words) / 2:
            return True
    return any(
        sum(word in other.stop_words - own.stop_words for word in words)
        > max(1, sum(word in own.stop_words - other.stop_words for word in words))
        for other in languages
    )


def _is_latin(text: str) -> bool:
    """Whether most letters of a text are Latin; of a text without letters, yes."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters)

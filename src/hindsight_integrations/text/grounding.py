"""The numbers of a text that the texts it stands on do not say. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.stems import numbers

COUNTED = (
    3  # things told one by one that a word may count ("her two dogs") without being among the grounds' words
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W_]+")


def figures(text: str, language: Language) -> frozenset[str]:
    """The numbers of a text: those in figures, and those in words from two up, since one is an article in many languages."""
    return _written(text, language) | _worded(text, language)


def unknown_numbers(text: str, grounds: Sequence[str], language: Language) -> list[str]:
    """Numbers of a text that are in none of its grounds and count none of the things told there.

    Args:
        text: a sentence or two.
        grounds: the texts it stands on, dates included.
        language: of all.
    """
    known = frozenset[str]().union(*(figures(ground, language) for ground in grounds))
    written = _written(text, language) - known - _up_to(len(grounds))
    worded = _worded(text, language) - known - _up_to(max(COUNTED, len(grounds)))
    return sorted(written | worded)


def _written(text: str, language: Language) -> frozenset[str]:
    return frozenset(number.lstrip("0") or "0" for number in (*_YEAR.findall(text), *numbers(text, language)))


def _worded(text: str, language: Language) -> frozenset[str]:
    known = language.times.words.numbers if language.times else {}
    values = (known.get(word, 0) for word in _WORD.findall(text.casefold()))
    return frozenset(str(value) for value in values if value > 1)


def _up_to(count: int) -> frozenset[str]:
    return frozenset(str(value) for value in range(count + 1))

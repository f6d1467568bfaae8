"""Specifics of a statement (numbers, days, names): extract and compare them, and find unsupported numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hindsight_integrations.language.language import Language
from hindsight_integrations.language.stems import numbers
from hindsight_integrations.language.times.calendar import Unit
from hindsight_integrations.language.times.grammar import Words

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:-[^\W\d_]+)*")
_INSIDE = re.compile(r"(?<=[^\W_] |[,;:)] )[^\W\d_]['\u2019\w]+")  # a word inside a sentence
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_LASTING = {Unit.MINUTE: 1, Unit.HOUR: 60, Unit.DAY: 1, Unit.WEEK: 7}
"""Sizes of time units: minutes and hours in minutes, days and weeks in days, so that two weeks equal fourteen days."""


@dataclass(frozen=True, slots=True)
class Specifics:
    """The specific details of a statement.

    Attributes:
        numbers: numbers of two or more, in digits or words; durations in minutes or days.
        days: weekdays and months, each as (kind, number).
        names: capitalised words inside a sentence; empty in languages that capitalise nouns.
        words: all words of the statement.
    """

    numbers: frozenset[float | str]
    days: frozenset[tuple[str, int]]
    names: frozenset[str]
    words: frozenset[str]


def specifics(text: str, language: Language) -> Specifics:
    """Extract the specifics of a statement; only digits and names in a language without a time grammar."""
    words = language.times.words if language.times else Words()
    plain = " ".join(text.split()).translate(words.folding)
    written = _TOKEN.findall(plain)
    tokens = [token.casefold() for token in written]
    days = {("weekday", words.weekdays[token]) for token in tokens if token in words.weekdays}
    days |= {
        ("month", words.months[token])
        for token, as_written in zip(tokens, written, strict=True)
        if token in words.months and (token in words.clear_months or as_written[0].isupper())
    }
    names: set[str] = set()
    if language.names.nouns is None:
        inside = {
            _POSSESSIVE.sub("", word).casefold() for word in _INSIDE.findall(plain) if word[0].isupper()
        }
        names = inside - words.weekdays.keys() - words.months.keys()
    numbers = frozenset(_numbers(tokens, words, decimal_comma=language.decimal_comma))
    return Specifics(numbers, frozenset(days), frozenset(names), frozenset(tokens))


def told_apart(one: Specifics, other: Specifics) -> bool:
    """Return whether two statements have conflicting specifics: each has a number, day or name that the other lacks."""
    return (
        bool(one.numbers - other.numbers and other.numbers - one.numbers)
        or bool(one.days and other.days and one.days.isdisjoint(other.days))
        or bool(one.names - other.words and other.names - one.words)
    )


def pinned_alike(one: Specifics, other: Specifics) -> bool:
    """Return whether two statements share a number or a day."""
    return not (one.numbers.isdisjoint(other.numbers) and one.days.isdisjoint(other.days))


def _numbers(tokens: list[str], words: Words, *, decimal_comma: bool) -> Iterator[float | str]:
    """Yield numbers, durations in minutes or days, and times of day and scores as written."""
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        value = _value(token, words, decimal_comma=decimal_comma)
        if value is not None:
            yield value * _lasting(following, words)
        elif token in words.multiples:
            yield float(_lasting(token, words))
        elif token[0].isdigit() and not token.isdigit():
            yield token


def _lasting(name: str, words: Words) -> int:
    """Return the length of a time unit in minutes or days; 1 for other words."""
    unit = words.units.get(name)
    return _LASTING.get(unit, 1) * words.multiples.get(name, 1) if unit else 1


def _value(token: str, words: Words, *, decimal_comma: bool) -> float | None:
    """Return the value of a number of two or more; "one" is an article in many languages."""
    if not token[0].isdigit():
        value = float(words.numbers.get(token, 0))
        return value if value > 1 else None
    thousands, point = (".", ",") if decimal_comma else (",", ".")
    try:
        value = float(token.replace(thousands, "").replace(point, "."))
    except ValueError:
        return None
    return value if value > 1 else None


# Numbers in words up to this one are allowed, because they may count things ("her two dogs").
COUNTED = 3
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W_]+")


def figures(text: str, language: Language) -> frozenset[str]:
    """Return the numbers of a text, in digits or in words, but not "one" as a word, an article in many languages."""
    return _written(text, language) | _worded(text, language)


def unknown_numbers(text: str, grounds: Sequence[str], language: Language) -> list[str]:
    """Return the numbers of a text that its sources do not support.

    Args:
        text: one or two sentences.
        grounds: the source texts, with their dates; a small number may also be a count of things that the sources list.
        language: the language of all texts.
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

"""What of a text the texts it stands on do not say: names, numbers, words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.name_spotting import NameSpotter
from hindsight_integrations.text.stems import content_stems, numbers

COUNTED = (
    3  # things told one by one that a word may count ("her two dogs") without being among the grounds' words
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_WORD = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"(?:^|[.!?]\s)[^\w\s]*([^\W\d_]+)")
_ABBREVIATION = re.compile(r"[A-Z]{2,6}s?")


def unknown_names(text: str, grounds: Sequence[str], language: Language) -> list[str]:
    """Names of a text of which a word is in none of its grounds; an abbreviation may stand for words in a row.

    Args:
        text: a sentence or two.
        grounds: the texts it stands on, and names that need no grounds.
        language: of all.
    """
    words = [word for ground in grounds for word in _words(ground, language)]
    known = {*words, *map(language.stem, words)}
    initials = "".join(word[0] for word in words)
    spotter = NameSpotter([text], people=(), aliases=(), languages=[language])
    named = dict.fromkeys((*(name.text for name in spotter.names_in(text)), *_openings(text, language)))
    return [
        name
        for name in named
        if not _is_abbreviated(name, initials)
        and any(word not in known and language.stem(word) not in known for word in _words(name, language))
    ]


def unknown_numbers(text: str, grounds: Sequence[str], language: Language) -> list[str]:
    """Numbers of a text, in figures or words, that are in none of its grounds and count none of the things told there.

    Args:
        text: a sentence or two.
        grounds: the texts it stands on, dates included.
        language: of all.
    """
    numerals = language.parts.words.numerals
    known = {
        value for ground in grounds for value in (*_figures(ground, language), *_worded(ground, numerals))
    }
    figures = [value for value in _figures(text, language) if value not in known | _up_to(len(grounds))]
    counted = known | _up_to(max(COUNTED, len(grounds)))
    worded = [numerals[int(value)] for value in _worded(text, numerals) if value not in counted]
    return [*figures, *worded]


def grounded_share(text: str, grounds: Sequence[str], names: Sequence[str], language: Language) -> float:
    """Share of the content words of a text, names apart, that its grounds have; 1 for a text without any.

    Args:
        text: a sentence or two.
        grounds: the texts it stands on.
        names: whose words do not count.
        language: of all.
    """
    told = content_stems(text, language) - content_stems(" ".join(names), language)
    said = frozenset[str]().union(*(content_stems(ground, language) for ground in grounds))
    return len(told & said) / len(told) if told else 1.0


def _openings(text: str, language: Language) -> Iterator[str]:
    """Words with which sentences begin that are no common ones: here, other than in talk, the subject stands there.

    Of a language in which nouns have capitals too the rules for its names must do.
    """
    if language.names.nouns is None:
        for match in _OPENING.finditer(text):
            word = match[1].casefold()
            if match[1][0].isupper() and word not in language.stop_words | language.names.no_names:
                yield match[1]


def _words(text: str, language: Language) -> list[str]:
    return _WORD.findall(
        " ".join(language.names.possessive.sub("", word) for word in text.split()).casefold()
    )


def _is_abbreviated(name: str, initials: str) -> bool:
    return _ABBREVIATION.fullmatch(name) is not None and name.rstrip("s").casefold() in initials


def _figures(text: str, language: Language) -> Iterator[str]:
    yield from _YEAR.findall(text)
    for number in numbers(text, language):
        yield number.lstrip("0") or "0"


def _worded(text: str, numerals: Sequence[str]) -> Iterator[str]:
    """Values of the number words of a text from two up: one is an article in many languages."""
    values = {word: str(value) for value, word in enumerate(numerals) if value > 1}
    for word in _WORD.findall(text.casefold()):
        if word in values:
            yield values[word]


def _up_to(count: int) -> set[str]:
    return {str(value) for value in range(count + 1)}

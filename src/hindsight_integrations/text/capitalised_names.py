"""Names in languages whose capitals mark names: a capital inside a sentence is one, one that begins it may be. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from hindsight_integrations.text.language import NameWords

Span = tuple[int, int, str]  # where it starts, its length negated so that longer ones sort first, the name

CAPITAL = (
    f"[{''.join(letter for letter in map(chr, range(0x530)) if letter.isupper())}]"  # Latin, Greek, Cyrillic
)
WORD = rf"{CAPITAL}[^\W\d_]*(?:['\u2019-][^\W_]+)*(?:[0-9]+)?"
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:\u2026\u2014][\"')\u201d\u2019\u00bb]*\s|\n|[-*\u2022]\s)[\s\"'(\u201c\u2018\u201e\u00ab\u00bf\u00a1*-]*$"
    r"|[\u00bf\u00a1]$"
)


def spans(text: str, seen: Collection[str], small: Collection[str], names: NameWords) -> Iterator[Span]:
    """The capitalised names of a text.

    Args:
        text: searched.
        seen: case-folded words that name something elsewhere.
        small: words that are written small elsewhere.
        names: of the text's language.
    """
    for match in _joined(names).finditer(text):
        begins = begins_sentence(text, match, names)
        words = _trimmed(match[0].split(" "), names)
        if words and begins and match[0].startswith(words[0]):
            first = names.possessive.sub("", words[0]).casefold()
            leads = len(words) > 1 and first not in small and not names.verb.fullmatch(words[0])
            if first not in seen and not leads:
                words = _trimmed(words[1:], names)
        start = match[0].index(words[0]) if words else 0
        before = match[0][:start].split()[-1:]
        if before and before[0].casefold() in names.articles and not (begins and len(before[0]) + 1 == start):
            words, start = [*before, *words], start - len(before[0]) - 1
        name = names.possessive.sub("", " ".join(words))
        if name and not name.isupper():
            yield match.start() + start, -len(name), name


def inside_words(text: str, names: NameWords) -> Iterator[str]:
    """Capitalised words that stand inside sentences, case-folded."""
    for match in _joined(names).finditer(text):
        words = match[0].split(" ")
        for word in words[1:] if begins_sentence(text, match, names) else words:
            plain = names.possessive.sub("", word).casefold()
            if plain not in names.no_names:
                yield plain


@cache
def _joined(names: NameWords) -> re.Pattern[str]:
    """Capitalised words in a row, and what may join them."""
    joints = "|".join((" ", *names.connectors))
    return re.compile(rf"(?<![\w@#/]){WORD}(?:(?:{joints}){WORD})*(?![\w@])")


@cache
def _after_title(names: NameWords) -> re.Pattern[str] | None:
    if not names.abbreviations:
        return None
    return re.compile(rf"\b(?:{'|'.join(names.abbreviations)})\.\s$")


def begins_sentence(text: str, match: re.Match[str], names: NameWords) -> bool:
    """Whether what matched stands at the beginning of a sentence, so that its capital says nothing."""
    before = text[max(0, match.start() - 8) : match.start()]
    title = _after_title(names)
    return _SENTENCE_START.search(before) is not None and not (title and title.search(before))


def _trimmed(words: Sequence[str], names: NameWords) -> Sequence[str]:
    """The words without non-names, titles and connectors at either end."""
    while words and _is_no_name(words[0], names):
        words = words[1:]
    while words and _is_no_name(words[-1], names):
        words = words[:-1]
    return words


def _is_no_name(word: str, names: NameWords) -> bool:
    plain = word.casefold().replace("\u2019", "'")
    owner = names.possessive.sub("", plain)
    return (
        plain in names.no_names or owner in names.no_names or owner in names.titles or not plain[:1].isalpha()
    )

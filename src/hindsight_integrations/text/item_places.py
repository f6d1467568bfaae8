"""Where a text lists an item. Pure (decision 116)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from hindsight_integrations.model.records import Record
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.side_by_side import Layout, SideBySide, Span, without_marker
from hindsight_integrations.text.stems import content_stems, numbers

NEARLY = 0.8  # share of the words of both that an item and what it is called must have in common; set by hand
NEARLY_WORDS = 5  # of both together; among fewer, one other word is another item
LONGEST_ITEM = 6  # pieces between commas that may be one item ("Ann, Bo and Cy to review the draft")

_WORD = re.compile(r"\w+")
_ELABORATED = re.compile(r": | - | \u2013 | \u2014 | \(")


class Likeness(IntEnum):
    """How much what a text lists is like the item looked for."""

    OTHER = 0
    NEARLY = 1
    SAME_WORDS = 2  # in another form or order
    VERBATIM = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """An item to be left out.

    Attributes:
        text: its words.
        field: what it is an item of ("recipient"), for items that are listed twice; may be empty.
        others: words of the items that stay.
        language: of the text.
    """

    text: str
    language: Language
    field: str = ""
    others: tuple[str, ...] = ()


def wanted_record(record: Record, others: tuple[str, ...], language: Language) -> list[Wanted]:
    """The ways a record may be worded in its memory's text.

    Args:
        record: to be left out.
        others: words of the memory's records that stay.
        language: of the text.
    """
    field = f"{record.category} {record.stated}"
    return [
        Wanted(text, language, field, others) for text in dict.fromkeys((record.words, str(record.value)))
    ]


@dataclass(frozen=True, slots=True, eq=False)
class ItemPlace:
    """Where an item stands.

    Attributes:
        listed: among what.
        first: which item of it.
        last: the last one it is, where it has commas of its own.
        start: where the item begins.
        likeness: how much it is like what was looked for.
    """

    listed: SideBySide
    first: int
    last: int
    start: int
    likeness: Likeness

    @property
    def span(self) -> Span:
        """Where it begins and ends."""
        return self.start, self.listed.items[self.last][1]

    @property
    def introduced(self) -> bool:
        """Whether words stand in front of it that are no part of it ("the recipients are Ann")."""
        return self.start > self.listed.items[self.first][0]


def item_places(text: str, layers: Sequence[SideBySide], wanted: Wanted) -> list[ItemPlace]:
    """Where the text lists the item, each place once; of one inside another only the more alike, else the inner.

    Args:
        text: any.
        layers: what stands side by side in it.
        wanted: the item.
    """
    stems = content_stems(wanted.text, wanted.language)
    found = [place for listed in layers for place in _places_among(text, listed, wanted, stems)]
    return [
        place
        for number, place in enumerate(found)
        if not any(
            overlap(place.span, other.span) and (other.likeness, rank) > (place.likeness, number)
            for rank, other in enumerate(found)
        )
    ]


def likeness(text: str, item: str, language: Language) -> Likeness:
    """How much a piece of text is like an item."""
    if item_words(text, language) == item_words(item, language):
        return Likeness.VERBATIM
    negation = language.parts.negation
    if bool(negation.search(text)) != bool(negation.search(item)) or numbers(text, language) != numbers(
        item, language
    ):
        return Likeness.OTHER
    first, second = content_stems(text, language), content_stems(item, language)
    if first == second and first:
        return Likeness.SAME_WORDS
    both = first | second
    return (
        Likeness.NEARLY
        if len(both) >= NEARLY_WORDS and len(first & second) >= NEARLY * len(both)
        else Likeness.OTHER
    )


def item_words(text: str, language: Language) -> tuple[str, ...]:
    """The words of an item, without an article or a conjunction in front."""
    words = _WORD.findall(unicodedata.normalize("NFKC", without_marker(text)).casefold())
    small = language.parts.words.articles | language.parts.words.conjunctions
    while len(words) > 1 and words[0] in small:
        words = words[1:]
    return tuple(words)


def overlap(first: Span, second: Span) -> bool:
    """Whether two spans share a letter."""
    return first[0] < second[1] and second[0] < first[1]


def in_parentheses(listed: SideBySide) -> bool:
    """Whether something is all that a pair of parentheses holds."""
    above = listed.within
    while above is not None and len(above.items) == 1 and above.layout is not Layout.PARENTHESES:
        above = above.within
    return above is not None and above.layout is Layout.PARENTHESES


def _places_among(
    text: str, listed: SideBySide, wanted: Wanted, stems: frozenset[str]
) -> Iterator[ItemPlace]:
    """Places of the item, of these stems, among things that stand side by side."""
    count = len(listed.items)
    if listed.layout is Layout.DIMENSIONS or (
        count == 1 and listed.label is None and not in_parentheses(listed)
    ):
        return
    held = [content_stems(without_marker(text[slice(*item)]), wanted.language) for item in listed.items]
    for first in range(count):
        alike = Likeness.OTHER
        for last in _widths(held, first, stems, listed.layout):
            start, end = listed.items[first][0], listed.items[last][1]
            alike = _likeness_of_item(text[start:end], listed.layout, wanted)
            if alike:
                yield ItemPlace(listed, first, last, start, alike)
                break
        if first == 0 and not alike and listed.layout is Layout.COMMAS and listed.label is None and count > 1:
            yield from _introduced_places(text, listed, wanted)


def _widths(
    held: Sequence[frozenset[str]], first: int, stems: frozenset[str], layout: Layout
) -> Iterator[int]:
    """The last pieces an item that begins with the first one may end with, by the stems the pieces hold."""
    together: frozenset[str] = frozenset()
    for last in range(first, min(first + (LONGEST_ITEM if layout is Layout.COMMAS else 1), len(held))):
        together |= held[last]
        both = len(together & stems)
        if layout is not Layout.COMMAS:
            if both >= NEARLY * len(stems):
                yield last
        elif both >= NEARLY * len(together | stems):
            yield last


def _likeness_of_item(text: str, layout: Layout, wanted: Wanted) -> Likeness:
    """How much one thing of several is like the item: with what elaborates it, or what a sentence says it is."""
    alike = likeness(text, wanted.text, wanted.language)
    if alike or layout is Layout.COMMAS:
        return alike
    if layout in (Layout.LINES, Layout.SEMICOLONS, Layout.NUMBERED):
        head = _ELABORATED.split(without_marker(text), 1)[0]
        same = likeness(head, wanted.text, wanted.language)
        return same if same is Likeness.VERBATIM else Likeness.OTHER
    if layout is Layout.SENTENCES and wanted.field:
        field = content_stems(wanted.field, wanted.language)
        stems = content_stems(wanted.text, wanted.language)
        negated = wanted.language.parts.negation.search(text)
        said = content_stems(text, wanted.language)
        return (
            Likeness.SAME_WORDS
            if said - field == stems - field != frozenset() and not negated
            else Likeness.OTHER
        )
    return Likeness.OTHER


def _introduced_places(text: str, listed: SideBySide, wanted: Wanted) -> Iterator[ItemPlace]:
    """The place of the item at the end of the first piece, or pieces, behind a word that introduces lists."""
    begin = listed.items[0][0]
    for last in range(min(LONGEST_ITEM, len(listed.items))):
        start = _introduced(text[begin : listed.items[last][1]], wanted)
        if start is not None:
            yield ItemPlace(listed, 0, last, begin + start, Likeness.VERBATIM)
            return


def _introduced(text: str, wanted: Wanted) -> int | None:
    """Where the item begins in a piece that ends with its very words behind a word that introduces lists."""
    words = wanted.language.parts.words
    found = list(_WORD.finditer(text))
    item = item_words(wanted.text, wanted.language)
    spoken = [unicodedata.normalize("NFKC", match[0]).casefold() for match in found]
    first = len(found) - len(item)
    if first < 1 or not item or tuple(spoken[first:]) != item:
        return None
    while first > 1 and spoken[first - 1] in words.articles:
        first -= 1
    return found[first].start() if spoken[first - 1] in words.introducing else None

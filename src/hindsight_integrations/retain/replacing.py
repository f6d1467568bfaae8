"""Check that a fact that replaces a memory repeats its figures, dates, quoted titles, entities and record values. Pure.

Only normalised text is compared. A figure may appear anywhere in the new fact: the check detects omissions, not changes
of meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from hindsight_integrations.language.names import AGENT_NAMES, USER_NAMES, titles
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.records import read_number
from hindsight_integrations.model.entities import Entity, EntityMention, EntityRole
from hindsight_integrations.model.names import names_any, normalise_name, stands_in
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.text import normalised_text
from hindsight_integrations.model.units import MemoryUnit

# Maximum number of characters quoted from the details; a repair prompt quotes 500 of a problem.
LISTED_CHARACTERS = 240

_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.|\u00ba)?"
_OF = r"\s+(?:[^\W\d_]{1,3}\s+)?"  # "7 May", "7 of May", "7 de mayo"
# Minimum length of month names recognised in lower case; shorter ones are also common words ("may").
_CLEAR_LETTERS = 4
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_EDGES = " .,;:!?\"'\u201c\u201d\u201e\u00ab\u00bb"


@cache
def _months() -> dict[str, int]:
    """Return the month number of each month name, in all languages."""
    return {
        name: number
        for language in LANGUAGES.values()
        if language.times
        for name, number in language.times.words.months.items()
    }


@cache
def _plain_letters() -> dict[int, int | str]:
    """Return a translation table for equivalent letters and marks; one to one, so that offsets are unchanged."""
    letters: dict[int, int | str] = {}
    for language in LANGUAGES.values():
        letters |= language.times.words.folding if language.times else {}
    return letters | str.maketrans("\u2018\u2019\u02bc\u2010\u2011\u2012\u2013\u2014", "'''-----")


@cache
def _date() -> re.Pattern[str]:
    return re.compile(
        r"(?<![\w-])(?P<iso>\d{4}-\d{1,2}(?:-\d{1,2})?)(?!\d|-\d)"
        r"|(?<![\w./-])(?P<numeric>\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)(?:\d{4}|\d{2}))(?![\w/-]|\.\d)"
        rf"|(?:(?<![\w.,:-])(?P<before>{_DAY}){_OF})?"
        rf"\b(?P<name>{'|'.join(sorted(_months(), key=lambda name: (-len(name), name)))})\b\.?"
        rf"(?:\s+(?P<after>{_DAY})(?![\w:]))?(?:,?{_OF}(?P<year>\d{{4}})(?![\w:]))?",
        re.IGNORECASE,
    )


@dataclass(frozen=True, slots=True)
class _Figures:
    """A number or date in a text.

    Attributes:
        written: the original spelling.
        parts: the possible readings of each of its figures; in "7/5/2024" either 7 or 5 may be the month.
    """

    written: str
    parts: tuple[frozenset[str], ...]


def untold(memory: MemoryUnit, names: Iterable[Sequence[str]], told: Sequence[str]) -> list[str]:
    """Return the details of a memory that some texts omit: dates, numbers, quoted titles, entities and record values.

    An entity counts as mentioned if any of its names appears. Entities and textual record values that do not appear in the
    memory's own text are ignored.

    Args:
        memory: the replaced memory; for a document, with the records of its items.
        names: all names of each of its entities, excluding the user, the agent and the speakers.
        told: texts of the fact that replaces it (`told_texts`).

    Returns:
        The missing details as written in the memory, without duplicates.
    """
    stated = " | ".join(told)
    folded = _folded(stated)
    known = {reading for figures in _figures(stated) for part in figures.parts for reading in part}
    missing = [each.written for each in _figures(memory.text) if any(map(known.isdisjoint, each.parts))]
    missing += [title for title in titles(memory.text) if not _contains(title, folded)]
    for entity in names:
        own = [name for name in entity if names_any(memory.text, [normalise_name(name)])]
        if own and not names_any(stated, map(normalise_name, entity)):
            missing.append(own[0])
    own_text = _folded(memory.text)
    missing += [
        str(record.value)
        for record in memory.records
        if _is_visible(record, own_text) and not _is_stated(record.value, folded, known)
    ]
    return _without_parts(list(dict.fromkeys(missing)))


def told_texts(
    narrative: str, entities: Iterable[str], records: Iterable[Record], removed: Iterable[str]
) -> list[str]:
    """Return the texts of a fact in which details of the replaced memory may appear."""
    return [narrative, *entities, *(str(record.value) for record in records), *removed]


def names_of_entities(entities: Iterable[Entity]) -> list[tuple[str, ...]]:
    """Return all names of each entity, canonical name first, excluding the user, the agent and the speakers."""
    return [(each.name, *each.names) for each in entities if each.role is EntityRole.NONE]


def names_of_mentions(mentions: Iterable[EntityMention]) -> list[tuple[str, ...]]:
    """Return the name of each unresolved mention, excluding the user and the agent."""
    return [
        (each.text,)
        for each in mentions
        if normalise_name(each.text) not in USER_NAMES | AGENT_NAMES and each.role is EntityRole.NONE
    ]


def problem_of_replacing(missing: Sequence[str]) -> str:
    """Return a readable reason for refusing a change that omits details of the memory; empty if nothing is missing."""
    return (
        f"it omits {listed(missing)} of the replaced memory; repeat it, or list it in `removed`"
        if missing
        else ""
    )


def listed(missing: Sequence[str]) -> str:
    """Format the first missing details in quotes, and the number of further ones."""
    shown: list[str] = []
    for each in missing:
        if shown and sum(map(len, shown)) + len(each) > LISTED_CHARACTERS:
            break
        shown.append(each[:LISTED_CHARACTERS])
    more = len(missing) - len(shown)
    return ", ".join(f"'{each}'" for each in shown) + (f" and {more} more" if more else "")


def _is_visible(record: Record, own: str) -> bool:
    """Return whether the model sees a record's value; a textual value is visible only in the memory's text."""
    in_words = isinstance(record.value, str) and record.kind is not RecordKind.DOCUMENT_ITEM
    return not in_words or _contains(str(record.value), own)


def _is_stated(value: Decimal | str, folded: str, known: Set[str]) -> bool:
    if isinstance(value, Decimal):
        return _plain(abs(value)) in known
    return _contains(value, folded)


def _figures(text: str) -> Iterator[_Figures]:
    """Yield the dates in a text, and the numbers outside them."""
    plain, end = text.translate(_plain_letters()), 0
    for match in _date().finditer(plain):
        if parts := _parts_of_date(match):
            yield from _numbers(text[end : match.start()])
            yield _Figures(text[match.start() : match.end()].strip(_EDGES), parts)
            end = match.end()
    yield from _numbers(text[end:])


def _numbers(text: str) -> Iterator[_Figures]:
    for match in _NUMBER.finditer(text):
        yield _Figures(match.group(), (frozenset([_number(match.group())]),))


def _parts_of_date(match: re.Match[str]) -> tuple[frozenset[str], ...]:
    """Return the figures of a date; empty if the match is not a date."""
    if match["numeric"]:
        first, second, year = match["numeric"].split(match["mark"])
        return (*(frozenset([_number(each), _month(int(each))]) for each in (first, second)), _one(year))
    if match["iso"]:
        year, month, *day = match["iso"].split("-")
        return (_one(year), frozenset([_month(int(month))]), *map(_one, day)) if 1 <= int(month) <= 12 else ()
    name = match["name"]
    figures = [re.sub(r"\D", "", each) for each in match.group("before", "after", "year") if each]
    if not figures or not (name[0].isupper() or len(name) >= _CLEAR_LETTERS):
        return ()
    return (frozenset([_month(_months()[name.casefold()])]), *map(_one, figures))


def _one(figure: str) -> frozenset[str]:
    return frozenset([_number(figure)])


def _month(number: int) -> str:
    return f"month {number}"


def _number(written: str) -> str:
    """Normalise a number for comparison: "1,200" to "1200", "12.50" to "12.5"; a time of day loses leading zeros ("9:30")."""
    number = None if ":" in written else read_number(written)
    return (written.lstrip("0") or "0") if number is None else _plain(number)


def _plain(number: Decimal) -> str:
    digits = f"{number:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _folded(text: str) -> str:
    return normalised_text(text).translate(_plain_letters())


def _contains(words: str, folded: str) -> bool:
    """Return whether a folded text contains the words as whole words, ignoring surrounding punctuation."""
    bare = _folded(words).strip(_EDGES)
    return not bare or stands_in(bare, folded)


def _without_parts(missing: list[str]) -> list[str]:
    """Drop missing details that are contained in a longer missing detail."""
    folded = [_folded(each) for each in missing]
    return [
        each
        for place, each in enumerate(missing)
        if not any(
            _contains(each, other)
            for at, other in enumerate(folded)
            if at != place and len(other) > len(folded[place])
        )
    ]

"""Words of statements and units as retraction compares them: stems, numbers, clauses, part and whole. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_WORD = re.compile(r"\w+(?:[./&+]\w+)*")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_CLAUSE = re.compile(r"[;:,.!?()]\s|[;:,.!?()]$|\band\b|\bor\b")
_SEPARATOR = re.compile(r",\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+")
_LIST = re.compile(
    r"(?P<first>[\w'\u2019-]+)(?:, (?!and\b|or\b)[\w'\u2019 -]+?)+,? (?:and|or) [\w'\u2019 -]+"
)
_LIST_ITEM = 3  # content words of an item in a plain list ("jazz, blues and rock"); longer clauses elaborate

# Function words, and verbs and adverbs any sentence may have: they tell no two memories apart.
_EMPTY_WORDS = """
    a about again all also although am an and any are as at be been being but by can could did do does doing
    done for from get gets getting got had has have having he her hers him his how i if in into is it its
    just lately let made make me mine more most much my no not now of off on once one only or other our out
    over own really s she so some still such t than that the their them then there these they this those to
    too up us very was we were what when where which while who whom why will with would you your yours
"""
_PLACES = frozenset({"list", "lists", "field", "section"})  # where something is kept, not what it is
_EMPTY = frozenset(_EMPTY_WORDS.split()) | _PLACES
# "is a recipient of the email", "was removed from the notes": a part before, the whole after. And the other way about.
_PART_FIRST = re.compile(
    r"^(?P<part>.+?)\s(?:(?:is|are|was|were)\s(?:(?:an?|the|one of the)\s(?:[\w-]+\s){1,3}?(?:of|in|on|for|to|at)"
    r"|(?:(?:now|still|also)\s)?(?:(?:part|one)\sof|among|on|in)"
    r"|(?:removed|deleted|dropped)\sfrom|(?:added|invited|assigned)\sto|(?:listed|included|mentioned|named)\s(?:in|on|as))"
    r"|attends?|belongs?\sto)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
_WHOLE_FIRST = re.compile(
    r"^(?P<whole>.+?)\s(?:(?:also|still|now)\s)?(?:includes?|contains?|mentions?|have|has)\s"
    r"(?P<part>.+)$",
    re.IGNORECASE,
)
# "The timeline of the proposal is 14 months": a property of the whole.
_PROPERTY = re.compile(
    r"^(?:the\s)?(?P<noun>[\w -]+?)\sof\s(?P<whole>.+?)\s(?:is|are|was|were)\s(?P<part>.+)$", re.IGNORECASE
)
_QUOTED = re.compile(r"(?<!\w)(['\"\u2018\u201c])(.+?)(['\"\u2019\u201d])(?!\w)")


def stem(word: str) -> str:
    """A word without its inflection, crudely: optimizing, optimized, optimizes, optimize -> optimiz."""
    for ending, shortest, put in (
        ("ies", 5, "y"),
        ("ing", 6, ""),
        ("ed", 5, ""),
        ("es", 5, ""),
        ("s", 4, ""),
    ):
        if len(word) >= shortest and word.endswith(ending) and not word.endswith("ss"):
            word = word[: -len(ending)] + put
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words of a text that say something."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (
        word
        for token in _WORD.findall(folded.replace(",", "").replace("_", " "))
        for word in (token, *re.split(r"[/&+]", token))
    )
    return frozenset(stem(word) for word in words if word and word not in _EMPTY)


def numbers(text: str) -> frozenset[str]:
    """Numbers of a text but for years, which nearly every date has; "8,000" is 8000."""
    found = (number.replace(",", "").rstrip(".") for number in _NUMBER.findall(text))
    return frozenset(n.rstrip("0").rstrip(".") if "." in n else n for n in found if not _is_year(n))


def _is_year(number: str) -> bool:
    return len(number) == 4 and number[:2] in ("19", "20")


def clauses(text: str) -> list[frozenset[str]]:
    """Content stems of each clause or list item of a text's account, in order; empty ones left out."""
    return [stems for piece in _CLAUSE.split(account(text)) if (stems := content_stems(piece))]


def account(text: str) -> str:
    """What a unit's text tells, without the dimensions (when, where, why) that drafts append behind bars."""
    return text.split(" | ", 1)[0]


@dataclass(frozen=True, slots=True)
class PartOf:
    """A statement that something belongs to something: content stems of the part and of the whole."""

    part: frozenset[str]
    whole: frozenset[str]


def part_of(statement: str) -> PartOf | None:
    """What a statement calls a part, and of what; None if it speaks of a thing as such.

    Quoted titles are kept together: nothing inside one is read as grammar.
    """
    titles: list[str] = []

    def hide(match: re.Match[str]) -> str:
        titles.append(match.group(2))
        return f"\x00{len(titles) - 1}\x00"

    hidden = _QUOTED.sub(hide, statement.strip().rstrip("."))
    match = _PROPERTY.match(hidden) or _WHOLE_FIRST.match(hidden) or _PART_FIRST.match(hidden)
    if match is None:
        return None

    def stems(text: str) -> frozenset[str]:
        return content_stems(re.sub(r"\x00(\d+)\x00", lambda m: titles[int(m.group(1))], text))

    groups = match.groupdict()
    found = PartOf(stems(f"{groups.get('noun', '')} {groups['part']}"), stems(groups["whole"]))
    return found if found.part and found.whole else None


def names_one_of_a_list(statement: frozenset[str], text: str) -> bool:
    """Whether the statement names one item of a plain list of three or more ("likes jazz" of "jazz, blues and rock").

    Of the item that opens the list only the last word is known to belong to it.
    """
    for match in _LIST.finditer(account(text)):
        first, *others = (content_stems(item) for item in _SEPARATOR.split(match.group(0)))
        opening = content_stems(match.group("first"))
        if not first or any(not 1 <= len(item) <= _LIST_ITEM for item in others):
            continue
        if sum(bool(item & statement) for item in (opening, *others)) == 1:
            return True
    return False

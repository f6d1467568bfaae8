"""Records: what of a memory can be added up or listed, of a closed set of kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

_NO_PLURAL = ("ss", "us", "is")
_HISSING = ("s", "x", "z", "ch", "sh")
_AFTER_HISSING = ("sse", "xe", "ze", "che", "she")


def is_plural(word: str) -> bool:
    """Whether a word ends as an English plural does; words of three letters or fewer do not."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURAL) and word != "news"


def plural(word: str) -> str:
    """The regular English plural of a word; a plural stays, and a word that has no regular one."""
    if is_plural(word) or len(word) < 3 or word.endswith(("i", "u")) or word == "news":
        return word
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_HISSING) else f"{word}s"


def singular_key(word: str) -> str:
    """What an English word and its regular plural have in common, for comparing and not for showing.

    "movie" and "movies", "grocery" and "groceries", "lunch" and "lunches" have one key each; "run" and "running", "policy"
    and "police" have not, as they would by a stemmer.
    """
    stem = word[:-1] if is_plural(word) else word
    if len(stem) > 2 and stem.endswith("ie"):
        return f"{stem[:-2]}y"
    return stem[:-1] if len(stem) > 2 and stem.endswith(("oe", *_AFTER_HISSING)) else stem


class RecordKind(StrEnum):
    """What sort of thing a record keeps. Which word a model writes for it: `model/record_kinds.py`."""

    EXPENSE = "expense"
    """Money spent."""
    INCOME = "income"
    """Money received."""
    QUANTITY = "quantity"
    """Something measured or counted: steps, distances, hours, weights."""
    GOAL = "goal"
    """What is to be reached, or not to be exceeded."""
    TASK = "task"
    """Something to do."""
    EVENT = "event"
    """Something that takes place: an appointment, a meeting."""
    PREFERENCE = "preference"
    """What somebody likes or dislikes."""
    DOCUMENT_ITEM = "document_item"
    """One item of a document: a line of an agenda, a stop of a route."""
    OTHER = "other"
    """Anything else."""


@dataclass(frozen=True, slots=True)
class Record:
    """A number or item of a memory. Its place among the memory's records, from 0, is its ordinal.

    Attributes:
        kind: what sort of record.
        value: a Decimal where it can be added up, else text.
        category: the finer sort ("coffee"), by the bank's name for it; may be empty.
        unit: the unit of the value ("USD", "steps"), may be empty.
        stated: the category as it was given.
    """

    kind: RecordKind
    value: Decimal | str
    category: str = ""
    unit: str = ""
    stated: str = ""

    @property
    def words(self) -> str:
        """The value in words, with its unit."""
        return f"{self.value} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class RecordCategory:
    """A category of records of one kind, as the bank has it.

    Attributes:
        kind: of its records.
        name: what it is called.
        spellings: all it was given as, as `spelling_key` compares them, sorted; its name is one of them.
        records: how many records are of it, closed ones included.
        units: of their values, the most used first; filled by `bank.records.categories` alone.
    """

    kind: RecordKind
    name: str
    spellings: tuple[str, ...] = ()
    records: int = 0
    units: tuple[str, ...] = ()


def spelling_key(category: str) -> str:
    """A category's spelling as it is compared: without regard to case and white space."""
    return " ".join(category.split()).casefold()


KIND_WORDS: Mapping[RecordKind, frozenset[str]] = {
    RecordKind.EXPENSE: frozenset(
        {"expense", "expenditure", "purchase", "spending", "spend", "cost", "payment"}
    ),
    RecordKind.INCOME: frozenset({"income", "earning", "revenue", "salary", "wage", "paycheck"}),
    RecordKind.QUANTITY: frozenset({"quantity", "measurement", "measure", "metric", "count", "statistic"}),
    RecordKind.GOAL: frozenset({"goal", "target", "budget", "limit", "objective", "quota", "resolution"}),
    RecordKind.TASK: frozenset(
        {
            "task",
            "todo",
            "to do",
            "to dos",
            "to do item",
            "todo item",
            "action item",
            "chore",
            "errand",
            "reminder",
        }
    ),
    RecordKind.EVENT: frozenset({"event", "appointment", "meeting", "reservation", "booking"}),
    RecordKind.PREFERENCE: frozenset(
        {"preference", "like", "dislike", "liking", "favorite", "favourite", "interest", "taste"}
    ),
    RecordKind.DOCUMENT_ITEM: frozenset({"document item", "document", "agenda item", "list item"}),
    RecordKind.OTHER: frozenset({"other", "misc", "miscellaneous"}),
}
"""Words that say no more than the kind: singular, with blanks for hyphens and underscores."""

MEASURES = frozenset(
    {
        "step",
        "distance",
        "weight",
        "height",
        "duration",
        "hour",
        "minute",
        "calorie",
        "sleep",
        "workout",
        "exercise",
    }
)
"""Words for a QUANTITY that also say of what: they become its category."""

_STATES = frozenset(
    {"completed", "finished", "done", "open", "new", "pending", "cancelled", "canceled", "removed"}
)
_ONE_PHRASE = frozenset({RecordKind.EVENT, RecordKind.DOCUMENT_ITEM, RecordKind.OTHER})


def canonical_kind(kind: str, category: str) -> tuple[RecordKind, str]:
    """The kind a word stands for, and the category.

    Several words count by their last ("food expense" is an expense), by their first where that is a preference's
    ("favourite film"). What they say beyond the kind is the category where none is given; a lunch meeting is no lunch, so
    an event's words stay together. A word nobody knows is OTHER, and the category where none is given.

    Args:
        kind: in any spelling.
        category: the finer sort, may be empty.
    """
    category = " ".join(category.split())
    words = re.sub(r"[\W_]+", " ", kind.casefold()).split()
    for start in range(len(words)):
        known = _KIND_OF.get(_key(words[start:]))
        if known is not None:
            return known, category or _beyond(known, words, words[:start])
    if words and singular_key(words[-1]) in _MEASURES:
        return RecordKind.QUANTITY, category or " ".join(words)
    if words and _KIND_OF.get(singular_key(words[0])) == RecordKind.PREFERENCE:
        return RecordKind.PREFERENCE, category or " ".join(words[1:])
    return RecordKind.OTHER, category or " ".join(words)


def _key(words: Sequence[str]) -> str:
    return " ".join([*words[:-1], singular_key(words[-1])])


_KIND_OF = {_key(word.split()): kind for kind, words in KIND_WORDS.items() for word in words}
_MEASURES = frozenset(map(singular_key, MEASURES))


def _beyond(kind: RecordKind, words: list[str], before: list[str]) -> str:
    """What a kind of several words says beyond the kind."""
    said = [word for word in before if word not in _STATES and _KIND_OF.get(singular_key(word)) != kind]
    return " ".join(words if said and kind in _ONE_PHRASE else said)

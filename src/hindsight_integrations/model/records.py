"""Records: countable or listable parts of a memory; the set of kinds is fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


class RecordKind(StrEnum):
    """The kind of a record. `canonical_kind` maps words in a model's answer to kinds."""

    EXPENSE = "expense"
    """Money spent."""
    INCOME = "income"
    """Money received."""
    QUANTITY = "quantity"
    """A measured or counted value: steps, distances, hours, weights."""
    GOAL = "goal"
    """A number to reach, or not to exceed."""
    TASK = "task"
    """A task to do."""
    EVENT = "event"
    """An appointment, a meeting or another event."""
    PREFERENCE = "preference"
    """A like or dislike of a person."""
    DOCUMENT_ITEM = "document_item"
    """One item of a document: a line of an agenda, a stop of a route."""
    OTHER = "other"
    """Anything else."""


@dataclass(frozen=True, slots=True)
class Record:
    """A number or item of a memory. Its position among the memory's records, from 0, is its ordinal.

    Attributes:
        kind: the kind.
        value: a Decimal if the value is a number, otherwise text.
        category: the bank's name for a finer classification ("coffee"); may be empty.
        unit: the unit of the value ("USD", "steps"); may be empty.
        stated: the category as written by the model or caller.
    """

    kind: RecordKind
    value: Decimal | str
    category: str = ""
    unit: str = ""
    stated: str = ""

    @property
    def words(self) -> str:
        """The value with its unit."""
        return f"{self.value} {self.unit}".strip()


@dataclass(frozen=True, slots=True)
class RecordCategory:
    """A bank's category of records of one kind.

    Attributes:
        kind: the kind of its records.
        name: the name.
        spellings: all its spellings including its name, normalised by `spelling_key` and sorted.
        records: the number of its records, including those of invalid memories.
        units: the units of their values, the most used first; filled only by `bank.records.categories`.
    """

    kind: RecordKind
    name: str
    spellings: tuple[str, ...] = ()
    records: int = 0
    units: tuple[str, ...] = ()


def spelling_key(category: str) -> str:
    """Normalise the spelling of a category by folding case and white space."""
    return " ".join(category.split()).casefold()


_NO_PLURAL = ("ss", "us", "is")
_HISSING = ("s", "x", "z", "ch", "sh")
_AFTER_HISSING = ("sse", "xe", "ze", "che", "she")


def is_plural(word: str) -> bool:
    """Return whether a word ends like an English plural; always False for words of up to three letters."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURAL) and word != "news"


def plural(word: str) -> str:
    """Return the regular English plural; plurals and words without a regular plural stay unchanged."""
    if is_plural(word) or len(word) < 3 or word.endswith(("i", "u")) or word == "news":
        return word
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_HISSING) else f"{word}s"


def singular_key(word: str) -> str:
    """Return a key shared by an English word and its regular plural, for comparison, not for display.

    "movie" and "movies", "grocery" and "groceries", "lunch" and "lunches" share a key. Unlike with a stemmer, "run" and
    "running", or "policy" and "police", do not.
    """
    stem = word[:-1] if is_plural(word) else word
    if len(stem) > 2 and stem.endswith("ie"):
        return f"{stem[:-2]}y"
    return stem[:-1] if len(stem) > 2 and stem.endswith(("oe", *_AFTER_HISSING)) else stem


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
"""Words for each kind, in the singular, with spaces instead of hyphens and underscores."""

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
"""Words that name both the kind QUANTITY and the measured value; they become the category."""

_STATES = frozenset(
    {"completed", "finished", "done", "open", "new", "pending", "cancelled", "canceled", "removed"}
)
_ONE_PHRASE = frozenset({RecordKind.EVENT, RecordKind.DOCUMENT_ITEM, RecordKind.OTHER})


def canonical_kind(kind: str, category: str) -> tuple[RecordKind, str]:
    """Map the words for a kind to the kind and the category.

    The last word determines the kind ("food expense" is an expense), or the first if it means a preference ("favourite
    film"). Without a category, the other words become the category. The words of an event stay together, since a lunch
    meeting is not a lunch. Unknown words mean OTHER and become the category if there is none.

    Args:
        kind: the words for the kind, in any spelling.
        category: the finer classification; may be empty.
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
    """Return the words of a compound kind that specify a category."""
    said = [word for word in before if word not in _STATES and _KIND_OF.get(singular_key(word)) != kind]
    return " ".join(words if said and kind in _ONE_PHRASE else said)

"""Which kind of record a word means: models write many words for one thing. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hindsight_integrations.model.plurals import singular_key
from hindsight_integrations.model.records import RecordKind

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

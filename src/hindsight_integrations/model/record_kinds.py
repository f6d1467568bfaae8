"""Which kind of record a word means: models write many words for one thing (decision 112). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from hindsight_integrations.model.records import Record, RecordKind

_WORDS: Mapping[str, RecordKind] = {
    **{kind.value: kind for kind in RecordKind},
    "todo": RecordKind.TASK,
    "to-do": RecordKind.TASK,
    "purchase": RecordKind.EXPENSE,
    "budget": RecordKind.GOAL,
    "appointment": RecordKind.EVENT,
    "meeting": RecordKind.EVENT,
    "like": RecordKind.PREFERENCE,
    "document": RecordKind.DOCUMENT_ITEM,
}
_MEASURED = frozenset({"steps", "distance", "workout"})


def canonical_kind(kind: str, category: str) -> tuple[RecordKind, str]:
    """The kind a word stands for, and the category: the word itself where it says more than the kind and none is given.

    Args:
        kind: in any spelling.
        category: the finer sort, may be empty.
    """
    word, category = " ".join(kind.split()).casefold(), category.strip()
    if known := _WORDS.get(word):
        return known, category
    return RecordKind.QUANTITY if word in _MEASURED else RecordKind.OTHER, category or word


def canonical_record(kind: str, category: str, value: Decimal | str, unit: str) -> Record:
    """The record that a model's words for it mean. A kind outside the set becomes OTHER, with the kind as category.

    Args:
        kind: in any spelling.
        category: the finer sort as it was given, may be empty.
        value: a number where it can be added up.
        unit: as it was given, may be empty.
    """
    known, finer = canonical_kind(kind, category)
    return Record(known, value, finer, unit.strip(), stated=finer)

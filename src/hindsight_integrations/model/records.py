"""Records: what of a memory can be added up or listed, of a closed set of kinds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum


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

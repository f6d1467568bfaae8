"""What a retain ended, as a caller sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A memory, or an item of a document, that a later memory ended.

    Attributes:
        unit_id: the memory or item that ended.
        by_unit: the memory that says so.
        statement: what no longer holds, in words.
    """

    unit_id: str
    by_unit: str
    statement: str


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Something that a person asked in the conversation to forget.

    The memories that it means are closed, and not erased: a model understood the request. `bank.forget(unit=...)` erases them.

    Attributes:
        what: what is to be forgotten, as the model put it.
        sources: ids of the messages that ask.
        unit_ids: ids of the memories that were closed for it; none where no memory was shown that it means, or everything is
            to be forgotten.
    """

    what: str
    sources: tuple[str, ...]
    unit_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """A statement that says no valid unit's very words, or several units', or sources that name several; nothing was closed.

    Attributes:
        statement: what was withdrawn, in words.
        by_unit: the unit that stated it.
        candidates: ids of the units it may mean, the nearest first; none where nothing is near.
        score: how similar the nearest of them is, in [0, 1]; 1 where several are meant alike.
    """

    statement: str
    by_unit: str
    candidates: tuple[str, ...]
    score: float

"""What retraction decided about units, as a caller sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """A unit that a later one made obsolete, wholly (closed) or in part (amended).

    Attributes:
        unit_id: the unit concerned.
        by_unit: the unit that stated it.
        statement: what was withdrawn, in words.
        score: how similar the unit that stated it is, in [0, 1]; 1 for a statement of the unit's very words.
        records: ordinals of the unit's records that were withdrawn alone; empty where the unit is closed, or no record is
            what the statement means.
    """

    unit_id: str
    by_unit: str
    statement: str
    score: float
    records: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartWithdrawn:
    """What a later unit took back of a unit that otherwise holds.

    Attributes:
        statement: what was taken back, in words; the later unit's text where there is nothing shorter.
        by_unit: id of the later unit; recall returns it by itself, if it ranks. Empty if it was erased.
        effective_at: since when (conversation time, aware UTC).
        tokens: what `text` costs beneath the unit's own.
        left_out: whether its words are cut out of the unit's text, which then says nothing of it.
    """

    statement: str
    by_unit: str
    effective_at: datetime
    tokens: int
    left_out: bool = False

    @property
    def text(self) -> str:
        """The words set beneath the unit's text; none where it is left out."""
        return "" if self.left_out else withdrawal_note(self.statement)


@dataclass(frozen=True, slots=True)
class Remainder:
    """What is left of a unit's text without the parts taken back that could be cut out of it (decision 116).

    Attributes:
        text: it.
        tokens: what it costs.
    """

    text: str
    tokens: int


WITHDRAWAL_NOTE = "[Partly withdrawn later: "
"""How a note begins that a statement no longer holds."""


def withdrawal_note(statement: str) -> str:
    """The note that a statement no longer holds."""
    return f"{WITHDRAWAL_NOTE}{statement}]"


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

"""TurnReader: reads of source turns, the text of retained messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.writes import Place
from hindsight_integrations.ports.arrays import IntArray


class TurnReader(Protocol):
    """Reads of one bank's turns, each in its latest wording, wherever its text is kept: by itself, or as the unit that it is.

    A turn whose text was not kept, or was erased, is left out.
    """

    def turns(self, bank: str, places: Sequence[Place]) -> dict[Place, SourceTurn]:
        """The turns of these (thread, message id)."""
        ...

    def turns_of_units(self, bank: str, ids: IntArray) -> dict[int, tuple[SourceTurn, ...]]:
        """The turns that each of these units (by row id) was made from, by time; units without any are left out."""
        ...

    def thread_turns(self, bank: str, thread: str) -> list[SourceTurn]:
        """The turns of a conversation, by time, then by message id."""
        ...

    def turns_saying(self, bank: str, words: str) -> list[Place]:
        """(thread, message id) of every turn whose text has these words in this order, by time, then by message id.

        Compared by `folded_text`: without regard to case, diacritics and white space. Reads every turn of the bank.
        """
        ...

"""TokenCounter: what a text costs in a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens offline. Called at retain; recall reads stored counts.

    Recall itself counts only included passages, and the few statements that took back a part of a unit.
    """

    @property
    def name(self) -> str:
        """The encoding, for doctor."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text; 0 for an empty one. Special-token literals count as plain text."""
        ...

"""Watermarks: the commit of a bank up to which an index is current."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_WRITTEN = re.compile(r"([0-9a-f]+):([0-9]{1,18}):([0-9]{1,18}):([0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class Watermark:
    """One commit of one bank. A revision number is not enough, since a restored backup reuses it for other content.

    Attributes:
        ledger: the random hexadecimal id of the ledger, created with its file.
        generation: a number that is higher after the bank was deleted and created again with the same name.
        revision: the number of the bank's commits up to and including this one.
        token: the ledger's random hexadecimal token for this commit; empty at revision 0.
    """

    ledger: str
    generation: int
    revision: int
    token: str

    def __str__(self) -> str:
        """Format the watermark for an index's files; `parse` is the inverse."""
        return f"{self.ledger}:{self.generation}:{self.revision}:{self.token}"

    @classmethod
    def parse(cls, text: object) -> Self | None:
        """Parse a formatted watermark; return None for other values."""
        match = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
        return cls(match[1], int(match[2]), int(match[3]), match[4]) if match else None


@dataclass(frozen=True, slots=True)
class IndexMark:
    """The watermark of an index, read from its files without opening it.

    Attributes:
        index: the name of the index, "vector" or "keyword".
        bank_key: the key of its bank.
        mark: the last commit that it applied; None if its files contain no watermark.
    """

    index: str
    bank_key: str
    mark: Watermark | None

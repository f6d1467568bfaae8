"""Watermarks: how far an index has followed a bank's history, and which history it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_WRITTEN = re.compile(r"([0-9a-f]+):([0-9]{1,18}):([0-9]{1,18}):([0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class Watermark:
    """One commit of one bank. A revision number is not enough, since a restored backup reuses it for other content.

    Attributes:
        ledger: random id of the ledger, created with its file; hexadecimal.
        generation: distinguishes banks of one name: a bank that is deleted and created again gets a higher
            one.
        revision: number of the bank's commits up to and including this one.
        token: the ledger's random token for this commit; hexadecimal; empty at revision 0.
    """

    ledger: str
    generation: int
    revision: int
    token: str

    def __str__(self) -> str:
        """Format it for an index's files; `parse` reads it."""
        return f"{self.ledger}:{self.generation}:{self.revision}:{self.token}"

    @classmethod
    def parse(cls, kept: object) -> Self | None:
        """Parse a watermark; None for anything else."""
        match = _WRITTEN.fullmatch(kept) if isinstance(kept, str) else None
        return cls(match[1], int(match[2]), int(match[3]), match[4]) if match else None


@dataclass(frozen=True, slots=True)
class IndexMark:
    """How far an index has come, read from its files without opening it.

    Attributes:
        index: which index: "vector" or "keyword".
        bank_key: key of its bank.
        mark: the commit it has applied; None if its files do not say.
    """

    index: str
    bank_key: str
    mark: Watermark | None

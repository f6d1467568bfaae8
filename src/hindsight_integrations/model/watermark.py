"""Watermark: how far an index has followed a bank's history, told so that another history is known as such."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

_WRITTEN = re.compile(r"([0-9a-f]+):([0-9]{1,18}):([0-9]{1,18}):([0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class Watermark:
    """One commit of one bank. A number alone is not enough: a restored backup has the same ones for other content.

    Attributes:
        ledger: id of the ledger, random, made with its file; hexadecimal.
        generation: which bank: a bank forgotten and made anew under its name has a higher one.
        revision: number of the bank's commits up to and with this one.
        token: what the ledger drew at random for this commit; hexadecimal; empty at revision 0.
    """

    ledger: str
    generation: int
    revision: int
    token: str

    def __str__(self) -> str:
        """As an index keeps it on disk; `parse` reads it."""
        return f"{self.ledger}:{self.generation}:{self.revision}:{self.token}"

    @classmethod
    def parse(cls, kept: object) -> Self | None:
        """The watermark of its text; None for anything else."""
        found = _WRITTEN.fullmatch(kept) if isinstance(kept, str) else None
        return cls(found[1], int(found[2]), int(found[3]), found[4]) if found else None


@dataclass(frozen=True, slots=True)
class IndexMark:
    """How far an index says it has come, read from its files alone, without opening it.

    Attributes:
        index: which index: "vector" or "keyword".
        bank_key: key of the bank it is of.
        mark: the commit it has applied; None if its files do not say.
    """

    index: str
    bank_key: str
    mark: Watermark | None

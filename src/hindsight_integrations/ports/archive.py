"""Archivist: the part of the ledger that hands out a whole bank and takes one in."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
"""What a JSON line can hold."""


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """One thing of a bank, as it stands on a line of an archive.

    Attributes:
        kind: "document", "chunk", "message", "unit", "event", "entity", "mention", "link", ...
        fields: its values; units and entities by id, vectors in base64, instants in microseconds since 1970 UTC.
    """

    kind: str
    fields: Mapping[str, Json]


class Archivist(Protocol):
    """Whole banks, row by row: neither side ever holds a bank in memory."""

    def archive_rows(self, bank: str) -> Generator[ArchiveRow, None, None]:
        """Everything the bank holds, in an order it can be restored in; one consistent snapshot.

        To be consumed, or closed, on the thread that began it.
        """
        ...

    def restore_rows(self, bank: str, rows: Iterator[ArchiveRow]) -> int:
        """Fill an empty bank, in one transaction; returns how many units. What `rows` raises undoes everything.

        Raises:
            InvalidRequest: the bank is not empty, or a row cannot be read.
        """
        ...

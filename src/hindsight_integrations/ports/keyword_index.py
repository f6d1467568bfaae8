"""KeywordIndex: BM25 over the texts of one bank."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.ports.arrays import Hits, IntArray
from hindsight_integrations.ports.watermark import Watermark

BM25_K1 = 1.2  # reference, "Lexical Scoring (BM25)"
BM25_B = 0.75


class KeywordIndex(Protocol):
    """A projection of the ledger's texts. One object per bank; safe to search from many threads; one writer.

    Statistics (document frequency, average length) are the bank's own, so no score leaks between banks.
    Query text is a bag of words: query syntax in it means nothing.

    Writers call `upsert` / `remove`, then `refresh` to let searches see it, and now and then `advance` to make it last: a
    disk is waited for by `advance` alone. What a kill takes is written again from the watermark on.
    """

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; kept inside the index itself; None when new."""
        ...

    def upsert(self, ids: IntArray, texts: list[str], told: list[str] | None = None) -> None:
        """Index texts under ids; an id already there is replaced.

        Args:
            ids: row ids, (n,).
            texts: theirs.
            told: of each the text with the words in which it was told, empty where it has no others than its own.
        """
        ...

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        ...

    def refresh(self) -> bool:
        """Make what was written visible to searches; the watermark stays, and nothing need reach the disk.

        Returns:
            Whether words of removed or replaced texts may be in its files until the next `advance`.
        """
        ...

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied, and make it visible to searches."""
        ...

    def revert(self) -> None:
        """Fall back to the last `advance` (or to what its files hold by now) after a failed write; works on a broken index.

        What was written after the watermark is to be written again.
        """
        ...

    def count(self) -> int:
        """How many texts it holds."""
        ...

    def search(self, text: str, limit: int, among: IntArray | None = None, *, told: bool = False) -> Hits:
        """The `limit` best matches by BM25 (scores > 0), ties by id; only among the given sorted ids if any.

        No hits for a text without searchable words.

        Args:
            text: a bag of words.
            limit: at most so many.
            among: ascending row ids.
            told: search what was given as `told`, apart from the texts and with statistics of its own.
        """
        ...

    def clear(self) -> None:
        """Drop everything, watermark included. Works on a broken index too."""
        ...

    def close(self) -> None:
        """Release what it holds; the data stays."""
        ...

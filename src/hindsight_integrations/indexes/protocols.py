"""MemoryGraph: who is connected to whom in one bank. It returns arrays; the formulas live in `tempr`."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.model.arrays import FloatArray, Hits, IntArray, Matrix, Vector
from hindsight_integrations.model.links import Edges, Mentions
from hindsight_integrations.model.watermark import Watermark


class VectorIndex(Protocol):
    """A projection of the ledger's vectors. One object per bank; safe to search from many threads.

    Writers call `upsert` / `remove` and then `advance`; only one thread writes. Closed units stay in: validity is a
    mask the caller applies. A backend converts its vendor's exceptions to `StorageError` types.
    """

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; kept inside the index itself; None when new."""
        ...

    @property
    def keeps_removed(self) -> bool:
        """Whether removed vectors stay in its files until `clear` and the next `advance`."""
        ...

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store unit-norm vectors (n, dimension) under ids (n,); an id already there is replaced."""
        ...

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied."""
        ...

    def count(self) -> int:
        """How many vectors it holds."""
        ...

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1].

        Fewer where the index holds fewer; an empty list of hits on an empty index.
        """
        ...

    def clear(self) -> None:
        """Drop everything, watermark included. Works on a broken index too."""
        ...

    def discard(self) -> None:
        """Drop everything for good, files included; the object is of no use afterwards."""
        ...

    def close(self) -> None:
        """Release what it holds; the data stays."""
        ...


class VectorScorer(Protocol):
    """An optional power: exact cosines of given ids."""

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        ...

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly."""
        ...


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


class MemoryGraph(Protocol):
    """A projection of links and mentions. One object per bank; reads are safe from many threads; one writer."""

    @property
    def watermark(self) -> Watermark | None:
        """The commit this graph has reached; None when new."""
        ...

    def add(self, units: IntArray, edges: Edges, mentions: Mentions) -> None:
        """Add unit nodes, links and mentions; what is already there stays single. Idempotent.

        A link or mention naming a unit that is not there adds the node.
        """
        ...

    def remove(self, units: IntArray) -> None:
        """Remove units with all their links and mentions; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied."""
        ...

    def has(self, units: IntArray) -> list[bool]:
        """Whether each unit is a node."""
        ...

    def counts(self) -> tuple[int, int, int, int]:
        """Numbers of unit nodes, entity nodes, links and mentions."""
        ...

    def links(self, units: IntArray) -> Edges:
        """All links touching the given units, in both directions, each oriented away from the given unit.

        A causal link met from its target's side comes back with the inverse relation where there is one
        (causes <-> caused_by); enables and prevents keep their code. Order: by given unit, then target id, then code.
        """
        ...

    def entities_of(self, units: IntArray) -> Mentions:
        """The (unit, entity) pairs of the given units, ordered by given unit, then entity id."""
        ...

    def units_of(self, entities: IntArray) -> Mentions:
        """The (unit, entity) pairs of the given entities, ordered by given entity, then unit id."""
        ...

    def clear(self) -> None:
        """Drop everything, watermark included."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...

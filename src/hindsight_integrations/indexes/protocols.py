"""Protocols of the indexes: vectors, keywords, and the graph of links and mentions."""

from __future__ import annotations

from typing import Protocol

from hindsight_integrations.model.arrays import FloatArray, Hits, IntArray, Matrix, Vector
from hindsight_integrations.model.links import Edges, Mentions
from hindsight_integrations.model.watermark import Watermark


class VectorIndex(Protocol):
    """A projection of the ledger's vectors. One object per bank; safe to search from many threads.

    Writers call `upsert` / `remove` and then `advance`; only one thread writes. Invalid units are
    included; callers filter by validity. A backend converts its vendor's exceptions to `StorageError` types.
    """

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached, stored in the index itself; None when new."""
        ...

    @property
    def recorded(self) -> Watermark | None:
        """The commit that the files name, read without opening the index; None if there is none."""
        ...

    @property
    def keeps_removed(self) -> bool:
        """Whether removed vectors stay in the files until `clear` and the next `advance`."""
        ...

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store unit-norm vectors (n, dimension) under ids (n,), replacing existing ones."""
        ...

    def remove(self, ids: IntArray) -> None:
        """Remove ids; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied."""
        ...

    def load(self) -> None:
        """Read the files into memory, which the first search would do otherwise. Any thread."""
        ...

    def count(self) -> int:
        """Return the number of vectors."""
        ...

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with their cosine in [-1, 1].

        Fewer if the index contains fewer; no hits in an empty index.
        """
        ...

    def clear(self) -> None:
        """Remove everything, including the watermark. Works on a broken index too."""
        ...

    def discard(self) -> None:
        """Remove everything permanently, including files; the object is unusable afterwards."""
        ...

    def close(self) -> None:
        """Release resources; the data stays."""
        ...


class VectorScorer(Protocol):
    """Exact cosines of given ids, which some vector indexes provide."""

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Return the cosine of `vector` with each id's vector, (n,); NaN for an unknown id."""
        ...

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """Return the `limit` nearest of the given ids, exactly."""
        ...


BM25_K1 = 1.2  # reference, "Lexical Scoring (BM25)"
BM25_B = 0.75


class KeywordIndex(Protocol):
    """A projection of the ledger's texts. One object per bank; safe to search from many threads; one writer.

    Statistics (document frequency, average length) are the bank's own, so no score leaks between banks. A query
    is a bag of words; it has no syntax.

    Searches see `upsert` and `remove` at once. Writers call `advance` less often, to make changes durable, which
    waits for the disk. Changes lost by a kill are replayed from the watermark on.
    """

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached, stored in the index itself; None when new."""
        ...

    def upsert(self, ids: IntArray, texts: list[str], told: list[str] | None = None) -> bool:
        """Index texts under ids, replacing existing ones.

        Args:
            ids: row ids, (n,).
            texts: the texts.
            told: each text combined with its source turns; empty if it has no other source.

        Returns:
            Whether words of removed or replaced texts may stay in the files until the next `advance`.
        """
        ...

    def remove(self, ids: IntArray) -> None:
        """Remove ids; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record durably that everything up to this commit has been applied, and make it visible to searches."""
        ...

    def revert(self) -> None:
        """Revert to the last `advance`, or to the content of the files, after a failed write.

        Works on a broken index too. Everything after the watermark must be written again.
        """
        ...

    def count(self) -> int:
        """Return the number of texts."""
        ...

    def search(self, text: str, limit: int, among: IntArray | None = None, *, told: bool = False) -> Hits:
        """Return the `limit` best matches by BM25 (scores > 0), ties by id; only among the given ids, if any.

        No hits for a text without searchable words.

        Args:
            text: a bag of words.
            limit: maximum number of matches.
            among: row ids to search, ascending; None for all.
            told: whether to search the `told` texts instead, which have separate statistics.
        """
        ...

    def clear(self) -> None:
        """Remove everything, including the watermark. Works on a broken index too."""
        ...

    def close(self) -> None:
        """Release resources; the data stays."""
        ...


class MemoryGraph(Protocol):
    """A projection of links and mentions. One object per bank; reads are safe from many threads; one writer."""

    @property
    def watermark(self) -> Watermark | None:
        """The commit this graph has reached; None when new."""
        ...

    def add(self, units: IntArray, edges: Edges, mentions: Mentions) -> None:
        """Add unit nodes, links and mentions; existing ones are not repeated. Repeating a call changes nothing.

        Unknown units in a link or mention are added as nodes.
        """
        ...

    def remove(self, units: IntArray) -> None:
        """Remove units with all their links and mentions; unknown ids are ignored."""
        ...

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied."""
        ...

    def counts(self) -> tuple[int, int, int, int]:
        """Return the numbers of unit nodes, entity nodes, links and mentions."""
        ...

    def links(self, units: IntArray) -> Edges:
        """Return all links touching the units, in both directions, each oriented away from the given unit.

        A causal link seen from its target has the inverse relation if there is one (causes <-> caused_by);
        enables and prevents keep their code. Order: by given unit, then target id, then code.
        """
        ...

    def entities_of(self, units: IntArray) -> Mentions:
        """Return the (unit, entity) pairs of the units, ordered by unit, then entity id."""
        ...

    def units_of(self, entities: IntArray) -> Mentions:
        """Return the (unit, entity) pairs of the entities, ordered by entity, then unit id."""
        ...

    def clear(self) -> None:
        """Remove everything, including the watermark."""
        ...

    def close(self) -> None:
        """Release resources."""
        ...

"""What a search in a collection's HNSW graph does not come to, and is scored beside it (decision 128).

A vector whose neighbours all have nearer ones keeps no link that leads to it: it is stored, counted and read by its id, and
no search finds it. Of 1,000 versions of one sentence it happens to 200, of 1,000 sentences of a conversation to none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hindsight_integrations.ports.arrays import Hits, IntArray, Matrix, Vector, ranked

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

LOOK_SHARE = 128  # a look costs 3.3 us a vector, a write 300 to 430 [decision 128]
STARTS = 3  # more places to look from where one of them misses something
_PAGE = 1000  # ids a call


@dataclass(frozen=True, slots=True)
class Beside:
    """Vectors that are scored exactly beside the graph.

    Attributes:
        ids: theirs, ascending.
        vectors: of the ids, (n, dimension), unit norm.
    """

    ids: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    vectors: Matrix = field(default_factory=lambda: np.empty((0, 0), np.float32))

    def joined(self, query: Vector, hits: Hits, limit: int) -> Hits:
        """What the graph found and these, ranked as one list; none of them twice."""
        if not len(self.ids):
            return hits
        outside = ~np.isin(hits.ids, self.ids)
        cosines = np.clip(self.vectors @ query, -1.0, 1.0).astype(np.float32)
        return ranked(
            np.concatenate([hits.ids[outside], self.ids]),
            np.concatenate([hits.scores[outside], cosines]),
            limit,
        )

    def without(self, ids: IntArray) -> Beside:
        """All but these."""
        keep = ~np.isin(self.ids, ids)
        return Beside(self.ids[keep], self.vectors[keep])


class Reach:
    """How far searches get in one loaded graph. A graph that Chroma builds anew when it loads it has other gaps.

    Written while no other call runs, read beside others.

    Attributes:
        beside: what they would miss.
        held: vectors in the graph at the last look; None before the first.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._fresh: list[str] = []
        self.beside = Beside()
        self.held: int | None = None

    def wrote(self, names: list[str]) -> None:
        """These were stored: whether searches come to them is not known, and what they knew of them is old."""
        self._fresh += names
        self.removed(names)

    def removed(self, names: list[str]) -> None:
        """These are not to be found any more."""
        if len(self.beside.ids):
            self.beside = self.beside.without(np.array(names, np.int64))

    @property
    def due(self) -> bool:
        """Whether so much was written that the graph is to be looked through again.

        One that was not looked through yet is left to its first search: the process may close before that.
        """
        return bool(self._fresh) and self.held is not None and len(self._fresh) * LOOK_SHARE >= self.held

    def settle(self) -> None:
        """After writes: what is new is scored beside the graph, until a look is due."""
        if self.held is not None and self._fresh:
            known = [str(name) for name in self.beside.ids.tolist()]
            self.beside = _stored(self._collection, {*known, *self._fresh})

    def look(self, *starts: Vector) -> None:
        """Look through the whole graph from these vectors and from some of its own; what one of them misses is beside it."""
        self.held = self._collection.count()
        self.beside, self._fresh = _unreached(self._collection, self.held, starts), []


def _unreached(collection: Collection, held: int, starts: tuple[Vector, ...]) -> Beside:
    """What a search does not come to that asks for everything there is.

    Where it gets to depends on where it enters the graph, which hangs together from everywhere but for islands, of the
    same text stored hundreds of times: so what was missed is asked for its own way in.
    """
    if not held:
        return Beside()
    first: Matrix = collection.get(limit=1, include=["embeddings"])["embeddings"]  # type: ignore[assignment]
    reached = _reached(collection, np.stack([*first, *starts]), held)
    if len(reached) == held:
        return Beside()
    names = set(collection.get(include=[])["ids"])
    missed = _stored(collection, names - reached)
    if not len(missed.ids):
        return missed
    picked = np.linspace(0, len(missed.ids) - 1, STARTS).astype(np.int64)
    return _stored(collection, names - (reached & _reached(collection, missed.vectors[picked], held)))


def _reached(collection: Collection, starts: Matrix, held: int) -> set[str]:
    """What searches from all of these come to."""
    found = collection.query(query_embeddings=starts, n_results=held, include=[])["ids"]
    return set.intersection(*map(set, found))


def _stored(collection: Collection, names: set[str]) -> Beside:
    """These vectors as they are stored."""
    ids = np.sort(np.array([int(name) for name in names], np.int64))
    pages = []
    for start in range(0, len(ids), _PAGE):
        page = collection.get(ids=[str(name) for name in ids[start : start + _PAGE]], include=["embeddings"])
        pages.append(
            Beside(
                np.array([int(name) for name in page["ids"]], np.int64),
                np.asarray(page["embeddings"], np.float32),
            )
        )
    if not pages:
        return Beside()
    found = np.concatenate([page.ids for page in pages])
    order = np.argsort(found)
    return Beside(found[order], np.concatenate([page.vectors for page in pages])[order])

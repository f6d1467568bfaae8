"""Exact nearest neighbours over a bank's vectors on disk: opened in no time, and no memory of the process's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hindsight_integrations.backends.vector.exact import ExactVectorIndex
from hindsight_integrations.backends.vector.rows import Rows, no_rows
from hindsight_integrations.backends.vector.vector_file import Part, VectorFile
from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.ports.arrays import FloatArray, Hits, IntArray, Matrix, Vector, ranked
from hindsight_integrations.ports.watermark import Watermark

logger = logging.getLogger("hindsight_integrations")

FOLDER = "exact"  # in the data directory

TAIL_ROWS = 2_000  # in memory before the file grows: 3 MB at 384 dimensions, read from the ledger in 20 ms
TAIL_SHARE = 50  # ... or this part of a larger bank, so that it is written to as seldom
REWRITE_SHARE = 16  # where rows were replaced, and all of the file must be written anew

BLOCK = 8_192  # rows copied at once when the file is rewritten: 12 MB at 384 dimensions


@dataclass(frozen=True, slots=True)
class _Held:
    """What searches see: the rows of the file, and those that came since or stand in for some of them."""

    stored: Rows
    tail: Rows


class MappedVectorIndex:
    """A VectorIndex and VectorScorer whose vectors are in a file that the operating system maps into memory.

    What is new stays in memory until there is enough of it, so the durable watermark may lag behind; a kill costs
    reading those vectors from the ledger again. What is removed leaves the file with the next `advance`. A file that
    cannot be written (a full disk) is no failure: the vectors are served from memory, and the next `advance` tries
    again. One writer; searches take no lock.
    """

    def __init__(self, file: VectorFile, bank: str = "", *, tail_rows: int) -> None:
        self._file, self._bank, self._tail_rows = file, bank, tail_rows
        self._tail = ExactVectorIndex(bank)
        self._stored = no_rows()
        self._watermark: Watermark | None = None
        self._recorded: Watermark | None = None  # the watermark in the file
        self._ahead = False  # whether the file holds more than its watermark says
        self._unclean = False  # whether the file holds what was removed
        with self._files():
            if kept := file.open():
                self._watermark = self._recorded = Watermark.parse(kept[0])
                self._stored = Rows(*kept[1])
            if self._watermark is None:  # killed while it was filled for the first time
                file.drop()
                self._stored = no_rows()
        self._publish()

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; after opening, that of its file; None when new."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """No: `advance` writes the file anew without them."""
        return False

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors (n, dimension) under ids (n,); an id already there is replaced, the last of a double one stays.

        Raises:
            IndexOutOfStep: the vectors have another dimension than those already there.
        """
        if len(ids) == 0:
            return
        stored = self._stored
        stored.check_dimension(vectors, self._bank)
        self._tail.upsert(ids, vectors)
        self._stored = stored.hiding(ids)
        self._publish()
        if self._grows and self._enough:  # a bank that is filled at one go is never in memory as a whole
            self._store(self._recorded)
            self._ahead = True

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        self._tail.remove(ids)
        hiding = self._stored.hiding(ids)
        self._unclean = self._unclean or hiding is not self._stored
        self._stored = hiding
        self._publish()

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied; durably once there is enough to write.

        Raises:
            IndexOutOfStep: the file holds what was removed, and can be neither rewritten nor deleted.
        """
        self._watermark = mark
        if self._unclean or self._ahead or self._enough:
            self._store(mark)

    def count(self) -> int:
        """How many vectors it holds."""
        held = self._held
        return held.stored.shown + held.tail.shown

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]."""
        held = self._held
        found = (rows.search(vectors, limit) for rows in (held.stored, held.tail))
        return [_joined(hits, limit) for hits in zip(*found, strict=True)]

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        held = self._held
        cosines = held.stored.similarities(vector, ids)
        if held.tail.shown:
            newer = held.tail.similarities(vector, ids)
            cosines = np.where(np.isnan(newer), cosines, newer)
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids it does not hold are left out."""
        held = self._held
        return _joined([rows.search_among(vector, ids, limit) for rows in (held.stored, held.tail)], limit)

    def clear(self) -> None:
        """Drop everything, file and watermark included.

        Raises:
            IndexOutOfStep: the file cannot be deleted.
        """
        self._forget()
        with self._files():
            self._file.drop()

    def discard(self) -> None:
        """As `clear`."""
        self.clear()

    def close(self) -> None:
        """Let go of the mapping and of what is in memory; the file stays."""
        self._forget()

    def _forget(self) -> None:
        self._tail.clear()
        self._stored = no_rows()
        self._watermark = self._recorded = None
        self._ahead = self._unclean = False
        self._publish()

    @property
    def _grows(self) -> bool:
        """Whether the file only has to be added to."""
        ids, stored = self._tail.rows.ids, self._stored
        if stored.hidden is not None or self._file.rows != len(stored):
            return False
        return not len(stored) or not len(ids) or bool(ids[0] > stored.ids[-1])

    @property
    def _enough(self) -> bool:
        """Whether so much is in memory that it is worth writing."""
        share = TAIL_SHARE if self._grows else REWRITE_SHARE
        return self._tail.count() >= max(self._tail_rows, len(self._stored) // share)

    def _store(self, mark: Watermark | None) -> None:
        """Write what is not in the file, and take out of it what must not be."""
        tail = self._tail.rows
        try:
            if not self.count():
                self._file.drop()
                part: Part = (no_rows().ids, no_rows().matrix)
            elif self._grows:
                part = self._file.append((tail.ids, tail.matrix), str(mark or ""))
            else:
                ids = np.concatenate((self._stored.ids[self._stored.shown_places], tail.ids))
                order = np.argsort(ids, kind="stable")
                part = self._file.rewrite(ids[order], self._blocks(order), str(mark or ""))
        except OSError as error:
            logger.warning("bank %r: its vectors cannot be written to disk now: %s", self._bank, error)
            self._give_up()
            return
        self._recorded, self._ahead, self._unclean = mark, False, False
        self._stored = Rows(*part)
        self._held = _Held(self._stored, no_rows())
        self._tail.clear()

    def _give_up(self) -> None:
        """Delete a file that holds what was removed and could not be rewritten: it is mapped, so searches go on."""
        if not self._unclean:
            return
        with self._files():
            self._file.drop()
        self._recorded, self._ahead, self._unclean = None, False, False

    def _blocks(self, order: IntArray) -> Iterator[Matrix]:
        """The vectors that can be found, in an order given over those of the file, then those of the tail."""
        stored, tail = self._stored, self._tail.rows
        places = stored.shown_places
        dimension = max(stored.matrix.shape[1], tail.matrix.shape[1])
        for start in range(0, len(order), BLOCK):
            picked = order[start : start + BLOCK]
            old = picked < len(places)
            block = np.empty((len(picked), dimension), np.float32)
            block[old] = stored.matrix[places[picked[old]]]
            if not old.all():
                block[~old] = tail.matrix[picked[~old] - len(places)]
            yield block

    def _publish(self) -> None:
        self._held = _Held(self._stored, self._tail.rows)

    @contextmanager
    def _files(self) -> Iterator[None]:
        """Work on the files, whose failure leaves as an error of ours."""
        try:
            yield
        except OSError as error:
            raise IndexOutOfStep("vector", self._bank, f"its file cannot be used: {error}") from error


def _joined(lists: Sequence[Hits], limit: int) -> Hits:
    """Ranked lists over different ids as one."""
    ids, scores = (np.concatenate([getattr(hits, name) for hits in lists]) for name in ("ids", "scores"))
    return ranked(ids, scores, limit)


class MappedVectors:
    """The files of one engine's banks, in a folder of its data directory."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER

    def open(self, bank_key: str, *, bank: str = "", tail_rows: int | None = None) -> MappedVectorIndex:
        """The index of one bank; `tail_rows` of its vectors stay in memory before the file grows."""
        rows = TAIL_ROWS if tail_rows is None else tail_rows
        return MappedVectorIndex(VectorFile(self._folder, bank_key), bank or bank_key, tail_rows=rows)

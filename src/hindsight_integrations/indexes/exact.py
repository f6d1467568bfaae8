"""Exact nearest neighbours in numpy: the reference index, and the one for banks too small to need a graph of neighbours."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import numpy as np

from hindsight_integrations.errors import IndexOutOfStep
from hindsight_integrations.model.arrays import (
    BoolArray,
    FloatArray,
    Hits,
    IntArray,
    Matrix,
    Vector,
    no_hits,
    ranked,
)
from hindsight_integrations.model.watermark import Watermark

SCORES_AT_ONCE = 16_000_000  # floats: 64 MB of scores for one block of queries, however large the bank

ROUNDING = 1e-5
"""How far two float32 dot products of the same unit vectors may lie apart, with a wide margin (measured: 3e-8).

BLAS gives equal rows scores that differ in the last bit, depending on where in the matrix they stand (measured at
100k x 384). So BLAS only picks who can be in the list, and `Rows._cosines` gives the scores.
"""

FEW_QUERIES = 4
"""Queries that are scored one by one. Reading the matrix is what one costs, in BLAS or not; but BLAS wakes threads of its own
and waits for them: 48 ms instead of 0.8 at 10k x 384 where other threads keep the cores busy."""

# Picking rows copies them: ten times the cost of reading in place (0.5 and 0.05 us a row, 100k x 384).
PICK_COST = 10


@dataclass(frozen=True, slots=True)
class Rows:
    """What searches see. Never written to once published.

    Attributes:
        ids: (n,), ascending.
        matrix: their vectors, (n, dimension).
        hidden: rows that are not to be found, (n,); None if all are.
    """

    ids: IntArray
    matrix: Matrix
    hidden: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def check_dimension(self, vectors: Matrix, bank: str) -> None:
        """Refuse vectors that cannot stand beside these.

        Raises:
            IndexOutOfStep: they have another dimension; the error names the bank.
        """
        if len(self) and vectors.shape[1] != self.matrix.shape[1]:
            reason = f"it holds vectors of {self.matrix.shape[1]} dimensions and was given {vectors.shape[1]}"
            raise IndexOutOfStep("vector", bank, reason)

    def search(self, queries: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]."""
        if limit <= 0 or len(self.ids) == 0:
            return [no_hits() for _ in range(len(queries))]
        if len(queries) <= FEW_QUERIES:
            return [self._best(self.shown_places, query, limit) for query in queries]
        step = max(1, SCORES_AT_ONCE // len(self.ids))
        hits = []
        for start in range(0, len(queries), step):
            block = queries[start : start + step]
            for query, rough in zip(block, block @ self.matrix.T, strict=True):
                if self.hidden is None:
                    places = _shortlist(rough, limit)
                else:
                    shown = self.shown_places
                    places = shown[_shortlist(rough[shown], limit)]
                hits.append(self._best(places, query, limit))
        return hits

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id that is not here."""
        positions, known = self._located(ids)
        cosines = np.full(len(ids), np.nan, np.float32)
        if len(positions):
            cosines[known] = self._cosines(positions, vector)
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids that are not here are left out."""
        positions, _ = self._located(ids)
        if limit <= 0 or len(positions) == 0:
            return no_hits()
        return self._best(positions, vector, limit)

    def without(self, ids: IntArray) -> Rows:
        """The rows whose id is not among `ids`."""
        keep = ~np.isin(self.ids, ids)
        return self if keep.all() else Rows(self.ids[keep], self.matrix[keep])

    def hiding(self, ids: IntArray) -> Rows:
        """The same rows, those of `ids` hidden too."""
        positions, _ = self._located(ids)
        if not len(positions):
            return self
        hidden = np.zeros(len(self.ids), np.bool_) if self.hidden is None else self.hidden.copy()
        hidden[positions] = True
        return Rows(self.ids, self.matrix, hidden)

    @property
    def shown(self) -> int:
        """How many rows can be found."""
        return len(self.ids) - (0 if self.hidden is None else int(self.hidden.sum()))

    @property
    def shown_places(self) -> IntArray:
        """Where the rows that can be found stand, ascending."""
        return np.arange(len(self.ids)) if self.hidden is None else np.flatnonzero(~self.hidden)

    def _located(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """Positions of the ids that are here and not hidden, and the positions in `ids` where those stand."""
        if len(self.ids) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.hidden is None and len(ids) == len(self.ids) and np.array_equal(ids, self.ids):
            everywhere = np.arange(len(ids))  # a whole bank's: 2 ms of searching saved at 100k
            return everywhere, everywhere
        positions = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        here = self.ids[positions] == ids
        if self.hidden is not None:
            here &= ~self.hidden[positions]
        known = np.flatnonzero(here)
        return positions[known], known

    def _cosines(self, positions: IntArray, vector: Vector) -> FloatArray:
        """Dot products summed in the same order for every row, so that equal vectors have equal scores everywhere."""
        if PICK_COST * len(positions) > len(self.ids):
            scores: FloatArray = np.einsum("ij,j->i", self.matrix, vector)[positions]
        else:
            scores = np.einsum("ij,j->i", self.matrix[positions], vector)
        return np.clip(scores, -1.0, 1.0)

    def _best(self, positions: IntArray, vector: Vector, limit: int) -> Hits:
        return ranked(self.ids[positions], self._cosines(positions, vector), limit)


def no_rows() -> Rows:
    """Rows of nothing, of no dimension."""
    return Rows(np.empty(0, np.int64), np.empty((0, 0), np.float32))


def _shortlist(rough: FloatArray, limit: int) -> IntArray:
    """Positions of every score that rounding could have kept out of the best `limit`, and of those."""
    if limit >= len(rough):
        return np.arange(len(rough))
    cut = np.partition(rough, len(rough) - limit)[len(rough) - limit]
    return np.flatnonzero(rough >= cut - ROUNDING)


FIRST_CAPACITY = 1024  # rows; 1.5 MB at 384 dimensions, so that a small bank grows once


class ExactVectorIndex:
    """A VectorIndex and VectorScorer over one float32 matrix in memory; its watermark starts at None in every process.

    Searches take no lock: the writer publishes a new pair of views, in one assignment. Ids that arrive in rising order
    are appended at amortised cost; replacing or removing copies the matrix once per call.
    """

    def __init__(self, bank: str = "") -> None:
        self._bank = bank
        self._watermark: Watermark | None = None
        self._rows = self._store = no_rows()

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; None when new."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """Never: it has no files."""
        return False

    @property
    def rows(self) -> Rows:
        """What searches see now; it is never written to."""
        return self._rows

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors (n, dimension) under ids (n,); an id already there is replaced, the last of a double one stays.

        Raises:
            IndexOutOfStep: the vectors have another dimension than those already there.
        """
        if len(ids) == 0:
            return
        rows = self._rows
        rows.check_dimension(vectors, self._bank)
        ids, vectors = _last_of_each(ids, vectors)
        if len(rows.ids) == 0 or ids[0] > rows.ids[-1]:
            self._append(ids, vectors)
        else:
            self._publish(_merged(rows.without(ids), ids, vectors))

    def remove(self, ids: IntArray) -> None:
        """Forget ids; unknown ids are ignored."""
        left = self._rows.without(ids)
        if len(left.ids) < len(self._rows.ids):
            self._publish(left)

    def advance(self, mark: Watermark) -> None:
        """Remember that everything up to this commit has been applied, for as long as the process lives."""
        self._watermark = mark

    def count(self) -> int:
        """How many vectors it holds."""
        return len(self._rows.ids)

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), the `limit` nearest ids with their cosine in [-1, 1]."""
        return self._rows.search(vectors, limit)

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Cosine of `vector` with each id's vector, (n,); NaN for an id it does not hold."""
        return self._rows.similarities(vector, ids)

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """The `limit` nearest of the given ids, exactly; ids it does not hold are left out."""
        return self._rows.search_among(vector, ids, limit)

    def clear(self) -> None:
        """Drop everything, watermark included."""
        self._watermark = None
        self._publish(no_rows())

    def discard(self) -> None:
        """As `clear`."""
        self.clear()

    def close(self) -> None:
        """Release the matrix; nothing is kept."""
        self.clear()

    def _publish(self, rows: Rows) -> None:
        self._store = self._rows = rows

    def _append(self, ids: IntArray, vectors: Matrix) -> None:
        """Write behind the rows that searches see, then let them see more of the same store."""
        used = len(self._rows.ids)
        total = used + len(ids)
        if total > len(self._store.ids) or used == 0:
            self._store = _grown(self._rows, max(total, 2 * used, FIRST_CAPACITY), vectors.shape[1])
        self._store.ids[used:total] = ids
        self._store.matrix[used:total] = vectors
        self._rows = Rows(self._store.ids[:total], self._store.matrix[:total])


def _grown(rows: Rows, capacity: int, dimension: int) -> Rows:
    """A store of `capacity` rows that begins with the given ones."""
    store = Rows(np.empty(capacity, np.int64), np.empty((capacity, dimension), np.float32))
    if used := len(rows.ids):
        store.ids[:used] = rows.ids
        store.matrix[:used] = rows.matrix
    return store


def _last_of_each(ids: IntArray, vectors: Matrix) -> tuple[IntArray, Matrix]:
    """The pairs by rising id; of an id given twice, the later vector."""
    if bool(np.all(ids[1:] > ids[:-1])):
        return ids, vectors
    distinct, backwards = np.unique(ids[::-1], return_index=True)
    return distinct, vectors[len(ids) - 1 - backwards]


def _merged(rows: Rows, ids: IntArray, vectors: Matrix) -> Rows:
    """Both sets of rows by rising id; they share no id."""
    if len(rows.ids) == 0:
        return _grown(Rows(ids, vectors), len(ids), vectors.shape[1])
    together = np.concatenate((rows.ids, ids))
    order = np.argsort(together, kind="stable")
    return Rows(together[order], np.concatenate((rows.matrix, vectors))[order])


FORMAT = 1

SAMPLE = 64  # vectors looked at when the files are opened

Part: TypeAlias = tuple[IntArray, Matrix]
"""Row ids (n,) and their vectors (n, dimension)."""


# VectorFile: the vectors of one bank on disk, read through the operating system's memory map. Two files that
# only grow (row ids, and vectors in the same order) and a small one that says how much of them counts. What
# counts is never written to again: to take rows out, both are written anew under another number. So a reader
# of a mapping always sees what it was opened on, and a kill leaves either the old state or the new one.
@dataclass(frozen=True, slots=True)
class Contents:
    """What counts of a bank's files.

    Attributes:
        mark: the watermark that was given with it, as text.
        number: of the pair of files.
        rows: how many of them.
        dimension: floats a row.
        ids_checksum: CRC-32 of the row ids.
        sample_checksum: CRC-32 of SAMPLE vectors, evenly spread: a file that was overwritten is known by it without being
            read.
        format: of these files.
    """

    mark: str
    number: int
    rows: int
    dimension: int
    ids_checksum: int
    sample_checksum: int
    format: int = FORMAT


class VectorFile:
    """The files of one bank. One writer; what `open`, `append` and `rewrite` return may be read from any thread."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key
        self._contents: Contents | None = None

    @property
    def rows(self) -> int:
        """How many rows count."""
        return self._contents.rows if self._contents else 0

    def open(self) -> tuple[str, Part] | None:
        """The mark and the rows as they were last recorded; None if there are none, or not all that were recorded.

        What a killed process left beyond them is cut off, so that no vector lies there unknown to anyone.

        Raises:
            OSError: they can be neither read nor deleted.
        """
        try:
            self._contents = Contents(**json.loads(self._record.read_text(encoding="utf-8")))
            part = self._checked(self._contents)
        except (FileNotFoundError, ValueError, TypeError, OverflowError):
            self.drop()
            return None
        self._sweep()
        return self._contents.mark, part

    def append(self, part: Part, mark: str) -> Part:
        """Add rows behind those that are there, record the mark, and return all of them.

        Raises:
            OSError: they could not be written; the files are as they were.
        """
        held = self._contents
        if held is None:
            return self.rewrite(part[0], [part[1]], mark)
        try:
            ids_file, vectors_file = self._files(held.number)
            _write(ids_file, [part[0]], "r+b", at=held.rows * 8)
            _write(vectors_file, [part[1]], "r+b", at=held.rows * held.dimension * 4)
            return self._recorded(mark, held.number, held.rows + len(part[0]), held.dimension)
        except FileNotFoundError:  # somebody deleted them
            self._contents = None
            raise
        except OSError:
            self._cut(held)
            raise

    def rewrite(self, ids: IntArray, vectors: Iterable[Matrix], mark: str) -> Part:
        """Replace everything by these rows (their vectors in blocks), record the mark, and return them.

        Raises:
            OSError: they could not be written; the files are as they were.
        """
        held = self._contents
        number = 1 if held is None else held.number + 1
        paths = self._files(number)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(paths[0], [ids], "wb")
            written = _write(paths[1], vectors, "wb")
            rows = self._recorded(mark, number, len(ids), written // (4 * len(ids)))
        except OSError:
            for path in paths:
                path.unlink(missing_ok=True)
            raise
        self._sweep()
        return rows

    def drop(self) -> None:
        """Delete the files; what is mapped can still be read."""
        self._contents = None
        self._record.unlink(missing_ok=True)
        self._sweep()

    @property
    def _record(self) -> Path:
        return self._folder / f"{self._key}.json"

    def _files(self, number: int) -> tuple[Path, Path]:
        """Where ids and vectors lie."""
        return self._folder / f"{self._key}.{number}.ids", self._folder / f"{self._key}.{number}.vectors"

    def _checked(self, contents: Contents) -> Part:
        """The rows that count.

        Raises:
            ValueError: they are not all there, or not these.
            FileNotFoundError: a file is missing.
        """
        if contents.format != FORMAT or contents.rows < 1 or contents.dimension < 1:
            raise ValueError(contents)
        part = self._mapped(contents.number, contents.rows, contents.dimension)
        if _checksums(part) != (contents.ids_checksum, contents.sample_checksum):
            raise ValueError(contents)
        return part

    def _mapped(self, number: int, rows: int, dimension: int) -> Part:
        """The first rows of a pair of files; ValueError if there are fewer."""
        ids_file, vectors_file = self._files(number)
        vectors = np.memmap(vectors_file, np.float32, "r", shape=(rows, dimension))
        return np.fromfile(ids_file, np.int64, rows), np.asarray(vectors)

    def _recorded(self, mark: str, number: int, rows: int, dimension: int) -> Part:
        """Say what counts from now on, and return it."""
        part = self._mapped(number, rows, dimension)
        contents = Contents(mark, number, rows, dimension, *_checksums(part))
        draft = self._record.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(contents), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._record)
        self._contents = contents
        return part

    def _sweep(self) -> None:
        """Delete what no record speaks of, and cut off what goes beyond it."""
        kept = set(self._files(self._contents.number)) if self._contents else set()
        for path in self._folder.glob(f"{self._key}.*"):
            if path not in kept and path != self._record:
                path.unlink(missing_ok=True)
        if self._contents:
            self._cut(self._contents)

    def _cut(self, contents: Contents) -> None:
        ids_file, vectors_file = self._files(contents.number)
        with suppress(FileNotFoundError):
            os.truncate(ids_file, contents.rows * 8)
            os.truncate(vectors_file, contents.rows * contents.dimension * 4)


def _checksums(part: Part) -> tuple[int, int]:
    """CRC-32 of all ids and of some vectors."""
    ids, vectors = part
    places = np.linspace(0, len(vectors) - 1, min(SAMPLE, len(vectors))).astype(np.int64)
    return crc32(_raw(ids)), crc32(_raw(vectors[places]))


def _raw(array: IntArray | Matrix) -> memoryview:
    """The bytes of an array, which is copied only if it does not lie in one piece."""
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")


def _write(path: Path, arrays: Iterable[IntArray | Matrix], mode: str, *, at: int = 0) -> int:
    """Write arrays one behind the other, the first at an offset, and make them last; returns the size of the file."""
    with path.open(mode) as file:
        file.seek(at)
        for array in arrays:
            file.write(_raw(array))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


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

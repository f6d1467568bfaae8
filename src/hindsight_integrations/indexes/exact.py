"""Exact nearest neighbours in numpy: in memory, and memory-mapped from files."""

from __future__ import annotations

import json
import logging
import os
from abc import ABC, abstractmethod
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

SCORES_AT_ONCE = 16_000_000  # maximum number of scores per block of queries: 64 MB

ROUNDING = 1e-5
"""Maximum difference between two float32 dot products of the same unit vectors, with a wide margin (measured: 3e-8).

BLAS scores of equal rows may differ in the last bit, depending on the position in the matrix (measured at
100k x 384). So BLAS only selects candidates, and `Rows._cosines` computes the scores.
"""

FEW_QUERIES = 4
"""Maximum number of queries that are scored one by one, without BLAS.

Both ways take about the time of reading the matrix, but BLAS waits for its threads: at 10k x 384, a query
takes 48 instead of 0.8 ms while other threads keep the cores busy.
"""

# Cost of selecting a row, which copies it, relative to reading it in place (0.5 and 0.05 us at 100k x 384).
PICK_COST = 10


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors with their ids. Never modified after searches can see them.

    Attributes:
        ids: row ids, ascending, (n,).
        matrix: the vectors, (n, dimension).
        hidden: mask of the rows that searches must ignore, (n,); None if there are none.
    """

    ids: IntArray
    matrix: Matrix
    hidden: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def check_dimension(self, vectors: Matrix, bank: str) -> None:
        """Reject vectors of another dimension.

        Raises:
            IndexOutOfStep: the dimension differs.
        """
        if len(self) and vectors.shape[1] != self.matrix.shape[1]:
            reason = f"its vectors have {self.matrix.shape[1]} dimensions, the new ones {vectors.shape[1]}"
            raise IndexOutOfStep("vector", bank, reason)

    def search(self, queries: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with their cosine in [-1, 1]."""
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
        """Return the cosine of `vector` with each id's vector, (n,); NaN for an unknown id."""
        positions, known = self._located(ids)
        cosines = np.full(len(ids), np.nan, np.float32)
        if len(positions):
            cosines[known] = self._cosines(positions, vector)
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """Return the `limit` nearest of the given ids, exactly; unknown ids are left out."""
        positions, _ = self._located(ids)
        if limit <= 0 or len(positions) == 0:
            return no_hits()
        return self._best(positions, vector, limit)

    def without(self, ids: IntArray) -> Rows:
        """Return the rows without these ids."""
        keep = ~np.isin(self.ids, ids)
        return self if keep.all() else Rows(self.ids[keep], self.matrix[keep])

    def hiding(self, ids: IntArray) -> Rows:
        """Return the same rows with these ids hidden too."""
        positions, _ = self._located(ids)
        if not len(positions):
            return self
        hidden = np.zeros(len(self.ids), np.bool_) if self.hidden is None else self.hidden.copy()
        hidden[positions] = True
        return Rows(self.ids, self.matrix, hidden)

    @property
    def shown(self) -> int:
        """Number of visible rows."""
        return len(self.ids) - (0 if self.hidden is None else int(self.hidden.sum()))

    @property
    def shown_places(self) -> IntArray:
        """Positions of the visible rows, ascending."""
        return np.arange(len(self.ids)) if self.hidden is None else np.flatnonzero(~self.hidden)

    def _located(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """Return the positions of the known visible ids, and their positions in `ids`."""
        if len(self.ids) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if self.hidden is None and len(ids) == len(self.ids) and np.array_equal(ids, self.ids):
            # The ids are often those of the whole bank; this avoids a lookup that takes 2 ms for 100k ids.
            everywhere = np.arange(len(ids))
            return everywhere, everywhere
        positions = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        here = self.ids[positions] == ids
        if self.hidden is not None:
            here &= ~self.hidden[positions]
        known = np.flatnonzero(here)
        return positions[known], known

    def _cosines(self, positions: IntArray, vector: Vector) -> FloatArray:
        """Compute dot products in the same summation order for every row, so that equal vectors get equal scores."""
        if PICK_COST * len(positions) > len(self.ids):
            scores: FloatArray = np.einsum("ij,j->i", self.matrix, vector)[positions]
        else:
            scores = np.einsum("ij,j->i", self.matrix[positions], vector)
        return np.clip(scores, -1.0, 1.0)

    def _best(self, positions: IntArray, vector: Vector, limit: int) -> Hits:
        return ranked(self.ids[positions], self._cosines(positions, vector), limit)


def no_rows() -> Rows:
    """Return an empty set of rows."""
    return Rows(np.empty(0, np.int64), np.empty((0, 0), np.float32))


def _shortlist(rough: FloatArray, limit: int) -> IntArray:
    """Return the positions of the best `limit` scores, and of scores that only rounding may have lowered."""
    if limit >= len(rough):
        return np.arange(len(rough))
    cut = np.partition(rough, len(rough) - limit)[len(rough) - limit]
    return np.flatnonzero(rough >= cut - ROUNDING)


# Initial rows of the buffer, 1.5 MB at 384 dimensions, so that a small bank allocates it only once.
FIRST_CAPACITY = 1024


class _ExactIndex(ABC):
    """The members that both exact indexes have in common."""

    _watermark: Watermark | None = None

    @property
    def watermark(self) -> Watermark | None:
        """The commit this index has reached; None when new."""
        return self._watermark

    @property
    def recorded(self) -> Watermark | None:
        """See `watermark`."""
        return self._watermark

    @property
    def keeps_removed(self) -> bool:
        """False: removed vectors do not stay in files after `advance`."""
        return False

    def load(self) -> None:  # noqa: B027 - there is nothing to load
        """Do nothing: the vectors can be searched at once."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything, including the watermark."""

    def discard(self) -> None:
        """Same as `clear`."""
        self.clear()


class ExactVectorIndex(_ExactIndex):
    """A VectorIndex and VectorScorer over one float32 matrix in memory; its watermark starts at None.

    Searches take no lock: the writer publishes a new pair of views in one assignment. Ids in ascending order
    are appended at amortised cost; replacing or removing copies the matrix once per call.
    """

    def __init__(self, bank: str = "") -> None:
        self._bank = bank
        self._rows = self._store = no_rows()

    @property
    def rows(self) -> Rows:
        """The rows that searches see now; never modified."""
        return self._rows

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors (n, dimension) under ids (n,), replacing existing ones; for a repeated id the last counts.

        Raises:
            IndexOutOfStep: the vectors have another dimension than the existing ones.
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
        """Remove ids; unknown ids are ignored."""
        left = self._rows.without(ids)
        if len(left.ids) < len(self._rows.ids):
            self._publish(left)

    def advance(self, mark: Watermark) -> None:
        """Set the watermark, for the lifetime of the process."""
        self._watermark = mark

    def count(self) -> int:
        """Return the number of vectors."""
        return len(self._rows.ids)

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with their cosine in [-1, 1]."""
        return self._rows.search(vectors, limit)

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Return the cosine of `vector` with each id's vector, (n,); NaN for an unknown id."""
        return self._rows.similarities(vector, ids)

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """Return the `limit` nearest of the given ids, exactly; unknown ids are left out."""
        return self._rows.search_among(vector, ids, limit)

    def clear(self) -> None:
        """Remove everything, including the watermark."""
        self._watermark = None
        self._publish(no_rows())

    def close(self) -> None:
        """Release the matrix."""
        self.clear()

    def _publish(self, rows: Rows) -> None:
        self._store = self._rows = rows

    def _append(self, ids: IntArray, vectors: Matrix) -> None:
        """Write the rows after those that searches see, then publish a longer view of the same buffer."""
        used = len(self._rows.ids)
        total = used + len(ids)
        if total > len(self._store.ids) or used == 0:
            self._store = _grown(self._rows, max(total, 2 * used, FIRST_CAPACITY), vectors.shape[1])
        self._store.ids[used:total] = ids
        self._store.matrix[used:total] = vectors
        self._rows = Rows(self._store.ids[:total], self._store.matrix[:total])


def _grown(rows: Rows, capacity: int, dimension: int) -> Rows:
    store = Rows(np.empty(capacity, np.int64), np.empty((capacity, dimension), np.float32))
    if used := len(rows.ids):
        store.ids[:used] = rows.ids
        store.matrix[:used] = rows.matrix
    return store


def _last_of_each(ids: IntArray, vectors: Matrix) -> tuple[IntArray, Matrix]:
    """Sort the pairs by id; for a repeated id keep the last vector."""
    if bool(np.all(ids[1:] > ids[:-1])):
        return ids, vectors
    distinct, backwards = np.unique(ids[::-1], return_index=True)
    return distinct, vectors[len(ids) - 1 - backwards]


def _merged(rows: Rows, ids: IntArray, vectors: Matrix) -> Rows:
    if len(rows.ids) == 0:
        return _grown(Rows(ids, vectors), len(ids), vectors.shape[1])
    together = np.concatenate((rows.ids, ids))
    order = np.argsort(together, kind="stable")
    return Rows(together[order], np.concatenate((rows.matrix, vectors))[order])


FORMAT = 1

SAMPLE = 64  # vectors checked when the files are opened
MAPS_FILES = os.name == "posix"  # Windows neither deletes nor truncates a file that is mapped

Part: TypeAlias = tuple[IntArray, Matrix]
"""Row ids (n,) and their vectors (n, dimension)."""


# Files are append-only, and rewritten under another number: mappings stay valid, and a kill loses nothing.
@dataclass(frozen=True, slots=True)
class Contents:
    """The record of a bank's vector files: row ids in one file, and vectors in the same order in another.

    Attributes:
        mark: the watermark, as text.
        number: number of the pair of files.
        rows: number of valid rows.
        dimension: floats per row.
        ids_checksum: CRC-32 of the row ids.
        sample_checksum: CRC-32 of SAMPLE evenly spaced vectors, which detects an overwritten file without
            reading all of it.
        format: version of the file format.
    """

    mark: str
    number: int
    rows: int
    dimension: int
    ids_checksum: int
    sample_checksum: int
    format: int = FORMAT


class VectorFile:
    """The files of one bank. One writer; results of `open`, `append` and `rewrite` may be read from any thread."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key
        self._contents: Contents | None = None

    @property
    def rows(self) -> int:
        """Number of valid rows."""
        return self._contents.rows if self._contents else 0

    def open(self) -> tuple[str, Part] | None:
        """Return the recorded watermark and rows; None if no rows are recorded or the files are damaged.

        Rows after the recorded ones, left by a killed process, are cut off.

        Raises:
            OSError: the files can be neither read nor deleted.
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
        """Append rows, record the watermark, and return all rows.

        Raises:
            OSError: they could not be written; the files are unchanged.
        """
        held = self._contents
        if held is None:
            return self.rewrite(part[0], [part[1]], mark)
        try:
            ids_file, vectors_file = self._files(held.number)
            _write(ids_file, [part[0]], "r+b", at=held.rows * 8)
            _write(vectors_file, [part[1]], "r+b", at=held.rows * held.dimension * 4)
            return self._recorded(mark, held.number, held.rows + len(part[0]), held.dimension)
        except FileNotFoundError:  # the files were deleted
            self._contents = None
            raise
        except OSError:
            self._cut(held)
            raise

    def rewrite(self, ids: IntArray, vectors: Iterable[Matrix], mark: str) -> Part:
        """Replace everything by these rows (vectors in blocks), record the watermark, and return the rows.

        Raises:
            OSError: they could not be written; the files are unchanged.
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
        """Delete the files; existing mappings stay readable."""
        self._contents = None
        self._record.unlink(missing_ok=True)
        self._sweep()

    @property
    def _record(self) -> Path:
        return self._folder / f"{self._key}.json"

    def _files(self, number: int) -> tuple[Path, Path]:
        """Return the paths of the id file and the vector file."""
        return self._folder / f"{self._key}.{number}.ids", self._folder / f"{self._key}.{number}.vectors"

    def _checked(self, contents: Contents) -> Part:
        """Map the valid rows and verify the checksums.

        Raises:
            ValueError: rows are missing or changed.
            FileNotFoundError: a file is missing.
        """
        if contents.format != FORMAT or contents.rows < 1 or contents.dimension < 1:
            raise ValueError(contents)
        part = self._mapped(contents.number, contents.rows, contents.dimension)
        if _checksums(part) != (contents.ids_checksum, contents.sample_checksum):
            raise ValueError(contents)
        return part

    def _mapped(self, number: int, rows: int, dimension: int) -> Part:
        """Map, or read, the first rows of a pair of files; raise ValueError if there are fewer."""
        ids_file, vectors_file = self._files(number)
        if MAPS_FILES:
            vectors: Matrix = np.memmap(vectors_file, np.float32, "r", shape=(rows, dimension))
        else:
            vectors = np.fromfile(vectors_file, np.float32, rows * dimension).reshape(rows, dimension)
        return np.fromfile(ids_file, np.int64, rows), np.asarray(vectors)

    def _recorded(self, mark: str, number: int, rows: int, dimension: int) -> Part:
        """Write the record of the valid rows, and return them."""
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
        """Delete files without a record, and cut off rows beyond it."""
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
    ids, vectors = part
    places = np.linspace(0, len(vectors) - 1, min(SAMPLE, len(vectors))).astype(np.int64)
    return crc32(_raw(ids)), crc32(_raw(vectors[places]))


def _raw(array: IntArray | Matrix) -> memoryview:
    """Return the bytes of an array, copied only if it is not contiguous."""
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")


def _write(path: Path, arrays: Iterable[IntArray | Matrix], mode: str, *, at: int = 0) -> int:
    """Write arrays one after the other, starting at an offset, and sync; return the size of the file."""
    with path.open(mode) as file:
        file.seek(at)
        for array in arrays:
            file.write(_raw(array))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


logger = logging.getLogger("hindsight_integrations")

FOLDER = "exact"  # subfolder of the data directory

# Number of vectors that stay in memory before the file is written: 3 MB at 384 dimensions, read in 20 ms.
TAIL_ROWS = 2_000
TAIL_SHARE = 50  # larger banks keep a fiftieth of their vectors in memory, so that writes are rare
REWRITE_SHARE = 16  # a sixteenth if stored rows were replaced, because the file must then be rewritten

BLOCK = 8_192  # rows copied at once when the file is rewritten: 12 MB at 384 dimensions


@dataclass(frozen=True, slots=True)
class _SearchedRows:
    """The rows that searches see: those of the file, and newer ones in memory, which may replace some of them."""

    stored: Rows
    tail: Rows


class MappedVectorIndex(_ExactIndex):
    """A VectorIndex and VectorScorer whose vectors are memory-mapped from a file.

    New vectors stay in memory until there are enough to write, so the watermark on disk may lag behind; if the process
    is killed, they are read from the ledger again. Removed vectors leave the file with the next `advance`. If the file
    cannot be written (a full disk), the vectors are served from memory, and the next `advance` tries
    again. One writer; searches take no lock.
    """

    def __init__(self, file: VectorFile, bank: str = "", *, tail_rows: int) -> None:
        self._file, self._bank, self._tail_rows = file, bank, tail_rows
        self._tail = ExactVectorIndex(bank)
        self._stored = no_rows()
        self._recorded: Watermark | None = None  # the watermark in the file
        self._ahead = False  # whether the file contains commits after its watermark
        self._unclean = False  # whether the file contains removed vectors
        with self._files():
            if kept := file.open():
                self._watermark = self._recorded = Watermark.parse(kept[0])
                self._stored = Rows(*kept[1])
            if self._watermark is None:  # the process was killed while the file was first filled
                file.drop()
                self._stored = no_rows()
        self._publish()

    def upsert(self, ids: IntArray, vectors: Matrix) -> None:
        """Store vectors (n, dimension) under ids (n,), replacing existing ones; for a repeated id the last counts.

        Raises:
            IndexOutOfStep: the vectors have another dimension than the existing ones.
        """
        if len(ids) == 0:
            return
        stored = self._stored
        stored.check_dimension(vectors, self._bank)
        self._tail.upsert(ids, vectors)
        self._stored = stored.hiding(ids)
        self._publish()
        if self._grows and self._enough:  # a bank need not fit into memory while it is filled
            self._store(self._recorded)
            self._ahead = True

    def remove(self, ids: IntArray) -> None:
        """Remove ids; unknown ids are ignored."""
        self._tail.remove(ids)
        hiding = self._stored.hiding(ids)
        self._unclean = self._unclean or hiding is not self._stored
        self._stored = hiding
        self._publish()

    def advance(self, mark: Watermark) -> None:
        """Record that everything up to this commit has been applied. The file is written only if there is enough to write.

        Raises:
            IndexOutOfStep: the file contains removed vectors, and can be neither rewritten nor deleted.
        """
        self._watermark = mark
        if self._unclean or self._ahead or self._enough:
            self._store(mark)

    def count(self) -> int:
        """Return the number of vectors."""
        held = self._held
        return held.stored.shown + held.tail.shown

    def search(self, vectors: Matrix, limit: int) -> list[Hits]:
        """For each query row (unit norm), return the `limit` nearest ids with their cosine in [-1, 1]."""
        held = self._held
        lists = (rows.search(vectors, limit) for rows in (held.stored, held.tail))
        return [_joined(hits, limit) for hits in zip(*lists, strict=True)]

    def similarities(self, vector: Vector, ids: IntArray) -> FloatArray:
        """Return the cosine of `vector` with each id's vector, (n,); NaN for an unknown id."""
        held = self._held
        cosines = held.stored.similarities(vector, ids)
        if held.tail.shown:
            newer = held.tail.similarities(vector, ids)
            cosines = np.where(np.isnan(newer), cosines, newer)
        return cosines

    def search_among(self, vector: Vector, ids: IntArray, limit: int) -> Hits:
        """Return the `limit` nearest of the given ids, exactly; unknown ids are left out."""
        held = self._held
        return _joined([rows.search_among(vector, ids, limit) for rows in (held.stored, held.tail)], limit)

    def clear(self) -> None:
        """Remove everything, including the file and the watermark.

        Raises:
            IndexOutOfStep: the file cannot be deleted.
        """
        self._forget()
        with self._files():
            self._file.drop()

    def close(self) -> None:
        """Release the mapping and the memory; the file stays."""
        self._forget()

    def _forget(self) -> None:
        self._tail.clear()
        self._stored = no_rows()
        self._watermark = self._recorded = None
        self._ahead = self._unclean = False
        self._publish()

    @property
    def _grows(self) -> bool:
        """Whether the new vectors in memory can be appended to the file."""
        ids, stored = self._tail.rows.ids, self._stored
        if stored.hidden is not None or self._file.rows != len(stored):
            return False
        return not len(stored) or not len(ids) or bool(ids[0] > stored.ids[-1])

    @property
    def _enough(self) -> bool:
        """Whether there are enough new vectors in memory to write them."""
        share = TAIL_SHARE if self._grows else REWRITE_SHARE
        return self._tail.count() >= max(self._tail_rows, len(self._stored) // share)

    def _store(self, mark: Watermark | None) -> None:
        """Write new vectors to the file, and remove hidden rows from it."""
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
            logger.warning("bank %r: its vectors could not be written to disk: %s", self._bank, error)
            self._give_up()
            return
        self._recorded, self._ahead, self._unclean = mark, False, False
        self._stored = Rows(*part)
        self._held = _SearchedRows(self._stored, no_rows())
        self._tail.clear()

    def _give_up(self) -> None:
        """Delete the file if it contains removed vectors and could not be rewritten; searches use the open mapping."""
        if not self._unclean:
            return
        with self._files():
            self._file.drop()
        self._recorded, self._ahead, self._unclean = None, False, False

    def _blocks(self, order: IntArray) -> Iterator[Matrix]:
        """Yield the visible vectors in blocks. Positions in `order` count the rows of the file, then those in memory."""
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
        self._held = _SearchedRows(self._stored, self._tail.rows)

    @contextmanager
    def _files(self) -> Iterator[None]:
        """Run a block and convert its OSErrors."""
        try:
            yield
        except OSError as error:
            raise IndexOutOfStep("vector", self._bank, f"its file cannot be used: {error}") from error


def _joined(lists: Sequence[Hits], limit: int) -> Hits:
    ids, scores = (np.concatenate([getattr(hits, name) for hits in lists]) for name in ("ids", "scores"))
    return ranked(ids, scores, limit)


class MappedVectors:
    """The vector files of one engine's banks, in a folder of its data directory."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER

    def open(self, bank_key: str, *, bank: str = "", tail_rows: int | None = None) -> MappedVectorIndex:
        """Return the index of one bank; `tail_rows` vectors stay in memory before the file is written."""
        rows = TAIL_ROWS if tail_rows is None else tail_rows
        return MappedVectorIndex(VectorFile(self._folder, bank_key), bank or bank_key, tail_rows=rows)

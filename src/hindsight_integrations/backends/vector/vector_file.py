"""VectorFile: the vectors of one bank on disk, read through the operating system's memory map.

Two files that only grow (row ids, and vectors in the same order) and a small one that says how much of them counts.
What counts is never written to again: to take rows out, both are written anew under another number. So a reader of a
mapping always sees what it was opened on, and a kill leaves either the old state or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import numpy as np

from hindsight_integrations.ports.arrays import IntArray, Matrix

FORMAT = 1

SAMPLE = 64  # vectors looked at when the files are opened

Part: TypeAlias = tuple[IntArray, Matrix]
"""Row ids (n,) and their vectors (n, dimension)."""


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

"""What lies in a Chroma folder: our watermarks, and the segment files that Chroma itself does not look after."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from hindsight_integrations.ports.watermark import IndexMark, Watermark


def chroma_marks(data: Path) -> list[IndexMark]:
    """The watermark of every bank's collection in a data directory."""
    files = sorted((data / "chroma" / "watermarks").glob("*.json"))
    return [IndexMark("vector", file.stem, _mark(file)) for file in files]


def _mark(file: Path) -> Watermark | None:
    try:
        return Watermark.parse(json.loads(file.read_text(encoding="utf-8"))["watermark"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


DATABASE = "chroma.sqlite3"
HEADER, ELEMENTS, LENGTHS = "header.bin", "data_level0.bin", "length.bin"

_HEADER = struct.Struct("<iQQQQ")
"""Start of hnswlib's header.bin: format, offset, capacity, elements, bytes per element (chromadb 1.5.9, measured)."""

_SEGMENT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Name of a folder in which Chroma keeps the vectors of one collection."""

_HEADER_BYTES = 100
_LENGTH_BYTES = 4  # of one element in length.bin
_HEADER_FORMAT = 1


class WatermarkFile:
    """The commit one bank's collection has reached, bound to that collection.

    A collection deleted and made anew has another uuid, so a watermark that outlived its vectors reads None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, collection: str) -> Watermark | None:
        """The commit recorded for this collection; None if none was, or for another collection, or unreadably."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return Watermark.parse(kept["watermark"]) if kept["collection"] == collection else None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def exists(self) -> bool:
        """Whether any record was written, for this collection or another."""
        return self._path.is_file()

    def write(self, collection: str, mark: Watermark) -> None:
        """Replace the record; a kill or power cut leaves either the old one or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8") as file:
            json.dump({"collection": collection, "watermark": str(mark)}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        _sync_folder(self._path.parent)

    def drop(self) -> None:
        """Forget the record."""
        self._path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename in it last; only POSIX can open a folder, and only there it is needed."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def vacuum(folder: Path) -> None:
    """Rewrite Chroma's files, so that they keep nothing of what was deleted; Chroma may have them open, but rest.

    Free pages of the database go, and what a process killed right after a load left in a segment (see `SegmentFiles`).

    Raises:
        OSError: it cannot be rewritten now.
    """
    try:
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise OSError(f"{DATABASE} cannot be vacuumed: {error}") from error
    for header in folder.glob(f"*/{HEADER}"):
        _blank_unused(header.parent)


def database_damage(folder: Path) -> str | None:
    """What is wrong with Chroma's own database while Chroma does not have it open, or None; none at all is fine."""
    path = folder / DATABASE
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            [problem], *_ = database.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as error:
        # Anything else than these two is the disk's or its owner's refusal, which Chroma will meet and report.
        damaged = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        return str(error) if damaged else None
    return None if problem == "ok" else str(problem)[:200]


def remove_store(folder: Path) -> None:
    """Delete everything of Chroma's; our watermarks stay, and tell that collections are missing."""
    for path in folder.iterdir():
        if path.name.startswith(DATABASE):
            path.unlink(missing_ok=True)  # a journal goes by itself when the client that wrote it is closed
        elif (path / HEADER).exists() or _SEGMENT.fullmatch(path.name):
            shutil.rmtree(path)


def vector_segments(folder: Path, collection: str) -> tuple[Path, ...]:
    """Where the vectors of this collection lie or will lie; nothing if Chroma's own database cannot say."""
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
    query = "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            return tuple(folder / segment for (segment,) in database.execute(query, (collection,)))
    except sqlite3.Error:
        return ()


class SegmentFiles:
    """What Chroma keeps of one collection's vectors outside its database. Nothing in memory.

    hnswlib writes whole buffers it never cleared: whatever the process had in that memory before, another bank's text
    included, is then on disk. It does so whenever a collection that never outgrew Chroma's queue is loaded: at its first
    write, at the first search after an open, and again once Chroma has unloaded it (chromadb 1.5.9, measured).
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._seen: list[tuple[int, int] | None] = []

    def rewritten(self) -> bool:
        """Whether Chroma wrote the files since they were last blanked; two system calls at most."""
        return self._state() != self._seen

    def blank(self) -> None:
        """Overwrite what no element uses yet; elements that come later overwrite it. Only while no call runs."""
        for folder in self._folders:
            _blank_unused(folder)
        self._seen = self._state()

    def damage(self) -> str | None:
        """What is wrong with the files while no call has used them yet, or None."""
        return next(filter(None, map(_damage, self._folders)), None)

    def erase(self) -> None:
        """Delete them: `delete_collection` leaves them, vectors and all (chromadb 1.5.9, measured)."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _state(self) -> list[tuple[int, int] | None]:
        return [_written(folder / LENGTHS) for folder in self._folders]


def _written(path: Path) -> tuple[int, int] | None:
    """Which file this is and when it was written last; None if it is not there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def _blank_unused(segment: Path) -> None:
    header = segment / HEADER
    start = header.read_bytes() if header.exists() else b""
    if len(start) != _HEADER_BYTES:
        return
    form, _, _, elements, width = _HEADER.unpack_from(start)
    if form == _HEADER_FORMAT:
        _blank_from(segment / ELEMENTS, elements * width)
        _blank_from(segment / LENGTHS, elements * _LENGTH_BYTES)


def _blank_from(path: Path, used: int) -> None:
    """Zeros from there to the end of the file; what is zero already is not written again."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        file.seek(used)
        rest = file.read()
        if rest.strip(b"\0"):
            file.seek(used)
            file.write(bytes(len(rest)))


def _damage(segment: Path) -> str | None:
    """What is wrong with the files of a segment, or None.

    Chroma reports a broken metadata pickle by itself, but a short data file kills the process with a segmentation
    fault at the first search, and a missing pickle silently hides the vectors (chromadb 1.5.9, measured for both).
    """
    header, data = segment / HEADER, segment / ELEMENTS
    if not (header.exists() and data.exists()):
        return None  # never written to disk, or so incomplete that Chroma itself says so
    start = header.read_bytes()
    if len(start) != _HEADER_BYTES:
        return f"{HEADER} has {len(start)} bytes instead of {_HEADER_BYTES}"
    form, _, _, elements, width = _HEADER.unpack_from(start)
    if form == _HEADER_FORMAT and data.stat().st_size < elements * width:
        return f"{ELEMENTS} has {data.stat().st_size} bytes instead of {elements * width}"
    links = segment / "link_lists.bin"
    if links.exists() and links.stat().st_size and not (segment / "index_metadata.pickle").exists():
        return "index_metadata.pickle is missing"
    return None

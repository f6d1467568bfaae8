"""What lies in a Chroma folder: our watermarks, and the segment files that Chroma itself does not look after."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

DATABASE = "chroma.sqlite3"

_HEADER = struct.Struct("<iQQQQ")
"""Start of hnswlib's header.bin: format, offset, capacity, elements, bytes per element (chromadb 1.5.9, measured)."""

_HEADER_BYTES = 100
_LENGTH_BYTES = 4  # of one element in length.bin
_HEADER_FORMAT = 1


class WatermarkFile:
    """The revision one bank's collection has reached, bound to that collection.

    A collection deleted and made anew has another uuid, so a watermark that outlived its vectors reads 0.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, collection: str) -> int:
        """The revision recorded for this collection; 0 if none was, or for another collection, or unreadably."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return int(kept["revision"]) if kept["collection"] == collection else 0
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return 0

    def exists(self) -> bool:
        """Whether any record was written, for this collection or another."""
        return self._path.is_file()

    def write(self, collection: str, revision: int) -> None:
        """Replace the record; a kill or power cut leaves either the old one or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".tmp")
        with draft.open("w", encoding="utf-8") as file:
            json.dump({"collection": collection, "revision": revision}, file)
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
    """Rewrite Chroma's database, so that its free pages keep nothing of what was deleted; Chroma may have it open.

    Raises:
        OSError: it cannot be rewritten now.
    """
    try:
        with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
            database.execute("VACUUM")
    except sqlite3.Error as error:
        raise OSError(f"{DATABASE} cannot be vacuumed: {error}") from error


def segment_folders(folder: Path, collection: str) -> list[Path]:
    """Where the vectors of this collection lie; nothing if Chroma's own database cannot say."""
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            rows = database.execute("SELECT id FROM segments WHERE collection = ?", (collection,)).fetchall()
    except sqlite3.Error:
        return []
    return [path for (segment,) in rows if (path := folder / segment).is_dir()]


def erase(folders: list[Path]) -> None:
    """Delete segment folders: `delete_collection` leaves them, vectors and all (chromadb 1.5.9, measured)."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def blank_unused(segment: Path) -> None:
    """Overwrite the part of a segment's files that no element uses yet.

    hnswlib writes whole buffers it never cleared: whatever the process had in that memory before, another bank's text
    included, is then on disk (chromadb 1.5.9, measured). Elements that come later overwrite it.
    """
    header = segment / "header.bin"
    start = header.read_bytes() if header.exists() else b""
    if len(start) != _HEADER_BYTES:
        return
    form, _, _, elements, width = _HEADER.unpack_from(start)
    if form == _HEADER_FORMAT:
        _blank_from(segment / "data_level0.bin", elements * width)
        _blank_from(segment / "length.bin", elements * _LENGTH_BYTES)


def _blank_from(path: Path, used: int) -> None:
    size = path.stat().st_size if path.exists() else 0
    if size > used:
        with path.open("r+b") as file:
            file.seek(used)
            file.write(bytes(size - used))


def damage(segment: Path) -> str | None:
    """What is wrong with the files of a segment nobody is writing to, or None.

    Chroma reports a broken metadata pickle by itself, but a short data file kills the process with a segmentation
    fault at the first search, and a missing pickle silently hides the vectors (chromadb 1.5.9, measured for both).
    """
    header, data = segment / "header.bin", segment / "data_level0.bin"
    if not (header.exists() and data.exists()):
        return None  # never written to disk, or so incomplete that Chroma itself says so
    start = header.read_bytes()
    if len(start) != _HEADER_BYTES:
        return f"header.bin has {len(start)} bytes instead of {_HEADER_BYTES}"
    form, _, _, elements, width = _HEADER.unpack_from(start)
    if form == _HEADER_FORMAT and data.stat().st_size < elements * width:
        return f"data_level0.bin has {data.stat().st_size} bytes instead of {elements * width}"
    links = segment / "link_lists.bin"
    if links.exists() and links.stat().st_size and not (segment / "index_metadata.pickle").exists():
        return "index_metadata.pickle is missing"
    return None

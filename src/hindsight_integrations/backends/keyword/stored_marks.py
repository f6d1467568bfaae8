"""How far the keyword indexes of a data directory have come, read without Java and without opening them for work."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hindsight_integrations.ports.watermark import IndexMark, Watermark

_KEY = (
    b"watermark"  # in Lucene's commit data, each text lies behind its length, one byte below 128 characters
)
_SEGMENTS = "segments_"


def keyword_marks(data: Path) -> list[IndexMark]:
    """The watermark of every bank's keyword index in a data directory, Lucene's and FTS5's."""
    stores = sorted((data / "fts5").glob("*.sqlite3"))
    commits = [commit for folder in sorted((data / "lucene").glob("*")) if (commit := _newest_commit(folder))]
    return [
        *(IndexMark("keyword", file.stem, _of_fts5(file)) for file in stores),
        *(IndexMark("keyword", file.parent.name, _of_lucene(file)) for file in commits),
    ]


def _newest_commit(folder: Path) -> Path | None:
    """The newest of Lucene's `segments_N` files; N is in base 36."""
    commits = [file for file in folder.glob(f"{_SEGMENTS}*") if file.name.removeprefix(_SEGMENTS).isalnum()]
    return max(commits, key=lambda file: int(file.name.removeprefix(_SEGMENTS), 36), default=None)


def _of_lucene(file: Path) -> Watermark | None:
    try:
        _, found, rest = file.read_bytes().partition(_KEY)
    except OSError:
        return None
    return (
        Watermark.parse(rest[1 : 1 + rest[0]].decode("ascii", errors="replace")) if found and rest else None
    )


def _of_fts5(file: Path) -> Watermark | None:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
            row = database.execute("SELECT value FROM state WHERE name = 'watermark'").fetchone()
    except sqlite3.Error:
        return None
    return Watermark.parse(row[0]) if row else None

"""The archive format: JSON lines. A header, then a row a line as [kind, fields], then a line that seals them all.

    {"format": "hindsight-memory-archive", "version": 1}
    ["banks", {"revision": 7, "dimension": 384, "embedder": {...}}]
    ["units", {"id": 3, "unit_id": "...", "text": "...", ...}]
    ["vectors", {"unit": 3, "vector": "<base64 of float32, little endian>"}]
    ...
    {"rows": 812, "units": 120, "sha256": "<of every line before this one>"}

A kind is a table of the ledger, its fields are the table's columns: `ledger/tables.py` says which of them are archived and what
each may hold. Row ids are those of the ledger that wrote the archive; a row comes after those it refers to. `units` of the seal
counts the memories. Whoever changes an archive can seal it again: the seal finds accidents, the check of every line the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import IO, NoReturn

from hindsight_integrations.errors import ArchiveInvalid, shown
from hindsight_integrations.ledger.values import ArchiveRow, Json
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.validation.archive import check_line

FORMAT, VERSION = "hindsight-memory-archive", 1
DEVELOPMENT_FORMAT = "hindsight-archive"  # of development versions, whose archives 1 to 6 had other lines
LONGEST_LINE = 2**26  # characters; a task of four million, each escaped as six or twelve, with room
LINE = "the line"  # what is at fault where no field is


def write_archive(file: IO[str], rows: Iterable[ArchiveRow]) -> int:
    """Write header, rows and seal; returns how many memories went by."""
    seal = hashlib.sha256()
    counts = {"rows": 0, "units": 0}
    _put(file, {"format": FORMAT, "version": VERSION}, seal)
    for row in rows:
        _put(file, [row.kind, dict(row.fields)], seal)
        counts["rows"] += 1
        counts["units"] += _is_memory(row)
    file.write(json.dumps({**counts, "sha256": seal.hexdigest()}) + "\n")
    return counts["units"]


def _is_memory(row: ArchiveRow) -> bool:
    return row.kind == "units" and row.fields.get("kind") == UnitKind.MEMORY


def _put(file: IO[str], value: Json, seal: hashlib._Hash) -> None:
    line = json.dumps(value, separators=(",", ":")) + "\n"
    seal.update(line.encode())
    file.write(line)


def read_archive(file: IO[str]) -> Iterator[ArchiveRow]:
    """The rows of an archive, from where the file stands to its end, each checked by itself; after the last the seal is checked.

    Raises:
        ArchiveInvalid: it is not an archive, of a development version or a newer one, damaged, cut short, or a line of it
            cannot be taken in.
    """
    seal, units, number = hashlib.sha256(), 0, 0
    for number, line in _lines(file):
        value = _parsed(number, line)
        if number == 1:
            _check_header(value)
        elif isinstance(value, dict):
            _check_seal(number, value, {"rows": number - 2, "units": units, "sha256": seal.hexdigest()})
            if file.read(1):
                raise ArchiveInvalid(number + 1, LINE, "something follows the seal, which must be the last")
            return
        else:
            row = _row(number, value)
            check_line(number, row.kind, row.fields)
            units += _is_memory(row)
            yield row
        seal.update(line.encode())
    raise ArchiveInvalid(number + 1, LINE, "it is missing: the archive was cut short")


def _lines(file: IO[str]) -> Iterator[tuple[int, str]]:
    """Numbered lines, none longer than a line can be."""
    number = 0
    while line := _line(file, number := number + 1):
        yield number, line


def _line(file: IO[str], number: int) -> str:
    try:
        line = file.readline(LONGEST_LINE + 1)
        if isinstance(line, str):
            line.encode()
    except UnicodeError:
        raise ArchiveInvalid(number, LINE, "it is not UTF-8 text") from None
    if not isinstance(line, str):
        raise ArchiveInvalid(number, LINE, "the file gives bytes, not text", "Open it in text mode.")
    if len(line) > LONGEST_LINE:
        raise ArchiveInvalid(number, LINE, f"it has over {LONGEST_LINE:,} characters")
    return line


def _no_number(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not a JSON number")


_decode = json.JSONDecoder(parse_constant=_no_number).decode


def _parsed(number: int, line: str) -> Json:
    try:
        value: Json = _decode(line)
    except (ValueError, RecursionError) as error:
        reason = (
            "it is nested too deeply" if isinstance(error, RecursionError) else f"it is not JSON ({error})"
        )
        raise ArchiveInvalid(number, LINE, reason) from None
    return value


def _check_header(header: Json) -> None:
    written = header.get("format") if isinstance(header, dict) else None
    version = header.get("version") if isinstance(header, dict) else None
    if written == DEVELOPMENT_FORMAT:
        raise ArchiveInvalid(
            1,
            "version",
            f"it is an archive of a development version (version {shown(version)}), this package reads {FORMAT} {VERSION}",
            "Load it with the checkout that wrote it, or retain the sources again.",
        )
    if written != FORMAT:
        raise ArchiveInvalid(1, LINE, "it is not a Hindsight archive", "Pass a file made by archive.export.")
    if version != VERSION or isinstance(version, bool):
        raise ArchiveInvalid(
            1,
            "version",
            f"it is {shown(version)}, this package reads version {VERSION} only",
            "Upgrade hindsight-integrations.",
        )


def _check_seal(number: int, given: Json, made: dict[str, Json]) -> None:
    for name, value in made.items():
        if not isinstance(given, dict) or given.get(name) != value:
            raise ArchiveInvalid(number, f"seal.{name}", "the lines do not match their seal")


def _row(number: int, value: Json) -> ArchiveRow:
    if isinstance(value, list) and len(value) == 2:
        kind, fields = value
        if isinstance(kind, str) and isinstance(fields, dict):
            return ArchiveRow(kind, fields)
    raise ArchiveInvalid(number, LINE, "it is not [kind, fields]")

"""The archive format: JSON lines. A header, then a row a line as [kind, fields], then a line that seals them all.

    {"format": "hindsight-memory-archive", "version": 1}
    ["bank", {"revision": 7, "embedder": {...}, "profile": {...}}]
    ["unit", {"unit_id": "...", "text": "...", "vector": "<base64 of float32, little endian>", ...}]
    ...
    {"rows": 812, "units": 120, "sha256": "<of every line before this one>"}

Units and entities are named by their ids, instants are microseconds since 1970 UTC. `validation/archive_lines.py` says what
kinds there are and what each may hold. Whoever changes an archive can seal it again: the seal finds accidents, the check of
every line finds the rest. An archive is read twice, first to check all of it, then to hand out its rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, NoReturn

from hindsight_integrations.errors import ArchiveInvalid, shown
from hindsight_integrations.ports.ledger import ArchiveRow, Json
from hindsight_integrations.validation.archive_check import ArchiveCheck

FORMAT, VERSION = "hindsight-memory-archive", 1
DEVELOPMENT_FORMAT = "hindsight-archive"  # of development versions, whose archives 1 to 6 had other lines
UNIT = "unit"
LONGEST_LINE = 2**26  # characters; a task of four million, each escaped as six or twelve, with room
LINE = "the line"  # what is at fault where no field is


def write_archive(file: IO[str], rows: Iterable[ArchiveRow]) -> int:
    """Write header, rows and seal; returns how many units went by."""
    seal = hashlib.sha256()
    counts = {"rows": 0, "units": 0}
    _put(file, {"format": FORMAT, "version": VERSION}, seal)
    for row in rows:
        _put(file, [row.kind, dict(row.fields)], seal)
        counts["rows"] += 1
        counts["units"] += row.kind == UNIT
    file.write(json.dumps({**counts, "sha256": seal.hexdigest()}) + "\n")
    return counts["units"]


def _put(file: IO[str], value: Json, seal: hashlib._Hash) -> None:
    line = json.dumps(value, separators=(",", ":")) + "\n"
    seal.update(line.encode())
    file.write(line)


@dataclass(frozen=True, slots=True)
class CheckedArchive:
    """An archive whose every line was found good.

    Attributes:
        check: what its lines say.
        sha256: of all its lines but the seal.
    """

    check: ArchiveCheck
    sha256: str


def check_archive(file: IO[str]) -> CheckedArchive:
    """Read an archive from where the file stands to its end, and check all of it.

    Raises:
        ArchiveInvalid: it is not an archive, of a development version or a newer one, damaged, cut short, or a line of it
            cannot be taken in.
    """
    check, seal, number = ArchiveCheck(), hashlib.sha256(), 0
    for number, line in _lines(file):
        value = _parsed(number, line)
        if number == 1:
            _check_header(value)
        elif isinstance(value, dict):
            _check_seal(number, value, {"rows": number - 2, "units": check.units, "sha256": seal.hexdigest()})
            if file.read(1):
                raise ArchiveInvalid(number + 1, LINE, "something follows the seal, which must be the last")
            check.check_whole(number)
            return CheckedArchive(check, seal.hexdigest())
        else:
            check.take(number, *_kind_and_fields(number, value))
        seal.update(line.encode())
    raise ArchiveInvalid(number + 1, LINE, "it is missing: the archive was cut short")


def rows_of(file: IO[str], checked: CheckedArchive) -> Iterator[ArchiveRow]:
    """The rows of an archive that was checked, from where the file stands, one at a time.

    Raises:
        ArchiveInvalid: after the last row, where the file has changed since it was checked.
    """
    seal = hashlib.sha256()
    for number, line in _lines(file):
        value = _parsed(number, line)
        if isinstance(value, dict) and number > 1:
            break
        seal.update(line.encode())
        if isinstance(value, list):
            kind, fields = _kind_and_fields(number, value)
            yield ArchiveRow(kind, fields)
    if seal.hexdigest() != checked.sha256:
        raise ArchiveInvalid(1, LINE, "the file changed while it was read")


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
    raise ValueError(f"{literal} is no number of JSON")


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


def _kind_and_fields(number: int, value: Json) -> tuple[str, dict[str, Json]]:
    if isinstance(value, list) and len(value) == 2:
        kind, fields = value
        if isinstance(kind, str) and isinstance(fields, dict):
            return kind, fields
    raise ArchiveInvalid(number, LINE, "it is not [kind, fields]")

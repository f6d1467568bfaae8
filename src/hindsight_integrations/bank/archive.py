"""`bank.archive`: export a bank to one portable file, and load such a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, NoReturn

from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.errors import ArchiveInvalid, EmbedderMismatch, shown
from hindsight_integrations.ledger.values import ArchiveRow, Json
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.validation.archive import archived_embedder, check_line
from hindsight_integrations.validation.arguments import ExportTarget, checked_file

FORMAT, VERSION = "hindsight-memory-archive", 1
# Name of the format in versions 1 to 6, which only development versions wrote.
DEVELOPMENT_FORMAT = "hindsight-archive"
# Maximum characters of a line; a task of four million characters fits, even if each is escaped as twelve.
LONGEST_LINE = 2**26
LINE = "the line"  # the field named in errors about a whole line


def write_archive(file: IO[str], rows: Iterable[ArchiveRow]) -> int:
    """Write the header, the rows and the seal of an archive; return the number of memories."""
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
    """Check and yield the rows of an archive from the current position of the file; check the seal at the end.

    Raises:
        ArchiveInvalid: the file is not an archive, was made by a development version or a newer version, is damaged or
            truncated, or has an invalid line.
    """
    seal, units, number = hashlib.sha256(), 0, 0
    for number, line in _lines(file):
        value = _parsed(number, line)
        if number == 1:
            _check_header(value)
        elif isinstance(value, dict):
            _check_seal(number, value, {"rows": number - 2, "units": units, "sha256": seal.hexdigest()})
            if file.read(1):
                raise ArchiveInvalid(
                    number + 1, LINE, "there is data after the seal, which must be the last line"
                )
            return
        else:
            row = _row(number, value)
            check_line(number, row.kind, row.fields)
            units += _is_memory(row)
            yield row
        seal.update(line.encode())
    raise ArchiveInvalid(number + 1, LINE, "it is missing: the archive is truncated")


def _lines(file: IO[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1; reject lines that are too long."""
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
        raise ArchiveInvalid(number, LINE, "the file returns bytes, not text", "Open it in text mode.")
    if len(line) > LONGEST_LINE:
        raise ArchiveInvalid(number, LINE, f"it has more than {LONGEST_LINE:,} characters")
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
            f"the archive was written by a development version (version {shown(version)}); this package reads {FORMAT} {VERSION}",
            "Load it with the checkout that wrote it, or retain the sources again.",
        )
    if written != FORMAT:
        raise ArchiveInvalid(1, LINE, "it is not a Hindsight archive", "Pass a file made by archive.export.")
    if version != VERSION or isinstance(version, bool):
        raise ArchiveInvalid(
            1,
            "version",
            f"it is {shown(version)}, but this package reads only version {VERSION}",
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


class AsyncArchive(BankVerbs):
    """Export and import of a whole bank."""

    namespace = "archive"

    async def export(self, target: ExportTarget) -> int:
        """Write the bank as JSON lines: memories with vectors and history, entities, links, documents, message keys, items.

        The archive is streamed, so the size of the bank does not matter. An existing file is replaced only when the archive is
        complete.

        Args:
            target: a path, or a text file open for writing.

        Returns:
            The number of memories in it.

        Raises:
            InvalidRequest: the target is not a path or text file.
            OSError: the file cannot be written.
        """
        given = checked_file(target, "target", "write")
        return await self._context.services.workers.read(self._export, given)

    @writes
    async def load(self, source: ExportTarget) -> int:
        """Load an archive into this empty bank: memories with their ids, and the profile with its history.

        If the archive is damaged or truncated, has another version or contains an invalid value, the bank does not change. The
        file is read once, in a single transaction, during which other writers wait.

        Args:
            source: a path, or a text file open for reading.

        Returns:
            The number of memories in it.

        Raises:
            ArchiveInvalid: the archive is invalid; the error names the line and the field.
            InvalidRequest: the bank is not empty, the source is not a path or text file, or the engine was opened
                read-only.
            EmbedderMismatch: the archive's vectors were made by an embedder other than the engine's.
            OSError: the file cannot be read.
        """
        return await self._context.services.workers.write(self._load, checked_file(source, "source", "read"))

    def _export(self, target: Path | IO[str]) -> int:
        rows = self._context.services.ledger.archive.rows(self._context.name)
        with _writing(target) as file, closing(rows):
            return write_archive(file, rows)

    def _load(self, source: Path | IO[str]) -> int:
        bank = self._context
        with _reading(source) as file:
            count = bank.services.ledger.archive.restore(bank.name, self._matching(read_archive(file)))
        bank.catch_up()
        return count

    def _matching(self, rows: Iterator[ArchiveRow]) -> Iterator[ArchiveRow]:
        """Yield the rows of an archive; raise an error if its embedder is not the engine's."""
        own = self._context.services.embedder.identity
        for row in rows:
            embedder = archived_embedder(row.fields) if row.kind == "banks" else None
            if embedder and not embedder.matches(own):
                raise EmbedderMismatch(self._context.name, str(embedder), str(own))
            yield row


@contextmanager
def _writing(target: Path | IO[str]) -> Iterator[IO[str]]:
    """Open the target for writing; an existing file is replaced only when the archive is complete."""
    if not isinstance(target, Path):
        yield target
        return
    draft = target.with_name(f"{target.name}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _reading(source: Path | IO[str]) -> Iterator[IO[str]]:
    """Open the source for reading; a stream without `readline` is copied to a temporary file."""
    if isinstance(source, Path):
        with source.open(encoding="utf-8", newline="\n") as file:
            yield file
    elif hasattr(source, "readline"):
        yield source
    else:  # the copy is decoded, and invalid Unicode detected, when it is read
        with TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n") as copy:
            copyfileobj(source, copy)
            copy.seek(0)
            yield copy

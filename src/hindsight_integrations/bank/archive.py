"""`bank.archive`: the whole bank as one portable file, out and in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO

from hindsight_integrations.bank.archive_file import read_archive, write_archive
from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.errors import EmbedderMismatch
from hindsight_integrations.ledger.values import ArchiveRow
from hindsight_integrations.validation.archive import archived_embedder
from hindsight_integrations.validation.arguments import Target, checked_file


class AsyncArchive(BankVerbs):
    """The bank carried from one place to another."""

    namespace = "archive"

    async def export(self, target: Target) -> int:
        """Write the whole bank as JSON lines: memories with vectors and history, entities, links, documents, message keys, items.

        Streams, so the size of the bank does not matter. A file that is there already is replaced only once the archive
        is whole.

        Args:
            target: a path, or a text file open for writing.

        Returns:
            How many memories it holds.

        Raises:
            InvalidRequest: the target is no path and no text file.
            OSError: the file cannot be written.
        """
        given = checked_file(target, "target", "write")
        return await self._context.tools.workers.read(self._export, given)

    @writes
    async def load(self, source: Target) -> int:
        """Fill this empty bank from an archive: the same memories with the same ids, and the archived profile with its history.

        All or nothing: an archive that is damaged, cut short, of another version, or with a value that no memory has, leaves
        the bank as it was. The file is read once, inside one transaction; whoever else writes waits meanwhile.

        Args:
            source: a path, or a text file open for reading.

        Returns:
            How many memories it holds.

        Raises:
            ArchiveInvalid: the archive cannot be used; the error names the line and the field.
            InvalidRequest: the bank is not empty, the source is no path and no text file, or the engine was opened
                read-only.
            EmbedderMismatch: its vectors were made by another embedder than the engine's.
            OSError: the file cannot be read.
        """
        return await self._context.tools.workers.write(self._load, checked_file(source, "source", "read"))

    def _export(self, target: Path | IO[str]) -> int:
        rows = self._context.tools.ledger.archive.rows(self._context.name)
        with _writing(target) as file, closing(rows):
            return write_archive(file, rows)

    def _load(self, source: Path | IO[str]) -> int:
        bank = self._context
        with _reading(source) as file:
            count = bank.tools.ledger.archive.restore(bank.name, self._matching(read_archive(file)))
        bank.projection.catch_up()
        return count

    def _matching(self, rows: Iterator[ArchiveRow]) -> Iterator[ArchiveRow]:
        """The rows of an archive whose vectors the engine's embedder could have made."""
        own = self._context.tools.embedder.identity
        for row in rows:
            embedder = archived_embedder(row.fields) if row.kind == "banks" else None
            if embedder and not embedder.matches(own):
                raise EmbedderMismatch(self._context.name, str(embedder), str(own))
            yield row


@contextmanager
def _writing(target: Path | IO[str]) -> Iterator[IO[str]]:
    """The file to write; one given by path takes its name once it is whole."""
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
    """The file to read by lines; what has no lines is copied."""
    if isinstance(source, Path):
        with source.open(encoding="utf-8", newline="\n") as file:
            yield file
    elif hasattr(source, "readline"):
        yield source
    else:  # text that is not Unicode is found when the copy is read
        with TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n") as copy:
            copyfileobj(source, copy)
            copy.seek(0)
            yield copy

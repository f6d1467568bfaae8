"""`bank.archive`: the whole bank as one portable file, out and in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO

from hindsight_integrations.bank.archive_file import CheckedArchive, check_archive, rows_of, write_archive
from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.errors import EmbedderMismatch
from hindsight_integrations.model.embedder import EmbedderIdentity, Thresholds
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

        All or nothing: every line is checked before the first is written, and an archive that is damaged, cut short, of
        another version, or with a value that no memory has, leaves the bank as it was. The file is read twice; one that
        cannot be read twice is copied to a temporary file first.

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
        given, workers = checked_file(source, "source", "read"), self._context.tools.workers
        with ExitStack() as stack:
            file, start = await workers.read(_opened, given, stack)
            checked = await workers.read(self._checked, file)
            return await workers.write(self._load, file, start, checked)

    def _export(self, target: Path | IO[str]) -> int:
        rows = self._context.tools.ledger.archive_rows(self._context.name)
        with _writing(target) as file, closing(rows):
            return write_archive(file, rows)

    def _checked(self, file: IO[str]) -> CheckedArchive:
        """The archive's check, which its embedder passes too."""
        checked, own = check_archive(file), self._context.tools.embedder.identity
        made = checked.check.bank and checked.check.bank.embedder
        if made:
            identity = EmbedderIdentity(
                made.name, made.dimension, made.weights, Thresholds(**made.thresholds.model_dump())
            )
            if not identity.matches(own):
                raise EmbedderMismatch(self._context.name, str(identity), str(own))
        return checked

    def _load(self, file: IO[str], start: int, checked: CheckedArchive) -> int:
        bank = self._context
        file.seek(start)
        count = bank.tools.ledger.restore_rows(bank.name, rows_of(file, checked))
        bank.projection.catch_up()
        return count


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


def _opened(source: Path | IO[str], stack: ExitStack) -> tuple[IO[str], int]:
    """A file that can be read twice, and where its archive begins; the stack closes what is opened here."""
    if isinstance(source, Path):
        return stack.enter_context(source.open(encoding="utf-8", newline="\n")), 0
    if hasattr(source, "seekable") and source.seekable():
        return source, source.tell()
    # What is no Unicode is found when the copy is read.
    copy = TemporaryFile("w+", encoding="utf-8", errors="surrogatepass", newline="\n")  # noqa: SIM115 - the stack's
    copyfileobj(source, stack.enter_context(copy))
    copy.seek(0)
    return copy, 0

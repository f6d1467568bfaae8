"""`bank.archive`: the whole bank as one portable file, out and in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from hindsight_integrations.bank.archive_file import read_archive, write_archive
from hindsight_integrations.bank.context import BankVerbs, writes
from hindsight_integrations.errors import InvalidRequest

Target = str | Path | IO[str]


class AsyncArchive(BankVerbs):
    """The bank carried from one place to another."""

    namespace = "archive"

    async def export(self, target: Target) -> int:
        """Write the whole bank as JSON lines: memories with vectors and history, entities, links, documents, message keys.

        Streams, so the size of the bank does not matter. A file that is there already is replaced only once the archive
        is whole.

        Args:
            target: a path, or a text file open for writing.

        Returns:
            How many memories it holds.

        Raises:
            OSError: the file cannot be written.
        """
        return await self._context.tools.workers.read(self._export, target)

    @writes
    async def load(self, source: Target) -> int:
        """Fill this empty bank from an archive: the same memories with the same ids, and the archived profile.

        All or nothing: an archive that is damaged, cut short or of a newer version leaves the bank empty.

        Args:
            source: a path, or a text file open for reading.

        Returns:
            How many memories it holds.

        Raises:
            InvalidRequest: the bank is not empty, the archive cannot be used, or the engine was opened read-only.
            EmbedderMismatch: its vectors were made by another embedder than the engine's.
            OSError: the file cannot be read.
        """
        return await self._context.tools.workers.write(self._load, source)

    def _export(self, target: Target) -> int:
        rows = self._context.tools.ledger.archive_rows(self._context.name)
        with _writing(target) as file, closing(rows):
            return write_archive(file, rows)

    def _load(self, source: Target) -> int:
        bank, tools = self._context, self._context.tools
        with _reading(source) as file:
            rows = read_archive(file, bank=bank.name, embedder=tools.embedder.identity)
            count = tools.ledger.restore_rows(bank.name, rows)
        bank.projection.catch_up()
        return count


@contextmanager
def _writing(target: Target) -> Iterator[IO[str]]:
    """The file to write; one given by path takes its name once it is whole."""
    if not isinstance(target, str | Path):
        yield target
        return
    path = Path(target).expanduser()
    draft = path.with_name(f"{path.name}.part")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _reading(source: Target) -> Iterator[IO[str]]:
    if not isinstance(source, str | Path):
        yield source
        return
    try:
        with Path(source).expanduser().open(encoding="utf-8", newline="\n") as file:
            yield file
    except UnicodeDecodeError as error:
        raise InvalidRequest("archive", "it is not UTF-8 text", "Export it again.") from error

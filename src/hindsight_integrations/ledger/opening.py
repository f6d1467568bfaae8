"""Opens the ledger of a data directory for reading or writing, after checking that no commit is missing."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Connection

from hindsight_integrations.errors import LedgerReadOnly
from hindsight_integrations.ledger.databases import (
    LEDGER_FILE,
    SqliteDatabase,
    converted,
    engine_of,
    is_created,
)
from hindsight_integrations.ledger.locks import DirectoryLock
from hindsight_integrations.ledger.losses import HighWater, HighWaterFile, Loss, found_loss, missing_ledger
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.ledger.tasks import end_leases
from hindsight_integrations.model.clock import Clock
from hindsight_integrations.model.watermark import IndexMark

logger = logging.getLogger("hindsight_integrations")

IndexMarks: TypeAlias = Callable[[], Sequence[IndexMark]]
"""Function that reads the watermarks of the indexes beside a ledger."""


def no_index_marks() -> Sequence[IndexMark]:
    """Return no marks; for a ledger without indexes."""
    return ()


def open_for_writing(
    directory: Path,
    *,
    accept_loss: bool,
    index_marks: IndexMarks,
    clock: Clock,
) -> SqliteDatabase:
    """Open a data directory for writing, creating it if needed, and take its lock. All old leases end.

    Raises:
        LedgerBusy: the directory is already open for writing.
        LedgerReadOnly: the directory cannot be created or written, or is a file.
        LedgerLost: committed data is missing, and `accept_loss` is False.
        SchemaMismatch: a development version or a newer version wrote it.
        LedgerFailed: the file is damaged or not a ledger.
    """
    if directory.exists() and not directory.is_dir():
        raise LedgerReadOnly(directory, "it is a file, not a directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerReadOnly(directory, error.strerror or str(error)) from error
    with ExitStack() as undo:
        lock = DirectoryLock(directory)
        undo.callback(lock.release)
        loss = _checked_loss(directory, accept_loss=accept_loss, index_marks=index_marks)
        uri = f"{(directory / LEDGER_FILE).resolve().as_uri()}?mode=rwc"
        opened = SqliteDatabase(
            directory,
            uri,
            clock=clock,
            lock=lock,
            accept_loss=accept_loss,
        )
        undo.pop_all()
        undo.callback(opened.close)
        opened.begin(loss)
        end_leases(opened)
        undo.pop_all()
    return opened


def open_for_reading(
    directory: Path, *, accept_loss: bool, index_marks: IndexMarks, clock: Clock
) -> SqliteDatabase:
    """Open a data directory for reading, without its lock. Another process may write at the same time.

    Raises:
        LedgerReadOnly: the directory contains no ledger, and reading does not create one.
        LedgerLost: committed data is missing, and `accept_loss` is False.
        SchemaMismatch: a development version or a newer version wrote it.
        LedgerFailed: the file is damaged or not a ledger.
    """
    _checked_loss(directory, accept_loss=accept_loss, index_marks=index_marks)
    if not (directory / LEDGER_FILE).is_file():
        raise LedgerReadOnly(directory, "it contains no ledger, and read_only=True does not create one")
    return SqliteDatabase(
        directory, _reading_uri(directory), clock=clock, read_only=True, accept_loss=accept_loss
    )


def _reading_uri(directory: Path) -> str:
    """Return the URI of the database for reading.

    A WAL file needs its shared-memory file beside it. If the directory is not writable and there is no WAL
    file, no process is writing, and the database can be opened as immutable.
    """
    file = directory / LEDGER_FILE
    frozen = not file.with_name(f"{LEDGER_FILE}-wal").exists() and not os.access(directory, os.W_OK)
    return f"{file.resolve().as_uri()}?mode=ro{'&immutable=1' if frozen else ''}"


def _checked_loss(directory: Path, *, accept_loss: bool, index_marks: IndexMarks) -> Loss | None:
    """Return the loss that the user accepts; None if nothing was lost.

    Nothing is written during the check, because closing a writable connection would truncate a damaged
    write-ahead log, which may be needed for a repair.

    Raises:
        LedgerLost: committed data is missing, and `accept_loss` is False.
        SchemaMismatch: a development version or a newer version wrote it.
        LedgerFailed: the file is damaged or not a ledger.
    """
    marks = HighWaterFile(directory).read()  # read before the ledger, because a writer may commit in between
    with _inspecting(directory) as connection:
        loss = _loss(connection, marks, ())
        if loss or accept_loss or not (connection and marks):
            loss = _loss(connection, marks, index_marks())
    if loss is None:
        return None
    if not accept_loss:
        raise loss.error(directory)
    logger.warning("%s: continuing despite missing data, as requested: %s", directory, loss.reason)
    return loss


def _loss(
    connection: Connection | None, marks: Sequence[HighWater], indexes: Sequence[IndexMark]
) -> Loss | None:
    if connection is None:
        return missing_ledger(marks, indexes)
    return found_loss(connection, marks, indexes)


@contextmanager
def _inspecting(directory: Path) -> Iterator[Connection | None]:
    """Open a read-only connection; None if the file is missing or empty."""
    file = directory / LEDGER_FILE
    if not file.is_file() or not file.stat().st_size:
        yield None
        return
    engine = engine_of(partial(sqlite3.connect, _reading_uri(directory), uri=True))
    with converted(directory), engine.connect() as connection:
        yield connection if is_created(raw(connection), directory) else None

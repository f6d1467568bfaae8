"""sqlite3's exceptions, converted once to ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindsight_integrations.errors import (
    InvalidRequest,
    LedgerBusy,
    LedgerFailed,
    LedgerReadOnly,
    StorageError,
)

_PRIMARY_CODE = 0xFF  # extended SQLite result codes keep the primary one in their low byte


@contextmanager
def converted(path: Path) -> Iterator[None]:
    """Run a block; what sqlite3 raises in it leaves as one of our errors.

    Raises:
        LedgerBusy: another connection holds the database for longer than the busy timeout.
        LedgerReadOnly: the file cannot be written.
        LedgerFailed: anything else: damage, a full disk, an I/O error.
        InvalidRequest: a text is not valid Unicode.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _ours(error, path) from error
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "text", f"{error.object!r:.80} is not valid Unicode", "Remove surrogates."
        ) from error


def _ours(error: sqlite3.Error, path: Path) -> StorageError:
    # Errors raised by the Python binding itself carry no SQLite code.
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return LedgerBusy(path, None)
    if code == sqlite3.SQLITE_READONLY:
        return LedgerReadOnly(path, str(error))
    return LedgerFailed(path, str(error))

"""SQLite connections with sqlite-vec, even if Python was built without loadable extensions."""

from __future__ import annotations

import ctypes
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlite_vec

from hindsight_integrations.errors import MissingDependency

SHARED_LIBRARY = "libsqlite3.so.0"


class _HasIt(sqlite3.Connection):
    """A connection into which sqlite-vec is loaded already, for code that loads it itself."""

    def enable_load_extension(self, enabled: bool, /) -> None:
        """Do nothing: the extension is loaded already."""

    def load_extension(self, name: str, /) -> None:
        """Do nothing: the extension is loaded already."""


@contextmanager
def with_vectors(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection as SqliteStore.from_conn_string does, with sqlite-vec loaded or loadable.

    If Python cannot load extensions, sqlite-vec is registered in the SQLite library that Python shares with the
    process, while the connection is opened.

    Raises:
        MissingDependency: this Python can neither load extensions nor share its SQLite library.
    """
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        with closing(sqlite3.connect(path, check_same_thread=False, isolation_level=None)) as connection:
            yield connection
        return
    with closing(_registered(path)) as connection:
        yield connection


def _registered(path: Path) -> sqlite3.Connection:
    try:
        library = ctypes.CDLL(SHARED_LIBRARY)
        extension = ctypes.CDLL(f"{sqlite_vec.loadable_path()}.so")
        entry = ctypes.cast(extension.sqlite3_vec_init, ctypes.c_void_p)
        library.sqlite3_auto_extension(entry)
        try:
            connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, factory=_HasIt)
        finally:
            library.sqlite3_cancel_auto_extension(entry)
        connection.execute("SELECT vec_version()")
    except (OSError, sqlite3.OperationalError) as failure:
        fix = "use a Python whose sqlite3 loads extensions"
        raise MissingDependency("sqlite-vec", f"it cannot be loaded here ({failure}): {fix}") from failure
    return connection

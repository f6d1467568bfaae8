"""Locks of directories: only one process writes to a data directory, or uses a folder of a cache."""

from __future__ import annotations

import os
import secrets
import shutil
import weakref
from collections.abc import Collection
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from hindsight_integrations.errors import LedgerBusy, LedgerReadOnly

LOCK_FILE = "ledger.lock"
# A separate file, because on Windows no process can read the locked byte of the lock file.
OWNER_FILE = "ledger.pid"
ID_FILE = "cache.id"


_LOCKS: weakref.WeakSet[DirectoryLock] = weakref.WeakSet()
"""All locks of this process. A pid is not enough: in two containers that share a volume, both may be pid 1."""


class DirectoryLock:
    """The write lock of one data directory, held from construction to `release`.

    The operating system drops it when the process dies; a forked child does not inherit it.

    Raises:
        LedgerBusy: the lock is taken; the error contains the pid found beside the lock file.
        LedgerReadOnly: the lock file cannot be created.
    """

    def __init__(self, directory: Path) -> None:
        self._lock = FileLock(directory / LOCK_FILE, blocking=False, thread_local=False)
        self._owner = directory / OWNER_FILE
        self._directory = directory.resolve()
        try:
            self._lock.acquire()
            self._owner.write_text(str(os.getpid()), encoding="ascii")
        except Timeout:
            raise LedgerBusy(directory, self._pid(), here=self._is_held_here()) from None
        except OSError as error:
            self._lock.release()
            raise LedgerReadOnly(directory, error.strerror or str(error)) from error
        _LOCKS.add(self)

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()

    def holds(self, directory: Path) -> bool:
        """Return whether this is the lock of a directory and still held."""
        return bool(self._lock.is_locked) and self._directory == directory

    def _is_held_here(self) -> bool:
        here = any(lock.holds(self._directory) for lock in list(_LOCKS))
        return here and self._pid() == os.getpid()

    def _pid(self) -> int | None:
        """Return the owner's pid; None while the owner is still writing it."""
        text = self._owner.read_text("ascii", errors="replace").strip() if self._owner.exists() else ""
        return int(text) if text.isdecimal() else None


class CacheFolder:
    """A folder of this engine alone below a cache that several processes may share.

    It takes the first that no living process holds, so that a new process continues with a dead one's indexes.

    Attributes:
        path: the folder.
        id: random; stays when another process takes the folder over, and ends when the folder is deleted.

    Raises:
        LedgerReadOnly: the cache cannot be written.
    """

    def __init__(self, cache: Path) -> None:
        for number in count():
            self.path = cache / f"{number:03}"
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._lock = DirectoryLock(self.path)
                self.id = self._read_id() or self._draw_id()
            except LedgerBusy:
                continue
            except OSError as error:
                raise LedgerReadOnly(cache, error.strerror or str(error)) from error
            return

    def release(self) -> None:
        """Leave the folder to another process. Idempotent."""
        self._lock.release()

    def keep_only(self, used: Collection[str]) -> None:
        """Delete the indexes of backends that this engine does not use, which no erasure would reach.

        Raises:
            LedgerReadOnly: they cannot be deleted.
        """
        try:
            for path in self.path.iterdir():
                if path.is_dir() and path.name not in used:
                    shutil.rmtree(path)
        except OSError as error:
            raise LedgerReadOnly(self.path, error.strerror or str(error)) from error

    def _read_id(self) -> str:
        file = self.path / ID_FILE
        return file.read_text("ascii", errors="replace").strip() if file.exists() else ""

    def _draw_id(self) -> str:
        drawn, draft = secrets.token_hex(8), self.path / f"{ID_FILE}.tmp"
        draft.write_text(drawn, encoding="ascii")
        draft.replace(self.path / ID_FILE)
        return drawn

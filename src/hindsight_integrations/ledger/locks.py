"""Locks of directories: only one process writes to a data directory or uses a folder of a cache."""

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
# a separate file, because on Windows other processes cannot read a locked file
OWNER_FILE = "ledger.pid"
ID_FILE = "cache.id"


_LOCKS: weakref.WeakSet[DirectoryLock] = weakref.WeakSet()
"""All locks of this process. A pid alone is not enough: two containers that share a volume may both have pid 1."""


class DirectoryLock:
    """The write lock of a data directory, held from construction to `release`.

    The operating system releases it when the process dies. A forked child does not inherit it.

    Raises:
        LedgerBusy: the lock is taken; the error contains the pid that is stored beside the lock file.
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
        """Release the lock. Can be called more than once."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()

    def holds(self, directory: Path) -> bool:
        """Return whether this lock belongs to that directory and is still held."""
        return bool(self._lock.is_locked) and self._directory == directory

    def _is_held_here(self) -> bool:
        here = any(lock.holds(self._directory) for lock in list(_LOCKS))
        return here and self._pid() == os.getpid()

    def _pid(self) -> int | None:
        """Return the owner's pid; None if the owner has not written it yet."""
        text = self._owner.read_text("ascii", errors="replace").strip() if self._owner.exists() else ""
        return int(text) if text.isdecimal() else None


class CacheFolder:
    """A folder that only this engine uses, inside a cache directory that several processes may share.

    The first folder that no living process holds is taken, so that a new process continues with a dead one's indexes.

    Attributes:
        path: the folder.
        id: a random id. The folder keeps it when another process takes the folder over, until the folder is deleted.

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
        """Release the folder to other processes. Can be called more than once."""
        self._lock.release()

    def keep_only(self, used: Collection[str]) -> None:
        """Delete the indexes of backends that this engine does not use; later erasures would not reach them.

        Raises:
            LedgerReadOnly: the indexes cannot be deleted.
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

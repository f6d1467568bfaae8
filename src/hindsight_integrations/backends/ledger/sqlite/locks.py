"""Who may use a ledger's files: one process writes a data directory."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from hindsight_integrations.errors import LedgerBusy, LedgerReadOnly

LOCK_FILE = "ledger.lock"
OWNER_FILE = "ledger.pid"  # a file of its own: Windows lets nobody read the locked byte of the lock file


class DirectoryLock:
    """The write lock of one data directory, held from construction to `release`.

    The operating system drops it when the process dies, and a forked child does not keep it.

    Raises:
        LedgerBusy: somebody holds it; names the pid found beside the lock file.
        LedgerReadOnly: the lock file cannot be created.
    """

    def __init__(self, directory: Path) -> None:
        self._lock = FileLock(directory / LOCK_FILE, blocking=False, thread_local=False)
        self._owner = directory / OWNER_FILE
        try:
            self._lock.acquire()
            self._owner.write_text(str(os.getpid()), encoding="ascii")
        except Timeout:
            raise LedgerBusy(directory, self._pid()) from None
        except OSError as error:
            self._lock.release()
            raise LedgerReadOnly(directory, error.strerror or str(error)) from error

    def release(self) -> None:
        """Let others have it. Idempotent."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()

    def _pid(self) -> int | None:
        """The owner's pid; None while it is still writing it."""
        text = self._owner.read_text("ascii", errors="replace").strip() if self._owner.exists() else ""
        return int(text) if text.isdecimal() else None

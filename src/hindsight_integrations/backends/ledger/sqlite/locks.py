"""Who may use a ledger's files: one process writes a data directory, and in it one writer or many readers at a time."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindsight_integrations.errors import LedgerBusy, LedgerReadOnly

LOCK_FILE = "ledger.lock"

if sys.platform == "win32":
    import msvcrt

    _LOCKED_BYTE = 1 << 20  # past the pid, so that others can still read it

    def _acquire(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    # flock, not lockf: it also refuses a second open in the same process.
    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class DirectoryLock:
    """The write lock of one data directory, held from construction to `release`.

    Raises:
        LedgerBusy: somebody holds it; names the pid found in the lock file.
        LedgerReadOnly: the lock file cannot be created.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_FILE
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise LedgerReadOnly(directory, error.strerror or str(error)) from error
        try:
            _acquire(descriptor)
        except OSError:
            os.close(descriptor)
            raise LedgerBusy(directory, self._owner()) from None
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, b"%d" % os.getpid())
        self._descriptor: int | None = descriptor
        _held.add(self)

    def release(self) -> None:
        """Let others have it. Idempotent."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            _release(self._descriptor)
            self.abandon()

    def abandon(self) -> None:
        """Close this process's handle without unlocking: after a fork the lock is the parent's."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _owner(self) -> int | None:
        """The pid in the lock file; None while its owner is still writing it."""
        text = self._path.read_text("ascii", errors="replace").strip()
        return int(text) if text.isdecimal() else None


_held: weakref.WeakSet[DirectoryLock] = weakref.WeakSet()


def _abandon_in_child() -> None:
    for lock in list(_held):
        lock.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)


class Gate:
    """Shared by readers, exclusive to a writer; a waiting writer goes before new readers. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writer = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it together with other readers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writer)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold it alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writer)
            self._writer = True
            self._changed.wait_for(lambda: not self._readers)
        try:
            yield
        finally:
            with self._changed:
                self._writer = False
                self._changed.notify_all()

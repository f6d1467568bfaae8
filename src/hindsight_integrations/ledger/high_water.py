"""The high-water mark: a small file beside the ledger that says how far it had come, so that a loss of its end shows."""

from __future__ import annotations

import logging
import struct
import zlib
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from hindsight_integrations.ports.watermark import Watermark

logger = logging.getLogger("hindsight_integrations")

MARK_FILE = "ledger.mark"
RECORDS = (
    64  # of one page, 4 KiB: the newest may be half written, and the others tell which banks a loss concerns
)

_RECORD = struct.Struct(
    "<Q8s16sQQ8s"
)  # transactions, token, ledger, generation, revision, the commit's token
_SIZE = 64
_CHECK = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class HighWater:
    """Where the ledger stood after a transaction.

    Attributes:
        transactions: how many it had carried out.
        token: what was drawn at random for the last of them; hexadecimal.
        commit: the newest commit of any bank; generation and revision 0 where there is none, or its bank is gone.
    """

    transactions: int
    token: str
    commit: Watermark


class HighWaterFile:
    """The marks of the last 64 transactions, in a ring. Written by the one who holds the directory's lock.

    It is not fsynced: after a power cut it may be behind the ledger, never ahead of it, since the ledger's commits are
    on disk before they are marked. A record that was half written fails its checksum and does not count.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / MARK_FILE
        self._file: FileIO | None = None
        self._refused = False

    def read(self) -> list[HighWater]:
        """The marks that can be read, oldest first."""
        try:
            content = self._path.read_bytes()
        except OSError:
            return []
        found = [_unpacked(content[place : place + _SIZE]) for place in range(0, RECORDS * _SIZE, _SIZE)]
        return sorted((mark for mark in found if mark), key=lambda mark: mark.transactions)

    def write(self, mark: HighWater) -> None:
        """Add a mark. One that cannot be written is logged: the transaction it is of is on disk all the same."""
        self._put(mark.transactions % RECORDS * _SIZE, _packed(mark))

    def restart(self, mark: HighWater) -> None:
        """Make this the only mark."""
        content = bytearray(RECORDS * _SIZE)
        place = mark.transactions % RECORDS * _SIZE
        content[place : place + _SIZE] = _packed(mark)
        self._put(0, bytes(content))

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._file:
            self._file.close()
            self._file = None

    def _put(self, place: int, content: bytes) -> None:
        try:
            if self._file is None:
                self._path.touch()
                self._file = FileIO(self._path, "r+")
            self._file.seek(place)
            self._file.write(content)
            self._refused = False
        except OSError as error:
            if self._refused:  # a full disk is told once, not at every commit
                return
            self._refused = True
            logger.warning(
                "%s could not be written, so a loss of the ledger might not show: %s", self._path, error
            )


def _packed(mark: HighWater) -> bytes:
    commit = mark.commit
    record = _RECORD.pack(
        mark.transactions,
        bytes.fromhex(mark.token),
        bytes.fromhex(commit.ledger),
        commit.generation,
        commit.revision,
        bytes.fromhex(commit.token),
    )
    return (_CHECK.pack(zlib.crc32(record)) + record).ljust(_SIZE, b"\0")


def _unpacked(content: bytes) -> HighWater | None:
    """The mark of a record; None if it was never written, or not wholly."""
    record = content[_CHECK.size : _CHECK.size + _RECORD.size]
    if len(content) < _SIZE or not any(record) or _CHECK.pack(zlib.crc32(record)) != content[: _CHECK.size]:
        return None
    transactions, token, ledger, generation, revision, drawn = _RECORD.unpack(record)
    commit = Watermark(ledger.hex(), generation, revision, drawn.hex() if revision else "")
    return HighWater(transactions, token.hex(), commit)

"""Detection of losses: commits that are recorded in the high-water marks or in an index, but missing from the ledger."""

from __future__ import annotations

import logging
import secrets
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path

from sqlalchemy import Connection, and_, bindparam, func, select, update

from hindsight_integrations.errors import LedgerLost
from hindsight_integrations.ledger.sql import insert, run_many
from hindsight_integrations.ledger.tables import Int, banks, commits, ledger, losses
from hindsight_integrations.model.time import to_micros
from hindsight_integrations.model.watermark import IndexMark, Watermark

logger = logging.getLogger("hindsight_integrations")

MARK_FILE = "ledger.mark"
# One 4 KiB page. The newest record may be half written; older ones show which banks a loss affects.
RECORDS = 64

_RECORD = struct.Struct(
    "<Q8s16sQQ8s"
)  # transactions, token, ledger, generation, revision, the commit's token
_SIZE = 64
_CHECK = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class HighWater:
    """The state of the ledger after a transaction: a high-water mark.

    Attributes:
        transactions: number of transactions so far.
        token: random token of the last transaction, hexadecimal.
        commit: the newest commit of any bank. Generation and revision are 0 if there is no commit or its bank
            was deleted.
    """

    transactions: int
    token: str
    commit: Watermark


class HighWaterFile:
    """The marks of the last 64 transactions, in a ring buffer, written by the process that holds the directory's lock.

    The file is not fsynced. After a power failure it may be behind the ledger but never ahead of it, because commits reach
    the disk before their marks. A half-written record fails its checksum and is ignored.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / MARK_FILE
        self._file: FileIO | None = None
        self._refused = False

    def read(self) -> list[HighWater]:
        """Return the readable marks, oldest first."""
        try:
            content = self._path.read_bytes()
        except OSError:
            return []
        marks = [_unpacked(content[place : place + _SIZE]) for place in range(0, RECORDS * _SIZE, _SIZE)]
        return sorted((mark for mark in marks if mark), key=lambda mark: mark.transactions)

    def write(self, mark: HighWater) -> None:
        """Add a mark. A failure is only logged, because the transaction is already on disk."""
        self._put(mark.transactions % RECORDS * _SIZE, _packed(mark))

    def restart(self, mark: HighWater) -> None:
        """Replace all marks by this one."""
        content = bytearray(RECORDS * _SIZE)
        place = mark.transactions % RECORDS * _SIZE
        content[place : place + _SIZE] = _packed(mark)
        self._put(0, bytes(content))

    def close(self) -> None:
        """Close the file. Can be called more than once."""
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
            if self._refused:  # log a full disk once, not at every commit
                return
            self._refused = True
            logger.warning(
                "%s could not be written, so a loss of ledger data might go undetected: %s", self._path, error
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
    """Parse a record; return None if it was never or only partly written."""
    record = content[_CHECK.size : _CHECK.size + _RECORD.size]
    if len(content) < _SIZE or not any(record) or _CHECK.pack(zlib.crc32(record)) != content[: _CHECK.size]:
        return None
    transactions, token, ledger, generation, revision, drawn = _RECORD.unpack(record)
    commit = Watermark(ledger.hex(), generation, revision, drawn.hex() if revision else "")
    return HighWater(transactions, token.hex(), commit)


_OF_REVISION = and_(commits.c.bank == banks.c.id, commits.c.revision == banks.c.revision)
_STATE = select(
    ledger.c.id, ledger.c.transactions, ledger.c.token, banks.c.id, banks.c.revision, commits.c.token
).select_from(ledger.outerjoin(banks, banks.c.id == ledger.c.bank).outerjoin(commits, _OF_REVISION))
_COUNT = update(ledger).values(
    transactions=ledger.c.transactions + 1,
    token=bindparam("drawn"),
    bank=func.coalesce(bindparam("row", type_=Int), ledger.c.bank),
)
_COUNTED = _COUNT.returning(ledger.c.id, ledger.c.transactions)
_OWN = select(ledger.c.id)
_RENAME = update(ledger).values(id=bindparam("new"))
_ACCEPT = insert(losses).on_conflict_do_nothing()
_ACCEPTED = select(losses.c.ledger).where(losses.c.ledger == bindparam("ledger"))
_BANKS = select(banks.c.key, banks.c.name)
_BANK = select(banks.c.name, banks.c.revision, _OWN.scalar_subquery()).where(
    banks.c.id == bindparam("generation")
)
_OF_COMMIT = and_(commits.c.bank == banks.c.id, commits.c.revision == bindparam("revision"))
TOKEN = (
    select(commits.c.token)
    .select_from(banks.outerjoin(commits, _OF_COMMIT))
    .where(banks.c.id == bindparam("generation"))
)
"""Selects the token of a bank's commit. Returns no row if the bank does not exist, and NULL if the commit does not."""

_BANKS_MADE = select(ledger.c.banks)
_ADVANCE = (
    update(banks)
    .where(banks.c.id == bindparam("row"))
    .values(
        revision=bindparam("to"),
        dimension=func.coalesce(bindparam("length", type_=Int), banks.c.dimension),
    )
)
_DRAW = insert(commits)
_ADVANCED = "advanced"
"""Key in `connection.info` for the watermark that the open transaction advances to; `counted` reads it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Missing data that was committed.

    Attributes:
        reason: a description.
        ledgers: ids of the ledgers with missing data.
        transactions: number of transactions known to be missing; None if unknown.
        banks: number of commits known to be missing, by bank.
    """

    reason: str
    ledgers: frozenset[str]
    transactions: int | None
    banks: dict[str, int]

    def error(self, path: Path | str) -> LedgerLost:
        """Return the error that reports the loss."""
        return LedgerLost(path, self.reason, self.transactions, self.banks)


def state_of(connection: Connection) -> HighWater:
    """Return the ledger's current state."""
    own, transactions, token, generation, revision, drawn = connection.execute(_STATE).one()
    commit = Watermark(own, generation or 0, revision or 0, hexadecimal(drawn))
    return HighWater(transactions, hexadecimal(token), commit)


def counted(connection: Connection) -> HighWater:
    """Count the open transaction, generate its random token, and return the resulting state of the ledger."""
    drawn = secrets.token_bytes(8)
    advanced: Watermark | None = connection.info.pop(_ADVANCED, None)
    if advanced is None:
        connection.execute(_COUNT, {"drawn": drawn, "row": None})
        return state_of(connection)
    own, transactions = connection.execute(_COUNTED, {"drawn": drawn, "row": advanced.generation}).one()
    return HighWater(transactions, drawn.hex(), replace(advanced, ledger=own))


def advance(connection: Connection, bank: int, revision: int, dimension: int | None = None) -> None:
    """Raise a bank's revision, generate the commit's token, and set the vector dimension if given."""
    token = secrets.token_bytes(8)
    run_many(connection, _ADVANCE, [{"row": bank, "to": revision, "length": dimension}])
    run_many(connection, _DRAW, [{"bank": bank, "revision": revision, "token": token}])
    connection.info[_ADVANCED] = Watermark("", bank, revision, token.hex())


def begun(connection: Connection) -> None:
    """Clear the watermark that a rolled-back transaction left. Call it when a transaction begins."""
    connection.info.pop(_ADVANCED, None)


def watermark_of(connection: Connection) -> Watermark | None:
    """Return the open transaction's commit, without the ledger's id; None if the transaction raises no revision."""
    return connection.info.get(_ADVANCED)


def token_of(connection: Connection, generation: int, revision: int) -> str:
    """Return the token of a bank's commit; empty if the commit does not exist."""
    return hexadecimal(connection.scalar(TOKEN, {"generation": generation, "revision": revision}))


def hexadecimal(token: bytes | None) -> str:
    """Return a token as text; empty for None."""
    return token.hex() if token else ""


def is_lost(connection: Connection, mark: Watermark) -> bool:
    """Return whether a commit is missing, although its bank was not erased and the loss was not accepted."""
    if mark.ledger != connection.scalar(_OWN):
        return connection.scalar(_ACCEPTED, {"ledger": mark.ledger}) is None
    values = {"generation": mark.generation, "revision": mark.revision}
    if row := connection.execute(TOKEN, values).first():
        return hexadecimal(row.token) != mark.token
    # The bank does not exist. If its number was ever assigned, the bank was erased.
    return mark.generation > int(connection.scalar(_BANKS_MADE) or 0)


def missing_ledger(marks: Sequence[HighWater], indexes: Sequence[IndexMark]) -> Loss | None:
    """Return the loss that a missing ledger file means; None if there are neither marks nor indexes."""
    if not marks and not indexes:
        return None
    watermarks = [*(mark.commit for mark in marks), *(index.mark for index in indexes if index.mark)]
    transactions = marks[-1].transactions if marks else None
    reasons = [f"its mark records {transactions} transactions"] if marks else []
    count = len({index.bank_key for index in indexes})
    reasons += [f"there are indexes of {count} bank(s)"] if count else []
    return Loss(
        f"the ledger file is missing, but {' and '.join(reasons)}",
        frozenset(mark.ledger for mark in watermarks),
        transactions,
        {},
    )


def found_loss(
    connection: Connection, marks: Sequence[HighWater], indexes: Sequence[IndexMark]
) -> Loss | None:
    """Compare the ledger with its marks (oldest first) and indexes; return the loss, or None."""
    own = state_of(connection)
    later = [mark for mark in marks if mark.transactions > own.transactions]
    reasons, ledgers, missing = _behind_mark(connection, own, marks[-1] if marks else None)
    names = dict(connection.execute(_BANKS).all())
    ahead = [IndexMark("mark", "", mark.commit) for mark in later] if reasons else []
    behind: dict[str, int] = {}
    for index in (*ahead, *indexes):
        if index.mark is None or not is_lost(connection, index.mark):
            continue
        ledgers.add(index.mark.ledger)
        name, count = _bank_behind(connection, names, index)
        behind[name] = max(count, behind.get(name, 0))
    if behind:
        reasons.append(f"commits are missing from {_listed(behind)}")
    return Loss("; ".join(reasons), frozenset(ledgers), missing, behind) if reasons else None


def accept(connection: Connection, loss: Loss) -> None:
    """Record that the user accepts a loss, and give the ledger a new id.

    Because of the new id, every index that contains lost commits is rebuilt, and a later loss is distinguished from this
    one.
    """
    now = to_micros(datetime.now(UTC))
    rows = [{"ledger": lost, "accepted_at": now, "report": loss.reason} for lost in sorted(loss.ledgers)]
    run_many(connection, _ACCEPT, rows)
    if connection.scalar(_OWN) in loss.ledgers:
        connection.execute(_RENAME, {"new": secrets.token_hex(16)})


def _behind_mark(
    connection: Connection, own: HighWater, mark: HighWater | None
) -> tuple[list[str], set[str], int | None]:
    """Compare the ledger with its newest high-water mark; return reasons, ids of ledgers with losses, and the number of lost transactions."""
    if mark is None or (mark.commit.ledger != own.commit.ledger and not is_lost(connection, mark.commit)):
        return [], set(), None
    if mark.commit.ledger != own.commit.ledger:
        return ["its mark belongs to another ledger"], {mark.commit.ledger}, None
    if mark.transactions > own.transactions:
        missing = mark.transactions - own.transactions
        told = f"the last {missing} of {mark.transactions} transactions are missing"
        return [told], {own.commit.ledger}, missing
    same = mark.transactions == own.transactions
    if mark.token != own.token if same else is_lost(connection, mark.commit):
        return (
            ["its history differs from its mark, as after restoring a copy"],
            {own.commit.ledger},
            None,
        )
    return [], set(), None


def _bank_behind(connection: Connection, names: dict[str, str], index: IndexMark) -> tuple[str, int]:
    """Return the name of an index's bank, and the number of commits missing from this bank; 0 if unknown."""
    mark = index.mark
    row = connection.execute(_BANK, {"generation": mark.generation}).first() if mark else None
    if row and mark and row[2] == mark.ledger:
        return row.name, max(0, mark.revision - row.revision)
    return names.get(index.bank_key, "a bank that is not in this ledger"), 0


def _listed(behind: dict[str, int]) -> str:
    listed = [f"{name!r} ({count or 'some'})" for name, count in sorted(behind.items())[:5]]
    return ", ".join(listed) + (f" and {len(behind) - 5} more" if len(behind) > 5 else "")

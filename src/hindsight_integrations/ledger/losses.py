"""Losses: what the ledger's mark or an index knows of and the ledger does not; found at open, accepted on request."""

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
_TOKEN = (
    select(commits.c.token)
    .select_from(banks.outerjoin(commits, _OF_COMMIT))
    .where(banks.c.id == bindparam("generation"))
)
"""The token of a bank's commit: no row if there is no such bank, NULL if there is no such commit."""

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
"""What the open transaction has committed to, among what a connection knows of itself: `counted` names it."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What is missing.

    Attributes:
        reason: in words.
        ledgers: ids of the histories of which something is missing.
        transactions: how many are known to be missing; None where nothing tells.
        banks: bank to how many of its commits are known to be missing.
    """

    reason: str
    ledgers: frozenset[str]
    transactions: int | None
    banks: dict[str, int]

    def error(self, path: Path) -> LedgerLost:
        """The error that reports it."""
        return LedgerLost(path, self.reason, self.transactions, self.banks)


def state_of(connection: Connection) -> HighWater:
    """Where the ledger stands."""
    own, transactions, token, generation, revision, drawn = connection.execute(_STATE).one()
    commit = Watermark(own, generation or 0, revision or 0, _hexadecimal(drawn))
    return HighWater(transactions, _hexadecimal(token), commit)


def counted(connection: Connection) -> HighWater:
    """Count the open transaction and draw its token; where the ledger will stand."""
    drawn = secrets.token_bytes(8)
    advanced: Watermark | None = connection.info.pop(_ADVANCED, None)
    if advanced is None:
        connection.execute(_COUNT, {"drawn": drawn, "row": None})
        return state_of(connection)
    own, transactions = connection.execute(_COUNTED, {"drawn": drawn, "row": advanced.generation}).one()
    return HighWater(transactions, drawn.hex(), replace(advanced, ledger=own))


def advance(connection: Connection, bank: int, revision: int, dimension: int | None = None) -> None:
    """Raise a bank's revision, draw the commit's token, and set the length of the bank's vectors if one is given."""
    token = secrets.token_bytes(8)
    connection.execute(_ADVANCE, {"row": bank, "to": revision, "length": dimension})
    connection.execute(_DRAW, {"bank": bank, "revision": revision, "token": token})
    connection.info[_ADVANCED] = Watermark("", bank, revision, token.hex())


def begun(connection: Connection) -> None:
    """Forget what a transaction that was rolled back had advanced."""
    connection.info.pop(_ADVANCED, None)


def token_of(connection: Connection, generation: int, revision: int) -> str:
    """What was drawn for a commit of a bank; empty if it has none of that number."""
    return _hexadecimal(connection.scalar(_TOKEN, {"generation": generation, "revision": revision}))


def _hexadecimal(token: bytes | None) -> str:
    return token.hex() if token else ""


def is_lost(connection: Connection, mark: Watermark) -> bool:
    """Whether a commit was made that this ledger does not hold, though nobody forgot its bank or accepted the loss."""
    if mark.ledger != connection.scalar(_OWN):
        return connection.scalar(_ACCEPTED, {"ledger": mark.ledger}) is None
    values = {"generation": mark.generation, "revision": mark.revision}
    if row := connection.execute(_TOKEN, values).first():
        return _hexadecimal(row.token) != mark.token
    # No such bank: forgotten, if one of that number was ever made.
    return mark.generation > int(connection.scalar(_BANKS_MADE) or 0)


def missing_ledger(marks: Sequence[HighWater], indexes: Sequence[IndexMark]) -> Loss | None:
    """The loss where there is no ledger; None if nothing says that there was one."""
    if not marks and not indexes:
        return None
    watermarks = [*(mark.commit for mark in marks), *(index.mark for index in indexes if index.mark)]
    transactions = marks[-1].transactions if marks else None
    reasons = [f"its mark tells of {transactions} transactions"] if marks else []
    count = len({index.bank_key for index in indexes})
    reasons += [f"there are indexes of {count} bank(s)"] if count else []
    return Loss(
        f"there is no ledger, but {' and '.join(reasons)}",
        frozenset(mark.ledger for mark in watermarks),
        transactions,
        {},
    )


def found_loss(
    connection: Connection, marks: Sequence[HighWater], indexes: Sequence[IndexMark]
) -> Loss | None:
    """What the ledger's marks (oldest first) and its indexes know of and the ledger does not; None if nothing."""
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
        name, count = _of_bank(connection, names, index)
        behind[name] = max(count, behind.get(name, 0))
    if behind:
        reasons.append(f"commits are missing of {_listed(behind)}")
    return Loss("; ".join(reasons), frozenset(ledgers), missing, behind) if reasons else None


def accept(connection: Connection, loss: Loss) -> None:
    """Record that the user goes on without what was lost; the ledger is another one from here on.

    Its new id makes every index of the lost history a stranger, to be rebuilt, and a later loss is told from this one.
    """
    now = to_micros(datetime.now(UTC))
    rows = [{"ledger": lost, "accepted_at": now, "report": loss.reason} for lost in sorted(loss.ledgers)]
    run_many(connection, _ACCEPT, rows)
    if connection.scalar(_OWN) in loss.ledgers:
        connection.execute(_RENAME, {"new": secrets.token_hex(16)})


def _behind_mark(
    connection: Connection, own: HighWater, mark: HighWater | None
) -> tuple[list[str], set[str], int | None]:
    """What the newest mark says is missing: reasons, ids of the histories, number of transactions."""
    if mark is None or (mark.commit.ledger != own.commit.ledger and not is_lost(connection, mark.commit)):
        return [], set(), None
    if mark.commit.ledger != own.commit.ledger:
        return ["its mark is of another ledger"], {mark.commit.ledger}, None
    if mark.transactions > own.transactions:
        missing = mark.transactions - own.transactions
        told = f"the last {missing} of {mark.transactions} transactions are missing"
        return [told], {own.commit.ledger}, missing
    same = mark.transactions == own.transactions
    if mark.token != own.token if same else is_lost(connection, mark.commit):
        return (
            ["its history is not the one of its mark, as of a copy that was put back"],
            {own.commit.ledger},
            None,
        )
    return [], set(), None


def _of_bank(connection: Connection, names: dict[str, str], index: IndexMark) -> tuple[str, int]:
    """The bank an index is of, and how many of its commits are missing; 0 if nothing tells."""
    mark = index.mark
    row = connection.execute(_BANK, {"generation": mark.generation}).first() if mark else None
    if row and mark and row[2] == mark.ledger:
        return row.name, max(0, mark.revision - row.revision)
    return names.get(index.bank_key, "a bank this ledger does not know"), 0


def _listed(behind: dict[str, int]) -> str:
    listed = [f"{name!r} ({count or 'some'})" for name, count in sorted(behind.items())[:5]]
    return ", ".join(listed) + (f" and {len(behind) - 5} more" if len(behind) > 5 else "")

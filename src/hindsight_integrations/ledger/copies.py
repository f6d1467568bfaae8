"""The registry of copies of banks outside the ledger: which indexes contain a bank, and which erasures they have applied.

Used only on PostgreSQL, where each process has its own indexes. A copy is registered before the bank is read
into it, so that no erasure misses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, Connection, Executable, Row, bindparam, case, delete, func, select, update

from hindsight_integrations.errors import BankForgotten
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.rules import bank_key
from hindsight_integrations.ledger.sql import Values, insert
from hindsight_integrations.ledger.tables import REVISION, banks, copies, erasures
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.erasure import BankCopy
from hindsight_integrations.model.time import from_micros, to_micros

DROPPED = REVISION[-1]
"""The erasure revision of a dropped bank. No real revision reaches it: its copies are deleted instead of confirmed."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The place where an engine keeps its copies of banks.

    Attributes:
        id: a random id. A cache folder keeps its id when another process takes it over.
        place: the host and folder, or the process whose memory it is.
        process: the process, as host:pid.
        in_memory: whether the copies end with the process.
    """

    id: str
    place: str
    process: str
    in_memory: bool


UNREGISTERED = -1
"""Confirmed revision of a copy that must be registered again; lower than every real revision."""


@dataclass(frozen=True, slots=True)
class CopyBehind:
    """A copy that may contain erased memories.

    Attributes:
        generation: the bank's generation.
        key: the bank's key.
        name: the bank's name; None if it was dropped.
    """

    generation: int
    key: str
    name: str | None


class RegisteredCopy:
    """A copy of an open bank.

    Attributes:
        confirmed: the revision up to which the copy has applied all erasures.
    """

    def __init__(self, copies: Copies, bank: BankHeader, holder: Holder, confirmed: int) -> None:
        self._copies, self._bank, self._holder, self.confirmed = copies, bank, holder, confirmed

    def confirm(self, revision: int) -> None:
        """See `Copies.confirm`."""
        self._copies.confirm(self._bank, self._holder, revision)
        self.confirmed = revision


class Copies:
    """The copies of all banks of a shared ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, bank: str) -> tuple[BankCopy, ...]:
        """Return the copies of a bank, and of dropped banks with the same name, ordered by place."""
        with self._database.reading_once() as connection:
            return tuple(map(_copy, connection.execute(_OF_KEY, {"key": bank_key(bank)})))

    def unconfirmed(self) -> tuple[BankCopy, ...]:
        """Return the copies of all banks that have not confirmed an erasure, ordered by place."""
        with self._database.reading_once() as connection:
            return tuple(map(_copy, connection.execute(_UNCONFIRMED)))

    def behind(self, holder: Holder) -> list[CopyBehind]:
        """Return a holder's copies that have not confirmed an erasure."""
        with self._database.reading_once() as connection:
            rows = connection.execute(_BEHIND, {"holder": holder.id}).all()
        return [CopyBehind(*row) for row in rows]

    def register(self, bank: BankHeader, holder: Holder) -> RegisteredCopy:
        """Register a copy before the bank is read into it. No erasure of the bank can be committed during this call.

        Raises:
            BankLocked: another process held the bank for longer than the time limit.
            BankForgotten: the bank was dropped.
        """
        values = {
            "bank": bank.generation,
            "holder": holder.id,
            "place": holder.place,
            "process": holder.process,
            "in_memory": holder.in_memory,
            "now": to_micros(self._database.clock.now()),
        }
        with self._database.writing(bank.name) as connection:
            confirmed = connection.execute(_REGISTER, values).scalar()
            if confirmed is None:
                raise BankForgotten(bank.name)
        return RegisteredCopy(self, bank, holder, confirmed)

    def has_earlier(self, bank: BankHeader, holder: Holder) -> bool:
        """Return whether a holder has a copy of a dropped bank with this name, in the same files."""
        with self._database.reading_once() as connection:
            values = {"key": bank.key, "holder": holder.id, "bank": bank.generation}
            return connection.execute(_EARLIER, values).first() is not None

    def confirm(self, bank: BankHeader, holder: Holder, revision: int) -> None:
        """Record that a copy has applied all erasures up to a revision.

        Raises:
            BankForgotten: the bank was dropped.
        """
        values = {"of": bank.generation, "by": holder.id, "to": revision}
        while not self._changed(_CONFIRM, values):  # the ledger was restored from an older backup
            self.register(bank, holder)

    def delete(self, generation: int, holder: Holder) -> None:
        """Record that a holder has deleted its copy of a bank."""
        self._changed(_DELETE, {"of": generation, "by": holder.id})

    def delete_earlier(self, bank: BankHeader, holder: Holder) -> None:
        """Record that a holder has deleted its copies of earlier banks with this name."""
        self._changed(_DELETE_EARLIER, {"key": bank.key, "by": holder.id, "besides": bank.generation})

    def delete_holder(self, holder: str) -> int:
        """Record that all copies of a holder (a process or cache folder) have been deleted; return the number of copies."""
        return self._changed(_DELETE_HOLDER, {"by": holder})

    def _changed(self, statement: Executable, values: Values) -> int:
        with self._database.writing() as connection:
            return connection.execute(statement, values).rowcount


def note_erasure(connection: Connection, bank: int, revision: int) -> tuple[BankCopy, ...]:
    """Record that a revision erases something, so that every copy behind it cleans its files.

    Returns:
        The copies that must confirm the erasure.
    """
    connection.execute(_NOTE, {"bank": bank, "revision": revision})
    return _marked(connection, bank, revision)


def note_drop(connection: Connection, bank: int) -> tuple[BankCopy, ...]:
    """Record that a bank is dropped; return its copies, which must be deleted."""
    return _marked(connection, bank, DROPPED)


def _marked(connection: Connection, bank: int, revision: int) -> tuple[BankCopy, ...]:
    return tuple(map(_copy, connection.execute(_MARK, {"of": bank, "revision": revision})))


def _copy(row: Row[Any]) -> BankCopy:
    return BankCopy(
        bank=row.name or "",
        holder=row.holder,
        place=row.place,
        process=row.process,
        opened_at=from_micros(row.opened_at),
        confirmed=row.confirmed >= row.erased,
    )


_NOTE = insert(erasures)
_NOTE = _NOTE.on_conflict_do_update(index_elements=["bank"], set_={"revision": _NOTE.excluded.revision})
_MARK = (
    update(copies)
    .where(copies.c.bank == bindparam("of"))
    .values(erased=bindparam("revision"))
    .returning(
        copies, select(banks.c.name).where(banks.c.id == copies.c.bank).scalar_subquery().label("name")
    )
)
_behind = copies.c.erased > copies.c.confirmed
_COPIES = (
    select(copies, banks.c.name)
    .outerjoin_from(copies, banks, banks.c.id == copies.c.bank)
    .order_by(copies.c.place, copies.c.holder)
)
_OF_KEY = _COPIES.where(copies.c.key == bindparam("key"))
_UNCONFIRMED = _COPIES.where(_behind)
_BEHIND = (
    select(copies.c.bank, copies.c.key, banks.c.name)
    .outerjoin_from(copies, banks, banks.c.id == copies.c.bank)
    .where(copies.c.holder == bindparam("holder"), _behind)
)
_VALUES = {
    "bank": banks.c.id,
    "holder": bindparam("holder", type_=copies.c.holder.type),
    "key": banks.c.key,
    "place": bindparam("place", type_=copies.c.place.type),
    "process": bindparam("process", type_=copies.c.process.type),
    "opened_at": bindparam("now", type_=copies.c.opened_at.type),
    "erased": func.coalesce(erasures.c.revision, 0),
    # A new folder may contain files of an older registration. Copies in memory start from the current revision.
    "confirmed": case((bindparam("in_memory", type_=Boolean), banks.c.revision), else_=0),
}
_new = insert(copies).from_select(
    list(_VALUES),
    select(*_VALUES.values())
    .outerjoin_from(banks, erasures, erasures.c.bank == banks.c.id)
    .where(banks.c.id == bindparam("bank")),
)
_REGISTER = _new.on_conflict_do_update(
    index_elements=["bank", "holder"],
    set_={name: _new.excluded[name] for name in ("place", "process", "opened_at")},
).returning(copies.c.confirmed)
_EARLIER = select(copies.c.bank).where(
    copies.c.key == bindparam("key"),
    copies.c.holder == bindparam("holder"),
    copies.c.bank != bindparam("bank"),
)
_of_holder = copies.c.holder == bindparam("by")
_CONFIRM = (
    update(copies).where(copies.c.bank == bindparam("of"), _of_holder).values(confirmed=bindparam("to"))
)
_DELETE = delete(copies).where(copies.c.bank == bindparam("of"), _of_holder)
_DELETE_EARLIER = delete(copies).where(
    copies.c.key == bindparam("key"), _of_holder, copies.c.bank != bindparam("besides")
)
_DELETE_HOLDER = delete(copies).where(_of_holder)

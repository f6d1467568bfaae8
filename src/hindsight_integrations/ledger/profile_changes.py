"""The profiles that a bank has had, by number and by time."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, select, update

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.ledger.databases import Database
from hindsight_integrations.ledger.rows import At, Reader, Row, fields_text, find_bank, profile_from
from hindsight_integrations.ledger.sql import insert
from hindsight_integrations.ledger.tables import banks, profile_changes, unscrubbed
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.writes import WriteSet

_SECOND = 1_000_000  # microseconds

_OF_BANK = profile_changes.c.bank == bindparam("of")
_CHANGES = select(*profile_changes.c["number", "profile", "effective_at", "recorded_at", "reason"]).where(
    _OF_BANK
)
_ALL = _CHANGES.order_by(profile_changes.c.number)
_BY_NUMBER = _CHANGES.where(profile_changes.c.number == bindparam("number"))
_NEWEST = _CHANGES.order_by(profile_changes.c.number.desc()).limit(1)
_BEFORE = _NEWEST.where(profile_changes.c.effective_at < bindparam("end"))
_newer = profile_changes.alias("newer")
_DELETE_OLD = delete(profile_changes).where(
    _OF_BANK,
    profile_changes.c.number
    < select(func.max(_newer.c.number)).where(_newer.c.bank == bindparam("of")).scalar_subquery(),
)
_INSERT = insert(profile_changes)
_SET = update(banks).where(banks.c.id == bindparam("of")).values(profile=bindparam("text"))
_MARK_UNSCRUBBED = insert(unscrubbed).on_conflict_do_nothing()


class ProfileReader(Reader):
    """Reads of profiles."""

    def changes(self, bank: str) -> list[ProfileChange]:
        """Return every profile the bank has had, by number; empty if it never had one."""
        with self._at(bank) as (connection, row):
            return [_change(change) for change in connection.execute(_ALL, {"of": row})]

    def change(self, bank: str, number: int | None = None) -> ProfileChange | None:
        """Return the profile with this number, or the newest; None if it does not exist."""
        query = _NEWEST if number is None else _BY_NUMBER
        with self._at(bank) as (connection, row):
            change = connection.execute(query, {"of": row, "number": number}).one_or_none()
            return _change(change) if change else None

    def at(self, bank: str, moment: datetime) -> BankProfile:
        """Return the profile in effect at this time; a neutral profile before the first change.

        A change that takes effect within the same second is included.
        """
        with self._at(bank) as (connection, row):
            end = to_micros(moment.replace(microsecond=0)) + _SECOND
            change = connection.execute(_BEFORE, {"of": row, "end": end}).one_or_none()
            return _change(change).profile if change else BankProfile()


class ProfileWriter(ProfileReader):
    """Reads profiles and erases old ones."""

    def __init__(self, at: At, database: Database) -> None:
        super().__init__(at)
        self._database = database

    def forget_history(self, bank: str) -> int:
        """Erase all profiles but the current one, which keeps its number; return the number of erased profiles.

        The revision does not change. `scrub` removes the bytes from the storage.
        """
        with self._database.writing(bank) as connection:
            row = find_bank(connection, bank).id
            count = connection.execute(_DELETE_OLD, {"of": row}).rowcount
            if count:
                connection.execute(_MARK_UNSCRUBBED, {"bank": row})
        return count


def write_profile(connection: Connection, bank: int, writes: WriteSet, now: datetime) -> None:
    """Store the profile of a write set as the bank's current one.

    Raises:
        RevisionConflict: the bank got another profile in the meantime; the transaction must be rolled back.
    """
    if (write := writes.profile) is None:
        return
    newest = connection.execute(_NEWEST, {"of": bank}).one_or_none()
    recorded_at = to_micros(now)
    effective_at = min(to_micros(write.effective_at), recorded_at)
    number, earliest = (newest.number, newest.effective_at) if newest else (0, effective_at)
    if number != write.expected:
        raise RevisionConflict(writes.bank, write.expected, number, of="change of its profile")
    text = fields_text(write.profile)
    change = {
        "bank": bank,
        "number": number + 1,
        "profile": text,
        "effective_at": max(earliest, effective_at),
        "recorded_at": recorded_at,
        "reason": write.reason,
    }
    connection.execute(_INSERT, change)
    connection.execute(_SET, {"of": bank, "text": text})


def _change(row: Row) -> ProfileChange:
    number, profile, effective_at, recorded_at, reason = row
    return ProfileChange(
        number, profile_from(profile), from_micros(effective_at), from_micros(recorded_at), reason
    )

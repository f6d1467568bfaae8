"""Profiles: every one a bank had, read by number and by time, written by a commit."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from hindsight_integrations.errors import RevisionConflict
from hindsight_integrations.ledger.databases import SqliteDatabase
from hindsight_integrations.ledger.rows import BankReads, Row, fields_text, find_bank, profile_from
from hindsight_integrations.ledger.sql import raw
from hindsight_integrations.model.profile import BankProfile, ProfileChange
from hindsight_integrations.model.time import from_micros, to_micros
from hindsight_integrations.model.writes import WriteSet

_SECOND = 1_000_000  # microseconds
_CHANGES = "SELECT number, profile, effective_at, recorded_at, reason FROM profile_changes WHERE bank = :bank"


class ProfileReads(BankReads):
    """The part of `LedgerReader` about profiles."""

    def profile_changes(self, bank: str) -> list[ProfileChange]:
        """Every profile the bank was given, by number."""
        with self._at(bank) as (connection, row):
            found = raw(connection).execute(f"{_CHANGES} ORDER BY number", {"bank": row})
            return [_change(each) for each in found]

    def profile_change(self, bank: str, number: int | None = None) -> ProfileChange | None:
        """One of them, the newest if no number is given."""
        with self._at(bank) as (connection, row):
            query = f"{_CHANGES} AND number = coalesce(:number, number) ORDER BY number DESC LIMIT 1"
            found = raw(connection).execute(query, {"bank": row, "number": number}).fetchone()
            return _change(found) if found else None

    def profile_at(self, bank: str, moment: datetime) -> BankProfile:
        """The profile the bank had at a moment."""
        with self._at(bank) as (connection, row):
            query = f"{_CHANGES} AND effective_at < :end ORDER BY number DESC LIMIT 1"
            end = to_micros(moment.replace(microsecond=0)) + _SECOND
            found = raw(connection).execute(query, {"bank": row, "end": end}).fetchone()
            return _change(found).profile if found else BankProfile()


class SqliteProfiles:
    """The part of `LedgerMaintenance` about profiles."""

    _database: SqliteDatabase

    def forget_profile_history(self, bank: str) -> int:
        """Delete all changes but the newest; see the port."""
        with self._database.writing() as connection:
            row = find_bank(connection, bank).id
            deleted = (
                raw(connection)
                .execute(
                    "DELETE FROM profile_changes WHERE bank = :bank AND number < "
                    "(SELECT max(number) FROM profile_changes WHERE bank = :bank)",
                    {"bank": row},
                )
                .rowcount
            )
            if deleted:
                raw(connection).execute("INSERT INTO unscrubbed VALUES (?) ON CONFLICT DO NOTHING", (row,))
        return deleted


def write_profile(connection: Connection, bank: int, writes: WriteSet, now: datetime) -> None:
    """Make a write set's profile the bank's, and record it.

    Raises:
        RevisionConflict: the bank was given another profile since it was decided; the transaction must be undone.
    """
    if (write := writes.profile) is None:
        return
    newest = (
        raw(connection)
        .execute(
            "SELECT number, effective_at FROM profile_changes WHERE bank = ? ORDER BY number DESC LIMIT 1",
            (bank,),
        )
        .fetchone()
    )
    recorded_at = to_micros(now)
    effective_at = min(to_micros(write.effective_at), recorded_at)
    number, earliest = newest or (0, effective_at)
    if number != write.expected:
        raise RevisionConflict(writes.bank, write.expected, number, of="change of its profile")
    text = fields_text(write.profile)
    raw(connection).execute(
        "INSERT INTO profile_changes (bank, number, profile, effective_at, recorded_at, reason) VALUES (?, ?, ?, ?, ?, ?)",
        (bank, number + 1, text, max(earliest, effective_at), recorded_at, write.reason),
    )
    raw(connection).execute("UPDATE banks SET profile = ? WHERE id = ?", (text, bank))


def _change(row: Row) -> ProfileChange:
    number, profile, effective_at, recorded_at, reason = row
    return ProfileChange(
        number, profile_from(profile), from_micros(effective_at), from_micros(recorded_at), reason
    )

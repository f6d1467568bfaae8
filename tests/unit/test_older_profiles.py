"""Profiles as earlier releases left them: read as they are, however long, and the first change of a history."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builders import at
from older_ledgers import bring_back

from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger
from hindsight_integrations.model.profile import BankProfile, Disposition
from hindsight_integrations.model.time import FIRST_INSTANT
from hindsight_integrations.model.writes import ProfileWrite, WriteSet
from hindsight_integrations.ports.ledger import ArchiveRow
from hindsight_integrations.validation.archive_check import ArchiveCheck

LONG = "I was a mayor of a harbour town. " * 500
STORED = {
    "ada": {"name": "Ada", "background": "I like proofs.", "disposition": (5, 1, 2), "bias_strength": 0.25},
    "long": {"name": "x\ny" * 300, "background": LONG, "disposition": (3, 3, 3), "bias_strength": 1},
    "odd": {"name": " ", "background": "", "disposition": (True, 4.0, 5), "bias_strength": True},
}
"""Whatever was taken once: endless and blank texts, numbers with a point, booleans."""
READ = {
    "ada": BankProfile("Ada", "I like proofs.", Disposition(5, 1, 2), 0.25),
    "long": BankProfile("x\ny" * 300, LONG, Disposition(), 1.0),
    "odd": BankProfile(" ", "", Disposition(1, 4, 5), 1.0),
}


@pytest.fixture(params=[1, 3, 6, 7])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteLedger]:
    """A ledger of an earlier version with these profiles and a bank without one, opened by this package."""
    ledger = SqliteLedger.open(tmp_path)
    for name in (*STORED, "nobody"):
        ledger.create_bank(name)
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, request.param)
        for name, fields in STORED.items():
            traits = zip(("skepticism", "literalism", "empathy"), fields["disposition"], strict=True)  # type: ignore[call-overload]
            text = json.dumps({**fields, "disposition": dict(traits)})
            raw.execute("UPDATE banks SET profile = ? WHERE name = ?", (text, name))
    raw.close()
    if request.param < 3:
        (tmp_path / "ledger.mark").unlink()
    opened = SqliteLedger.open(tmp_path)
    yield opened
    opened.close()


def test_an_older_profile_is_the_first_change_and_holds_since_ever(older: SqliteLedger) -> None:
    """Nobody knows when it was given; it is that of every past moment, as it was for the release that stored it."""
    for name, profile in READ.items():
        assert older.bank(name).profile == profile
        (change,) = older.profile_changes(name)
        assert (change.number, change.profile, change.effective_at) == (1, profile, FIRST_INSTANT)
        assert change.recorded_at > datetime(2025, 1, 1, tzinfo=UTC)
        for moment in (FIRST_INSTANT, at(0), datetime.max.replace(tzinfo=UTC)):
            assert older.profile_at(name, moment) == profile


def test_an_older_profile_can_be_archived(older: SqliteLedger) -> None:
    """What was taken once and is none any more, such as a boolean for a number, is no line that is refused elsewhere."""
    for name, profile in READ.items():
        lines = [(row.kind, row.fields) for row in older.archive_rows(name)]
        assert [kind for kind, _ in lines] == ["bank", "profile_change"]
        check = ArchiveCheck()
        for number, (kind, fields) in enumerate(lines, 2):
            check.take(number, kind, fields)
        check.check_whole(4)
        older.create_bank(f"{name} again")
        older.restore_rows(f"{name} again", iter(ArchiveRow(*line) for line in lines))
        assert older.bank(f"{name} again").profile == profile


def test_a_bank_without_a_profile_has_no_change(older: SqliteLedger) -> None:
    """The neutral profile that every bank was made with was given by nobody."""
    assert older.profile_changes("nobody") == []
    assert older.bank("nobody").profile == BankProfile()


def test_an_older_profile_is_followed_by_the_second(older: SqliteLedger) -> None:
    """What is given next is number 2, and the older one holds until then."""
    write = ProfileWrite(READ["odd"], at(0), "set", 1)
    with older.transaction("ada") as transaction:
        transaction.commit(WriteSet("ada", transaction.feed.revision, profile=write))
    assert [(c.number, c.profile) for c in older.profile_changes("ada")] == [
        (1, READ["ada"]),
        (2, READ["odd"]),
    ]
    assert [older.profile_at("ada", at(hours)) for hours in (-1, 0)] == [READ["ada"], READ["odd"]]

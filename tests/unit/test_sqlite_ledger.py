"""What only the SQLite ledger can get wrong: files, schema versions, damage, limits."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_entity,
    make_event,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_history import mark_of
from ledger_support import changes, commit, everything_of, rich_write_set
from older_ledgers import bring_back

from hindsight_integrations.backends.ledger.sqlite.checksums import seal_units
from hindsight_integrations.backends.ledger.sqlite.high_water import HighWaterFile
from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger
from hindsight_integrations.backends.ledger.sqlite.migrations import SCHEMA_VERSION
from hindsight_integrations.backends.ledger.sqlite.one_record import SEALED_WITH_ONE_RECORD
from hindsight_integrations.errors import (
    InvalidRequest,
    LedgerBusy,
    LedgerFailed,
    LedgerReadOnly,
    MemoryDamaged,
    SchemaMismatch,
)
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import FactType, ValidityEvent, ValidityKind
from hindsight_integrations.model.writes import CategoryWrite
from hindsight_integrations.ports.ledger import Scrub, UnitEdit


def opened_with(path: Path, *unit_ids: str) -> SqliteLedger:
    """A ledger in `path` holding plain units of these ids."""
    ledger = SqliteLedger.open(path)
    revision = ledger.create_bank(BANK).revision
    commit(ledger, make_write_set(revision, units=make_units(*unit_ids)))
    return ledger


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    """What was retained is there, to the last link, when the agent starts again."""
    ledger = SqliteLedger.open(tmp_path)
    ledger.create_bank(BANK)
    commit(ledger, rich_write_set())
    before, log = everything_of(ledger), ledger.validity(BANK, "u1")
    ledger.close()
    again = SqliteLedger.open(tmp_path)
    assert everything_of(again) == before
    assert again.validity(BANK, "u1") == log
    again.close()


def test_read_only_creates_nothing(tmp_path: Path) -> None:
    """Looking into a directory without a ledger is an error and leaves it untouched."""
    with pytest.raises(LedgerReadOnly, match="no ledger"):
        SqliteLedger.open(tmp_path / "nothing", read_only=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidRequest):
        SqliteLedger.open(":memory:", read_only=True)


def test_a_file_is_not_a_data_directory(tmp_path: Path) -> None:
    """Pointing the engine at a file, or below one, is refused with a clear word, not a traceback of the OS."""
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    for path in (file, file / "below"):
        with pytest.raises(LedgerReadOnly):
            SqliteLedger.open(path)
    assert file.read_text() == "mine"


def test_a_version_1_file_is_brought_up_to_date(tmp_path: Path) -> None:
    """A directory of an earlier release opens with all it holds; its units just have no speaker yet."""
    opened_with(tmp_path, "u1", "u2").close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, 1)
    raw.close()
    (tmp_path / "ledger.mark").unlink()
    with pytest.raises(LedgerReadOnly, match="schema 1"):
        SqliteLedger.open(tmp_path, read_only=True)
    again = SqliteLedger.open(tmp_path)
    ids = changes(again, BANK, 0).columns.ids
    assert [again.units(BANK, ids)[row].speaker for row in ids.tolist()] == ["", ""]
    again.close()


def test_a_version_4_file_finds_its_hubs_by_index(tmp_path: Path) -> None:
    """A directory of before the index opens, and says which entities are mentioned often as it did."""
    opened_with(tmp_path, "u1", "u2").close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, 4)
    raw.close()
    again = SqliteLedger.open(tmp_path)
    writes = make_write_set(1, units=make_units("u3"), entities=[make_entity("e")], mentions=[("u3", "e")])
    commit(again, writes)
    with again.feed(BANK) as feed:
        assert feed.mentioned(0)[1].tolist() == [1]
    with again._connections.reading() as connection:
        (indexes,) = connection.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 'entities_mentions'"
        ).fetchone()
    assert indexes == 1
    again.close()


def test_a_version_2_file_gets_a_history(tmp_path: Path) -> None:
    """A directory of the last release opens with an id of its own, and its banks with a mark that stays theirs."""
    opened_with(tmp_path, "u1", "u2").close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, 2)
    raw.close()
    (tmp_path / "ledger.mark").unlink()
    again = SqliteLedger.open(tmp_path)
    mark = mark_of(again, BANK)
    assert (len(mark.ledger), mark.revision, len(mark.token)) == (32, 1, 16)
    commit(again, make_write_set(1, units=make_units("u3")))
    again.close()
    later = SqliteLedger.open(tmp_path)
    with later.feed(BANK) as feed:
        assert (feed.knows(mark), feed.mark.ledger, feed.mark.revision) == (True, mark.ledger, 2)
    later.close()


def test_a_version_5_file_gets_its_turns(tmp_path: Path) -> None:
    """Messages retained word for word are turns at once, in their latest wording; no memory is taken for a waiting turn."""
    ledger = opened_with(tmp_path, "u1")
    spoken = [
        with_vector(replace(make_unit(key, f"Alice: {key}"), thread="t", sources=(message,), speaker="Alice"))
        for key, message in (("old", "m1"), ("new", "m1"), ("withdrawn", "m2"))
    ]
    edited = ValidityEvent("old", ValidityKind.CLOSED, at(1), reason="message edited")
    closed = ValidityEvent("withdrawn", ValidityKind.CLOSED, at(1), reason="no longer")
    commit(ledger, make_write_set(1, units=spoken, events=[edited, closed]))
    ledger.erase(BANK, Erasure(unit="u1"))
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, 5)
    raw.close()
    again = SqliteLedger.open(tmp_path)
    assert [(turn.text, turn.history) for turn in again.thread_turns(BANK, "t")] == [
        ("new", False),
        ("withdrawn", True),
    ]
    assert (again.count(BANK), changes(again, BANK, 0).columns.types.tolist()) == (3, [0, 0, 0])
    assert [changes(again, BANK, since).erased for since in (2, 3)] == [True, False]
    again.close()


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_a_file_of_one_record_each_gets_its_records(tmp_path: Path, version: int) -> None:
    """Values, order and words of the only records are kept, a kind that was any word is one of the set; all is vouched for."""
    ledger = opened_with(tmp_path, "u0")
    texts = {
        "u1": ["steps", "9000.50", True, "", "steps"],
        "u2": ["Expense", "3.10", True, "Tea ", "USD"],
        "u3": ["todo", "call Ann", False, "", ""],
        "u4": ["expense", "4", True, "tea", "USD"],
    }
    placeholder = (Record(RecordKind.OTHER, "x"),)
    units = [with_vector(replace(make_unit(key), records=placeholder)) for key in texts]
    commit(ledger, make_write_set(1, units=units, events=[make_event("u4", ValidityKind.CLOSED, 5)]))
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, version)
        for key, fields in texts.items():
            raw.execute("UPDATE units SET record = ? WHERE unit_id = ?", (json.dumps(fields), key))
        if version > 3:
            for (bank,) in raw.execute("SELECT id FROM banks").fetchall():
                seal_units(raw, bank, columns=SEALED_WITH_ONE_RECORD)
    raw.close()
    if version < 3:
        (tmp_path / "ledger.mark").unlink()
    again = SqliteLedger.open(tmp_path)
    rows = again.row_ids(BANK, ["u0", *texts])
    found = again.units(BANK, np.array(list(rows.values())))
    held = {key: found[row].records for key, row in rows.items()}
    assert held == {
        "u0": (),
        "u1": (Record(RecordKind.QUANTITY, Decimal("9000.50"), "steps", "steps", "steps"),),
        "u2": (Record(RecordKind.EXPENSE, Decimal("3.10"), "Tea", "USD", "Tea"),),
        "u3": (Record(RecordKind.TASK, "call Ann"),),
        "u4": (Record(RecordKind.EXPENSE, Decimal(4), "Tea", "USD", "tea"),),
    }
    assert again.record_rows(BANK, kind=RecordKind.EXPENSE, category="TEA").tolist() == [
        rows["u2"],
        rows["u4"],
    ]
    assert (again.damaged(BANK), again.problems(), found[rows["u4"]].closed_at) == ((), (), at(5))
    again.close()


def test_a_migration_does_not_vouch_for_what_was_damaged(tmp_path: Path) -> None:
    """Text, record and validity that were changed on the disk before the migration are damaged after it, the others are not."""
    ledger = opened_with(tmp_path)
    record = (Record(RecordKind.EXPENSE, Decimal("3.10"), "tea", "USD", "tea"),)
    units = [with_vector(replace(make_unit(f"u{n}"), records=record)) for n in range(5)]
    commit(ledger, make_write_set(ledger.revision(BANK), units=units))
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, 6)
        raw.execute("UPDATE units SET text = 'other' WHERE unit_id = 'u1'")
        raw.execute("UPDATE units SET record = replace(record, '3.10', '9.10') WHERE unit_id = 'u2'")
        raw.execute("UPDATE units SET record = '{' WHERE unit_id = 'u3'")
        raw.execute("UPDATE units SET mentioned_at = 'then' WHERE unit_id = 'u4'")
    raw.close()
    again = SqliteLedger.open(tmp_path)
    assert again.damaged(BANK) == ("u1", "u2", "u3", "u4")
    assert again.units(BANK, np.array(list(again.row_ids(BANK, ["u0"]).values())))
    again.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE records SET value = '9.10'",
        "UPDATE records SET category = NULL",
        "UPDATE records SET kind = 'income'",
        "UPDATE records SET closed_at = 5",
        "DELETE FROM records WHERE ordinal = 1",
        "UPDATE records SET ordinal = 2 WHERE ordinal = 1",
        (
            "INSERT INTO records SELECT unit, 2, bank, kind, category, value, is_number, measure, stated, closed_at, "
            "checksum FROM records WHERE ordinal = 0"
        ),
    ],
)
def test_a_damaged_record_is_not_served(tmp_path: Path, damage: str) -> None:
    """A record that is not what was written, one lost and one that nobody wrote: their unit is damaged, and stays so."""
    ledger = opened_with(tmp_path, "u1")
    paid = Record(RecordKind.EXPENSE, Decimal("3.10"), "tea", "USD", "tea")
    commit(ledger, make_write_set(1, units=[with_vector(replace(make_unit("u2"), records=(paid, paid)))]))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute(damage)
    raw.close()
    assert ledger.damaged(BANK) == ("u2",)
    assert len(ledger.units(BANK, changes(ledger, BANK).columns.ids)) == 1
    if "ordinal" not in damage:
        for kind in (ValidityKind.AMENDED, ValidityKind.RESTORED):
            event = make_event("u2", kind, 9, record=0)
            commit(ledger, make_write_set(ledger.revision(BANK), events=[event]))
        assert ledger.damaged(BANK) == ("u2",)
        commit(
            ledger,
            replace(make_write_set(ledger.revision(BANK)), categories=(CategoryWrite(paid.kind, "food"),)),
        )
        ledger.merge_categories(BANK, paid.kind, "food", "tea")
        assert ledger.damaged(BANK) == ("u2",)
    ledger.close()


def test_records_are_found_by_index(tmp_path: Path) -> None:
    """By kind and category, by category alone, and by nothing: no table of records is read as a whole."""
    ledger = opened_with(tmp_path, "u1")
    statements: list[str] = []
    with ledger._connections.reading() as connection:
        connection.set_trace_callback(statements.append)
    asks = [(RecordKind.EXPENSE, "tea"), (RecordKind.EXPENSE, None), (None, "tea"), (None, None), (None, "")]
    for kind, category in asks:
        ledger.record_rows(BANK, kind=kind, category=category)
    asked = [statement for statement in statements if "FROM records" in statement]
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        plans = [str(raw.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()) for statement in asked]
    raw.close()
    assert len(asked) == 5
    assert all("COVERING INDEX records_" in plan and "SCAN records" not in plan for plan in plans), plans
    ledger.close()


def test_a_version_3_file_gets_checksums(tmp_path: Path) -> None:
    """What is in a directory of the last release is vouched for from then on, and damage after that shows."""
    opened_with(tmp_path, *(f"u{number}" for number in range(5000))).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        bring_back(raw, 3)
    raw.close()
    again = SqliteLedger.open(tmp_path)
    assert (again.damaged(BANK), again.damaged_vectors(BANK), again.problems()) == ((), (), ())
    assert len(again.units(BANK, changes(again, BANK).columns.ids)) == 5000
    again.close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE units SET text = text || '.' WHERE unit_id = 'u4321'")
    raw.close()
    damaged = SqliteLedger.open(tmp_path)
    assert damaged.damaged(BANK) == ("u4321",)
    damaged.close()


def test_what_changes_a_damaged_unit_does_not_vouch_for_it(tmp_path: Path) -> None:
    """Closing, restoring and embedding anew leave damage to be seen; an edit of something else is refused."""
    ledger = opened_with(tmp_path, "u1", "u2")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE units SET text = 'something else' WHERE unit_id = 'u1'")
    raw.close()
    for number, kind in enumerate((ValidityKind.CLOSED, ValidityKind.RESTORED, ValidityKind.CLOSED)):
        events = [make_event(unit, kind, 3 + number) for unit in ("u1", "u2")]
        commit(ledger, make_write_set(ledger.revision(BANK), events=events))
        assert ledger.damaged(BANK) == ("u1",)
    with pytest.raises(MemoryDamaged, match="u1"):
        ledger.edit_unit(BANK, UnitEdit(make_unit("u1"), None, None, ("tags",)), at(9))
    assert ledger.damaged(BANK) == ("u1",)
    ledger.close()


def test_the_mark_keeps_the_last_64_transactions(tmp_path: Path) -> None:
    """The ring turns over; its newest mark is where the ledger stands, and a disk that takes no mark stops no commit."""
    ledger = opened_with(tmp_path, "u0")
    for number in range(1, 100):
        commit(ledger, make_write_set(number, units=make_units(f"u{number}")))
    marks = HighWaterFile(tmp_path).read()
    assert [mark.transactions for mark in marks] == list(range(101 - 63, 102))
    assert (marks[-1].commit, len({mark.token for mark in marks})) == (mark_of(ledger, BANK), 64)
    ledger.close()


def test_a_mark_that_cannot_be_written_stops_no_commit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The commit is on disk all the same; the log says once that a loss might not show."""
    (tmp_path / "ledger.mark").mkdir()
    ledger = opened_with(tmp_path, "u1")
    commit(ledger, make_write_set(1, units=make_units("u2")))
    assert ledger.count(BANK) == 2
    assert caplog.text.count("could not be written") == 1
    ledger.close()
    again = SqliteLedger.open(tmp_path)
    assert again.count(BANK) == 2
    again.close()


def test_a_unit_is_sound_whatever_numbers_it_came_with(tmp_path: Path) -> None:
    """A column gives back 1.0 for 1, and a checksum is of what it gives back."""
    ledger = SqliteLedger.open(tmp_path)
    ledger.create_bank(BANK)
    units = [
        replace(make_unit(f"u{number}"), fact_type=FactType.OPINION, confidence=confidence)
        for number, confidence in enumerate((1, 0, 0.1, True, 1 / 3))
    ]
    commit(ledger, make_write_set(units=[with_vector(unit) for unit in units]))
    assert ledger.damaged(BANK) == ()
    ledger.close()


RELEASED = (13, 95, "2d4f7a308769aef30d579ddf69172dc8ca1cb76927ce8db24db9a3b9542a97b5")
"""Schema version, number of tables and indexes, and digest of their SQL, as directories out there have them."""


def test_the_schema_is_the_released_one(tmp_path: Path) -> None:
    """A directory of the last release opens as it is: a schema that differs by a letter needs a version and a migration."""
    opened_with(tmp_path, "u1").close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        found = raw.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    raw.close()
    statements = sorted((name, " ".join((sql or "").split())) for name, sql in found)
    digest = hashlib.sha256(repr(statements).encode()).hexdigest()
    assert (SCHEMA_VERSION, len(statements), digest) == RELEASED


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A directory written by a newer release asks for an upgrade instead of being damaged, and is not left locked."""
    opened_with(tmp_path, "u1").close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    for _ in range(2):
        with pytest.raises(SchemaMismatch) as caught:
            SqliteLedger.open(tmp_path)
    assert (caught.value.found, caught.value.supported) == (SCHEMA_VERSION + 1, SCHEMA_VERSION)
    raw.close()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """Garbage where the ledger should be, or another program's database, is reported as that."""
    garbage, foreign = tmp_path / "garbage", tmp_path / "foreign"
    garbage.mkdir()
    (garbage / "ledger.sqlite").write_bytes(b"not a database at all " * 500)
    foreign.mkdir()
    with sqlite3.connect(foreign / "ledger.sqlite") as raw:
        raw.execute("CREATE TABLE recipes (name)")
    raw.close()
    with pytest.raises(LedgerFailed, match="not a database"):
        SqliteLedger.open(garbage)
    with pytest.raises(LedgerFailed, match="another application"):
        SqliteLedger.open(foreign)


def test_a_ledger_locked_by_a_foreign_tool_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If some database tool holds the file, a write ends in LedgerBusy after the timeout and can be repeated."""
    monkeypatch.setattr("hindsight_integrations.backends.ledger.sqlite.connections.BUSY_MILLISECONDS", 20)
    ledger = opened_with(tmp_path, "u1")
    raw = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy):
        commit(ledger, make_write_set(1, units=make_units("u2")))
    raw.execute("ROLLBACK")
    raw.close()
    assert commit(ledger, make_write_set(1, units=make_units("u2"))).revision == 2
    ledger.close()


def test_row_ids_of_erased_units_are_not_given_again(tmp_path: Path) -> None:
    """An index that still knows an erased unit's number can never take another unit for it."""
    ledger = opened_with(tmp_path, "u1", "u2")
    erased = ledger.row_ids(BANK, ["u2"])["u2"]
    raw = sqlite3.connect(tmp_path / "ledger.sqlite")
    with raw:
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("DELETE FROM units WHERE id = ?", (erased,))
        raw.execute("INSERT INTO removed VALUES (?, (SELECT id FROM banks), 2)", (erased,))
    raw.close()
    commit(ledger, make_write_set(1, units=make_units("u3")))
    assert ledger.row_ids(BANK, ["u3"])["u3"] > erased
    assert len(changes(ledger, BANK, 0).vectors[0]) == 2
    assert changes(ledger, BANK, 1).removed.tolist() == [erased]
    assert changes(ledger, BANK, 2).removed.tolist() == []
    ledger.close()


def test_text_that_is_not_unicode_is_refused_whole() -> None:
    """A lone surrogate from a broken decoder is reported as such, and the rest of its write set is not kept."""
    ledger = SqliteLedger.open(":memory:")
    ledger.create_bank(BANK)
    broken = with_vector(make_unit("u2", "bad \ud800 text"))
    with pytest.raises(InvalidRequest, match="Unicode"):
        commit(ledger, make_write_set(units=[*make_units("u1"), broken]))
    with pytest.raises(InvalidRequest, match="Unicode"):
        ledger.create_bank("\ud800")
    assert ledger.count(BANK) == ledger.revision(BANK) == 0
    ledger.close()


def test_a_long_bank_reads_in_one_go_whatever_the_number_of_ids(tmp_path: Path) -> None:
    """Asking for thousands of units or names at once meets no limit of the database."""
    ledger = opened_with(tmp_path, *[f"u{number}" for number in range(2500)])
    ids = np.arange(40_000)
    assert len(ledger.units(BANK, ids)) == 2500
    assert len(ledger.row_ids(BANK, [f"u{number}" for number in range(5000)])) == 2500
    assert ledger.entities_named(BANK, [f"name {number}" for number in range(3000)]) == {}
    ledger.close()


def test_a_failed_commit_leaves_the_ledger_usable(tmp_path: Path) -> None:
    """After a refused write set the next one goes through as if nothing had been."""
    ledger = opened_with(tmp_path, "u1")
    naive = replace(make_unit("u2"), mentioned_at=make_unit("u2").mentioned_at.replace(tzinfo=None))
    with pytest.raises(TypeError):
        commit(ledger, make_write_set(1, units=[*make_units("u3"), with_vector(naive)]))
    assert ledger.count(BANK) == 1
    assert commit(ledger, make_write_set(1, units=make_units("u2"))).created == ("u2",)
    ledger.close()


def test_scrubbing_says_what_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clean, waiting for somebody who reads the old state elsewhere, or not ours: opened read-only."""
    monkeypatch.setattr("hindsight_integrations.backends.ledger.sqlite.connections.BUSY_MILLISECONDS", 20)
    ledger = opened_with(tmp_path, "u1", "u2")
    assert ledger.scrub() is Scrub.CLEAN
    elsewhere = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    elsewhere.execute("BEGIN")
    elsewhere.execute("SELECT count(*) FROM units").fetchone()
    ledger.erase(BANK, Erasure(unit="u1"))
    assert ledger.scrub() is Scrub.WAITING
    elsewhere.close()
    assert ledger.scrub() is Scrub.CLEAN
    onlooker = SqliteLedger.open(tmp_path, read_only=True)
    assert onlooker.scrub() is Scrub.NOT_OURS
    onlooker.close()
    ledger.close()


def test_another_program_cannot_write_while_a_decision_is_made(tmp_path: Path) -> None:
    """From the first read of a transaction to its commit no other connection gets the file for writing."""
    ledger = opened_with(tmp_path, "u1")
    raw = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None, timeout=0)
    with ledger.transaction(BANK) as transaction:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            raw.execute("BEGIN IMMEDIATE")
        transaction.commit(make_write_set(1, units=make_units("u2")))
    raw.execute("BEGIN IMMEDIATE")
    raw.close()
    assert ledger.count(BANK) == 2
    ledger.close()

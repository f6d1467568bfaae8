"""The SQLite ledger only: files, schema versions, damage, limits."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import (
    BANK,
    at,
    make_event,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from ledger_history import mark_of
from ledger_support import changes, commit, everything_of, rich_write_set

from hindsight_integrations.errors import (
    InvalidRequest,
    LedgerBusy,
    LedgerFailed,
    LedgerReadOnly,
    MemoryDamaged,
    SchemaMismatch,
)
from hindsight_integrations.ledger.databases import (
    APPLICATION_ID,
    DEVELOPMENT_ID,
    SCHEMA_VERSION,
)
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.losses import HighWaterFile
from hindsight_integrations.ledger.sql import raw as sqlite_connection
from hindsight_integrations.ledger.values import Scrub, UnitEdit
from hindsight_integrations.model.erasure import Erasure
from hindsight_integrations.model.records import Record, RecordKind
from hindsight_integrations.model.units import FactType, ValidityKind
from hindsight_integrations.model.writes import CategoryWrite


def opened_with(path: Path | str, *unit_ids: str) -> Ledger:
    """A ledger in `path` with plain units of these ids."""
    ledger = Ledger.open(path)
    revision = ledger.create_bank(BANK).revision
    commit(ledger, make_write_set(revision, units=make_units(*unit_ids)))
    return ledger


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    """All content is there after a restart."""
    ledger = Ledger.open(tmp_path)
    ledger.create_bank(BANK)
    commit(ledger, rich_write_set())
    before, log = everything_of(ledger), ledger.units.validity(BANK, "u1")
    ledger.close()
    again = Ledger.open(tmp_path)
    assert everything_of(again) == before
    assert again.units.validity(BANK, "u1") == log
    again.close()


def test_read_only_creates_nothing(tmp_path: Path) -> None:
    """Opening a directory without a ledger read-only raises an error and creates nothing."""
    with pytest.raises(LedgerReadOnly, match="no ledger"):
        Ledger.open(tmp_path / "nothing", read_only=True)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidRequest):
        Ledger.open(":memory:", read_only=True)


def test_a_file_is_not_a_data_directory(tmp_path: Path) -> None:
    """A file, or a path below one, is rejected with a clear error instead of the operating system's."""
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    for path in (file, file / "below"):
        with pytest.raises(LedgerReadOnly):
            Ledger.open(path)
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE records SET value = '9.10'",
        "UPDATE records SET category = NULL",
        "UPDATE records SET kind = 'income'",
        "DELETE FROM records WHERE ordinal = 1",
        "UPDATE records SET ordinal = 2 WHERE ordinal = 1",
        (
            "INSERT INTO records SELECT unit, 2, bank, kind, category, value, is_number, measure, stated, checksum "
            "FROM records WHERE ordinal = 0"
        ),
    ],
)
def test_a_damaged_record_is_not_served(tmp_path: Path, damage: str) -> None:
    """A changed, missing or extra record marks its unit as damaged."""
    ledger = opened_with(tmp_path, "u1")
    paid = Record(RecordKind.EXPENSE, Decimal("3.10"), "tea", "USD", "tea")
    commit(ledger, make_write_set(1, units=[with_vector(replace(make_unit("u2"), records=(paid, paid)))]))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute(damage)
    raw.close()
    assert ledger.units.damaged(BANK) == ("u2",)
    assert len(ledger.units.get(BANK, changes(ledger, BANK).columns.ids)) == 1
    if "ordinal" not in damage:
        for kind in ValidityKind:
            event = make_event("u2", kind, 9)
            commit(ledger, make_write_set(ledger.revision(BANK), events=[event]))
        assert ledger.units.damaged(BANK) == ("u2",)
        commit(
            ledger,
            replace(make_write_set(ledger.revision(BANK)), categories=(CategoryWrite(paid.kind, "food"),)),
        )
        ledger.records.merge_categories(BANK, paid.kind, "food", "tea")
        assert ledger.units.damaged(BANK) == ("u2",)
    ledger.close()


def test_records_are_found_by_index(tmp_path: Path) -> None:
    """Record queries use an index; none scans the table."""
    ledger = opened_with(tmp_path, "u1")
    statements: list[str] = []
    with ledger._database.reading() as connection:
        sqlite_connection(connection).set_trace_callback(statements.append)
    asks = [(RecordKind.EXPENSE, "tea"), (RecordKind.EXPENSE, None), (None, "tea"), (None, None), (None, "")]
    for kind, category in asks:
        ledger.records.rows(BANK, kind=kind, category=category)
    asked = [statement for statement in statements if "FROM records" in statement]
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        plans = [str(raw.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()) for statement in asked]
    raw.close()
    assert len(asked) == 5
    assert all("COVERING INDEX records_" in plan and "SCAN records" not in plan for plan in plans), plans
    ledger.close()


def test_damage_is_found_on_every_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checksums are compared in pages, to the last unit."""
    monkeypatch.setattr("hindsight_integrations.ledger.checksums._PAGE", 2)
    ledger = opened_with(tmp_path, *(f"u{number}" for number in range(5)))
    assert (ledger.units.damaged(BANK), ledger.units.damaged_vectors(BANK)) == ((), ())
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as raw:
        raw.execute("UPDATE units SET text = text || '.' WHERE unit_id IN ('u1', 'u4')")
    assert ledger.units.damaged(BANK) == ("u1", "u4")
    ledger.close()


def test_what_changes_a_damaged_unit_does_not_vouch_for_it(tmp_path: Path) -> None:
    """After closing, restoring and embedding again the damage is still detected; an edit of another field is rejected."""
    ledger = opened_with(tmp_path, "u1", "u2")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as raw:
        raw.execute("UPDATE units SET text = 'something else' WHERE unit_id = 'u1'")
    raw.close()
    for number, kind in enumerate((ValidityKind.CLOSED, ValidityKind.RESTORED, ValidityKind.CLOSED)):
        events = [make_event(unit, kind, 3 + number) for unit in ("u1", "u2")]
        commit(ledger, make_write_set(ledger.revision(BANK), events=events))
        assert ledger.units.damaged(BANK) == ("u1",)
    with pytest.raises(MemoryDamaged, match="u1"):
        ledger.units.edit(BANK, UnitEdit(make_unit("u1"), None, None, ("tags",)), at(9))
    assert ledger.units.damaged(BANK) == ("u1",)
    ledger.close()


def test_the_mark_keeps_the_last_64_transactions(tmp_path: Path) -> None:
    """The ring wraps around; its newest mark is the ledger's state, and a disk that rejects a mark prevents no commit."""
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
    """If the mark cannot be written, the commit succeeds and the log warns once."""
    (tmp_path / "ledger.mark").mkdir()
    ledger = opened_with(tmp_path, "u1")
    commit(ledger, make_write_set(1, units=make_units("u2")))
    assert ledger.units.count(BANK) == 2
    assert caplog.text.count("could not be written") == 1
    ledger.close()
    again = Ledger.open(tmp_path)
    assert again.units.count(BANK) == 2
    again.close()


def test_a_unit_is_sound_whatever_numbers_it_came_with(tmp_path: Path) -> None:
    """A column returns 1.0 for 1, and checksums are computed from returned values."""
    ledger = Ledger.open(tmp_path)
    ledger.create_bank(BANK)
    units = [
        replace(make_unit(f"u{number}"), fact_type=FactType.OPINION, confidence=confidence)
        for number, confidence in enumerate((1, 0, 0.1, True, 1 / 3))
    ]
    commit(ledger, make_write_set(units=[with_vector(unit) for unit in units]))
    assert ledger.units.damaged(BANK) == ()
    ledger.close()


DIGEST = "e8bd6a1a94af82adc482812fa0ac0ef4ed2dd5c0a0d9e1344efaca2d414eca75"
"""Of all tables, columns, keys, indexes and triggers of schema version 1."""


@pytest.mark.parametrize("place", ["directory", "memory"])
def test_the_schema_of_version_1_is_this_one(tmp_path: Path, place: str) -> None:
    """The schema is version 1, on disk and in memory; a change needs a new version."""
    ledger = Ledger.open(":memory:" if place == "memory" else tmp_path)
    with ledger._database.reading() as connection:

        def read(query: str) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in sqlite_connection(connection).execute(query)]

        objects = read(
            "SELECT type, name, tbl_name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        )
        columns = {
            name: [read(f"PRAGMA {of}({name})") for of in ("table_xinfo", "foreign_key_list", "index_xinfo")]
            for _, name, _ in objects
        }
        triggers = read("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name")
        partial = read(
            "SELECT name, substr(sql, instr(sql, 'WHERE')) FROM sqlite_master WHERE sql LIKE '% WHERE %'"
        )
        marks = [read(f"PRAGMA {name}")[0][0] for name in ("application_id", "user_version")]
    ledger.close()
    digest = hashlib.sha256(repr((objects, columns, triggers, sorted(partial))).encode()).hexdigest()
    assert (marks, SCHEMA_VERSION, digest) == ([APPLICATION_ID, 1], 1, DIGEST)


def test_every_ledger_has_an_id_of_its_own(tmp_path: Path) -> None:
    """Every ledger has a unique id, in-memory ones too."""
    ids = set()
    for path in (":memory:", ":memory:", tmp_path / "one", tmp_path / "two"):
        ledger = opened_with(path, "u1")
        mark = mark_of(ledger, BANK)
        assert (len(mark.ledger), mark.revision, len(mark.token)) == (32, 1, 16)
        ids.add(mark.ledger)
        ledger.close()
    assert len(ids) == 4


@pytest.mark.parametrize("how", [{}, {"read_only": True}, {"accept_loss": True}], ids=str)
@pytest.mark.parametrize("version", [1, 2, 13, 14])
def test_a_directory_of_a_development_version_is_refused_by_name(
    tmp_path: Path, version: int, how: dict[str, Any]
) -> None:
    """The error names the version that wrote it, the supported version and a remedy; the file stays unchanged and unlocked."""
    opened_with(tmp_path, "u1").close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as raw:
        raw.execute(f"PRAGMA application_id = {DEVELOPMENT_ID}")
        raw.execute(f"PRAGMA user_version = {version}")
    before = (tmp_path / "ledger.sqlite").read_bytes()
    for _ in range(2):
        with pytest.raises(SchemaMismatch) as caught:
            Ledger.open(tmp_path, **how)
    message = str(caught.value)
    assert f"schema {version} of a development version" in message
    assert f"supports only schema {SCHEMA_VERSION}" in message
    assert "use the checkout that wrote it" in message
    assert (caught.value.found, caught.value.supported, caught.value.development) == (
        version,
        SCHEMA_VERSION,
        True,
    )
    assert (tmp_path / "ledger.sqlite").read_bytes() == before


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A directory of a newer release asks for an upgrade, is not damaged, and is not left locked."""
    opened_with(tmp_path, "u1").close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as raw:
        raw.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = (tmp_path / "ledger.sqlite").read_bytes()
    for _ in range(2):
        with pytest.raises(SchemaMismatch, match="Upgrade") as caught:
            Ledger.open(tmp_path)
    assert (caught.value.found, caught.value.supported) == (SCHEMA_VERSION + 1, SCHEMA_VERSION)
    assert not caught.value.development
    assert (tmp_path / "ledger.sqlite").read_bytes() == before


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """A corrupt file or another program's database raises an error that names it."""
    garbage, foreign = tmp_path / "garbage", tmp_path / "foreign"
    garbage.mkdir()
    (garbage / "ledger.sqlite").write_bytes(b"not a database at all " * 500)
    foreign.mkdir()
    with sqlite3.connect(foreign / "ledger.sqlite") as raw:
        raw.execute("CREATE TABLE recipes (name)")
    raw.close()
    with pytest.raises(LedgerFailed, match="not a database"):
        Ledger.open(garbage)
    before = (foreign / "ledger.sqlite").read_bytes()
    with pytest.raises(LedgerFailed, match="another application"):
        Ledger.open(foreign)
    assert (foreign / "ledger.sqlite").read_bytes() == before


def test_a_ledger_locked_by_a_foreign_tool_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another tool holds the file, a write raises LedgerBusy after the timeout and can be repeated."""
    monkeypatch.setattr("hindsight_integrations.ledger.databases.BUSY_MILLISECONDS", 20)
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
    """Row ids of erased units are not reused."""
    ledger = opened_with(tmp_path, "u1", "u2")
    erased = ledger.units.row_ids(BANK, ["u2"])["u2"]
    raw = sqlite3.connect(tmp_path / "ledger.sqlite")
    with raw:
        raw.execute("PRAGMA foreign_keys = ON")
        raw.execute("DELETE FROM units WHERE id = ?", (erased,))
        raw.execute("INSERT INTO removed VALUES (?, (SELECT id FROM banks), 2)", (erased,))
    raw.close()
    commit(ledger, make_write_set(1, units=make_units("u3")))
    assert ledger.units.row_ids(BANK, ["u3"])["u3"] > erased
    assert len(changes(ledger, BANK, 0).vectors[0]) == 2
    assert changes(ledger, BANK, 1).removed.tolist() == [erased]
    assert changes(ledger, BANK, 2).removed.tolist() == []
    ledger.close()


def test_text_that_is_not_unicode_is_refused_whole() -> None:
    """The error reports a lone surrogate from a broken decoder, and the rest of its write set is not stored."""
    ledger = Ledger.open(":memory:")
    ledger.create_bank(BANK)
    broken = with_vector(make_unit("u2", "bad \ud800 text"))
    with pytest.raises(InvalidRequest, match="Unicode"):
        commit(ledger, make_write_set(units=[*make_units("u1"), broken]))
    with pytest.raises(InvalidRequest, match="Unicode"):
        ledger.create_bank("\ud800")
    assert ledger.units.count(BANK) == ledger.revision(BANK) == 0
    ledger.close()


def test_a_long_bank_reads_in_one_go_whatever_the_number_of_ids(tmp_path: Path) -> None:
    """A query for thousands of units or names meets no limit of the database."""
    ledger = opened_with(tmp_path, *[f"u{number}" for number in range(2500)])
    ids = np.arange(40_000)
    assert len(ledger.units.get(BANK, ids)) == 2500
    assert len(ledger.units.row_ids(BANK, [f"u{number}" for number in range(5000)])) == 2500
    assert ledger.entities.named(BANK, [f"name {number}" for number in range(3000)]) == {}
    ledger.close()


def test_a_failed_commit_leaves_the_ledger_usable(tmp_path: Path) -> None:
    """A rejected write set does not affect later ones."""
    ledger = opened_with(tmp_path, "u1")
    naive = replace(make_unit("u2"), mentioned_at=make_unit("u2").mentioned_at.replace(tzinfo=None))
    with pytest.raises(TypeError):
        commit(ledger, make_write_set(1, units=[*make_units("u3"), with_vector(naive)]))
    assert ledger.units.count(BANK) == 1
    assert commit(ledger, make_write_set(1, units=make_units("u2"))).created == ("u2",)
    ledger.close()


def test_scrubbing_says_what_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrubbing reports clean, waiting for a reader, or read-only."""
    monkeypatch.setattr("hindsight_integrations.ledger.databases.BUSY_MILLISECONDS", 20)
    ledger = opened_with(tmp_path, "u1", "u2")
    assert ledger.erasure.scrub() is Scrub.CLEAN
    elsewhere = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    elsewhere.execute("BEGIN")
    elsewhere.execute("SELECT count(*) FROM units").fetchone()
    ledger.erasure.erase(BANK, Erasure(unit="u1"))
    assert ledger.erasure.scrub() is Scrub.WAITING
    elsewhere.close()
    assert ledger.erasure.scrub() is Scrub.CLEAN
    onlooker = Ledger.open(tmp_path, read_only=True)
    assert onlooker.erasure.scrub() is Scrub.NOT_OURS
    onlooker.close()
    ledger.close()


def test_another_program_cannot_write_while_a_decision_is_made(tmp_path: Path) -> None:
    """From the first read of a transaction to its commit no other connection can write to the file."""
    ledger = opened_with(tmp_path, "u1")
    raw = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None, timeout=0)
    with ledger.transaction(BANK) as transaction:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            raw.execute("BEGIN IMMEDIATE")
        transaction.commit(make_write_set(1, units=make_units("u2")))
    raw.execute("BEGIN IMMEDIATE")
    raw.close()
    assert ledger.units.count(BANK) == 2
    ledger.close()

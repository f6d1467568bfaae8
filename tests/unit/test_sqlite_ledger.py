"""What only the SQLite ledger can get wrong: files, locks, processes, threads, schema versions."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hindsight_integrations.backends.sqlite.ledger import SqliteLedger
from hindsight_integrations.backends.sqlite.migrations import SCHEMA_VERSION
from hindsight_integrations.errors import (
    BankNotFound,
    EngineClosed,
    InvalidRequest,
    LedgerBusy,
    LedgerFailed,
    LedgerReadOnly,
    SchemaMismatch,
)
from hindsight_integrations.testing.builders import (
    BANK,
    make_unit,
    make_units,
    make_write_set,
    with_vector,
)
from hindsight_integrations.testing.ledger_support import everything_of, rich_write_set


def opened_with(path: Path, *unit_ids: str) -> SqliteLedger:
    """A ledger in `path` holding plain units of these ids."""
    ledger = SqliteLedger.open(path)
    revision = ledger.bank(BANK, create=True).revision
    ledger.commit(make_write_set(revision, units=make_units(*unit_ids)))
    return ledger


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process running `script`, its output readable."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_everything_survives_a_restart(tmp_path: Path) -> None:
    """What was retained is there, to the last link, when the agent starts again."""
    ledger = SqliteLedger.open(tmp_path)
    ledger.bank(BANK, create=True)
    ledger.commit(rich_write_set())
    before, log = everything_of(ledger), ledger.validity(BANK, "u1")
    ledger.close()
    again = SqliteLedger.open(tmp_path)
    assert everything_of(again) == before
    assert again.validity(BANK, "u1") == log
    again.close()


def test_a_second_open_here_names_this_process(tmp_path: Path) -> None:
    """Opening a directory twice in one program is refused with the program's own pid, until it is closed."""
    first = SqliteLedger.open(tmp_path)
    with pytest.raises(LedgerBusy, match=str(os.getpid())):
        SqliteLedger.open(tmp_path)
    first.close()
    SqliteLedger.open(tmp_path).close()


HOLDER = """
import sys
from pathlib import Path
from hindsight_integrations.backends.sqlite.ledger import SqliteLedger
ledger = SqliteLedger.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


def test_another_process_is_named_and_its_lock_dies_with_it(tmp_path: Path) -> None:
    """A directory in use elsewhere names the process to stop; once that is killed the directory is free."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(LedgerBusy) as caught:
            SqliteLedger.open(tmp_path)
        assert caught.value.pid == holder.pid
        holder.kill()
    SqliteLedger.open(tmp_path).close()


def test_a_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    """A worker forked while the ledger is open cannot keep the directory locked after its parent closed it."""
    ledger = SqliteLedger.open(tmp_path)
    context = multiprocessing.get_context("fork")
    leave = context.Event()
    child = context.Process(target=leave.wait)
    child.start()
    ledger.close()
    SqliteLedger.open(tmp_path).close()
    leave.set()
    child.join()
    assert child.exitcode == 0


def test_a_reader_needs_no_lock_and_writes_nothing(tmp_path: Path) -> None:
    """A second process may look on while the first writes, sees its commits, and cannot change a thing."""
    writer = opened_with(tmp_path, "u1")
    reader = SqliteLedger.open(tmp_path, read_only=True)
    writer.commit(make_write_set(1, units=make_units("u2")))
    assert reader.count(BANK) == 2
    with pytest.raises(LedgerReadOnly):
        reader.commit(make_write_set(2))
    with pytest.raises(LedgerReadOnly):
        reader.bank("new", create=True)
    with pytest.raises(BankNotFound):
        reader.bank("new", create=False)
    reader.close()
    writer.close()


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
    """Garbage where the ledger should be, or another program's database, is said to be that."""
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
    monkeypatch.setattr("hindsight_integrations.backends.sqlite.connections.BUSY_MILLISECONDS", 20)
    ledger = opened_with(tmp_path, "u1")
    raw = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy):
        ledger.commit(make_write_set(1, units=make_units("u2")))
    raw.execute("ROLLBACK")
    raw.close()
    assert ledger.commit(make_write_set(1, units=make_units("u2"))).revision == 2
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
    ledger.commit(make_write_set(1, units=make_units("u3")))
    assert ledger.row_ids(BANK, ["u3"])["u3"] > erased
    assert len(ledger.vectors(BANK, 0)[0]) == 2
    assert ledger.removed(BANK, 1).tolist() == [erased]
    assert ledger.removed(BANK, 2).tolist() == []
    ledger.close()


def test_text_that_is_not_unicode_is_refused_whole() -> None:
    """A lone surrogate from a broken decoder is reported as such, and the rest of its write set is not kept."""
    ledger = SqliteLedger.open(":memory:")
    ledger.bank(BANK, create=True)
    broken = with_vector(make_unit("u2", "bad \ud800 text"))
    with pytest.raises(InvalidRequest, match="Unicode"):
        ledger.commit(make_write_set(units=[*make_units("u1"), broken]))
    with pytest.raises(InvalidRequest, match="Unicode"):
        ledger.bank("\ud800", create=True)
    assert ledger.count(BANK) == ledger.revision(BANK) == 0
    ledger.close()


def test_engines_in_memory_do_not_see_each_other() -> None:
    """Two in-memory engines in one program are strangers."""
    one, two = SqliteLedger.open(":memory:"), SqliteLedger.open(":memory:")
    one.bank(BANK, create=True)
    assert two.banks() == []
    one.close()
    two.close()


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_readers_see_whole_commits_while_one_writes(tmp_path: Path, where: str) -> None:
    """Recall from four threads during retain never fails and never sees half of a retain."""
    ledger = SqliteLedger.open(tmp_path if where == "disk" else ":memory:")
    ledger.bank(BANK, create=True)
    done, problems, reads = threading.Event(), list[object](), list[int]()

    def read() -> None:
        try:
            while True:
                last = done.is_set()
                units, edges, mentions = ledger.graph(BANK, 0)
                columns = ledger.columns(BANK, 0)
                held = ledger.units(BANK, columns.ids)
                if len(units) % 5 or len(mentions.units) != len(units) or len(held) != len(columns.ids):
                    problems.append((len(units), len(mentions.units), len(held)))
                reads.append(len(edges.sources))
                if last:
                    return
        except Exception as error:  # noqa: BLE001 - whatever a reader meets is the finding
            problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    template = rich_write_set()
    for revision in range(60):
        ids = [f"{revision}-{number}" for number in range(5)]
        writes = make_write_set(
            revision,
            units=make_units(*ids),
            entities=template.entities,
            mentions=[(key, "e1") for key in ids],
        )
        ledger.commit(writes)
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(reads) >= 4
    assert ledger.count(BANK) == 300
    ledger.close()


def test_connections_of_finished_threads_are_not_kept(tmp_path: Path) -> None:
    """A server that reads from ever new threads does not run out of file handles."""
    ledger = opened_with(tmp_path, "u1")

    def handles() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    def read_in_a_thread() -> None:
        thread = threading.Thread(target=ledger.count, args=(BANK,))
        thread.start()
        thread.join()

    read_in_a_thread()
    before = handles()
    for _ in range(20):
        read_in_a_thread()
    assert handles() <= before + 3
    ledger.close()


def test_closing_reaches_the_readers_of_other_threads(tmp_path: Path) -> None:
    """After close, a thread that read before gets EngineClosed, not a crash."""
    ledger = opened_with(tmp_path, "u1")
    started, closed, met = threading.Event(), threading.Event(), list[type[BaseException]]()

    def read_twice() -> None:
        ledger.count(BANK)
        started.set()
        closed.wait()
        with pytest.raises(EngineClosed) as caught:
            ledger.count(BANK)
        met.append(caught.type)

    thread = threading.Thread(target=read_twice)
    thread.start()
    started.wait()
    ledger.close()
    closed.set()
    thread.join()
    assert met == [EngineClosed]


def test_a_long_bank_reads_in_one_go_whatever_the_number_of_ids(tmp_path: Path) -> None:
    """Asking for thousands of units or names at once meets no limit of the database."""
    ledger = opened_with(tmp_path, *[f"u{number}" for number in range(2500)])
    ids = np.arange(40_000)
    assert len(ledger.units(BANK, ids)) == 2500
    assert len(ledger.row_ids(BANK, [f"u{number}" for number in range(5000)])) == 2500
    assert ledger.entities_named(BANK, [f"name {number}" for number in range(3000)]) == {}
    ledger.close()


COMMITTER = """
import sys
from pathlib import Path
from hindsight_integrations.backends.sqlite.ledger import SqliteLedger
from hindsight_integrations.testing.builders import BANK, make_units, make_write_set
ledger = SqliteLedger.open(Path(sys.argv[1]))
revision = ledger.bank(BANK, create=True).revision
while True:
    ids = [f"{revision}-{number}" for number in range(50)]
    revision = ledger.commit(make_write_set(revision, units=make_units(*ids))).revision
    print(revision, flush=True)
"""


def test_a_kill_leaves_whole_commits_only(tmp_path: Path) -> None:
    """After kill -9 in the middle of writing, every acknowledged retain is there and none is there by half."""
    for acknowledged_to_wait_for in (3, 11):
        with run(COMMITTER, tmp_path) as committer:
            assert committer.stdout is not None
            lines = [committer.stdout.readline() for _ in range(acknowledged_to_wait_for)]
            committer.send_signal(signal.SIGKILL)
            lines += committer.stdout.readlines()
        acknowledged = int([line for line in lines if line.endswith("\n")][-1])
        ledger = SqliteLedger.open(tmp_path)
        revision = ledger.revision(BANK)
        assert revision in {acknowledged, acknowledged + 1}
        assert ledger.count(BANK) == len(ledger.vectors(BANK, 0)[0]) == 50 * revision
        ledger.close()


def test_a_failed_commit_leaves_the_ledger_usable(tmp_path: Path) -> None:
    """After a refused write set the next one goes through as if nothing had been."""
    ledger = opened_with(tmp_path, "u1")
    naive = replace(make_unit("u2"), mentioned_at=make_unit("u2").mentioned_at.replace(tzinfo=None))
    with pytest.raises(TypeError):
        ledger.commit(make_write_set(1, units=[*make_units("u3"), with_vector(naive)]))
    assert ledger.count(BANK) == 1
    assert ledger.commit(make_write_set(1, units=make_units("u2"))).created == ("u2",)
    ledger.close()

"""The SQLite ledger with several processes and threads: its lock, its readers, and kills."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from builders import BANK, make_entity, make_units, make_write_set
from ledger_support import changes, commit

from hindsight_integrations.errors import BankNotFound, EngineClosed, LedgerBusy, LedgerReadOnly
from hindsight_integrations.ledger.ledger import Ledger


def opened_with(path: Path, *unit_ids: str) -> Ledger:
    """A ledger in `path` with plain units of these ids."""
    ledger = Ledger.open(path)
    revision = ledger.create_bank(BANK).revision
    commit(ledger, make_write_set(revision, units=make_units(*unit_ids)))
    return ledger


def run(script: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process that runs `script`, with readable output."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_second_open_here_names_this_process(tmp_path: Path) -> None:
    """Opening a directory twice in one program is rejected with the program's own pid, until it is closed."""
    first = Ledger.open(tmp_path)
    with pytest.raises(LedgerBusy, match=str(os.getpid())):
        Ledger.open(tmp_path)
    first.close()
    Ledger.open(tmp_path).close()


HOLDER = """
import sys
from pathlib import Path
from hindsight_integrations.ledger.ledger import Ledger
ledger = Ledger.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


def test_another_process_is_named_and_its_lock_dies_with_it(tmp_path: Path) -> None:
    """The error for a directory in use elsewhere names the process; after a kill the directory is free."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(LedgerBusy) as caught:
            Ledger.open(tmp_path)
        assert caught.value.pid == holder.pid
        assert not caught.value.here
        holder.kill()
    Ledger.open(tmp_path).close()


FORKER = """
import os, sys, time
from pathlib import Path
from hindsight_integrations.ledger.ledger import Ledger
ledger = Ledger.open(Path(sys.argv[1]))
if not os.fork():
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
time.sleep(60)
"""


def test_a_killed_owner_frees_the_directory_though_its_child_lives(tmp_path: Path) -> None:
    """A child process that survives its parent does not keep the directory locked."""
    command = [sys.executable, "-c", FORKER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        child = int(owner.stdout.readline())
        with pytest.raises(LedgerBusy) as caught:
            Ledger.open(tmp_path)
        assert caught.value.pid == owner.pid
        owner.kill()
        owner.wait()
        os.kill(child, 0)  # it lives, or this raises
        Ledger.open(tmp_path).close()


def test_a_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    """A worker forked while the ledger is open does not keep the directory locked after its parent closed it."""
    ledger = Ledger.open(tmp_path)
    context = multiprocessing.get_context("fork")
    leave = context.Event()
    child = context.Process(target=leave.wait)
    child.start()
    ledger.close()
    Ledger.open(tmp_path).close()
    leave.set()
    child.join()
    assert child.exitcode == 0


def test_a_reader_needs_no_lock_and_writes_nothing(tmp_path: Path) -> None:
    """A second process can read while the first writes, sees its commits, and cannot write."""
    writer = opened_with(tmp_path, "u1")
    reader = Ledger.open(tmp_path, read_only=True)
    commit(writer, make_write_set(1, units=make_units("u2")))
    assert reader.units.count(BANK) == 2
    with pytest.raises(LedgerReadOnly):
        commit(reader, make_write_set(2))
    with pytest.raises(LedgerReadOnly):
        reader.create_bank("new")
    with pytest.raises(BankNotFound):
        reader.bank("new")
    reader.close()
    writer.close()


def test_engines_in_memory_do_not_see_each_other() -> None:
    """Two in-memory engines in one program are independent."""
    one, two = Ledger.open(":memory:"), Ledger.open(":memory:")
    one.create_bank(BANK)
    assert two.banks() == []
    one.close()
    two.close()


def half_commits_seen(ledger: Ledger, done: threading.Event) -> list[tuple[int, ...]]:
    """Read until `done`, then once more; return the sizes of every read that is not a whole number of five-unit commits."""
    halves: list[tuple[int, ...]] = []
    while True:
        last = done.is_set()
        units, _, mentions = changes(ledger, BANK, 0).graph
        ids = changes(ledger, BANK, 0).columns.ids
        sizes = (len(units), len(mentions.units), len(ids), len(ledger.units.get(BANK, ids)))
        if len(units) % 5 or sizes[0] != sizes[1] or sizes[2] != sizes[3]:
            halves.append(sizes)
        if last:
            return halves


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_readers_see_whole_commits_while_one_writes(tmp_path: Path, where: str) -> None:
    """Recalls in four threads during retains never fail and never see half of a retain."""
    ledger = Ledger.open(tmp_path if where == "disk" else ":memory:")
    ledger.create_bank(BANK)
    done = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(half_commits_seen, ledger, done) for _ in range(4)]
        for revision in range(60):
            ids = [f"{revision}-{number}" for number in range(5)]
            pairs = [(key, "e1") for key in ids]
            commit(
                ledger,
                make_write_set(
                    revision, units=make_units(*ids), entities=[make_entity("e1", "alice")], mentions=pairs
                ),
            )
        done.set()
        assert [reader.result() for reader in readers] == [[], [], [], []]
    assert ledger.units.count(BANK) == 300
    ledger.close()


def test_database_of_finished_threads_are_not_kept(tmp_path: Path) -> None:
    """A server that reads in ever new threads does not run out of file handles."""
    ledger = opened_with(tmp_path, "u1")

    def handles() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    def read_in_a_thread() -> None:
        thread = threading.Thread(target=ledger.units.count, args=(BANK,))
        thread.start()
        thread.join()

    read_in_a_thread()
    before = handles()
    for _ in range(20):
        read_in_a_thread()
    assert handles() <= before + 3
    ledger.close()


def test_closing_reaches_the_readers_of_other_threads(tmp_path: Path) -> None:
    """After close, a thread that has read before gets EngineClosed, not a crash."""
    ledger = opened_with(tmp_path, "u1")
    started, closed, met = threading.Event(), threading.Event(), list[type[BaseException]]()

    def read_twice() -> None:
        ledger.units.count(BANK)
        started.set()
        closed.wait()
        with pytest.raises(EngineClosed) as caught:
            ledger.units.count(BANK)
        met.append(caught.type)

    thread = threading.Thread(target=read_twice)
    thread.start()
    started.wait()
    ledger.close()
    closed.set()
    thread.join()
    assert met == [EngineClosed]


COMMITTER = """
import sys
from pathlib import Path
from hindsight_integrations.ledger.ledger import Ledger
from builders import BANK, make_units, make_write_set
from ledger_support import commit
ledger = Ledger.open(Path(sys.argv[1]))
revision = ledger.create_bank(BANK).revision
while True:
    ids = [f"{revision}-{number}" for number in range(50)]
    revision = commit(ledger, make_write_set(revision, units=make_units(*ids))).revision
    print(revision, flush=True)
"""


def test_a_kill_leaves_whole_commits_only(tmp_path: Path) -> None:
    """After kill -9 during writes, every acknowledged retain is complete and no other is partly stored."""
    for acknowledged_to_wait_for in (3, 11):
        with run(COMMITTER, tmp_path) as committer:
            assert committer.stdout is not None
            lines = [committer.stdout.readline() for _ in range(acknowledged_to_wait_for)]
            committer.send_signal(signal.SIGKILL)
            lines += committer.stdout.readlines()
        acknowledged = int([line for line in lines if line.endswith("\n")][-1])
        ledger = Ledger.open(tmp_path)
        revision = ledger.revision(BANK)
        assert revision in {acknowledged, acknowledged + 1}
        assert ledger.units.count(BANK) == len(changes(ledger, BANK, 0).vectors[0]) == 50 * revision
        ledger.close()

"""Kills, crowds and neighbours: nothing acknowledged is lost, and no bank sees another's memory."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import LedgerLost

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.promise("Nothing acknowledged is lost, whatever is killed.")
def test_nothing_acknowledged_is_lost_when_the_process_is_killed() -> None:
    """Two SIGKILLs in each of eleven kinds of operation, over Lucene and FTS5: all that was acknowledged is there and found."""
    assert run("crash.py", "--kills", "22").splitlines()[-1].startswith("22 kills, ")


@pytest.mark.promise("Nothing acknowledged is lost, whatever is killed.")
def test_no_acknowledged_item_is_lost_when_the_process_is_killed() -> None:
    """Four SIGKILLs amid puts, replacements, deletes and erasures: each key holds what was acknowledged last."""
    assert run("item_kills.py", "--kills", "4").splitlines()[-1].endswith(" 0 problems")


@pytest.mark.promise("No bank sees another's memory.")
def test_threads_tasks_banks_and_engines_do_not_disturb_each_other() -> None:
    """Sixteen threads and 64 tasks on four banks of three engines: no error, no foreign answer, no loss, no twin."""
    assert "0 problems" in run("stress.py", "--seconds", "6").splitlines()[-1]


@pytest.mark.promise("No bank sees another's memory.")
def test_two_engines_in_memory_see_nothing_of_each_other(opener: Callable[..., Hindsight]) -> None:
    """The same bank name in two ":memory:" engines is two banks, and closing one leaves the other."""
    first, second = opener(), opener()
    first.bank("alice").retain("Alice likes plums.")
    second.bank("alice").retain("Alice likes figs.")
    first.close()
    assert [item.unit.text for item in second.bank("alice").recall("Alice likes").units] == [
        "Alice likes figs."
    ]


def test_memory_only_engines_write_nothing(
    opener: Callable[..., Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ ":memory:" keeps nothing on disk, not even in the working directory."""
    monkeypatch.chdir(tmp_path)
    opener().bank("alice").retain("Alice likes plums.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.promise("Nothing acknowledged is lost, whatever is killed.")
def test_missing_indexes_are_rebuilt_on_open(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Deleting every index folder loses nothing: they are made again from the ledger."""
    with opener(tmp_path) as first:
        first.bank("alice").retain("Alice Chen likes plums.")
    for folder in ("chroma", "lucene"):
        shutil.rmtree(tmp_path / folder)
    with opener(tmp_path) as second:
        found = second.bank("alice").recall("Who likes plums, Alice Chen?").units[0]
        assert {"semantic", "keyword", "graph"} <= set(found.channels) | {"graph"}
        assert second.doctor().failures == {}


def test_an_unreadable_chroma_store_is_replaced(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A Chroma database that cannot be opened at all is dropped and rebuilt for every bank."""
    with opener(tmp_path) as first:
        for name in ("alice", "bob"):
            first.bank(name).retain(f"{name} likes plums.")
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"not a database" * 100)
    with opener(tmp_path) as second:
        for name in ("alice", "bob"):
            found = second.bank(name).recall("plums").units[0]
            assert (found.unit.text, "semantic" in found.channels) == (f"{name} likes plums.", True)


def test_an_index_of_another_ledger_is_not_believed(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """An older ledger beside newer indexes is refused; accepted, they are rebuilt, and answer with nothing that is gone."""
    with opener(tmp_path) as first:
        first.bank("alice").retain("Alice likes plums.")
    backup = tmp_path.parent / "backup.sqlite"
    shutil.copy(tmp_path / "ledger.sqlite", backup)
    with opener(tmp_path) as second:
        second.bank("alice").retain("Alice likes figs.")
        second.bank("alice").retain("Alice likes pears.")
    for leftover in tmp_path.glob("ledger.sqlite*"):
        leftover.unlink()
    shutil.copy(backup, tmp_path / "ledger.sqlite")
    with pytest.raises(LedgerLost, match="accept_loss"):
        opener(tmp_path)
    with opener(tmp_path, accept_loss=True) as third:
        assert [item.unit.text for item in third.bank("alice").recall("Alice likes").units] == [
            "Alice likes plums."
        ]

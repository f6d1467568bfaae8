"""Lost indexes, kills and several engines: nothing acknowledged is lost, and no bank sees another's memory.

Long runs of kills: `evals/tests/test_kills.py`.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight
from hindsight_integrations.errors import LedgerLost

RETAINING = """
import sys
from hindsight_integrations import Hindsight
from hindsight_integrations.model.items import ItemPut
from hindsight_integrations.testing.doubles import HashEmbedder

engine = Hindsight.open(sys.argv[1], embeddings=HashEmbedder(), reranker=None)
bank = engine.bank("alice")
for number in range(int(sys.argv[2]), 1_000):
    bank.retain(f"Parcel {number} of Alice weighs {number} stone.", thread="parcels")
    bank.items.write([ItemPut(("parcels",), "last", {"number": number})])
    print(number, flush=True)
"""


@pytest.mark.directory
@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """After two SIGKILLs during retains and puts, everything acknowledged before exists, is found and is complete."""
    said: list[int] = []
    for first, acknowledged in ((0, 1), (100, 6)):
        command = [sys.executable, "-c", RETAINING, str(tmp_path), str(first)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert child.stdout
        said += [int(child.stdout.readline()) for _ in range(acknowledged)]
        child.kill()
        said += [int(line) for line in child.stdout.read().splitlines() if line.strip().isdigit()]
        assert child.wait() == -signal.SIGKILL
    with opener(tmp_path) as engine:
        bank = engine.bank("alice")
        texts = [unit.text for unit in bank.units(limit=1_000).units]
        assert [n for n in said if not any(f"Parcel {n} of Alice" in text for text in texts)] == []
        (item,) = bank.items.search(("parcels",))
        assert item.item.value["number"] >= said[-1]
        for number in said:
            found = bank.recall(f"How much does parcel {number} of Alice weigh?")
            assert any(f"Parcel {number} of" in scored.unit.text for scored in found.units), number
        assert engine.doctor(deep=True).failures == {}


@pytest.mark.promise("No bank sees another bank's memories.")
def test_two_engines_in_memory_see_nothing_of_each_other(opener: Callable[..., Hindsight]) -> None:
    """The same bank name in two ":memory:" engines is two banks, and closing one does not affect the other."""
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
    """ ":memory:" writes nothing to disk, not even in the working directory."""
    monkeypatch.chdir(tmp_path)
    opener().bank("alice").retain("Alice likes plums.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.directory
@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_missing_indexes_are_rebuilt_on_open(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """Deleting every index folder loses nothing: the indexes are rebuilt from the ledger."""
    with opener(tmp_path) as first:
        first.bank("alice").retain("Alice Chen likes plums.")
    for folder in ("chroma", "lucene"):
        shutil.rmtree(tmp_path / folder)
    with opener(tmp_path) as second:
        found = second.bank("alice").recall("Who likes plums, Alice Chen?").units[0]
        assert {"semantic", "keyword", "graph"} <= set(found.channels) | {"graph"}
        assert second.doctor().failures == {}


@pytest.mark.directory
def test_an_unreadable_chroma_store_is_replaced(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """A Chroma database that cannot be opened is deleted and rebuilt for every bank."""
    with opener(tmp_path) as first:
        for name in ("alice", "bob"):
            first.bank(name).retain(f"{name} likes plums.")
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"not a database" * 100)
    with opener(tmp_path) as second:
        for name in ("alice", "bob"):
            found = second.bank(name).recall("plums").units[0]
            assert (found.unit.text, "semantic" in found.channels) == (f"{name} likes plums.", True)


@pytest.mark.directory
def test_an_index_of_another_ledger_is_not_believed(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """An older ledger with newer indexes is rejected; if accepted, they are rebuilt and return nothing that is lost."""
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

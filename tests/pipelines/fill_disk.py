"""Fills the disk under an engine, frees space again, and reports the state of the memories. Run in a separate process.

    python fill_disk.py FOLDER {lucene,fts5} {disk,limit} {looking,blind}

`disk` fills the folder's disk, which must be small; `limit` keeps the process's files from growing much.
`blind` hides the lack of space from the Chroma backend, as when another program uses the space between check
and write. Prints "sound", or the errors.
"""

from __future__ import annotations

import faulthandler
import resource
import shutil
import sys
import time
from pathlib import Path
from typing import Literal

from hindsight_integrations import Hindsight, HindsightConfig, StorageError
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.indexes import chroma
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder

LEFT = 1_500_000  # free bytes of the full disk: some retains succeed
ALLOWED = 40_000  # bytes by which a file may grow under the limit
SLOW = 30.0  # seconds; a longer call counts as hanging
WATCHDOG = 150  # seconds; ends the process even if the interpreter lock is held


def memory(number: int) -> str:
    """A unique text: a name and some words."""
    return f"Visitor{number} asked for room{number * 7}, kettle{number * 13}, towel{number * 17} and lamp{number * 19}."


class Scarcity:
    """A full disk, until `end`."""

    def __init__(self, folder: Path, way: Literal["disk", "limit"]) -> None:
        self._filler, self._way = folder / "filler", way
        if way == "limit":
            largest = max(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest + ALLOWED, resource.RLIM_INFINITY))
        else:
            with self._filler.open("wb") as file:
                while shutil.disk_usage(folder).free > LEFT:
                    file.write(bytes(1 << 16))
                    file.flush()

    def end(self) -> None:
        """Free the space."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self._filler.unlink(missing_ok=True)


def retained(bank: MemoryBank, numbers: range, problems: list[str]) -> tuple[list[int], int]:
    """The acknowledged memories, and the number of rejected ones."""
    kept, refused = [], 0
    for number in numbers:
        began = time.monotonic()
        try:
            bank.retain(memory(number))
        except StorageError:
            refused += 1
        else:
            kept.append(number)
        if time.monotonic() - began > SLOW:
            problems.append(f"retain {number} took {time.monotonic() - began:.0f} s")
    return kept, refused


def compare(engine: Hindsight, numbers: list[int], problems: list[str]) -> None:
    """Check that everything acknowledged exists and is found by meaning and by words."""
    bank = engine.bank("guests")
    texts = {unit.text for unit in bank.iterate_units()}
    problems += [f"{number} was lost" for number in numbers if memory(number) not in texts]
    for number in numbers:
        found = {item.unit.text: set(item.channels) for item in bank.recall(memory(number)).units}
        if not {"semantic", "keyword"} <= found.get(memory(number), set()):
            problems.append(f"{number} is found by {found.get(memory(number))}")
    if failures := engine.doctor().failures:
        problems.append(f"doctor: {failures}")


def forget(bank: MemoryBank, number: int, problems: list[str]) -> bool:
    """Erase a memory on a full disk; return whether the engine reported it as erased, which must be true."""
    unit = next(unit for unit in bank.iterate_units() if unit.text == memory(number))
    try:
        receipt = bank.forget(unit=unit.id)
    except StorageError as error:
        if "nothing was written" in str(error) and memory(number) not in {
            u.text for u in bank.iterate_units()
        }:
            problems.append(f"forget erased and said: {error}")
        return False
    if not receipt.counts or memory(number) in {unit.text for unit in bank.iterate_units()}:
        problems.append("forget says that it erased what is still there")
    return True


def main(folder: Path, keywords: str, way: Literal["disk", "limit"], look: str) -> list[str]:
    """Run all steps; return the errors."""
    problems: list[str] = []
    if look == "blind":
        chroma.ClientKeeper.check_room = lambda *_: None  # type: ignore[method-assign]
    settings = HindsightConfig(
        storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=KeywordBackend(keywords))
    )
    with Hindsight.open(folder, embeddings=HashEmbedder(), reranker=None, config=settings) as engine:
        bank = engine.bank("guests")
        kept, _ = retained(bank, range(30), problems)
        scarcity = Scarcity(folder, way)
        more, refused = retained(bank, range(30, 230), problems)
        if not refused and not engine.doctor().failures:
            problems.append("the disk was never full")
        forgotten = forget(bank, 7, problems)
        scarcity.end()
        last, failed = retained(bank, range(300, 305), problems)
        if failed:
            problems.append(f"{failed} retains failed with room on the disk")
        kept = [number for number in kept + more + last if not (forgotten and number == 7)]
        compare(engine, kept, problems)
    with Hindsight.open(folder, embeddings=HashEmbedder(), reranker=None, config=settings) as engine:
        compare(engine, kept, problems)
        if forgotten and memory(7) in {unit.text for unit in engine.bank("guests").iterate_units()}:
            problems.append("what was forgotten is back")
    return problems


if __name__ == "__main__":
    faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    where, keyword_index, scarce, looks = sys.argv[1:]
    sys.stdout.write("\n".join(main(Path(where), keyword_index, scarce, looks)) or "sound")  # type: ignore[arg-type]

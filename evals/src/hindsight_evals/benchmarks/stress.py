"""Many threads and tasks use a few banks concurrently: no errors, foreign results, lost units or duplicate entities.

    hindsight-evals bench stress [--seconds 30] [--threads 16] [--tasks 64] [--banks 4]

Two engines on disk and one in memory run in one process. Threads use the sync API; tasks use the async API of
the same engines, in several event loops. Every text contains its bank's name, so that a result from another
bank is detected. The exit code is 1 on any failure.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hindsight_integrations import Hindsight, HindsightError, RecallResult
from hindsight_integrations.testing.doubles import HashEmbedder

LOOPS = 4
PEOPLE = ("Alice Chen", "Bob Okafor", "Carla Diaz", "Dan Weiss", "Eva Lind")
ACTS = ("planted basil", "fixed the gate", "sold the red kayak", "booked a train", "read about bees")


@dataclass(slots=True)
class Tally:
    """Counts of events, protected by a lock."""

    errors: list[str] = field(default_factory=list)
    retained: Counter[tuple[str, str]] = field(default_factory=Counter)
    recalls: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledged(self, engine: str, bank: str, count: int) -> None:
        with self.lock:
            self.retained[engine, bank] += count

    def recalled(self, engine: str, bank: str, result: RecallResult) -> None:
        foreign = [u.unit.text for u in result.units if f"<{engine}/{bank}>" not in u.unit.text]
        with self.lock:
            self.recalls += 1
            self.errors += [f"{engine}/{bank} answered with {text}" for text in foreign]

    def failed(self, error: BaseException) -> None:
        with self.lock:
            self.errors.append(f"{type(error).__name__}: {error}")


def turn(
    engine: str, bank: str, worker: str, number: int, rng: random.Random
) -> tuple[list[dict[str, str]], list[dict[str, object]]]:
    """Return a unique message with one extracted fact."""
    who = rng.choice(PEOPLE)
    text = f"{who} {rng.choice(ACTS)} <{engine}/{bank}> {worker} {number}"
    identity = f"{worker}-{number}"
    fact: dict[str, object] = {
        "what": text,
        "sources": [identity],
        "entities": [{"text": who, "type": "PERSON"}],
    }
    return [{"role": "user", "content": text, "id": identity}], [fact]


def question(rng: random.Random) -> str:
    return f"What did {rng.choice(PEOPLE)} do, who {rng.choice(ACTS)}?"


def thread_worker(
    engines: dict[str, Hindsight], banks: list[str], name: str, until: float, tally: Tally
) -> None:
    rng = random.Random(name)
    number = 0
    try:
        while time.monotonic() < until:
            engine, bank = rng.choice(list(engines)), rng.choice(banks)
            handle = engines[engine].bank(bank)
            if rng.random() < 0.4:
                messages, facts = turn(engine, bank, name, number, rng)
                tally.acknowledged(engine, bank, handle.retain(messages, facts=facts).created)
                number += 1
            else:
                tally.recalled(engine, bank, handle.recall(question(rng), max_tokens=300))
    except (HindsightError, OSError, RuntimeError, ValueError, KeyError) as error:
        tally.failed(error)


async def task_worker(
    engines: dict[str, Hindsight], banks: list[str], name: str, until: float, tally: Tally
) -> None:
    rng = random.Random(name)
    number = 0
    try:
        while time.monotonic() < until:
            engine, bank = rng.choice(list(engines)), rng.choice(banks)
            handle = await engines[engine].asynchronous.bank(bank)
            if rng.random() < 0.4:
                messages, facts = turn(engine, bank, name, number, rng)
                tally.acknowledged(engine, bank, (await handle.retain(messages, facts=facts)).created)
                number += 1
            else:
                tally.recalled(engine, bank, await handle.recall(question(rng), max_tokens=300))
    except (HindsightError, OSError, RuntimeError, ValueError, KeyError) as error:
        tally.failed(error)


def loop_worker(
    engines: dict[str, Hindsight], banks: list[str], names: list[str], until: float, tally: Tally
) -> None:
    async def together() -> None:
        await asyncio.gather(*(task_worker(engines, banks, name, until, tally) for name in names))

    asyncio.run(together())


def check(engines: dict[str, Hindsight], tally: Tally, folders: dict[str, Path]) -> list[str]:
    """Return lost units and duplicate entities."""
    found = []
    for (engine, bank), count in tally.retained.items():
        held = engines[engine].bank(bank).count()
        if held != count:
            found.append(f"{engine}/{bank} holds {held} units, {count} were acknowledged")
    for engine, folder in folders.items():
        with sqlite3.connect(folder / "ledger.sqlite") as connection:
            query = "SELECT bank, name, count(*) FROM entities GROUP BY bank, name HAVING count(*) > 1"
            found += [f"{engine}: twin entity {row}" for row in connection.execute(query)]
    return found


def run(seconds: float, threads: int, tasks: int, banks: list[str], home: Path) -> int:
    folders = {"north": home / "north", "south": home / "south"}
    places: dict[str, str | Path] = {**folders, "memory": ":memory:"}
    engines = {
        name: Hindsight.open(place, embeddings=HashEmbedder(), reranker=None)
        for name, place in places.items()
    }
    tally = Tally()
    until = time.monotonic() + seconds
    workers = [
        threading.Thread(target=thread_worker, args=(engines, banks, f"thread{n}", until, tally))
        for n in range(threads)
    ]
    for loop in range(min(LOOPS, tasks)):
        names = [f"task{n}" for n in range(loop, tasks, LOOPS)]
        workers.append(threading.Thread(target=loop_worker, args=(engines, banks, names, until, tally)))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    tally.errors += check(engines, tally, folders)
    for engine in engines.values():
        engine.close()
    print("\n".join(tally.errors[:20]))
    print(
        f"{sum(tally.retained.values())} units retained, {tally.recalls} recalls, {len(tally.errors)} problems"
    )
    return 1 if tally.errors or not tally.recalls or not tally.retained else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--banks", type=int, default=4)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="hindsight-stress-") as folder:
        banks = [f"bank-{n}" for n in range(options.banks)]
        return run(options.seconds, options.threads, options.tasks, banks, Path(folder))


if __name__ == "__main__":
    sys.exit(main())

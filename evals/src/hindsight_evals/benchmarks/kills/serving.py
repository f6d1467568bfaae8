"""The processes that `processes` kills: some serve users and others run tasks, all on one PostgreSQL database.

Each process logs its operations and answers to its own unbuffered file, so that a kill loses no line.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.kills.waiting import Item, ReadingModel, Work, retain
from hindsight_integrations import (
    AsyncHindsight,
    AsyncMemoryBank,
    ExtractedFact,
    HindsightConfig,
    Message,
)
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    OnModelFailure,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.errors import StorageError
from hindsight_integrations.testing.doubles import HashEmbedder

NUMBER = re.compile(r"k(\d+)k")
WHEN = "2024-06-02T12:00"


class Role(StrEnum):
    """The role of a process."""

    SERVE = "serve"
    WORK = "work"


class Operation(StrEnum):
    """One operation of a serving process."""

    RETAIN = "retain"
    QUEUE = "queue"
    READ = "read"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
class Place:
    """The environment of a process.

    Attributes:
        address: address of the database.
        folder: folder of logs and caches.
        banks: number of banks.
        number: number of the process; item numbers are unique to a process.
        stop: a file whose existence tells serving processes to end.
    """

    address: str
    folder: Path
    banks: int
    number: int

    @property
    def stop(self) -> Path:
        """The file that tells serving processes to end."""
        return self.folder / "stop"


def config() -> HindsightConfig:
    """Settings with light indexes, so that processes start quickly."""
    return HindsightConfig(
        storage=StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5, connections=4),
        retain=RetainConfig(on_model_failure=OnModelFailure.QUEUE),
        observations=ObservationConfig(delay_s=0.0),
        concurrent_tasks=2,
    )


def run(place: Place, role: Role) -> None:
    """Serve or work until killed or told to end."""
    asyncio.run(_serve(place) if role is Role.SERVE else _work(place))


async def _opened(place: Place, **options: Any) -> AsyncHindsight:  # noqa: ANN401 - of `open`
    """Open the engine, as soon as the server accepts connections."""
    while True:
        try:
            return _open(place, **options)
        except StorageError:
            await asyncio.sleep(0.2)


def _open(place: Place, **options: Any) -> AsyncHindsight:  # noqa: ANN401 - of `open`
    cache = place.folder / "cache" if place.number % 2 else None
    model = ReadingModel(place.number, 0.05, lambda: None)
    return AsyncHindsight.open(
        place.address,
        model=model,
        embeddings=HashEmbedder(),
        reranker=None,
        config=config(),
        cache=cache,
        **options,
    )


async def _work(place: Place) -> None:
    async with await _opened(place, worker=True):
        while not (place.folder / "end").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.1)


async def _serve(place: Place) -> None:
    log = os.open(place.folder / f"log{place.number}.jsonl", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    rng = random.Random(place.number)
    async with await _opened(place) as hindsight:
        server = _Serving(hindsight, place, rng, log)
        await asyncio.gather(*(server.run() for _ in range(3)))
    os.close(log)


class _Serving:
    """Runs one operation after another, and logs each before it begins and when it is answered."""

    def __init__(self, hindsight: AsyncHindsight, place: Place, rng: random.Random, log: int) -> None:
        self._hindsight, self._place, self._rng, self._log = hindsight, place, rng, log
        self._next, self._done = 0, list[tuple[str, int]]()

    async def run(self) -> None:
        while not self._place.stop.exists():
            operation = self._rng.choices(list(Operation), (40, 15, 38, 7))[0]
            bank = f"bank {self._rng.randrange(self._place.banks)}"
            if operation is Operation.READ:
                await self._do(operation, bank, 0)
            elif operation is Operation.FORGET:
                if self._done:
                    await self._do(operation, *self._done.pop(self._rng.randrange(len(self._done))))
            else:
                self._next += 1
                number = self._place.number * 100_000 + self._next
                while not await self._do(operation, bank, number) and self._rng.random() < 0.7:
                    pass

    async def _do(self, operation: Operation, bank: str, number: int) -> bool:
        begun = {"op": operation, "bank": bank, "number": number, "begun": time.monotonic()}
        self._write(begun)
        try:
            seen = await self._operate(operation, await self._hindsight.bank(bank), number)
        except StorageError as error:
            self._write(begun | {"failed": f"{type(error).__name__}: {error}", "ended": time.monotonic()})
            await asyncio.sleep(0.05)
            return False
        self._write(begun | {"ended": time.monotonic(), "seen": seen})
        if operation is Operation.RETAIN:
            self._done.append((bank, number))
        return True

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self._log, json.dumps(line).encode() + b"\n")

    async def _operate(self, operation: Operation, bank: AsyncMemoryBank, number: int) -> list[int]:
        match operation:
            case Operation.RETAIN:
                said = f"The club lent kayak k{number}k in June."
                told = Message(said, "Ann", WHEN, id=f"m{number}")
                await bank.retain([told], facts=[ExtractedFact(what=said, sources=[f"m{number}"])])
            case Operation.QUEUE:
                await retain(Item(number, bank.name, Work.QUEUED), bank)
            case Operation.FORGET:
                await bank.forget(thread="", message=f"m{number}")
            case Operation.READ:
                found = await bank.recall("kayak", budget="high", max_tokens=1_000_000)
                return sorted({int(each) for unit in found.units for each in NUMBER.findall(unit.text)})
        return []

"""The two processes that `worker_kills` kills: one that retains and has a worker, and `hindsight-memory work`."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rich.console import Console

from hindsight_evals.benchmarks.kills.child import preload
from hindsight_evals.benchmarks.kills.waiting import Item, ReadingModel, retain
from hindsight_integrations import AsyncHindsight, HindsightConfig
from hindsight_integrations.cli.app import work
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    OnModelFailure,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.engine.engine import ENGINES
from hindsight_integrations.testing.doubles import HashEmbedder

RETAINED, ASKED, OPEN, IDLE, FAILED = "retained", "asked", "open", "idle", "failed"
PATIENCE = 120.0  # a child that says nothing for so many seconds hangs
SAMPLED_EVERY = 0.001  # seconds between two looks at how many banks are open


class Role(StrEnum):
    """Who is killed."""

    CALLER = "a process that retains, with a worker of its own"
    WORK = "hindsight-memory work --follow"


SLOWEST = {Role.CALLER: 1.0, Role.WORK: 0.1}
"""Seconds an answer of the model takes at most. The caller's worker falls behind, so that there is work for the other."""
AT_ONCE = {Role.CALLER: 2, Role.WORK: 4}
"""Tasks under way, likewise."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a child is to do.

    Attributes:
        folder: the data directory.
        role: who it is.
        given: what a caller retains.
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        open_banks: how many banks may be open.
        seed: of the model's slowness.
    """

    folder: Path
    role: Role
    given: tuple[Item, ...]
    light: bool
    open_banks: int
    seed: int


@dataclass(frozen=True, slots=True)
class Moment:
    """When a child is killed.

    Attributes:
        steps: after so many inputs were retained and answers of the model were wanted.
        seconds: and so much later.
    """

    steps: int
    seconds: float


@dataclass(slots=True)
class Left:
    """What a child had said when it was killed.

    Attributes:
        opened: it had opened the memory.
        acknowledged: numbers of the items that were retained.
        asked: how often its worker had asked the model.
        idle: it had nothing to do any more.
        most_open: the most banks open at once.
        failures: what it raised by itself.
        cut: it says nothing more.
    """

    opened: bool = False
    acknowledged: set[int] = field(default_factory=set)
    asked: int = 0
    idle: bool = False
    most_open: int = 0
    failures: list[str] = field(default_factory=list)
    cut: bool = False

    @property
    def steps(self) -> int:
        """Inputs retained and answers wanted."""
        return len(self.acknowledged) + self.asked

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.idle or self.cut or bool(self.failures)


def config(task: Task) -> HindsightConfig:
    """Settings of an engine whose model may fail and whose observations are made at once."""
    vectors = VectorBackend.EXACT if task.light else VectorBackend.CHROMA
    keywords = KeywordBackend.FTS5 if task.light else KeywordBackend.LUCENE
    return HindsightConfig(
        storage=StorageConfig(vectors, keywords, open_banks=task.open_banks),
        retain=RetainConfig(on_model_failure=OnModelFailure.QUEUE),
        observations=ObservationConfig(delay_s=0.0),
        concurrent_tasks=AT_ONCE[task.role],
    )


class Told:
    """What a child says, from whichever of its threads: a word, and a number or text with it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock = pipe, threading.Lock()

    def __call__(self, word: str, what: object = None) -> None:
        with self._lock:
            self._pipe.send((word, what))


def run(task: Task, pipe: Connection) -> None:
    """Work until killed; says when it has opened the memory, what it retained, when the model was asked, how many banks were
    open, and when nothing is left to do."""
    told = Told(pipe)
    threading.Thread(target=_sample, args=(told,), daemon=True).start()
    try:
        asyncio.run(_call(task, told) if task.role is Role.CALLER else _work(task, told))
        told(IDLE)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent reports it
        told(FAILED, f"{type(error).__name__}: {error}")


async def _call(task: Task, told: Told) -> None:
    model = ReadingModel(task.seed, SLOWEST[task.role], lambda: told(ASKED))
    async with AsyncHindsight.open(
        task.folder, model=model, embeddings=HashEmbedder(), reranker=None, config=config(task), worker=True
    ) as hindsight:
        for item in task.given:
            await retain(item, await hindsight.bank(item.bank))
            told(RETAINED, item.number)
        while (await hindsight.doctor()).tasks.next_due is not None:  # noqa: ASYNC110 - nobody tells of that
            await asyncio.sleep(0.02)


async def _work(task: Task, told: Told) -> None:
    printed = io.StringIO()
    options: dict[str, Any] = {"embeddings": HashEmbedder(), "reranker": None, "config": config(task)}
    model = ReadingModel(task.seed, SLOWEST[task.role], lambda: told(ASKED))
    if not await work(task.folder, Console(file=printed), follow=True, model=model, **options):
        raise AssertionError(printed.getvalue())


def _sample(told: Told) -> None:
    """Say that an engine is open, and how many banks are whenever there were never more."""
    most = -1
    while True:
        for engine in list(ENGINES):
            if (count := len(engine._banks.projections())) > most:  # noqa: SLF001 - nothing public counts them
                most = count
                told(OPEN, most)
        time.sleep(SAMPLED_EVERY)


def killed(task: Task, moment: Moment | None) -> Left:
    """Start a child, kill it, and say what it had announced.

    Args:
        task: what it is to do.
        moment: when to kill it; None once it has nothing left to do.
    """
    context = get_context("forkserver")
    preload()
    heard, said = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(task, said), daemon=True)
    process.start()
    said.close()
    left = Left()
    while not left.over and not (moment and left.opened and left.steps >= moment.steps):
        if not heard.poll(PATIENCE):
            left.failures.append("it hangs")
            break
        _hear(heard, left)
    if moment and not left.over:
        time.sleep(moment.seconds)
    process.kill()
    process.join()
    while heard.poll() and not left.cut:
        _hear(heard, left)
    return left


def _hear(heard: Connection, left: Left) -> None:
    try:
        word, what = heard.recv()
    except (EOFError, OSError):  # also a message cut in two by the kill
        left.cut = True
        return
    match word:
        case "retained":
            left.acknowledged.add(what)
        case "open":
            left.opened, left.most_open = True, what
        case "asked":
            left.asked += 1
        case "idle":
            left.idle = True
        case _:
            left.failures.append(what)

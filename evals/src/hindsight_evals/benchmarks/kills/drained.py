"""The two processes that `worker_kills` kills: one retains and has a worker, the other is `hindsight-memory work`."""

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
PATIENCE = 120.0  # seconds without a report after which a child is considered hung
SAMPLED_EVERY = 0.001  # seconds between two samples of the number of open banks


class Role(StrEnum):
    """The role of the process to kill."""

    CALLER = "a process that retains, with a worker of its own"
    WORK = "hindsight-memory work --follow"


SLOWEST = {Role.CALLER: 1.0, Role.WORK: 0.1}
"""Maximum seconds of a model's answer. The caller's worker is slower, so that work remains for the other process."""
AT_ONCE = {Role.CALLER: 2, Role.WORK: 4}
"""Number of concurrent tasks, for the same reason."""


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a child.

    Attributes:
        folder: the data directory.
        role: its role.
        given: the items that a caller retains.
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        open_banks: maximum number of open banks.
        seed: seed of the model's delays.
    """

    folder: Path
    role: Role
    given: tuple[Item, ...]
    light: bool
    open_banks: int
    seed: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment of a kill.

    Attributes:
        steps: number of retained items and model requests before it.
        seconds: delay after them.
    """

    steps: int
    seconds: float


@dataclass(slots=True)
class Left:
    """What a child had reported when it was killed.

    Attributes:
        opened: whether it had opened the memory.
        acknowledged: numbers of the retained items.
        asked: number of model requests of its worker.
        idle: whether it had finished all its work.
        most_open: maximum number of banks open at once.
        failures: errors the child raised.
        cut: True after its last report.
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
        """The number of retained items and model requests."""
        return len(self.acknowledged) + self.asked

    @property
    def over(self) -> bool:
        """Whether no further report is expected."""
        return self.idle or self.cut or bool(self.failures)


def config(task: Task) -> HindsightConfig:
    """Return settings for a model that may fail, with immediate observations."""
    vectors = VectorBackend.EXACT if task.light else VectorBackend.CHROMA
    keywords = KeywordBackend.FTS5 if task.light else KeywordBackend.LUCENE
    return HindsightConfig(
        storage=StorageConfig(vectors, keywords, open_banks=task.open_banks),
        retain=RetainConfig(on_model_failure=OnModelFailure.QUEUE),
        observations=ObservationConfig(delay_s=0.0),
        concurrent_tasks=AT_ONCE[task.role],
    )


class Told:
    """Sends the child's reports, from any thread: a word with a number or text."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock = pipe, threading.Lock()

    def __call__(self, word: str, what: object = None) -> None:
        with self._lock:
            self._pipe.send((word, what))


def run(task: Task, pipe: Connection) -> None:
    """Work until killed. Report when the memory is open, each retained item and model request, the number of open banks, and idleness."""
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
    """Report that an engine is open, and every new maximum of open banks."""
    most = -1
    while True:
        for engine in list(ENGINES):
            if (count := len(engine._banks.projections())) > most:  # noqa: SLF001 - nothing public counts them
                most = count
                told(OPEN, most)
        time.sleep(SAMPLED_EVERY)


def killed(task: Task, moment: Moment | None) -> Left:
    """Start a child, kill it, and return what it had reported.

    Args:
        task: the task.
        moment: when to kill the child; None waits until it is idle.
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
    except (EOFError, OSError):  # or a report truncated by the kill
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

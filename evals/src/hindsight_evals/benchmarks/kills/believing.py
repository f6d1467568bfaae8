"""The process that `opinion_kills` kills: it takes steps, and says before and after each what its bank holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from hindsight_evals.benchmarks.kills.believed import BelievingModel, Held, Step, Verb, held, take
from hindsight_evals.benchmarks.kills.child import preload
from hindsight_integrations import AsyncHindsight, HindsightConfig
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    OpinionConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

BEGUN, ANSWERED, DONE, FAILED = "begun", "answered", "done", "failed"
PATIENCE = 120.0  # a child that says nothing for so many seconds hangs
START = datetime(2024, 6, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Task:
    """What a child is to do.

    Attributes:
        folder: the data directory.
        steps: the plan.
        first: number of the first step to take.
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        number: of the child; each lives an hour after the one before, when leases of the dead have ended.
    """

    folder: Path
    steps: Sequence[Step]
    first: int
    light: bool
    number: int


@dataclass(frozen=True, slots=True)
class Moment:
    """When a child is killed.

    Attributes:
        step: in which step.
        seconds: so long after the model answered in it; of a retain, after it was begun.
    """

    step: int
    seconds: float


@dataclass(slots=True)
class Left:
    """What a child had said.

    Attributes:
        next: number of the first step that is not done.
        before: what the bank of a step held before it, by step.
        after: what it held after it.
        seconds: from the moment from which kills count to the end of the step.
        failure: what it raised by itself.
        over: it says nothing more.
    """

    next: int
    before: dict[int, Held] = field(default_factory=dict)
    after: dict[int, Held] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    failure: str = ""
    over: bool = False


def config(task: Task) -> HindsightConfig:
    """Settings under which evidence is assessed at the next settle."""
    vectors = VectorBackend.EXACT if task.light else VectorBackend.CHROMA
    keywords = KeywordBackend.FTS5 if task.light else KeywordBackend.LUCENE
    return HindsightConfig(
        storage=StorageConfig(vectors, keywords),
        observations=ObservationConfig("off"),
        opinions=OpinionConfig(delay_s=0.0),
    )


def run(task: Task, pipe: Connection) -> None:
    """Take the steps until killed."""
    try:
        asyncio.run(_take_all(task, pipe))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent reports it
        pipe.send((FAILED, f"{type(error).__name__}: {error}"))


async def _take_all(task: Task, pipe: Connection) -> None:
    model = BelievingModel(lambda: pipe.send((ANSWERED, None)))
    clock = FrozenClock(START + timedelta(hours=task.number))
    async with AsyncHindsight.open(
        task.folder, model=model, embeddings=HashEmbedder(), reranker=None, config=config(task), clock=clock
    ) as hindsight:
        for step in task.steps[task.first :]:
            bank = await hindsight.bank(step.name)
            pipe.send((BEGUN, await held(bank)))
            await take(step, bank)
            pipe.send((DONE, None))
            pipe.send((DONE, await held(bank)))


def killed(task: Task, moment: Moment | None) -> Left:
    """Start a child, kill it, and say what it had announced.

    Args:
        task: what it is to do.
        moment: when to kill it; None lets it come to the end.
    """
    context = get_context("forkserver")
    preload()
    heard, said = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(task, said), daemon=True)
    process.start()
    said.close()
    left = Left(task.first)
    since = 0.0
    while not left.over:
        if not heard.poll(PATIENCE):
            left.failure = "it hangs"
            break
        word = _hear(heard, left, since)
        waits_for = (
            BEGUN if left.next < len(task.steps) and task.steps[left.next].verb is Verb.RETAIN else ANSWERED
        )
        if word == waits_for:
            since = time.perf_counter()
            if moment and left.next == moment.step:
                time.sleep(moment.seconds)
                break
    process.kill()
    process.join()
    while heard.poll() and not left.over:
        _hear(heard, left, since)
    return left


def _hear(heard: Connection, left: Left, since: float) -> str:
    try:
        word, what = heard.recv()
    except (EOFError, OSError):  # also a message cut in two by the kill
        left.over = True
        return ""
    if word == FAILED:
        left.failure = what
    elif word == BEGUN:
        left.before[left.next] = what
    elif word == DONE and what is None:
        left.seconds[left.next] = time.perf_counter() - since
        left.next += 1
    elif word == DONE:
        left.after[left.next - 1] = what
    return str(word)

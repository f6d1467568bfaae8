"""The process that `opinion_kills` kills: it runs steps, and reports the content of the bank before and after each."""

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
PATIENCE = 120.0  # seconds without a report after which a child is considered hung
START = datetime(2024, 6, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a child.

    Attributes:
        folder: the data directory.
        steps: the plan.
        first: number of the first step to run.
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        number: number of the child; the clock of each is an hour ahead of the previous one's, so that leases
            of killed ones have expired.
    """

    folder: Path
    steps: Sequence[Step]
    first: int
    light: bool
    number: int


@dataclass(frozen=True, slots=True)
class Moment:
    """The moment of a kill.

    Attributes:
        step: number of the step.
        seconds: seconds after the model's answer in this step; for a retain, after its start.
    """

    step: int
    seconds: float


@dataclass(slots=True)
class Left:
    """What a child had reported when it ended.

    Attributes:
        next: number of the first step that is not done.
        before: content of the bank before each step.
        after: content of the bank after each step.
        seconds: seconds from the start of the period in which kills happen to the end of the step.
        failure: an error the child raised.
        over: True after its last report.
    """

    next: int
    before: dict[int, Held] = field(default_factory=dict)
    after: dict[int, Held] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    failure: str = ""
    over: bool = False


def config(task: Task) -> HindsightConfig:
    """Return settings with which evidence is assessed by the next settle."""
    vectors = VectorBackend.EXACT if task.light else VectorBackend.CHROMA
    keywords = KeywordBackend.FTS5 if task.light else KeywordBackend.LUCENE
    return HindsightConfig(
        storage=StorageConfig(vectors, keywords),
        observations=ObservationConfig("off"),
        opinions=OpinionConfig(delay_s=0.0),
    )


def run(task: Task, pipe: Connection) -> None:
    """Run the steps until killed."""
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
    """Start a child, kill it, and return what it had reported.

    Args:
        task: the task.
        moment: when to kill the child; None lets it finish.
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
    except (EOFError, OSError):  # or a report truncated by the kill
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

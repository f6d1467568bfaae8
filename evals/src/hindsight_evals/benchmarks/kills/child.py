"""The child process that is killed."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context, set_forkserver_preload
from multiprocessing.connection import Connection
from pathlib import Path

from hindsight_evals.benchmarks.kills.operations import Kind, Work, open_memory, opening, operations, prepared
from hindsight_evals.benchmarks.kills.state import Change, State
from hindsight_integrations.config import KeywordBackend

READY = "ready"
START_SECONDS = 120.0  # seconds after which a child that is not ready is considered hung
LONGEST_WAIT = 0.5  # maximum seconds between a child's readiness and its kill


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a child.

    Attributes:
        folder: the data directory.
        keywords: the keyword index.
        kind: the kind of operation to interrupt.
        number: number of the round.
        embedder: the child's embedder.
    """

    folder: Path
    keywords: KeywordBackend
    kind: Kind
    number: int
    embedder: str


@dataclass(frozen=True, slots=True)
class Left:
    """What a child had reported when it was killed.

    Attributes:
        acknowledged: changes by operations that returned.
        under_way: changes by the operation that had not.
        ready: whether the child had started the operations to interrupt.
        failure: an error the child raised, if any.
    """

    acknowledged: tuple[Change, ...]
    under_way: tuple[Change, ...]
    ready: bool
    failure: str = ""


def run(task: Task, state: State, said: Connection) -> None:
    """Run operations until killed; report each through the pipe before it starts and after it ends."""
    try:
        if task.kind in (Kind.OPEN, Kind.OPEN_WITHOUT_INDEXES):
            said.send(READY)
            opening(task.folder, task.keywords, task.kind, task.embedder)
        hindsight = open_memory(task.folder, task.keywords, task.embedder)
        learn = task.kind is not Kind.REINDEX
        work = Work(hindsight, state, random.Random(task.number), task.number, said.send, learn=learn)
        archive = task.folder.with_name(f"{task.folder.name}-archive.jsonl")
        prepared(work, task.kind, archive)
        said.send(READY)
        for _ in operations(work, task.kind, archive):
            pass
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent reports it
        said.send(f"{type(error).__name__}: {error}")


def killed(task: Task, state: State, rng: random.Random) -> Left:
    """Start a child, kill it at a random moment, and return what it had reported."""
    context = get_context("forkserver")
    preload()
    heard, said = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(task, state, said), daemon=True)
    process.start()
    said.close()
    events: list[object] = []
    deadline = time.monotonic() + START_SECONDS
    while READY not in events and process.is_alive() and time.monotonic() < deadline:
        if heard.poll(0.05):
            events.append(_received(heard))
    moment = time.monotonic() + rng.uniform(0.0, LONGEST_WAIT)
    while time.monotonic() < moment and process.is_alive():
        if heard.poll(max(0.0, moment - time.monotonic())):
            events.append(_received(heard))
    process.kill()
    process.join()
    while heard.poll() and (event := _received(heard)) is not EOFError:
        events.append(event)
    return _left(events)


@functools.cache
def preload() -> None:
    """Import the modules that every child needs."""
    set_forkserver_preload(["hindsight_evals.benchmarks.kills.warm"])


def _received(heard: Connection) -> object:
    try:
        return heard.recv()
    except (EOFError, OSError):  # or a report truncated by the kill
        time.sleep(0.01)
        return EOFError


def _left(events: Sequence[object]) -> Left:
    acknowledged: list[Change] = []
    under_way: tuple[Change, ...] = ()
    failure = ""
    for event in events:
        if isinstance(event, list):
            under_way = tuple(event)
        elif event is None:
            acknowledged += under_way
            under_way = ()
        elif isinstance(event, str) and event != READY:
            failure = event
    return Left(tuple(acknowledged), under_way, READY in events, failure)

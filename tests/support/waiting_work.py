"""Waiting tasks in many banks, and a model that answers from its prompt unless a test says otherwise."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import BaseMessage

from hindsight_integrations import (
    Hindsight,
    HindsightConfig,
    Message,
    ModelUnavailable,
)
from hindsight_integrations.config import (
    KeywordBackend,
    ObservationConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)

PASSAGE = re.compile(r"^\[(?P<id>[^\]]+)\] \([^)]*\) [^:]+: (?P<text>.+)$", re.MULTILINE)
RETAINING: ContextVar[bool] = ContextVar("RETAINING", default=False)
SECONDS = 20  # maximum wait for an event that takes milliseconds
Opened = Callable[..., Hindsight]


def config(**changes: Any) -> HindsightConfig:
    storage = StorageConfig(VectorBackend.EXACT, KeywordBackend.FTS5, open_banks=changes.pop("open_banks", 8))
    retain = RetainConfig(on_model_failure="queue")
    changes.setdefault("observations", ObservationConfig("off"))
    return HindsightConfig(storage=storage, retain=retain, **changes)


class Reader:
    """A model that extracts the text of each message; a test can make it fail, hang or answer badly.

    It fails for retains in a `RETAINING` context, so that tasks are queued; with `outage` for everybody.
    """

    def __init__(self) -> None:
        self.outage = False
        self.poison = ""
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[str] = []
        self.begun = threading.Semaphore(0)
        self.watch: Callable[[], object] = lambda: None

    def __call__(self, messages: list[BaseMessage]) -> Any:
        said = PASSAGE.findall(str(messages[1].text))
        if RETAINING.get():
            raise ModelUnavailable("test", "down")
        self.asked.append(said[0][1])
        self.begun.release()
        self.watch()
        assert self.gate.wait(SECONDS)
        if self.outage:
            raise ModelUnavailable("test", "down")
        if self.poison and self.poison in said[0][1]:
            return "no json"
        return {"facts": [{"what": text, "sources": [place]} for place, text in said]}


def thing(number: int) -> str:
    return f"The keeper owns kayak {number}."


def queue(engine: Hindsight, banks: Sequence[int], texts: Sequence[str] = ()) -> None:
    """Retain messages that wait for the model, in each bank."""
    retaining = RETAINING.set(True)
    for number in banks:
        for place, text in enumerate(texts or [thing(number)]):
            message = Message(text, "Ann", "2024-05-03T10:00", id=f"m{place}")
            engine.bank(f"bank {number}").retain([message])
    RETAINING.reset(retaining)


def until(true: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.005)


@contextmanager
def elsewhere(call: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """Make a call on another thread; in the block, yield a function that waits for its result."""
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(call)
        yield lambda: future.result(SECONDS)


def texts(engine: Hindsight, number: int) -> list[str]:
    return [unit.text for unit in engine.bank(f"bank {number}").units().units if unit.kind == "memory"]


def waiting(engine: Hindsight) -> int:
    return engine.doctor().tasks.waiting

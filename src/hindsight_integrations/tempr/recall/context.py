"""One recall under way: what every stage reads, and the trace that each writes what it did into."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hindsight_integrations.model.trace import Stage, Trace
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.recall.plan import RecallPlan
from hindsight_integrations.tempr.recall.tools import RecallTools


@dataclass(frozen=True, slots=True)
class RecallContext:
    """One recall under way.

    Attributes:
        plan: what is searched for.
        view: the bank, as of one revision.
        tools: what recall needs of the engine.
        trace: stages and notes so far.
    """

    plan: RecallPlan
    view: BankView
    tools: RecallTools
    trace: Trace


@contextmanager
def timed(trace: Trace, stage: str) -> Iterator[dict[str, str | int | float]]:
    """Time the block as a stage of the trace; what it puts into the dict given to it becomes the stage's detail.

    Stages are appended as they end: the channels in whatever order they finish.
    """
    started = time.perf_counter()
    detail: dict[str, str | int | float] = {}
    yield detail
    trace.stages.append(Stage(stage, (time.perf_counter() - started) * 1000, detail))

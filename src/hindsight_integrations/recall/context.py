"""One recall under way: what every stage reads, and the trace that each writes what it did into."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.documents import DocumentItems
from hindsight_integrations.indexes.graph_channel import Walk
from hindsight_integrations.indexes.hybrid import Selection
from hindsight_integrations.indexes.named_entities import NamedEntities
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.requests import Budget, RecallQuery
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.trace import Stage, Trace
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallQuestion:
    """A query to a bank, before it is analysed.

    Attributes:
        query: the checked query.
        view: the bank at one revision.
        services: the engine's.
        trace: stages and notes so far.
        missing: row ids of units that could not be read: erased meanwhile, or damaged.
        items: the items of documents that are valid at the time of the query.
        read: units read so far by row id; None for missing ones.
    """

    query: RecallQuery
    view: BankView
    services: Services
    trace: Trace = field(default_factory=Trace)
    missing: set[int] = field(default_factory=set)
    items: DocumentItems
    read: dict[int, MemoryUnit | None] = field(default_factory=dict)

    def units(self, ids: IntArray) -> dict[int, MemoryUnit]:
        """Units by row id, in the order of `ids`, each read once from the ledger; missing ones are left out."""
        unread = [row for row in ids.tolist() if row not in self.read]
        if unread:
            units = self.view.ledger.units.get(self.view.bank, np.array(unread, np.int64))
            self.read.update((row, units.get(row)) for row in unread)
        return {row: unit for row in ids.tolist() if (unit := self.read[row])}

    @property
    def limit(self) -> int:
        """Candidates per channel."""
        return self.services.config.recall.candidates[list(Budget).index(self.query.budget)]

    @property
    def rerank_limit(self) -> int:
        """Candidates the reranker may read."""
        return self.services.config.recall.rerank_candidates[list(Budget).index(self.query.budget)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallContext(RecallQuestion):
    """One recall: the query, and the analysis of its words.

    Attributes:
        vector: of the question, unit norm.
        window: time of the question, given or found in its text; None without one.
        selected: the memories that may be returned.
        time_alone: whether the question asks for a time only ("What happened last week?"), so that everything of it matches.
        named: entities that the question names, and whether one of them is a speaker.
        walk: how far the graph channel may go.
    """

    vector: Vector
    window: Interval | None
    selected: Selection
    time_alone: bool
    named: NamedEntities
    walk: Walk


@contextmanager
def timed(trace: Trace, stage: str) -> Iterator[dict[str, str | int | float]]:
    """Time the block as a stage of the trace; entries that it adds to the dict become the detail of the stage.

    Stages are appended as they finish.
    """
    started = time.perf_counter()
    detail: dict[str, str | int | float] = {}
    yield detail
    trace.stages.append(Stage(stage, (time.perf_counter() - started) * 1000, detail))

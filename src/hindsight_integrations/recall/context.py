"""The state that the stages of a recall share: the query, its analysis and the trace."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.documents import DocumentItems
from hindsight_integrations.indexes.graph_channel import Walk
from hindsight_integrations.indexes.hybrid import Selection
from hindsight_integrations.indexes.named_entities import NamedEntities
from hindsight_integrations.model.arrays import IntArray, Vector
from hindsight_integrations.model.entities import Entity
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
        services: the engine's services.
        trace: the stages and notes so far.
        missing: row ids of units that could not be read, because they are damaged or were erased during the recall.
        items: the items of documents that are valid at the time of the query.
        read: the units read so far, by row id; None for missing ones.
    """

    query: RecallQuery
    view: BankView
    services: Services
    trace: Trace = field(default_factory=Trace)
    missing: set[int] = field(default_factory=set)
    items: DocumentItems
    read: dict[int, MemoryUnit | None] = field(default_factory=dict)

    def units(self, ids: IntArray) -> dict[int, MemoryUnit]:
        """Return units by row id, in the order of `ids`, without missing ones; each is read from the ledger once."""
        unread = [row for row in ids.tolist() if row not in self.read]
        if unread:
            units = self.view.ledger.units.get(self.view.bank, np.array(unread, np.int64))
            self.read.update((row, units.get(row)) for row in unread)
        return {row: unit for row in ids.tolist() if (unit := self.read[row])}

    def units_and_entities(
        self, ids: IntArray
    ) -> tuple[dict[int, MemoryUnit], Mapping[int, Sequence[Entity]]]:
        """Return `units(ids)`, and the entities that each unit mentions, with one read of the ledger."""
        ledger, bank = self.view.ledger.units, self.view.bank
        unread = [row for row in ids.tolist() if row not in self.read]
        if not unread:
            return self.units(ids), self.view.ledger.entities.of_units(bank, ids)
        units, entities = ledger.get_with_entities(bank, np.array(unread, np.int64), ids)
        self.read.update((row, units.get(row)) for row in unread)
        return self.units(ids), entities

    @property
    def limit(self) -> int:
        """Maximum number of candidates per channel."""
        return self.services.config.recall.candidates[list(Budget).index(self.query.budget)]

    @property
    def rerank_limit(self) -> int:
        """Maximum number of candidates for the reranker."""
        return self.services.config.recall.rerank_candidates[list(Budget).index(self.query.budget)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallContext(RecallQuestion):
    """A query to a bank, and its analysis.

    Attributes:
        vector: the embedded question, unit norm.
        window: the time window of the question, passed by the caller or parsed from the text; None if there is none.
        selected: the memories that may be returned.
        time_alone: whether the question only names a time ("What happened last week?"), so that every memory of that time matches.
        named: the entities that the question names, and the speaker among them.
        walk: the links that the graph channel may follow.
    """

    vector: Vector
    window: Interval | None
    selected: Selection
    time_alone: bool
    named: NamedEntities
    walk: Walk


@contextmanager
def timed(trace: Trace, stage: str) -> Iterator[dict[str, str | int | float]]:
    """Time a block and append it to the trace as a stage, with the entries of the yielded dict as its detail."""
    started = time.perf_counter()
    detail: dict[str, str | int | float] = {}
    yield detail
    trace.stages.append(Stage(stage, (time.perf_counter() - started) * 1000, detail))

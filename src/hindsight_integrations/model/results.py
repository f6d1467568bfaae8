"""What callers get back: every result says what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.model import explaining
from hindsight_integrations.model.display import Displayed, Table, count, fields
from hindsight_integrations.model.recalled import (
    EntityObservations,
    RecalledChunk,
    RecalledUnit,
    SourceFact,
    recalled_row,
)
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.rows import Tabular, UnitSequence, unit_row
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.trace import Trace
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.model.writes import Ambiguity, ForgetRequest, Withdrawal

EXCERPT_CHARACTERS = 200  # of what was dropped or is to be forgotten, in a result


@dataclass(frozen=True, slots=True, repr=False)
class RecallResult(Displayed, Tabular, UnitSequence[RecalledUnit]):
    """The answer to a recall. `len`, iteration and indexing are over its units; without any it is false.

    Attributes:
        units: best first; oldest first where `order="time"` was asked for: what fits the budget was chosen by rank all the same,
            and each keeps its score.
        tokens: what their texts cost together; at most the budget.
        window: the time window found in the question or given, if any.
        trace: stages and notes; timings always, per-unit detail on request.
        entities: observations of the entities the units mention, if requested; in the order the units mention them, an
            observation of several beneath the first.
        chunks: the passages the units came from, if requested, in the order of their best unit.
        source_facts: what the observations among the units stand on, if requested.
        query: the checked query, defaults filled in.
        confidence: how far the units are to be trusted to hold the answer, in [0, 1]; 0 where nothing is returned. It is no
            probability on your data. Below 0.5 an agent had better say that it does not know: on LoCoMo's extracted
            facts that was right in three of four cases and kept back 6 % of the answers.
        damaged: ids of memories that were found and left out, because the ledger no longer holds what was written;
            `doctor(deep=True)` names all of them.
        records: exact figures and rows of the records that the question touches, if requested; at most three.
    """

    units: tuple[RecalledUnit, ...]
    tokens: int
    window: Interval | None = None
    trace: Trace = field(default_factory=Trace)
    entities: tuple[EntityObservations, ...] = ()
    chunks: tuple[RecalledChunk, ...] = ()
    source_facts: tuple[SourceFact, ...] = ()
    query: RecallQuery | None = None
    confidence: float = 0.0
    damaged: tuple[str, ...] = ()
    records: tuple[RecordDigest, ...] = ()

    def explain(self) -> str:
        """The result in words, for people: query, time window, stages, each memory's ranks and scores, what was dropped.

        Recalled without `trace=True` it shows what it has, and how to get the rest.
        """
        traces = self.trace.units
        question = explaining.question(self.query, self.window)
        found = explaining.summary(self.query, len(self.units), self.tokens, self.confidence)
        recorded = self.query is not None and self.query.trace
        sections = [
            f"{question}\n{found}",
            explaining.timings(self.trace.stages),
            explaining.notices(self.trace.notes),
            explaining.memories(self.units, traces),
            *(digest.text for digest in self.records),
            explaining.included(self.entities, self.chunks, self.source_facts),
            explaining.dropped(traces) if recorded else explaining.NOT_RECORDED,
        ]
        return "\n\n".join(section for section in sections if section)

    def _rows(self) -> list[dict[str, Any]]:
        return [recalled_row(rank, unit) for rank, unit in enumerate(self.units, start=1)]

    def _display_text(self) -> str:
        return self.query.text if self.query else ""

    def _display_facts(self) -> tuple[str, ...]:
        units, tokens = count(len(self.units), "memory", "memories"), count(self.tokens, "token")
        return units, tokens, f"confidence {self.confidence:.2f}"

    def _display_tables(self) -> tuple[Table | Displayed, ...]:
        rows = [(unit.text, unit.when, f"{unit.score:.3g}", unit.ranks) for unit in self.units]
        columns = ("memory", "when", "score", "found by")
        return fields(query=self._display_text()), Table(columns, rows), *self.records


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something retain did not keep, and why."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parked:
    """A passage retained but not extracted yet; a task in the ledger keeps it.

    Attributes:
        chunk: ordinal of the passage within what was retained.
        reason: why the model's answer could not be used, or why there was none.
        task: id of the task that will try again.
    """

    chunk: int
    reason: str
    task: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What a `settle` did.

    Attributes:
        done: tasks finished, in order.
        failed: task to why it failed this time; `tasks` says whether it will be tried again.
        created: memories that are new.
        dropped: what was not kept, and why.
        tokens_in: prompt tokens the model reported.
        tokens_out: completion tokens it reported.
        observed: entities whose observations were made anew.
        merged: texts that were merged into the background.
        refreshed: mental models that were answered anew.
        assessed: rows of evidence that opinions got.
    """

    done: tuple[int, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)
    created: int = 0
    dropped: tuple[Dropped, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    observed: int = 0
    merged: int = 0
    refreshed: int = 0
    assessed: int = 0

    def __add__(self, later: Settled) -> Settled:
        """What both did, one after the other."""
        return Settled(
            done=(*self.done, *later.done),
            failed={**self.failed, **later.failed},
            created=self.created + later.created,
            dropped=(*self.dropped, *later.dropped),
            tokens_in=self.tokens_in + later.tokens_in,
            tokens_out=self.tokens_out + later.tokens_out,
            observed=self.observed + later.observed,
            merged=self.merged + later.merged,
            refreshed=self.refreshed + later.refreshed,
            assessed=self.assessed + later.assessed,
        )


@dataclass(frozen=True, slots=True, repr=False)
class RetainResult(Displayed):
    """What a retain did.

    Attributes:
        unit_ids: ids of all units this input stands for, new or already there, in order.
        created: how many of them are new.
        counts: new units per network.
        skipped_messages: messages that were already retained.
        dropped: what was not kept and why.
        tokens_in: prompt tokens the model reported, 0 without one.
        tokens_out: completion tokens it reported.
        calls: how often the model was called, repairs included.
        revision: the bank's revision afterwards; every channel has reached it.
        parked: passages the model answered, but not usably, even after a repair prompt.
        queued: passages kept because the model was unavailable (`on_model_failure="queue"`).
        closed: memories this input ended.
        removed: items of documents that it ended; the documents hold without them.
        ambiguous: what was said to hold no more, and names no single memory; nothing was closed for it.
        forget_requested: what somebody asked to forget, with the memories that were closed for it.
        superseded: memories closed because the messages they were made from were edited, or dropped by a fork.
        restored: memories and items that hold again, because a fork was left again, or because what had ended them was
            edited or dropped.
        behind: indexes that could not be written, "vector" or "keyword"; `doctor` says why. What was retained is safe in the
            ledger and found all the same where it can be, and the next write, or opening anew, tries again.
    """

    unit_ids: tuple[str, ...]
    created: int
    counts: Mapping[FactType, int]
    skipped_messages: int
    dropped: tuple[Dropped, ...]
    revision: int
    tokens_in: int = 0
    tokens_out: int = 0
    parked: tuple[Parked, ...] = ()
    queued: tuple[Parked, ...] = ()
    closed: tuple[Withdrawal, ...] = ()
    removed: tuple[Withdrawal, ...] = ()
    ambiguous: tuple[Ambiguity, ...] = ()
    forget_requested: tuple[ForgetRequest, ...] = ()
    superseded: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    calls: int = 0

    def _display_facts(self) -> tuple[str, ...]:
        amounts = {
            "messages skipped": self.skipped_messages,
            "dropped": len(self.dropped),
            "parked": len(self.parked),
            "queued": len(self.queued),
            "closed": len(self.closed),
            "items removed": len(self.removed),
            "ambiguous": len(self.ambiguous),
            "superseded": len(self.superseded),
            "restored": len(self.restored),
        }
        said = [f"{number:,} {word}" for word, number in amounts.items() if number]
        behind = [f"{index} index behind" for index in self.behind]
        return f"{self.created:,} created", *behind, *said, f"revision {self.revision}"

    def _display_tables(self) -> tuple[Table, ...]:
        known = len(self.unit_ids) - self.created
        networks = [(f"created in {network.value}", number) for network, number in self.counts.items()]
        waiting = [(f"waits as task {passage.task}", passage.reason) for passage in self.parked + self.queued]
        rows = [
            *networks,
            *([("known already", known)] if known > 0 else []),
            *(("closed", withdrawal.statement) for withdrawal in self.closed),
            *(("item removed", withdrawal.statement) for withdrawal in self.removed),
            *(("ambiguous", ambiguity.statement) for ambiguity in self.ambiguous),
            *(("asked to forget", request.what) for request in self.forget_requested),
            *((f"dropped: {dropped.reason}", dropped.what) for dropped in self.dropped),
            *waiting,
            *((f"{index} index", "behind; `doctor` says why") for index in self.behind),
        ]
        return (Table((), rows),)


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What became of one item: a result, or the error that kept all of it out of memory."""

    result: RetainResult | None
    error: HindsightError | None = None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a bulk retain did.

    Attributes:
        items: an outcome for each item, in the order given.
    """

    items: tuple[ItemOutcome, ...]

    @property
    def created(self) -> int:
        """New memories."""
        return sum(item.result.created for item in self.items if item.result)

    @property
    def behind(self) -> tuple[str, ...]:
        """Indexes that could not be written when the last item was stored; see `RetainResult.behind`."""
        stored = [item.result for item in self.items if item.result]
        return stored[-1].behind if stored else ()

    @property
    def failed(self) -> tuple[tuple[int, HindsightError], ...]:
        """Position and error of each item of which nothing was stored."""
        return tuple((place, item.error) for place, item in enumerate(self.items) if item.error)


@dataclass(frozen=True, slots=True, repr=False)
class UnitPage(Displayed, Tabular, UnitSequence[MemoryUnit]):
    """Some of the memories that match, in order. `len`, iteration and indexing are over this page's; without any it is false.

    Attributes:
        units: in order of when they begin, at most `limit`.
        total: how many match in all, on this page, before it and after it.
        cursor: what to pass for the next page; None when this is the last.
        damaged: ids of memories that belong on the page and are left out, because the ledger no longer holds what was
            written.
        items: of those that are documents, by their ids: the items that hold, as they are served.
    """

    units: tuple[MemoryUnit, ...]
    total: int
    cursor: str | None = None
    damaged: tuple[str, ...] = ()
    items: Mapping[str, tuple[MemoryUnit, ...]] = field(default_factory=dict)

    def _rows(self) -> list[dict[str, Any]]:
        return [unit_row(unit, self.items.get(unit.id, ())) for unit in self.units]

    def _display_facts(self) -> tuple[str, ...]:
        shown = f"{len(self.units):,} of {count(self.total, 'memory', 'memories')}"
        damaged = f"{len(self.damaged):,} damaged" if self.damaged else ""
        return shown, damaged, "" if self.cursor is None else "more pages"

    def _display_tables(self) -> tuple[Table, ...]:
        rows = [(unit.text, unit.began, unit.fact_type.value, unit.closed_at) for unit in self.units]
        return (Table(("memory", "when", "network", "closed"), rows),)

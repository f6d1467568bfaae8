"""Results of recall, retain and settle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

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

EXCERPT_CHARACTERS = 200  # maximum length of a dropped or forgotten text in a result


@dataclass(frozen=True, slots=True, repr=False)
class RecallResult(Displayed, Tabular, UnitSequence[RecalledUnit]):
    """The result of a recall; a sequence of its units, false if empty.

    Attributes:
        units: the units, best first, or oldest first with `order="time"`, which does not affect selection and scores.
        tokens: the number of tokens of their texts; at most the budget.
        window: the time window, set by the caller or detected in the question; None if there is none.
        trace: the stages with timings, the notes and, if requested, details per unit.
        entities: the observations of the entities that the units mention, if requested, in order of mention; an
            observation of several entities appears under the first.
        chunks: the passages from which the units were made, if requested, in the order of their best unit.
        source_facts: the facts that support observations among the units, if requested.
        query: the validated query with all defaults.
        confidence: an estimate of the probability that the units contain the answer, in [0, 1]; 0 without units. It is not
            calibrated for your data. Below 0.5 an agent should say that it does not know: on LoCoMo's extracted facts that
            was right in three of four cases and withheld 6 % of the answers.
        damaged: the ids of memories that were found but omitted, because they are damaged in the ledger;
            `doctor(deep=True)` lists all damaged memories.
        records: exact figures and rows of the relevant records, if requested; at most three digests.
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
        """Describe the result: query, time window, stages, each memory's ranks and scores, and dropped candidates.

        Details that require `trace=True` are omitted without it, with a note.
        """
        traces = self.trace.units
        question = explaining.question(self.query, self.window)
        summary = explaining.summary(self.query, len(self.units), self.tokens, self.confidence)
        recorded = self.query is not None and self.query.trace
        sections = [
            f"{question}\n{summary}",
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
    """A text that retain did not store, with the reason."""

    what: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parked:
    """A passage that was retained but not extracted yet; a task in the ledger contains it.

    Attributes:
        chunk: the ordinal of the passage within the input.
        reason: the reason why the model's answer was unusable or missing.
        task: the id of the task that will retry the extraction.
    """

    chunk: int
    reason: str
    task: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of model calls, including repairs.

    Attributes:
        tokens_in: the prompt tokens reported by the model.
        tokens_out: the completion tokens reported by the model.
        tokens_cached: those of the prompt tokens that the model read from its cache.
        calls: the number of calls.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Add another cost."""
        return with_usage(self, other)


NO_USAGE = Usage()
USAGE_FIELDS = tuple(Usage.__dataclass_fields__)
ResultT = TypeVar("ResultT")


def with_usage(result: ResultT, usage: Usage) -> ResultT:
    """Return a dataclass with a cost added to those of its fields that are also fields of `Usage`."""
    shared = [name for name in USAGE_FIELDS if hasattr(result, name)]
    added = {name: getattr(result, name) + getattr(usage, name) for name in shared}
    return replace(result, **added)  # type: ignore[type-var] # a dataclass


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a `settle`.

    Attributes:
        done: the ids of the finished tasks, in order.
        failed: the reason for each failed task, by id; `tasks` shows whether it will be retried.
        created: the number of new memories.
        dropped: the texts that were not stored, with reasons.
        tokens_in: the prompt tokens reported by the model.
        tokens_out: the completion tokens reported by the model.
        tokens_cached: those of the prompt tokens that extraction read from the model's cache, as reported by it.
        calls: the number of model calls of tasks that succeeded, including repairs.
        observed: the number of entities whose observations were updated.
        merged: the number of texts merged into the background.
        refreshed: the number of refreshed mental models.
        assessed: the number of evidence rows added to opinions.
    """

    done: tuple[int, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)
    created: int = 0
    dropped: tuple[Dropped, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    calls: int = 0
    observed: int = 0
    merged: int = 0
    refreshed: int = 0
    assessed: int = 0

    def __add__(self, later: Settled) -> Settled:
        """Add the result of a later settle."""
        return Settled(
            done=(*self.done, *later.done),
            failed={**self.failed, **later.failed},
            created=self.created + later.created,
            dropped=(*self.dropped, *later.dropped),
            tokens_in=self.tokens_in + later.tokens_in,
            tokens_out=self.tokens_out + later.tokens_out,
            tokens_cached=self.tokens_cached + later.tokens_cached,
            calls=self.calls + later.calls,
            observed=self.observed + later.observed,
            merged=self.merged + later.merged,
            refreshed=self.refreshed + later.refreshed,
            assessed=self.assessed + later.assessed,
        )


@dataclass(frozen=True, slots=True, repr=False)
class RetainResult(Displayed):
    """The result of a retain.

    Attributes:
        unit_ids: the ids of all units of this input, new or existing, in order.
        created: the number of new units.
        counts: the number of new units per network.
        skipped_messages: the number of messages that were already retained.
        dropped: the texts that were not stored, with reasons.
        tokens_in: the prompt tokens reported by the model; 0 without a model.
        tokens_out: the completion tokens reported by the model.
        calls: the number of model calls, including repairs.
        revision: the bank's revision after the retain; every channel has reached it.
        parked: the passages without a usable answer from the model, even after a repair prompt.
        queued: the passages stored for later, because the model was unavailable (`on_model_failure="queue"`) or the options
            defer extraction (`background`, `extract`).
        closed: the memories that this input ended.
        removed: the document items that this input ended; their documents stay valid without them.
        ambiguous: the withdrawals that match no memory or several; no memory was closed for them.
        forget_requested: the requests to forget, with the memories that were closed for them.
        superseded: the ids of memories closed because their source messages were edited or dropped by a fork.
        restored: the ids of memories and items that are valid again, because a fork was abandoned, or because the message
            that ended them was edited or dropped.
        behind: the indexes that could not be written, "vector" or "keyword"; `doctor` shows the reason. The input is safe
            in the ledger and still found where possible; the next write or open retries.
        tokens_cached: those of the prompt tokens that the model read from its cache, as reported by it.
        settled: the extraction of waiting messages that this call ran (`extract="idle"` or "session" without a worker).
            Its memories and costs are counted here only.
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
    tokens_cached: int = 0
    settled: Settled = Settled()

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
            "created from waiting messages": self.settled.created,
        }
        said = [f"{number:,} {word}" for word, number in amounts.items() if number]
        behind = [f"{index} index behind" for index in self.behind]
        return f"{self.created:,} created", *behind, *said, f"revision {self.revision}"

    def _display_tables(self) -> tuple[Table, ...]:
        known = len(self.unit_ids) - self.created
        networks = [(f"created in {network.value}", number) for network, number in self.counts.items()]
        waiting = [
            (f"queued as task {passage.task}", passage.reason) for passage in self.parked + self.queued
        ]
        rows = [
            *networks,
            *([("already known", known)] if known > 0 else []),
            *(("closed", withdrawal.statement) for withdrawal in self.closed),
            *(("item removed", withdrawal.statement) for withdrawal in self.removed),
            *(("ambiguous", ambiguity.statement) for ambiguity in self.ambiguous),
            *(("asked to forget", request.what) for request in self.forget_requested),
            *((f"dropped: {dropped.reason}", dropped.what) for dropped in self.dropped),
            *waiting,
            *((f"{index} index", "behind; `doctor` shows the reason") for index in self.behind),
        ]
        return (Table((), rows),)


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """The outcome of one item: its result, or the error that prevented its retain."""

    result: RetainResult | None
    error: HindsightError | None = None


@dataclass(frozen=True, slots=True)
class BulkResult:
    """The result of a bulk retain.

    Attributes:
        items: the outcome of each item, in the order of the items.
    """

    items: tuple[ItemOutcome, ...]

    @property
    def created(self) -> int:
        """The number of new memories."""
        return sum(item.result.created for item in self.items if item.result)

    @property
    def behind(self) -> tuple[str, ...]:
        """The indexes that could not be written when the last item was stored; see `RetainResult.behind`."""
        stored = [item.result for item in self.items if item.result]
        return stored[-1].behind if stored else ()

    @property
    def failed(self) -> tuple[tuple[int, HindsightError], ...]:
        """The position and error of each item that was not stored."""
        return tuple((place, item.error) for place, item in enumerate(self.items) if item.error)


@dataclass(frozen=True, slots=True, repr=False)
class UnitPage(Displayed, Tabular, UnitSequence[MemoryUnit]):
    """A page of matching memories; a sequence of its units, false if empty.

    Attributes:
        units: the units, ordered by `began`, at most `limit`.
        total: the total number of matches on all pages.
        cursor: the `cursor` argument for the next page; None if this is the last.
        damaged: the ids of memories omitted from the page because they are damaged in the ledger.
        items: the valid items of the documents on the page, by document id, in display order.
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


def retained_values(result: RetainResult) -> dict[str, Any]:
    """Return the values that integrations report in their events after a retain, as JSON."""
    return {
        "units": list(result.unit_ids),
        "created": result.created + result.settled.created,
        "superseded": list(result.superseded),
        "restored": list(result.restored),
        "queued": len(result.queued),
        "calls": result.calls + result.settled.calls,
        "tokens_in": result.tokens_in + result.settled.tokens_in,
        "tokens_out": result.tokens_out + result.settled.tokens_out,
        "tokens_cached": result.tokens_cached + result.settled.tokens_cached,
    }

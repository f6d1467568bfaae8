"""What callers get back: every result says what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.model.withdrawals import Ambiguity, Withdrawal


class Channel(StrEnum):
    """The four ways recall finds a unit (paper section 4.2.2)."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"


@dataclass(frozen=True, slots=True)
class ChannelHit:
    """Where one channel put a unit: rank from 1, and the channel's own score."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class RecalledUnit:
    """A unit as recall returns it.

    Attributes:
        unit: the memory.
        score: final score; higher is better, comparable within one result only.
        channels: which channels found it, and where.
        entities: canonical names of the entities it mentions.
        valid: False for history returned by include_invalidated.
        amendments: later units that take back a part of it, oldest first; it must not be read without them.
    """

    unit: MemoryUnit
    score: float
    channels: Mapping[Channel, ChannelHit] = field(default_factory=dict)
    entities: tuple[str, ...] = ()
    valid: bool = True
    amendments: tuple[MemoryUnit, ...] = ()

    @property
    def text(self) -> str:
        """The memory's text, with what took back a part of it: what a reader must see."""
        return " ".join(
            [self.unit.text, *(f"[Partly withdrawn later: {later.text}]" for later in self.amendments)]
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of a trace: what a stage did, in how many milliseconds."""

    name: str
    milliseconds: float
    detail: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """How a result came about, stage by stage. Filled as the pipeline runs."""

    stages: list[Stage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def milliseconds(self, name: str) -> float:
        """Total time of the stages of that name."""
        return sum(stage.milliseconds for stage in self.stages if stage.name == name)


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The answer to a recall.

    Attributes:
        units: best first.
        tokens: what their texts cost together; at most the budget asked for.
        window: the time window found in the question or given, if any.
        trace: stages and notes; timings always, per-unit detail on request.
    """

    units: tuple[RecalledUnit, ...]
    tokens: int
    window: Interval | None = None
    trace: Trace = field(default_factory=Trace)


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
    """

    done: tuple[int, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)
    created: int = 0
    dropped: tuple[Dropped, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class RetainResult:
    """What a retain did.

    Attributes:
        unit_ids: ids of all units this input stands for, new or already there, in order.
        created: how many of them are new.
        counts: new units per network.
        skipped_messages: messages that were already retained.
        dropped: what was not kept and why.
        tokens_in: prompt tokens the extraction model reported, 0 without one.
        tokens_out: completion tokens it reported.
        revision: the bank's revision afterwards; every index has reached it.
        parked: passages the model answered, but not usably, even when told what was wrong.
        queued: passages kept because the model was unavailable (`on_model_failure="queue"`).
        closed: memories this input made obsolete.
        amended: memories it took back a part of; they stay valid, with what it said beside them.
        ambiguous: withdrawals that fit several memories about equally well; nothing was closed for them.
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
    amended: tuple[Withdrawal, ...] = ()
    ambiguous: tuple[Ambiguity, ...] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """An answer shaped by a profile, and what it stands on.

    Attributes:
        text: the answer.
        units: the recalled units it stands on, best first.
        extractive: True when no model was configured and the text is recalled memory, not prose.
        recalled: everything recalled for it.
    """

    text: str
    units: tuple[RecalledUnit, ...]
    extractive: bool
    recalled: RecallResult

"""Traces of recalls: stages, notes, and what happened to each candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SOURCE_TURNS = "source turns"
"""The stage besides the channels: search in the words of the turns that memories were made from."""


class Channel(StrEnum):
    """The four search channels of recall (paper section 4.2.2)."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"


@dataclass(frozen=True, slots=True)
class ChannelHit:
    """The position of a unit in one channel: rank from 1, and the channel's own score."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of a trace: a stage, its duration and details."""

    name: str
    milliseconds: float
    detail: Mapping[str, str | int | float] = field(default_factory=dict)


class Fate(StrEnum):
    """What happened to a candidate."""

    RETURNED = "returned"
    BELOW_CHANNEL_SCORE = "below_channel_score"
    BELOW_RERANKER_SCORE = "below_reranker_score"
    BELOW_FINAL_SCORE = "below_final_score"
    UNLIKELY = "unlikely"
    OVER_BUDGET = "over_budget"
    OVER_K = "over_k"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Reranked:
    """Parts of a reranked unit's score: score = logit + logarithms of the boosts.

    Attributes:
        logit: the reranker's raw output.
        recency: factor in [0.92, 1.1].
        temporal: factor in [0.9, 1.1]; 1 for a question without a time.
        proof: factor in [1, 1.05]; 1 for units not made from several facts.
    """

    logit: float
    recency: float
    temporal: float
    proof: float = 1.0


@dataclass(frozen=True, slots=True)
class UnitTrace:
    """What happened to one candidate.

    Attributes:
        unit_id: the unit; empty if it was erased meanwhile.
        text: its text, likewise.
        fate: the outcome.
        reason: the outcome in words; empty if it was returned.
        channels: its position in each channel, including lists that were cut above it.
        tokens: its token cost; for a document head and items.
        fused: its fused score, including evidence besides ranks; 0 if every channel that found it was cut
            above it.
        score: its final score; None if it was dropped earlier.
        reranked: logit and boosts; None if no reranker scored the candidate.
        rank: position in the result, from 1; None if it is not there.
        told: its position in the search of source turns; None if they did not match, or it has none.
    """

    unit_id: str
    text: str
    fate: Fate
    reason: str
    channels: Mapping[Channel, ChannelHit]
    tokens: int
    fused: float
    score: float | None = None
    reranked: Reranked | None = None
    rank: int | None = None
    told: ChannelHit | None = None


@dataclass(slots=True)
class Trace:
    """How a result was produced, stage by stage; filled while the pipeline runs.

    Attributes:
        stages: durations.
        notes: remarks for the reader: what was left out, cut or not requested, and why.
        units: every candidate, returned ones first, then by rank; only with `trace=True`.
    """

    stages: list[Stage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    units: list[UnitTrace] = field(default_factory=list)

    def milliseconds(self, name: str) -> float:
        """Return the total time of the stages with that name."""
        return sum(stage.milliseconds for stage in self.stages if stage.name == name)

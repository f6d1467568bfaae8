"""Trace: how a recall came about: its stages, what there is to say about them, and how each candidate fared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SOURCE_TURNS = "source turns"
"""The stage beside the channels: memories by the words of the turns they were made from."""


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
class Stage:
    """One line of a trace: what a stage did, in how many milliseconds."""

    name: str
    milliseconds: float
    detail: Mapping[str, str | int | float] = field(default_factory=dict)


class Fate(StrEnum):
    """What became of a candidate."""

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
    """What the reranker and the boosts made of a unit it read: score = logit + the boosts' logarithms.

    Attributes:
        logit: the reranker's raw output.
        recency: factor in [0.92, 1.1].
        temporal: factor in [0.9, 1.1]; 1 for a question without a time.
        proof: factor in [1, 1.05]; 1 for what was not made from several facts.
    """

    logit: float
    recency: float
    temporal: float
    proof: float = 1.0


@dataclass(frozen=True, slots=True)
class UnitTrace:
    """How one candidate fared.

    Attributes:
        unit_id: the unit; empty if it was erased meanwhile.
        text: its text, likewise.
        fate: what became of it.
        reason: the same in words; empty for what was returned.
        channels: where each channel put it, cut lists included.
        tokens: what it costs in the budget; of a document head and items.
        fused: its fused score, the evidence beside ranks included; 0 if every channel that found it was cut above it.
        score: its final score; None if it was dropped before it had one.
        reranked: None if the reranker did not read it, or there is none.
        rank: place in the result, from 1; None if it is not there.
        told: where the words of the turns it was made from put it; None if they did not match, or it has none.
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
    """How a result came about, stage by stage. Filled as the pipeline runs.

    Attributes:
        stages: what took how long.
        notes: what a reader should know: what was left out, cut or not requested, and why.
        units: every candidate, those returned first, then in the order of the ranking; only with `trace=True`.
    """

    stages: list[Stage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    units: list[UnitTrace] = field(default_factory=list)

    def milliseconds(self, name: str) -> float:
        """Total time of the stages of that name."""
        return sum(stage.milliseconds for stage in self.stages if stage.name == name)

"""Traces of recalls: stages, notes, and the outcome of each candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

SOURCE_TURNS = "source turns"
"""The name of the stage that searches the text of source turns, in addition to the channels."""


class Channel(StrEnum):
    """The four search channels of recall (paper section 4.2.2)."""

    SEMANTIC = "semantic"
    KEYWORD = "keyword"
    GRAPH = "graph"
    TEMPORAL = "temporal"


@dataclass(frozen=True, slots=True)
class ChannelHit:
    """The rank of a unit in one channel, from 1, and its score there."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of a trace: a stage, its duration and details."""

    name: str
    milliseconds: float
    detail: Mapping[str, str | int | float] = field(default_factory=dict)


class Fate(StrEnum):
    """The outcome of a candidate."""

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
    """The parts of a reranked unit's score, which is the sum of the logit and the logarithms of the factors.

    Attributes:
        logit: the reranker's raw output.
        recency: a factor in [0.92, 1.1].
        temporal: a factor in [0.9, 1.1]; 1 for a question without a time.
        proof: a factor in [1, 1.05]; 1 unless several facts support the unit.
    """

    logit: float
    recency: float
    temporal: float
    proof: float = 1.0


@dataclass(frozen=True, slots=True)
class UnitTrace:
    """The scores and the outcome of one candidate.

    Attributes:
        unit_id: the id of the unit; empty if it was erased during the recall.
        text: the text of the unit; empty if it was erased during the recall.
        fate: the outcome.
        reason: the reason for the outcome in words; empty if it was returned.
        channels: its rank and score in each channel that found it, even if the channel's list was cut above it.
        tokens: its number of tokens; for a document, items included.
        fused: its fused score, which also includes evidence other than ranks; 0 if every channel that found it was cut
            above it.
        score: its final score; None if it was dropped earlier.
        reranked: the parts of its reranked score; None if it was not reranked.
        rank: its position in the result, from 1; None if it was not returned.
        told: its rank in the search of source turns; None if that search did not find it.
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
    """The stages by which a result was produced; filled while the pipeline runs.

    Attributes:
        stages: the stages with their durations.
        notes: the notes for the reader about omitted, cut or unavailable results, with reasons.
        units: all candidates, returned ones first, then by rank; empty without `trace=True`.
    """

    stages: list[Stage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    units: list[UnitTrace] = field(default_factory=list)

    def milliseconds(self, name: str) -> float:
        """Return the total time of the stages with that name."""
        return sum(stage.milliseconds for stage in self.stages if stage.name == name)

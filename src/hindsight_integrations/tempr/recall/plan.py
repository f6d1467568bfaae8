"""Plan: a checked query becomes numbers, a vector, a mask and a time window, each worked out once (paper section 4.2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo

from hindsight_integrations.config import RecallConfig
from hindsight_integrations.model.requests import Budget, RecallQuery
from hindsight_integrations.model.time import Interval
from hindsight_integrations.ports.arrays import BoolArray, Vector
from hindsight_integrations.tempr.columns import Columns, of_types, tagged, valid_at
from hindsight_integrations.tempr.time_expressions import find_window


@dataclass(frozen=True, slots=True)
class RecallPlan:
    """Everything the channels need to know.

    Attributes:
        query: the checked query.
        vector: the question's unit vector.
        window: the time asked about, given or found in the text; None for a timeless question.
        limit: candidates per channel.
        rerank_limit: candidates the reranker may read.
    """

    query: RecallQuery
    vector: Vector
    window: Interval | None
    limit: int
    rerank_limit: int


def plan(query: RecallQuery, vector: Vector, config: RecallConfig, zone: tzinfo) -> RecallPlan:
    """Turn the budget into numbers and find the time window once."""
    effort = list(Budget).index(query.budget)
    return RecallPlan(
        query=query,
        vector=vector,
        window=query.window or window_in(query.text, query.query_timestamp, zone),
        limit=config.candidates[effort],
        rerank_limit=config.rerank_candidates[effort],
    )


def window_in(text: str, reference: datetime, zone: tzinfo) -> Interval | None:
    """The time interval a question asks about, if it names one."""
    found = find_window(text, reference, zone)
    return found.interval if found else None


def selection(columns: Columns, query: RecallQuery) -> BoolArray:
    """Which units may be returned at all: network, tags and validity, as one mask over positions."""
    mask = of_types(columns, query.types) & tagged(columns, query.tags, query.tags_match)
    return mask if query.include_invalidated else mask & valid_at(columns, query.as_of)

"""How each candidate of a recall fared, told afterwards from what the stages decided. Nothing here runs unless asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.trace import Channel, ChannelHit, Fate, Reranked, UnitTrace
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import BoolArray, Float64Array, Hits, IntArray
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.recall.amendments import Kept, costs
from hindsight_integrations.tempr.recall.boosts import (
    PROOF_ALPHA,
    RECENCY_ALPHA,
    TEMPORAL_ALPHA,
    boost,
    sigmoid,
)
from hindsight_integrations.tempr.recall.min_scores import channel_threshold
from hindsight_integrations.tempr.recall.reranking import Ranking

_GONE = (Fate.ERASED, "it was erased while recall ran")


@dataclass(frozen=True, slots=True)
class Found:
    """What the channels found.

    Attributes:
        lists: their lists.
        below: what a minimum score cut off the end of each.
        allowed: what they may find, over positions.
    """

    lists: Mapping[Channel, Hits]
    below: Mapping[Channel, Hits]
    allowed: BoolArray

    def whole(self) -> dict[Channel, Hits]:
        """The lists as they were before they were cut."""
        return {channel: _joined(hits, self.below.get(channel)) for channel, hits in self.lists.items()}


@dataclass(frozen=True, slots=True)
class Course:
    """What one recall decided of its candidates, stage by stage.

    Attributes:
        found: the channels' lists.
        ids: the fused list, best first, (n,).
        fused: its scores, (n,).
        ranked: after reranking, before minimum scores.
        dropped: which minimum score dropped which unit.
        kept: what fits the budget.
    """

    found: Found
    ids: IntArray
    fused: Float64Array
    ranked: Ranking
    dropped: Mapping[int, Fate]
    kept: Kept


def unit_traces(course: Course, view: BankView, query: RecallQuery) -> list[UnitTrace]:
    """Every candidate: those returned first, then the others in the order of the ranking, then what never got there."""
    whole = course.found.whole()
    everything = np.concatenate([course.kept.ids, course.ranked.ids, course.ids, *_ids(whole)])
    rows = list(dict.fromkeys(everything.tolist()))
    ids = np.array(rows, np.int64)
    stored = view.ledger.units(view.bank, ids)
    tokens = costs(ids, course.kept.amendments, view).tolist()
    told = _Told(course, query, dict(zip(rows, tokens, strict=True)), _places(whole))
    return [told.of(row, stored.get(row)) for row in rows]


class _Told:
    """One recall's decisions, looked up unit by unit."""

    def __init__(
        self,
        course: Course,
        query: RecallQuery,
        tokens: Mapping[int, int],
        places: Mapping[int, Mapping[Channel, ChannelHit]],
    ) -> None:
        self._query, self._tokens, self._places = query, tokens, places
        self._dropped = course.dropped
        self._fused = dict(zip(course.ids.tolist(), course.fused.tolist(), strict=True))
        self._read = _reranked(course.ranked)
        self._scores = dict(zip(course.ranked.ids.tolist(), course.ranked.scores.tolist(), strict=True))
        self._final = dict(zip(course.kept.ids.tolist(), course.kept.scores.tolist(), strict=True))
        self._ranks = {row: place for place, row in enumerate(course.kept.ids.tolist(), 1)}
        self._packing = packing_fates(course, query, tokens)

    def of(self, row: int, unit: MemoryUnit | None) -> UnitTrace:
        """How the unit fared; None stands for one erased meanwhile."""
        fate, reason = self._fate(row) if unit else _GONE
        unread = self._read and row in self._scores and row not in self._read
        return UnitTrace(
            unit_id=unit.id if unit else "",
            text=unit.text if unit else "",
            fate=fate,
            reason=f"{reason}; the reranker did not read it" if unread and reason else reason,
            channels=self._places.get(row, {}),
            tokens=self._tokens[row],
            fused=self._fused.get(row, 0.0),
            score=self._final.get(row, self._scores.get(row)),
            reranked=self._read.get(row),
            rank=self._ranks.get(row) if unit else None,
        )

    def _fate(self, row: int) -> tuple[Fate, str]:
        least = self._query.min_scores
        if row not in self._fused and row not in self._ranks:
            return Fate.BELOW_CHANNEL_SCORE, self._below_channel(row)
        if self._dropped.get(row) is Fate.BELOW_RERANKER_SCORE:
            score = float(sigmoid(self._read[row].logit))
            return Fate.BELOW_RERANKER_SCORE, f"reranker score {score:.3f} is below {least.reranker}"
        if row in self._dropped:
            return Fate.BELOW_FINAL_SCORE, f"final score {self._scores[row]:.3f} is below {least.final}"
        return self._packing.get(row, _GONE)

    def _below_channel(self, row: int) -> str:
        told = [
            f"{channel} score {hit.score:.3f} is below {channel_threshold(channel, self._query.min_scores)}"
            for channel, hit in self._places[row].items()
        ]
        return ", ".join(told)


def packing_fates(
    course: Course, query: RecallQuery, tokens: Mapping[int, int]
) -> dict[int, tuple[Fate, str]]:
    """What packing did with each unit of the ranking: the packing gone through once more, its outcome known."""
    shown = set(course.kept.ids.tolist())
    fates: dict[int, tuple[Fate, str]] = {}
    left = query.max_tokens
    for row in course.ranked.ids.tolist():
        if row in course.dropped:
            continue
        if row in shown:
            fates[row] = Fate.RETURNED, ""
            left -= tokens[row]
        elif tokens[row] <= left:
            fates[row] = Fate.OVER_K, f"k={query.k} was reached"
        else:
            fates[row] = (
                Fate.OVER_BUDGET,
                f"it costs {tokens[row]} tokens, {left} were left of {query.max_tokens}",
            )
    return fates


def _reranked(ranking: Ranking) -> dict[int, Reranked]:
    """Logit and boosts of each unit the reranker read."""
    if ranking.read is None:
        return {}
    signals = ranking.read.signals
    boosts = zip(
        ranking.read.logits.tolist(),
        boost(signals.recency, RECENCY_ALPHA).tolist(),
        boost(signals.temporal, TEMPORAL_ALPHA).tolist(),
        boost(signals.proof, PROOF_ALPHA).tolist(),
        strict=True,
    )
    return {
        row: Reranked(*parts)
        for row, parts in zip(ranking.ids[: ranking.read_count].tolist(), boosts, strict=True)
    }


def _places(whole: Mapping[Channel, Hits]) -> dict[int, dict[Channel, ChannelHit]]:
    found: dict[int, dict[Channel, ChannelHit]] = {}
    for channel, hits in whole.items():
        for rank, (row, score) in enumerate(zip(hits.ids.tolist(), hits.scores.tolist(), strict=True), 1):
            found.setdefault(row, {})[channel] = ChannelHit(rank, score)
    return found


def _ids(lists: Mapping[Channel, Hits]) -> list[IntArray]:
    return [hits.ids for hits in lists.values()]


def _joined(hits: Hits, below: Hits | None) -> Hits:
    if below is None or not len(below):
        return hits
    return Hits(np.concatenate([hits.ids, below.ids]), np.concatenate([hits.scores, below.scores]))

"""The trace of each candidate of a recall, derived from the results of the stages; only with `trace=True`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.model.arrays import Float64Array, Hits, IntArray
from hindsight_integrations.model.recalled import RecallReason
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.trace import Channel, ChannelHit, Fate, Reranked, UnitTrace
from hindsight_integrations.recall.packing import Packed, channel_hits, costs
from hindsight_integrations.recall.rerank import Ranking, channel_threshold, sigmoid
from hindsight_integrations.recall.retrieval import ChannelResults

_ERASED = (Fate.ERASED, "it was erased while recall ran")


@dataclass(frozen=True, slots=True)
class CandidateTrace:
    """The results of each stage of one recall.

    Attributes:
        channels: results of the channels.
        ids: the fused list, best first, (n,).
        fused: fused scores, (n,).
        ranking: ranking after reranking, before minimum scores.
        dropped: the fate of each dropped unit (below a minimum score, or unlikely to help), by row id.
        likely_from: minimum final score of a unit likely to help.
        packed: units that fit the budget.
        reasons: the reason of each unit that is returned for a reason other than its rank, by row id.
    """

    channels: ChannelResults
    ids: IntArray
    fused: Float64Array
    ranking: Ranking
    dropped: Mapping[int, Fate]
    likely_from: float
    packed: Packed
    reasons: Mapping[int, RecallReason]


def unit_traces(candidates: CandidateTrace, view: BankView, query: RecallQuery) -> list[UnitTrace]:
    """Trace every candidate: first the returned units, then the rest of the ranking, then candidates dropped before it."""
    lists, ranking, packed = candidates.channels.uncut(), candidates.ranking, candidates.packed
    found = np.concatenate([hits.ids for hits in lists.values()])
    rows = dict.fromkeys(np.concatenate([packed.ids, ranking.ids, candidates.ids, found]).tolist())
    ids = np.array(list(rows), np.int64)
    stored = view.ledger.units.get(view.bank, ids)
    tokens = _by_row(ids, costs(ids, packed.documents, view.columns, query.form))
    hits, told = _hits(lists), channel_hits(candidates.channels.told, ids)
    fates = _fates(candidates, query, tokens, hits)
    fused, scores = _by_row(candidates.ids, candidates.fused), _by_row(ranking.ids, ranking.scores)
    reranked = _reranked(ranking)
    ranks = {row: rank for rank, row in enumerate(packed.ids.tolist(), 1)}
    traces = []
    for row in rows:
        unit = stored.get(row)
        fate, reason = fates.get(row, _ERASED) if unit else _ERASED
        if reason and reranked and row in scores and row not in reranked:
            reason = f"{reason}; the reranker did not score it"
        traces.append(
            UnitTrace(
                unit_id=unit.id if unit else "",
                text=unit.text if unit else "",
                fate=fate,
                reason=reason,
                channels=hits.get(row, {}),
                tokens=tokens[row],
                fused=fused.get(row, 0.0),
                score=scores.get(row),
                reranked=reranked.get(row),
                rank=ranks.get(row) if unit else None,
                told=told.get(row),
            )
        )
    return traces


def _by_row(ids: IntArray, values: npt.NDArray[Any]) -> dict[int, Any]:
    """Map row ids to values; ids beyond the last value are left out."""
    return dict(zip(ids.tolist(), values.tolist(), strict=False))


def _fates(
    candidates: CandidateTrace,
    query: RecallQuery,
    tokens: Mapping[int, int],
    hits: Mapping[int, Mapping[Channel, ChannelHit]],
) -> dict[int, tuple[Fate, str]]:
    """Return the fate of each candidate and its reason, by row id; units erased before reranking are missing."""
    fates = _dropped_fates(candidates, query) | _packing_fates(candidates, query, tokens)
    fused = set(candidates.ids.tolist())
    for row, channels in hits.items():
        if row not in fused and row not in fates:
            reasons = [
                f"{channel} score {hit.score:.3f} is below {channel_threshold(channel, query.min_scores)}"
                for channel, hit in channels.items()
            ]
            fates[row] = Fate.BELOW_CHANNEL_SCORE, ", ".join(reasons)
    return fates


def _dropped_fates(candidates: CandidateTrace, query: RecallQuery) -> dict[int, tuple[Fate, str]]:
    """Return the fates of units below the reranker's or the final minimum score, and of units unlikely to help."""
    least, ranking = query.min_scores, candidates.ranking
    held = ranking.read
    scores, read = (
        _by_row(ranking.ids, ranking.scores),
        _by_row(ranking.ids[held], sigmoid(ranking.logits[held])),
    )
    reasons = {
        Fate.BELOW_RERANKER_SCORE: lambda row: f"reranker score {read[row]:.3f} is below {least.reranker}",
        Fate.BELOW_FINAL_SCORE: lambda row: f"final score {scores[row]:.3f} is below {least.final}",
        Fate.UNLIKELY: lambda row: _unlikely(scores[row], candidates.likely_from),
    }
    return {row: (fate, reasons[fate](row)) for row, fate in candidates.dropped.items()}


def _unlikely(score: float, likely_from: float) -> str:
    if math.isinf(likely_from):
        return "no memory is likely to help"
    return f"final score {score:.3f} is below {likely_from:.3f}, too far behind the best"


def _packing_fates(
    candidates: CandidateTrace, query: RecallQuery, tokens: Mapping[int, int]
) -> dict[int, tuple[Fate, str]]:
    """Return for each ranked unit whether packing kept or dropped it and why, found by repeating the packing."""
    returned = set(candidates.packed.ids.tolist())
    fates = {row: (Fate.RETURNED, why.words) for row, why in candidates.reasons.items() if row in returned}
    left = query.max_tokens - sum(
        tokens[row] for row in fates if candidates.reasons[row] is RecallReason.CORE
    )
    for row in candidates.ranking.ids.tolist():
        if row in candidates.dropped or row in fates:
            continue
        if row in returned:
            fates[row] = Fate.RETURNED, ""
            left -= candidates.packed.items[row].tokens if row in candidates.packed.items else tokens[row]
        elif tokens[row] <= left:
            fates[row] = Fate.OVER_K, f"k={query.k} was reached"
        else:
            fates[row] = (
                Fate.OVER_BUDGET,
                f"it costs {tokens[row]} tokens, {left} were left of {query.max_tokens}",
            )
    return fates


def _reranked(ranking: Ranking) -> dict[int, Reranked]:
    """Return logit and boosts of each unit that the reranker scored, by row id."""
    read = ranking.at(np.flatnonzero(ranking.read))
    boosts = read.boosts
    parts = zip(
        read.logits.tolist(),
        boosts.recency.tolist(),
        boosts.temporal.tolist(),
        boosts.proof.tolist(),
        strict=True,
    )
    return {row: Reranked(*part) for row, part in zip(read.ids.tolist(), parts, strict=True)}


def _hits(lists: Mapping[Channel, Hits]) -> dict[int, dict[Channel, ChannelHit]]:
    found: dict[int, dict[Channel, ChannelHit]] = {}
    for channel, hits in lists.items():
        for rank, (row, score) in enumerate(zip(hits.ids.tolist(), hits.scores.tolist(), strict=True), 1):
            found.setdefault(row, {})[channel] = ChannelHit(rank, score)
    return found

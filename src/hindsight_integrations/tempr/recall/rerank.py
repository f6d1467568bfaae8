"""Neural reranking of the fused candidates under a deadline (paper section 4.2.4, eq. 16)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import BoolArray, Float64Array, FloatArray, IntArray
from hindsight_integrations.ports.reranker import Reranker
from hindsight_integrations.search.fusion import RRF_K
from hindsight_integrations.tempr.recall.boosts import Boosts, boosts_of, final_score, no_boosts
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.documents import documents_among
from hindsight_integrations.tempr.recall.neighbours import TurnOrder, smoothed_logits
from hindsight_integrations.tempr.recall.observations import proof_counts

# Logits that a rank of the fused score counts: chosen on LoCoMo conv-26 and 41 (facts) and 26, 41, 43 (turns), where 0.8 to 3
# differ by less than a point; the reranker is trusted more the less it says.
PRIOR = 2.0
BATCH = 8  # pairs scored between looks at the clock: bounds how far the deadline can be overrun


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in their final order.

    Attributes:
        ids: row ids, best first, (n,).
        scores: final scores, falling, (n,).
        logits: the reranker's, after turns took over those of the turns they answer; NaN where it read none, (n,).
        boosts: of these units.
    """

    ids: IntArray
    scores: Float64Array
    logits: FloatArray
    boosts: Boosts

    @property
    def read(self) -> BoolArray:
        """Which the reranker read, (n,)."""
        return ~np.isnan(self.logits)

    def at(self, positions: IntArray) -> Ranking:
        """Those at these positions, in their order."""
        return Ranking(
            self.ids[positions], self.scores[positions], self.logits[positions], self.boosts.at(positions)
        )


def unread(ids: IntArray, scores: Float64Array) -> Ranking:
    """Units that no reranker read, in the order given."""
    return Ranking(ids, scores, np.full(len(ids), np.nan, np.float32), no_boosts(len(ids)))


def rerank(
    run: RecallContext,
    ids: IntArray,
    fused: Float64Array,
    turns: TurnOrder | None,
    matches: Sequence[int] = (),
) -> Ranking:
    """The final ranking: final(f) = logit(f) + ln boosts + 2 * 60 * fused(f) (paper eq. 16).

    The fused score counts beside the logit, so that a reranker which is sure of nothing changes nothing. A candidate it did
    not read counts as the worst of those it did. Without a reranker the fused order stands. Units erased since the view was
    made, and damaged ones, are left out.

    Args:
        run: the recall under way.
        ids: row ids of the candidates, best first, (n,).
        fused: their fused scores, (n,).
        turns: order of the conversations they are turns of; None if none is a turn, or neighbours are off.
        matches: row ids of the items of documents that the channels found, the best first.
    """
    reranker = run.tools.reranker
    if reranker is None or not len(ids):
        return unread(ids, fused)
    head = ids[: run.rerank_limit]
    stored = run.units(head)
    missing = [row for row in head.tolist() if row not in stored]
    run.missing.update(missing)
    kept = ~np.isin(ids, missing)
    ids, fused = ids[kept], fused[kept]
    if not stored:
        return unread(ids, fused)
    candidates = _with_items(run, {row: stored[row] for row in ids[: len(stored)].tolist()}, matches)
    logits = _scored(run, reranker, list(candidates.values()))
    if turns:
        logits = smoothed_logits(ids[: len(logits)], logits, run.view.columns, turns)
    behind = len(ids) - len(logits)
    known = np.concatenate([logits, np.full(behind, logits.min(), np.float32)])
    boosts = _boosts(run, ids)
    scores = final_score(known, boosts.recency, boosts.temporal, boosts.proof) + PRIOR * RRF_K * fused
    read = np.concatenate([logits, np.full(behind, np.nan, np.float32)])
    return Ranking(ids, scores, read, boosts).at(np.argsort(-scores, kind="stable"))


def _with_items(
    run: RecallContext, units: Mapping[int, MemoryUnit], matches: Sequence[int]
) -> dict[int, MemoryUnit]:
    """The units, documents with their items, those that were found first: a cross-encoder reads the beginning of a text."""
    found = documents_among(
        np.array(list(units), np.int64), run.items, run.view, run.tools.tokens, matches=matches
    )
    return {
        row: replace(
            unit, text=document_text(unit.text, [document.served.items[n] for n in document.best_first])
        )
        if (document := found.get(row))
        else unit
        for row, unit in units.items()
    }


def _scored(run: RecallContext, reranker: Reranker, units: Sequence[MemoryUnit]) -> FloatArray:
    """Logits of the first units, as many as the deadline allows."""
    with timed(run.trace, "rerank") as detail:
        logits = score_until(reranker, run.query.text, units, run.tools.config.rerank_deadline_ms)
        detail["scored"], detail["candidates"] = len(logits), len(units)
    if len(logits) < len(units):
        run.trace.notes.append(f"rerank: deadline after {len(logits)} of {len(units)} candidates")
    return logits


def _boosts(run: RecallContext, ids: IntArray) -> Boosts:
    """The units' boosts; none unless switched on."""
    if not run.tools.config.boosts:
        return no_boosts(len(ids))
    return boosts_of(
        ids,
        run.view.columns,
        window=run.window,
        query_time=run.query.query_timestamp,
        counts=proof_counts(run.view, ids),
    )


def rerank_text(unit: MemoryUnit) -> str:
    """What the cross-encoder reads: the text with a readable date (paper section 4.2.4)."""
    moment = unit.occurred.start if unit.occurred else unit.mentioned_at
    return f"[Date: {moment:%B %d, %Y} ({moment:%Y-%m-%d})] {unit.text}"


def score_until(
    reranker: Reranker, query: str, units: Sequence[MemoryUnit], deadline_ms: float
) -> FloatArray:
    """Logits of the first m <= n units, (m,): batches in order until the next one would overrun the deadline.

    The first batch is always scored. A batch is predicted to take as long as the slowest so far.
    """
    started = time.perf_counter()
    slowest = 0.0
    scores: list[FloatArray] = []
    for first in range(0, len(units), BATCH):
        spent = (time.perf_counter() - started) * 1000
        if first and spent + slowest > deadline_ms:
            break
        texts = [rerank_text(unit) for unit in units[first : first + BATCH]]
        scores.append(_length_sorted(reranker, query, texts))
        slowest = max(slowest, (time.perf_counter() - started) * 1000 - spent)
    return np.concatenate(scores) if scores else np.empty(0, np.float32)


def _length_sorted(reranker: Reranker, query: str, texts: Sequence[str]) -> FloatArray:
    """Scores in the given order; the model reads the texts sorted by length, which pads less."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    scores = np.empty(len(texts), np.float32)
    scores[order] = reranker.score(query, [texts[i] for i in order])
    return scores

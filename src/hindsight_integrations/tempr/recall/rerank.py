"""Neural reranking of the fused candidates under a deadline (paper section 4.2.4, eq. 16)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import BoolArray, Float64Array, FloatArray, IntArray
from hindsight_integrations.ports.reranker import Reranker
from hindsight_integrations.tempr.recall.boosts import Boosts, boosts_of, final_score, no_boosts
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.neighbours import TurnOrder, smoothed_logits
from hindsight_integrations.tempr.recall.observations import proof_counts

BATCH = 8  # pairs scored between looks at the clock: bounds how far the deadline can be overrun


def _no_logits() -> FloatArray:
    return np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in their final order; those the reranker read stand first.

    Attributes:
        ids: row ids, best first, (n,).
        scores: final scores, falling, (n,).
        logits: of the m units the reranker read, after turns took over those of the turns they answer, (m,).
        boosts: of these units.
    """

    ids: IntArray
    scores: Float64Array
    logits: FloatArray = field(default_factory=_no_logits)
    boosts: Boosts = field(default_factory=Boosts)

    def only(self, keep: BoolArray) -> Ranking:
        """Those chosen by a mask (n,)."""
        read = np.flatnonzero(keep[: len(self.logits)])
        return Ranking(self.ids[keep], self.scores[keep], self.logits[read], self.boosts.at(read))


def rerank(run: RecallContext, ids: IntArray, fused: Float64Array, turns: TurnOrder | None) -> Ranking:
    """The final ranking: what the reranker read, best first, then the rest in fused order.

    Without a reranker the fused order stands. Units erased since the view was made, and damaged ones, are left out.

    Args:
        run: the recall under way.
        ids: row ids of the candidates, best first, (n,).
        fused: their fused scores, (n,).
        turns: order of the conversations they are turns of; None if none is a turn, or neighbours are off.
    """
    reranker = run.tools.reranker
    if reranker is None or not len(ids):
        return Ranking(ids, fused)
    head = ids[: run.rerank_limit]
    stored = run.view.ledger.units(run.view.bank, head)
    missing = [row for row in head.tolist() if row not in stored]
    run.missing.update(missing)
    kept = ~np.isin(ids, missing)
    ids, fused = ids[kept], fused[kept]
    if not stored:
        return Ranking(ids, fused)
    logits = _scored(run, reranker, [stored[row] for row in ids[: len(stored)].tolist()])
    head, tail = ids[: len(logits)], ids[len(logits) :]
    if turns:
        logits = smoothed_logits(head, logits, run.view.columns, turns)
    boosts = _boosts(run, head)
    scores = final_score(logits, boosts.recency, boosts.temporal, boosts.proof)
    best = np.argsort(-scores, kind="stable")
    behind = scores.min() - 1.0 - np.arange(len(tail))
    return Ranking(
        np.concatenate([head[best], tail]),
        np.concatenate([scores[best], behind]),
        logits[best],
        boosts.at(best),
    )


def _scored(run: RecallContext, reranker: Reranker, units: Sequence[MemoryUnit]) -> FloatArray:
    """Logits of the first units, as many as the deadline allows."""
    with timed(run.trace, "rerank") as detail:
        logits = score_until(reranker, run.query.text, units, run.tools.config.rerank_deadline_ms)
        detail["scored"], detail["candidates"] = len(logits), len(units)
    if len(logits) < len(units):
        run.trace.notes.append(f"rerank: deadline after {len(logits)} of {len(units)} candidates")
    return logits


def _boosts(run: RecallContext, ids: IntArray) -> Boosts:
    """The units' boosts; none unless switched on (decision 053)."""
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
    return np.concatenate(scores) if scores else _no_logits()


def _length_sorted(reranker: Reranker, query: str, texts: Sequence[str]) -> FloatArray:
    """Scores in the given order; the model reads the texts sorted by length, which pads less."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    scores = np.empty(len(texts), np.float32)
    scores[order] = reranker.score(query, [texts[i] for i in order])
    return scores

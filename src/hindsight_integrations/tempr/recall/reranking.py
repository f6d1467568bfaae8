"""The reranked order of the fused candidates (paper section 4.2.4), with what it was made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.ports.arrays import BoolArray, Float64Array, FloatArray, IntArray
from hindsight_integrations.ports.reranker import Reranker
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.tempr.recall.neighbours import TurnOrder, answering
from hindsight_integrations.tempr.recall.plan import RecallPlan
from hindsight_integrations.tempr.recall.ranking import Boosted, boosted, unboosted
from hindsight_integrations.tempr.recall.rerank import score_until
from hindsight_integrations.tempr.recall.timing import Timer
from hindsight_integrations.tempr.recall.tools import RecallTools


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in their final order.

    Attributes:
        ids: row ids, best first, (n,).
        scores: final scores, falling, (n,).
        read: the scores' parts of the first m of them, those the reranker read; None if it read none.
    """

    ids: IntArray
    scores: Float64Array
    read: Boosted | None = None

    @property
    def read_count(self) -> int:
        """How many the reranker read; they stand first."""
        return 0 if self.read is None else len(self.read.logits)

    def only(self, keep: BoolArray) -> Ranking:
        """Those chosen by a mask (n,)."""
        read = None if self.read is None else self.read.only(np.flatnonzero(keep[: self.read_count]))
        return Ranking(self.ids[keep], self.scores[keep], read)


class Reranking:
    """The reranked head of one recall; units the reranker did not read stay behind it in fused order."""

    def __init__(
        self, recalled: RecallPlan, view: BankView, turns: TurnOrder | None, tools: RecallTools, timer: Timer
    ) -> None:
        self._plan, self._view, self._turns = recalled, view, turns
        self._tools, self._timer = tools, timer

    def order(self, ids: IntArray, fused: Float64Array) -> Ranking:
        """Candidates best first. Without a reranker the fused order stands (design section 6)."""
        if self._tools.reranker is None or not len(ids):
            return Ranking(ids, fused)
        head = ids[: self._plan.rerank_limit]
        stored = self._view.ledger.units(self._view.bank, head)
        here = ~np.isin(
            ids, [row for row in head.tolist() if row not in stored]
        )  # erased since the view was made
        ids, fused = ids[here], fused[here]
        if not stored:
            return Ranking(ids, fused)
        logits = self._read(self._tools.reranker, [stored[row] for row in ids[: len(stored)].tolist()])
        head, tail = ids[: len(logits)], ids[len(logits) :]
        scored = self._scored(head, logits)
        best = np.argsort(-scored.scores, kind="stable")
        behind = scored.scores.min() - 1.0 - np.arange(len(tail))
        scores = np.concatenate([scored.scores[best], behind])
        return Ranking(np.concatenate([head[best], tail]), scores, scored.only(best))

    def _scored(self, head: IntArray, logits: FloatArray) -> Boosted:
        """What the reranker read, with what turns take over from their neighbours and the boosts, as configured."""
        columns = self._view.columns
        if self._turns:
            logits = answering(head, logits, columns, self._turns)
        if not self._tools.config.boosts:
            return unboosted(logits)
        asked_at = self._plan.query.query_timestamp
        return boosted(logits, head, columns, window=self._plan.window, asked_at=asked_at)

    def _read(self, reranker: Reranker, units: list[MemoryUnit]) -> FloatArray:
        with self._timer.stage("rerank") as detail:
            logits = score_until(
                reranker, self._plan.query.text, units, self._tools.config.rerank_deadline_ms
            )
            detail["scored"], detail["candidates"] = len(logits), len(units)
        if len(logits) < len(units):
            self._timer.trace.notes.append(f"rerank: deadline after {len(logits)} of {len(units)} candidates")
        return logits

"""Neural reranking of the fused candidates under a deadline (paper section 4.2.4, eq. 16)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt

from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import Columns, of_types
from hindsight_integrations.indexes.hybrid import RRF_K
from hindsight_integrations.indexes.temporal import event_moments, proximity
from hindsight_integrations.model.arrays import UNDATED, BoolArray, Float64Array, FloatArray, Hits, IntArray
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.model.requests import MinScores
from hindsight_integrations.model.time import DAY, Interval, to_micros
from hindsight_integrations.model.trace import SOURCE_TURNS, Channel, Fate
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.models.protocols import Reranker
from hindsight_integrations.recall.context import RecallContext, timed
from hindsight_integrations.recall.documents import documents_among

# Shares of neighbouring turns' fused scores added to a turn's score; they add 6 to 9 points of evidence recall.
DISTANCES = (1, 2, -1, -2)  # position of the turn minus the position of its neighbour
WEIGHTS = (0.3, 0.1, 0.2, 0.1)
# Maximum distance of a turn's logit below the logits of the turns one and two before it.
BELOW_BEFORE = (1.0, 3.0)
SAME_SESSION = 3_600_000_000  # microseconds; a turn more than an hour later is not a reply (chosen by hand)
JUST_BEHIND = 0.9999  # maximum score relative to a neighbour that must stay ahead
ABSENT = -1


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """The turns of the candidates' conversations, in order of time.

    Attributes:
        at: positions in the columns, conversation by conversation, (m,).
        place: index into `at` for each position of the columns, ABSENT for other units, (n,).
        session: session number of each turn in `at`, unique across conversations, (m,).
    """

    at: IntArray
    place: IntArray
    session: IntArray

    def neighbour(self, positions: IntArray, distance: int) -> IntArray:
        """Return the position of the turn `distance` turns after each of k positions (before, if negative), or ABSENT."""
        here = self.place[positions]
        there = here + distance
        exists = np.flatnonzero((here != ABSENT) & (there >= 0) & (there < len(self.at)))
        together = exists[self.session[here[exists]] == self.session[there[exists]]]
        found = np.full(len(positions), ABSENT, np.int64)
        found[together] = self.at[there[together]]
        return found


def turn_order(columns: Columns, allowed: BoolArray, ids: IntArray) -> TurnOrder | None:
    """Order the allowed turns of the conversations these units belong to; None if none of the units is a turn."""
    positions = columns.positions(ids)
    positions = positions[positions != ABSENT]
    if not columns.speakers[positions].any():
        return None
    wanted = np.zeros(len(columns.thread_names), bool)
    wanted[columns.threads[positions]] = True
    at = np.flatnonzero(wanted[columns.threads] & (columns.speakers > 0) & allowed)
    at = at[np.argsort(columns.mentioned[at], kind="stable")]
    at = at[np.argsort(columns.threads[at], kind="stable")]
    place = np.full(len(columns), ABSENT, np.int64)
    place[at] = np.arange(len(at))
    apart = (np.diff(columns.threads[at]) != 0) | (np.diff(columns.mentioned[at]) > SAME_SESSION)
    return TurnOrder(at, place, np.concatenate([[0], np.cumsum(apart)]))


def smoothed_scores(
    ids: IntArray, fused: Float64Array, columns: Columns, order: TurnOrder
) -> tuple[IntArray, Float64Array]:
    """Smooth fused scores over neighbouring turns; this may add turns that are in no channel's results.

    f'(u) = f(u) + sum of w_d * f(u - d) + sum of v_d * f(u + d), d = 1, 2, within one session of a conversation. A turn never
    overtakes a neighbour with a higher original score, so that the reply "Nice name!" stays behind the turn with the name.

    Returns:
        Row ids and scores, best first, ties by id.
    """
    positions = columns.positions(ids)
    here = positions != ABSENT
    around = [order.neighbour(positions[here], distance) for distance in DISTANCES]
    found = np.unique(np.concatenate([positions[here], *around]))
    found = found[found != ABSENT]
    own = np.zeros(len(found))
    own[np.searchsorted(found, positions[here])] = fused[here]
    neighbours = [_within(found, order.neighbour(found, -distance)) for distance in DISTANCES]
    total = own + sum(w * _at(own, near) for w, near in zip(WEIGHTS, neighbours, strict=True))
    total = _behind_better(own, total, neighbours)
    best = np.lexsort((columns.ids[found], -total))
    return columns.ids[found[best]], total[best]


def _behind_better(own: Float64Array, total: Float64Array, neighbours: list[IntArray]) -> Float64Array:
    """Lower smoothed scores until no turn is ranked above a neighbour with a higher original score."""
    while True:
        bar = np.full(len(own), np.inf)
        for near in neighbours:
            better = _at(own, near) > own
            bar = np.where(better, np.minimum(bar, _at(total, near)), bar)
        lowered = np.where(total >= bar, np.maximum(own, bar * JUST_BEHIND), total)
        if (lowered >= total).all():
            return total
        total = lowered


def _at(values: Float64Array, places: IntArray) -> Float64Array:
    """Return the values at these indexes, 0 for ABSENT."""
    return np.where(places == ABSENT, 0.0, values[places])


def _within(found: IntArray, positions: IntArray) -> IntArray:
    """Return the indexes of positions in `found` (ascending), ABSENT for missing ones."""
    at = np.minimum(np.searchsorted(found, positions), len(found) - 1)
    return np.where(found[at] == positions, at, ABSENT)


def smoothed_logits(ids: IntArray, logits: FloatArray, columns: Columns, order: TurnOrder) -> FloatArray:
    """Raise each turn's logit to at least that of the previous turn minus 1, and that of the turn before minus 3, (n,).

    The reranker scores turns separately, and prefers the turn that asks a question to the reply that answers it.
    """
    positions = columns.positions(ids)
    read = np.full(len(columns) + 1, -np.inf)
    read[positions] = logits
    raised = logits.astype(np.float64)
    for distance, below in enumerate(BELOW_BEFORE, 1):
        raised = np.maximum(raised, read[order.neighbour(positions, -distance)] - below)
    return raised.astype(np.float32)


RECENCY_ALPHA = 0.2  # +-10 % [recall docs, "Stage 3: Combined Scoring (Boosts)"]
TEMPORAL_ALPHA = 0.2  # +-10 % [recall docs, "Stage 3: Combined Scoring (Boosts)"]
PROOF_ALPHA = 0.1  # +-5 % [recall docs, "Stage 3: Combined Scoring (Boosts)"]
NEUTRAL = 0.5  # the signal value without effect [recall docs, "Stage 3: Combined Scoring (Boosts)"]
RECENCY_DAYS = 365.0  # [recall docs, "Recency signal"]
RECENCY_FLOOR = 0.1  # [recall docs, "Recency signal"]
PROOF_DIVISOR = 10.0  # [recall docs, "Proof count signal"]


def _no_factors() -> Float64Array:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class Boosts:
    """Factors that multiply the scores of some units, each (n,).

    Attributes:
        recency: in [0.92, 1.1]; 1 for undated units.
        temporal: in [0.9, 1.1]; 1 for undated units, and for a question without a time.
        proof: in [1, 1.05]; 1 for units not made from several facts.
    """

    recency: Float64Array = field(default_factory=_no_factors)
    temporal: Float64Array = field(default_factory=_no_factors)
    proof: Float64Array = field(default_factory=_no_factors)

    def at(self, positions: IntArray) -> Boosts:
        """Return the boosts at these positions, in the given order."""
        return Boosts(self.recency[positions], self.temporal[positions], self.proof[positions])


def no_boosts(count: int) -> Boosts:
    """Return neutral boosts for `count` units."""
    return Boosts(np.ones(count), np.ones(count), np.ones(count))


def boosts_of(
    ids: IntArray, columns: Columns, *, window: Interval | None, query_time: datetime, counts: IntArray
) -> Boosts:
    """Compute the boosts of units from their times and the number of facts they were made from."""
    at = columns.positions(ids)
    starts, ends = columns.starts[at], columns.ends[at]
    moments = event_moments(starts, columns.mentioned[at])
    return Boosts(
        recency=boost(recency(days_before(moments, to_micros(query_time))), RECENCY_ALPHA),
        temporal=boost(temporal_signal(starts, ends, window), TEMPORAL_ALPHA),
        proof=boost(proof(counts), PROOF_ALPHA),
    )


def sigmoid(logit: npt.ArrayLike) -> Float64Array:
    """Compute 1 / (1 + e^-x), in [0, 1], without overflow for any finite x (recall docs, "Stage 2: Cross-Encoder Reranking")."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))


def days_before(moments: IntArray, query_time: int) -> Float64Array:
    """Return the days from each moment to the query's time, (n,); negative if later, NaN for UNDATED. Arguments in microseconds."""
    dated = moments != UNDATED
    gaps = query_time - np.where(dated, moments, query_time)
    return np.where(dated, gaps / DAY, np.nan)


def recency(days_ago: npt.ArrayLike) -> Float64Array:
    """Compute clamp(1 - days / 365, 0.1, 1); 1 in the future, 0.5 for NaN (undated) (recall docs, "Recency signal")."""
    days = np.asarray(days_ago, np.float64)
    return np.where(np.isnan(days), NEUTRAL, np.clip(1.0 - days / RECENCY_DAYS, RECENCY_FLOOR, 1.0))


def temporal_signal(starts: IntArray, ends: IntArray, window: Interval | None) -> Float64Array:
    """Compute proximity to the window's centre; 0.5 if UNDATED or without a window (recall docs, "Temporal proximity signal").

    Starts and (exclusive) ends are in microseconds, (n,).
    """
    if window is None:
        return np.full(len(starts), NEUTRAL)
    return np.where(starts == UNDATED, NEUTRAL, proximity(starts, ends, window))


def proof(count: npt.ArrayLike) -> Float64Array:
    """Compute clamp(0.5 + ln(n) / 10, 0, 1) for n facts; 0.5 for 0, which means no observation (recall docs, "Proof count signal")."""
    evidence = np.maximum(np.asarray(count, np.float64), 1.0)
    return np.clip(NEUTRAL + np.log(evidence) / PROOF_DIVISOR, 0.0, 1.0)


def boost(signal: npt.ArrayLike, alpha: float) -> Float64Array:
    """Compute 1 + alpha * (signal - 0.5), in [1 - alpha / 2, 1 + alpha / 2] (recall docs, "Stage 3: Combined Scoring")."""
    return 1.0 + alpha * (np.asarray(signal, np.float64) - NEUTRAL)


def final_score(logit: npt.ArrayLike, *boosts: npt.ArrayLike) -> Float64Array:
    """Compute the final score, logit + ln(boost) + ..., in log-odds; any real number.

    The docs' product, sigmoid(logit) * boost * ..., saturates with the sigmoid, so that boosts alone order the confident matches. On LoCoMo it loses
    14 to 31 points of evidence recall.
    """
    return np.asarray(logit, np.float64) + np.log(math.prod(map(np.asarray, boosts)))


# Weight of the fused score, in logits per rank; values from 0.8 to 3 differ by less than a point on LoCoMo.
PRIOR = 2.0
BATCH = 8  # number of pairs scored between checks of the deadline, which limits an overrun


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in their final order.

    Attributes:
        ids: row ids, best first, (n,).
        scores: final scores, descending, (n,).
        logits: reranker logits after `smoothed_logits`; NaN for units that were not scored, (n,).
        boosts: boosts of these units.
    """

    ids: IntArray
    scores: Float64Array
    logits: FloatArray
    boosts: Boosts

    @property
    def read(self) -> BoolArray:
        """Return a mask of the units that the reranker scored, (n,)."""
        return ~np.isnan(self.logits)

    def at(self, positions: IntArray) -> Ranking:
        """Return the ranking of the units at these positions, in the given order."""
        return Ranking(
            self.ids[positions], self.scores[positions], self.logits[positions], self.boosts.at(positions)
        )


def unread(ids: IntArray, scores: Float64Array) -> Ranking:
    """Return a ranking of units without reranker logits, in the given order."""
    return Ranking(ids, scores, np.full(len(ids), np.nan, np.float32), no_boosts(len(ids)))


def rerank(
    run: RecallContext,
    ids: IntArray,
    fused: Float64Array,
    turns: TurnOrder | None,
    matches: Sequence[int] = (),
) -> Ranking:
    """Compute the final ranking: final(f) = logit(f) + ln boosts + 2 * 60 * fused(f) (paper eq. 16).

    The fused score is added to the logit, so that equal logits keep the fused order. Candidates that were not
    scored before the deadline get the lowest logit of the scored ones. Without a reranker the fused order is kept. Damaged
    units and units erased since the view was made are left out.

    Args:
        run: the current recall.
        ids: row ids of the candidates, best first, (n,).
        fused: their fused scores, (n,).
        turns: order of the turns in their conversations; None if there are no turns, or smoothing is disabled.
        matches: row ids of the document items in the channels' results, best first.
    """
    reranker = run.services.reranker
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
    """Add items to documents, matching ones first, because a cross-encoder reads only the beginning of a text."""
    found = documents_among(
        np.array(list(units), np.int64), run.items, run.view, run.services.tokens, matches=matches
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
    """Return the logits of the first units, as many as the deadline allows."""
    with timed(run.trace, "rerank") as detail:
        logits = score_until(reranker, run.query.text, units, run.services.config.recall.rerank_deadline_ms)
        detail["scored"], detail["candidates"] = len(logits), len(units)
    if len(logits) < len(units):
        run.trace.notes.append(f"rerank: deadline after {len(logits)} of {len(units)} candidates")
    return logits


def _boosts(run: RecallContext, ids: IntArray) -> Boosts:
    """Return the units' boosts, neutral if they are disabled in the configuration."""
    if not run.services.config.recall.boosts:
        return no_boosts(len(ids))
    return boosts_of(
        ids,
        run.view.columns,
        window=run.window,
        query_time=run.query.query_timestamp,
        counts=proof_counts(run.view, ids),
    )


def rerank_text(unit: MemoryUnit) -> str:
    """Return the text for the cross-encoder, with a readable date (paper section 4.2.4)."""
    moment = unit.occurred.start if unit.occurred else unit.mentioned_at
    return f"[Date: {moment:%B %d, %Y} ({moment:%Y-%m-%d})] {unit.text}"


def score_until(
    reranker: Reranker, query: str, units: Sequence[MemoryUnit], deadline_ms: float
) -> FloatArray:
    """Score units in batches until the next batch would overrun the deadline; return the first m <= n logits, (m,).

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
    """Score texts in order of length, which needs less padding; return the scores in the given order."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    scores = np.empty(len(texts), np.float32)
    scores[order] = reranker.score(query, [texts[i] for i in order])
    return scores


def channel_threshold(channel: str, least: MinScores) -> float | None:
    """Return the minimum score of a channel or of the source turns; None for the graph and temporal channels."""
    thresholds: dict[str, float | None] = {
        Channel.SEMANTIC: least.semantic,
        Channel.KEYWORD: least.keyword,
        SOURCE_TURNS: least.keyword,
    }
    return thresholds.get(channel)


def cut(hits: Hits, least: float) -> tuple[Hits, Hits]:
    """Split a channel's hits into those that reach a minimum score, and the rest."""
    keep = hits.scores >= least
    return Hits(hits.ids[keep], hits.scores[keep]), Hits(hits.ids[~keep], hits.scores[~keep])


def passing(ranking: Ranking, least: MinScores) -> tuple[Ranking, Mapping[int, Fate]]:
    """Drop units below the reranker's or the final threshold; return the ranking and the fate of each dropped unit."""
    good = np.ones(len(ranking.ids), bool)
    if least.reranker is not None:
        good[ranking.read] = sigmoid(ranking.logits[ranking.read]) >= least.reranker
    best = good if least.final is None else good & (ranking.scores >= least.final)
    dropped = dict.fromkeys(ranking.ids[~good].tolist(), Fate.BELOW_RERANKER_SCORE)
    dropped |= dict.fromkeys(ranking.ids[good & ~best].tolist(), Fate.BELOW_FINAL_SCORE)
    return (ranking.at(np.flatnonzero(best)) if dropped else ranking), dropped


def threshold_notes(ranking: Ranking, dropped: Mapping[int, Fate], least: MinScores) -> list[str]:
    """Describe the effect of the reranker threshold and the final threshold."""
    fates = list(dropped.values())
    notes = []
    read = int(ranking.read.sum())
    if least.reranker is not None and not read:
        notes.append("min_scores: the reranker scored no memories, so its threshold had no effect")
    elif least.reranker is not None:
        unread = len(ranking.ids) - read
        rest = f"; {unread} unscored memories were not checked" if unread else ""
        count = fates.count(Fate.BELOW_RERANKER_SCORE)
        notes.append(f"min_scores: reranker dropped {count} of {read}{rest}")
    if least.final is not None:
        left = len(ranking.ids) - fates.count(Fate.BELOW_RERANKER_SCORE)
        notes.append(f"min_scores: final dropped {fates.count(Fate.BELOW_FINAL_SCORE)} of {left}")
    return notes


def proof_counts(view: BankView, rows: IntArray) -> IntArray:
    """Return an array of shape (n,): the number of facts from which each unit (by row id) was made, 0 for other units."""
    found: Mapping[int, IntArray] = grounds_of(view, observations_among(view, rows))
    return np.array([len(found.get(row, ())) for row in rows.tolist()], np.int64)


def observations_among(view: BankView, rows: IntArray) -> IntArray:
    """Return the observations among the units (by row id), in the given order."""
    return rows[view.columns.allowed(rows, of_types(view.columns, OBSERVED))]


def grounds_of(view: BankView, observations: IntArray) -> dict[int, IntArray]:
    """Return the row ids of the facts that each observation was made from, ascending, without observations that callers retained."""
    grounds = view.ledger.observations.grounds_of(view.bank, observations)
    rows = view.ledger.units.row_ids(
        view.bank, sorted({fact for facts in grounds.values() for fact in facts})
    )
    return {
        observation: np.array(sorted(rows[fact] for fact in facts if fact in rows), np.int64)
        for observation, facts in grounds.items()
    }


OBSERVED = (FactType.OBSERVATION,)

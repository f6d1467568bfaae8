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

# What a turn takes of the fused score of the turns one and two before it, and one and two after it; chosen on LoCoMo
# conv-26, 41 and 43; +6 to +9 points of evidence at 512 to 1,024 tokens there.
DISTANCES = (1, 2, -1, -2)  # of a turn from the one it takes from; negative: it stands before it
WEIGHTS = (0.3, 0.1, 0.2, 0.1)
# How far below the logit of the turn one and two before it a turn's own logit may lie.
BELOW_BEFORE = (1.0, 3.0)
SAME_SESSION = 3_600_000_000  # microseconds; after an hour a turn answers nothing (no source)
JUST_BEHIND = 0.9999  # of the score of the turn it must not overtake
ABSENT = -1


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """The turns of the conversations some candidates belong to, in the order of their time.

    Attributes:
        at: positions in the columns, conversation by conversation, (m,).
        place: for each position of the columns its place in `at`, ABSENT if it is no such turn, (n,).
        session: for each place the number of its session; turns of one conversation and session share it, (m,).
    """

    at: IntArray
    place: IntArray
    session: IntArray

    def neighbour(self, positions: IntArray, distance: int) -> IntArray:
        """Positions of the turns so many after each one (before it, if negative), (k,); ABSENT where there is none."""
        here = self.place[positions]
        there = here + distance
        exists = np.flatnonzero((here != ABSENT) & (there >= 0) & (there < len(self.at)))
        together = exists[self.session[here[exists]] == self.session[there[exists]]]
        found = np.full(len(positions), ABSENT, np.int64)
        found[together] = self.at[there[together]]
        return found


def turn_order(columns: Columns, allowed: BoolArray, ids: IntArray) -> TurnOrder | None:
    """The order of the turns that may be returned, of the conversations of these units; None if none of them is a turn."""
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
    """Fused scores smoothed over neighbouring turns; turns no channel found may join.

    f'(u) = f(u) + sum of w_d * f(u - d) + sum of v_d * f(u + d), d = 1, 2, within one session of a conversation; but a
    turn never overtakes a neighbour that was better without it: "Nice name!" stays behind the name.

    Args:
        ids: row ids, (n,).
        fused: their scores, (n,).
        columns: where the ids stand.
        order: of the conversations they belong to.

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
    """Totals lowered until no turn is above a neighbour whose own score is higher."""
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
    """Values at these places, 0 for ABSENT."""
    return np.where(places == ABSENT, 0.0, values[places])


def _within(found: IntArray, positions: IntArray) -> IntArray:
    """Places of positions in `found` (ascending), ABSENT for those that are not there."""
    at = np.minimum(np.searchsorted(found, positions), len(found) - 1)
    return np.where(found[at] == positions, at, ABSENT)


def smoothed_logits(ids: IntArray, logits: FloatArray, columns: Columns, order: TurnOrder) -> FloatArray:
    """Logits after a turn has taken over those of the turns it answers, less 1 and 3, (n,).

    The reranker reads turns one by one: it likes the turn that asks the question better than the one that answers it.
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
NEUTRAL = 0.5  # a signal that moves nothing [recall docs, "Stage 3: Combined Scoring (Boosts)"]
RECENCY_DAYS = 365.0  # [recall docs, "Recency signal"]
RECENCY_FLOOR = 0.1  # [recall docs, "Recency signal"]
PROOF_DIVISOR = 10.0  # [recall docs, "Proof count signal"]


def _no_factors() -> Float64Array:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class Boosts:
    """What some units' scores are multiplied by, each (n,).

    Attributes:
        recency: in [0.92, 1.1]; 1 for what has no date.
        temporal: in [0.9, 1.1]; 1 for what has no date, and for a question without a time.
        proof: in [1, 1.05]; 1 for what was not made from several facts.
    """

    recency: Float64Array = field(default_factory=_no_factors)
    temporal: Float64Array = field(default_factory=_no_factors)
    proof: Float64Array = field(default_factory=_no_factors)

    def at(self, positions: IntArray) -> Boosts:
        """Those of the units at these positions, in their order."""
        return Boosts(self.recency[positions], self.temporal[positions], self.proof[positions])


def no_boosts(count: int) -> Boosts:
    """Boosts that move none of so many units."""
    return Boosts(np.ones(count), np.ones(count), np.ones(count))


def boosts_of(
    ids: IntArray, columns: Columns, *, window: Interval | None, query_time: datetime, counts: IntArray
) -> Boosts:
    """Boosts of units by their times, and by what they stand on.

    Args:
        ids: row ids of the units, (n,).
        columns: where their times are.
        window: the time the question names, if any.
        query_time: from which recency counts; not the machine's time.
        counts: how many facts each was made from, (n,).
    """
    at = columns.positions(ids)
    starts, ends = columns.starts[at], columns.ends[at]
    moments = event_moments(starts, columns.mentioned[at])
    return Boosts(
        recency=boost(recency(days_before(moments, to_micros(query_time))), RECENCY_ALPHA),
        temporal=boost(temporal_signal(starts, ends, window), TEMPORAL_ALPHA),
        proof=boost(proof(counts), PROOF_ALPHA),
    )


def sigmoid(logit: npt.ArrayLike) -> Float64Array:
    """1 / (1 + e^-x), in [0, 1], without overflow for any finite x (recall docs, "Stage 2: Cross-Encoder Reranking")."""
    return np.exp(-np.logaddexp(0.0, -np.asarray(logit, np.float64)))


def days_before(moments: IntArray, query_time: int) -> Float64Array:
    """Days from each moment to the query's time, (n,), both in microseconds; NaN for UNDATED, negative after it."""
    dated = moments != UNDATED
    gaps = query_time - np.where(dated, moments, query_time)
    return np.where(dated, gaps / DAY, np.nan)


def recency(days_ago: npt.ArrayLike) -> Float64Array:
    """clamp(1 - days / 365, 0.1, 1); 1 in the future, 0.5 for NaN (undated) (recall docs, "Recency signal").

    Args:
        days_ago: days before the query's time.
    """
    days = np.asarray(days_ago, np.float64)
    return np.where(np.isnan(days), NEUTRAL, np.clip(1.0 - days / RECENCY_DAYS, RECENCY_FLOOR, 1.0))


def temporal_signal(starts: IntArray, ends: IntArray, window: Interval | None) -> Float64Array:
    """Proximity to the window's centre, 0.5 for UNDATED spans or without a window (recall docs, "Temporal proximity signal").

    Args:
        starts: span starts in microseconds, (n,).
        ends: span ends, exclusive, (n,).
        window: the time the question names, if any.
    """
    if window is None:
        return np.full(len(starts), NEUTRAL)
    return np.where(starts == UNDATED, NEUTRAL, proximity(starts, ends, window))


def proof(count: npt.ArrayLike) -> Float64Array:
    """clamp(0.5 + ln(n) / 10, 0, 1) (recall docs, "Proof count signal").

    Args:
        count: how many units an observation stands on; 0 for a unit that is no observation, giving 0.5.
    """
    evidence = np.maximum(np.asarray(count, np.float64), 1.0)
    return np.clip(NEUTRAL + np.log(evidence) / PROOF_DIVISOR, 0.0, 1.0)


def boost(signal: npt.ArrayLike, alpha: float) -> Float64Array:
    """1 + alpha * (signal - 0.5), in [1 - alpha / 2, 1 + alpha / 2] (recall docs, "Stage 3: Combined Scoring (Boosts)")."""
    return 1.0 + alpha * (np.asarray(signal, np.float64) - NEUTRAL)


def final_score(logit: npt.ArrayLike, *boosts: npt.ArrayLike) -> Float64Array:
    """The score units are sorted by: logit + ln(boost) + ..., log-odds, any real number.

    The docs' own product (`docs_score`) saturates with the sigmoid, so that sure answers are ordered by their boosts: it
    cost 14 to 31 points of evidence where measured on LoCoMo.

    Args:
        logit: raw cross-encoder output.
        *boosts: factors > 0, as `boost` gives them.
    """
    return np.asarray(logit, np.float64) + np.log(math.prod(map(np.asarray, boosts)))


def docs_score(logit: npt.ArrayLike, *boosts: npt.ArrayLike) -> Float64Array:
    """sigmoid(logit) * boost * ..., the docs' literal final score (recall docs, "Stage 3: Combined Scoring (Boosts)").

    Recall sorts by `final_score`; this is what the docs' worked examples are about.

    Args:
        logit: raw cross-encoder output.
        *boosts: factors > 0, as `boost` gives them.
    """
    return np.asarray(sigmoid(logit) * math.prod(map(np.asarray, boosts)))


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
    """The units, documents with their items, those that were found first: a cross-encoder reads the beginning of a text."""
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
    """Logits of the first units, as many as the deadline allows."""
    with timed(run.trace, "rerank") as detail:
        logits = score_until(reranker, run.query.text, units, run.services.config.recall.rerank_deadline_ms)
        detail["scored"], detail["candidates"] = len(logits), len(units)
    if len(logits) < len(units):
        run.trace.notes.append(f"rerank: deadline after {len(logits)} of {len(units)} candidates")
    return logits


def _boosts(run: RecallContext, ids: IntArray) -> Boosts:
    """The units' boosts; none unless switched on."""
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


def channel_threshold(channel: str, least: MinScores) -> float | None:
    """What a hit of this channel, or of the source turns, must reach; None for the graph and time, whose scores mean nothing alone."""
    thresholds: dict[str, float | None] = {
        Channel.SEMANTIC: least.semantic,
        Channel.KEYWORD: least.keyword,
        SOURCE_TURNS: least.keyword,
    }
    return thresholds.get(channel)


def cut(hits: Hits, least: float) -> tuple[Hits, Hits]:
    """A channel's list down to a score, and the rest."""
    keep = hits.scores >= least
    return Hits(hits.ids[keep], hits.scores[keep]), Hits(hits.ids[~keep], hits.scores[~keep])


def passing(ranking: Ranking, least: MinScores) -> tuple[Ranking, Mapping[int, Fate]]:
    """The ranking without the units below the reranker's or the final threshold, and the stage that dropped each."""
    good = np.ones(len(ranking.ids), bool)
    if least.reranker is not None:
        good[ranking.read] = sigmoid(ranking.logits[ranking.read]) >= least.reranker
    best = good if least.final is None else good & (ranking.scores >= least.final)
    dropped = dict.fromkeys(ranking.ids[~good].tolist(), Fate.BELOW_RERANKER_SCORE)
    dropped |= dict.fromkeys(ranking.ids[good & ~best].tolist(), Fate.BELOW_FINAL_SCORE)
    return (ranking.at(np.flatnonzero(best)) if dropped else ranking), dropped


def threshold_notes(ranking: Ranking, dropped: Mapping[int, Fate], least: MinScores) -> list[str]:
    """What the reranker's and the final threshold did, in words."""
    fates = list(dropped.values())
    notes = []
    read = int(ranking.read.sum())
    if least.reranker is not None and not read:
        notes.append("min_scores: no reranker read anything, so its threshold dropped nothing")
    elif least.reranker is not None:
        unread = len(ranking.ids) - read
        rest = f"; {unread} it did not read are not held to it" if unread else ""
        count = fates.count(Fate.BELOW_RERANKER_SCORE)
        notes.append(f"min_scores: reranker dropped {count} of {read}{rest}")
    if least.final is not None:
        left = len(ranking.ids) - fates.count(Fate.BELOW_RERANKER_SCORE)
        notes.append(f"min_scores: final dropped {fates.count(Fate.BELOW_FINAL_SCORE)} of {left}")
    return notes


def proof_counts(view: BankView, rows: IntArray) -> IntArray:
    """How many facts each of the units (by row id) was made from, (n,); 0 for what was made from none."""
    found: Mapping[int, IntArray] = grounds_of(view, observations_among(view, rows))
    return np.array([len(found.get(row, ())) for row in rows.tolist()], np.int64)


def observations_among(view: BankView, rows: IntArray) -> IntArray:
    """Those of the units (by row id) that are observations, in their order."""
    return rows[view.columns.allowed(rows, of_types(view.columns, OBSERVED))]


def grounds_of(view: BankView, observations: IntArray) -> dict[int, IntArray]:
    """Row ids of the facts each of these observations was made from, ascending; those a caller gave are left out."""
    grounds = view.ledger.observations.grounds_of(view.bank, observations)
    rows = view.ledger.units.row_ids(
        view.bank, sorted({fact for facts in grounds.values() for fact in facts})
    )
    return {
        observation: np.array(sorted(rows[fact] for fact in facts if fact in rows), np.int64)
        for observation, facts in grounds.items()
    }


OBSERVED = (FactType.OBSERVATION,)

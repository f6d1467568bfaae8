"""How likely it is that what was recalled answers the question (decisions 052 and 165).

Scores say how near a memory is to a question, not whether it answers it; `answer_signals` counts what else speaks for an
answer, and a logistic model weighs it. `hindsight-evals bench abstention` fits the constants and prints what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from hindsight_integrations.model.recalled import RecalledUnit, RecallReason
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.tempr.recall.answer_signals import (
    AnswerSignals,
    answer_signals,
    names_in_question,
)
from hindsight_integrations.tempr.recall.context import RecallContext, timed
from hindsight_integrations.tempr.recall.rerank import Ranking


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic model: log-odds = bias + relevance * (logit or cosine) + words * ... + share * ... + names * ..."""

    bias: float
    relevance: float
    words: float
    share: float
    names: float


# Printed by hindsight-evals bench abstention: LoCoMo conv-26, 41, 43 (turns) and 26, 41 (facts), 2026-11-22.
WITHOUT_RERANKER = Weights(bias=-9.70, relevance=11.29, words=0.83, share=2.94, names=1.39)
WITH_RERANKER = Weights(bias=-4.12, relevance=0.32, words=0.26, share=3.28, names=0.76)


WHOLE = 0.9
"""Confidence where memories answer because all of a kind or time are there: of 24 complete tables on Memora weeks 24 held the
answer, which is 25 of 26 by Laplace's rule; rounded down (decision 165)."""


def confidence(signals: AnswerSignals, *, named: bool = True) -> float:
    """The probability of the model for these signals, in [0, 1]; rises with every signal.

    Where nobody is named, the better of two models: a cross-encoder, trained on passages that answer a search, gives "what
    should I cook" and a list of what was eaten little, though they are near. Where the question is about one speaker and not
    another, the cross-encoder alone sees it, and is believed.

    Args:
        signals: of the units returned.
        named: whether the question names a speaker.
    """
    if signals.logit is None:
        return _probability(WITHOUT_RERANKER, signals.cosine, signals)
    read = _probability(WITH_RERANKER, signals.logit, signals)
    return read if named else max(read, _probability(WITHOUT_RERANKER, signals.cosine, signals))


def _probability(weights: Weights, relevance: float, signals: AnswerSignals) -> float:
    """1 / (1 + exp(-log-odds)) of one model."""
    odds = weights.bias + weights.relevance * relevance + weights.names * signals.names
    odds += weights.words * signals.words + weights.share * signals.share
    return 1.0 / (1.0 + math.exp(-max(-500.0, min(500.0, odds))))


def recall_confidence(
    run: RecallContext,
    units: Mapping[int, RecalledUnit],
    ranking: Ranking,
    digests: Sequence[RecordDigest],
) -> float:
    """Confidence of one recall, in [0, 1]; 0 where nothing is returned. The trace tells the signals it was weighed from.

    Args:
        run: the recall under way.
        units: what is returned, by row id, best first.
        ranking: the reranker's logits, if it read any.
        digests: the records returned beside them.
    """
    with timed(run.trace, "confidence") as detail:
        if whole := _whole(run, units, digests):
            detail["all"] = whole
            return WHOLE
        if not units:
            return 0.0
        names = names_in_question(run.query.text, run.named.speaker, run.tools.languages)
        thresholds = run.tools.embedder.identity.thresholds
        read = dict(
            zip(ranking.ids[ranking.read].tolist(), ranking.logits[ranking.read].tolist(), strict=True)
        )
        logits = {item.unit.id: read[row] for row, item in units.items() if row in read}
        signals = answer_signals(list(units.values()), names, thresholds, logits)
        if names.speaker:
            detail["about"] = " or ".join(sorted(names.speaker))
        detail |= {name: round(value, 3) for name, value in asdict(signals).items() if value is not None}
        return confidence(signals, named=bool(names.speaker))


def _whole(run: RecallContext, units: Mapping[int, RecalledUnit], digests: Sequence[RecordDigest]) -> str:
    """Of what all is returned that the question asks for; empty where that cannot be told."""
    if complete := next((digest for digest in digests if digest.rows and digest.complete), None):
        return f"{complete.kind} records"
    if any(unit.reason is RecallReason.OVERVIEW for unit in units.values()):
        return "of an overview"
    return "of the time asked for" if units and run.time_alone else ""

"""Where the evidence gives out: from which final score on a memory is likely to help."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from hindsight_integrations.model.requests import RelevanceLevel
from hindsight_integrations.model.trace import Channel, Fate
from hindsight_integrations.ports.arrays import Hits
from hindsight_integrations.search.fusion import RRF_K
from hindsight_integrations.search.reference_scale import question_cosine
from hindsight_integrations.tempr.recall.context import RecallContext
from hindsight_integrations.tempr.recall.rerank import Ranking
from hindsight_integrations.tempr.recall.retrieval import ChannelResults

EVERYTHING, NOTHING = -math.inf, math.inf
"""The final scores from which on all of a ranking is likely to help, and none."""

WORD = 0.05
"""Cosine, on the reference scale, that a unit of BM25 per word of the question is worth."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What the best memory must reach, and how far behind it one that is still likely to help may stand.

    Attributes:
        nearness: the best memory must be as near to the question, else nothing is likely to help.
        logit: or the reranker must give one memory this; minus infinity where there is none, so that nearness decides.
        behind: a final score that is lower than the best by more is unlikely to help.
    """

    nearness: float
    logit: float
    behind: float


# Measured on LoCoMo conv-26, 41, 43: at 1,024 tokens each pair of nearness and distance costs at
# most 0.5 points of evidence there, and no answer of four Memora weeks and of the LongMemEval sample.
UNREAD = Bar(nearness=0.44, logit=math.inf, behind=2.5 / RRF_K)
READ_BY: Mapping[str, Bar] = MappingProxyType(
    {"cross-encoder/ms-marco-MiniLM-L12-v2": Bar(nearness=0.45, logit=-6.0, behind=14.0)}
)
"""The bar of each reranker whose logits were calibrated, by its name."""
READ_BY_OTHERS = Bar(nearness=UNREAD.nearness, logit=math.inf, behind=math.inf)
"""The bar where another reranker scored, whose logits may mean anything."""

_WORDS = re.compile(r"\w+")


def nearness(cosine: float, bm25: float, text: str) -> float:
    """How near the best memories are to a question by meaning and words: cosine + 0.05 * BM25 / distinct words.

    Args:
        cosine: the best one, on the reference scale.
        bm25: the best one, at least 0.
        text: the question.
    """
    return cosine + WORD * bm25 / max(1, len(set(_WORDS.findall(text.casefold()))))


def likely_from(run: RecallContext, channels: ChannelResults, ranking: Ranking) -> float:
    """The final score from which on a memory is likely to help; infinite where all are, or none is.

    All are where nothing but a time was asked for, as such a question is like none of its answers; and where a channel failed:
    what it did not find is no sign.

    Args:
        run: the recall under way.
        channels: what the channels found.
        ranking: what is to be returned as far as the budget goes.
    """
    query = run.query
    asked_for_all = query.relevance is RelevanceLevel.ALL or run.time_alone
    if asked_for_all or run.view.failures or not len(ranking.ids):
        return EVERYTHING
    bar, logits = UNREAD, ranking.logits[ranking.read]
    if len(logits) and run.tools.reranker is not None:
        bar = READ_BY.get(run.tools.reranker.name, READ_BY_OTHERS)
    thresholds = run.tools.embedder.identity.thresholds
    cosine = _best(channels.lists[Channel.SEMANTIC], thresholds.channel_floor)
    near = nearness(
        question_cosine(cosine, thresholds), _best(channels.lists[Channel.KEYWORD], 0.0), query.text
    )
    if near < bar.nearness and not (len(logits) and float(logits.max()) >= bar.logit):
        run.trace.notes.append(
            f"relevance: nothing found is likely to help (nearness {near:.2f}, {bar.nearness} at least)"
        )
        return NOTHING
    return float(ranking.scores.max()) - bar.behind


def likely(ranking: Ranking, least: float) -> tuple[Ranking, dict[int, Fate]]:
    """The ranking from a final score on, and the fate of the rest by row id."""
    count = int(np.count_nonzero(ranking.scores >= least))
    unlikely = dict.fromkeys(ranking.ids[count:].tolist(), Fate.UNLIKELY)
    return (ranking.at(np.arange(count)) if unlikely else ranking), unlikely


def _best(hits: Hits, missing: float) -> float:
    return float(hits.scores.max()) if len(hits.scores) else missing

"""Minimum scores: what a unit must reach at each stage that scores it (`MinScores`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hindsight_integrations.model.requests import MinScores
from hindsight_integrations.model.trace import SOURCE_TURNS, Channel, Fate
from hindsight_integrations.ports.arrays import Hits
from hindsight_integrations.tempr.recall.boosts import sigmoid
from hindsight_integrations.tempr.recall.rerank import Ranking


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

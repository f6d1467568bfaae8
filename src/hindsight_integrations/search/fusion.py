"""Reciprocal rank fusion of the channels' lists (paper section 4.2.3)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hindsight_integrations.model.trace import Channel
from hindsight_integrations.ports.arrays import IntArray

RRF_K = 60  # k of paper eq. 15 [paper section 4.2.3; recall docs, "Stage 1: Reciprocal Rank Fusion (RRF)"]

_DIGITS = 15  # sums equal on paper (1/63 + 1/84 = 1/72 + 1/72) may differ in the 17th digit


def reciprocal_rank_fusion(lists: Mapping[Channel, IntArray]) -> tuple[IntArray, npt.NDArray[np.float64]]:
    """RRF(f) = sum over channels of 1 / (60 + rank) (paper eq. 15); ranks from 1, absent channels add nothing.

    Which channel gave which list, and in what order, makes no difference. An id repeated in one list counts once, at
    its best rank.

    Args:
        lists: unit ids of each channel, best first.

    Returns:
        Ids (n,) and their fused scores (n,) in (0, len(lists) / 61], best first; ties by best single rank, then id.
    """
    placed = [_ranks(ids) for ids in lists.values()]
    if not placed:
        return np.empty(0, np.int64), np.empty(0)
    ids = np.concatenate([found for found, _ in placed])
    ranks = np.concatenate([rank for _, rank in placed])
    # Added in rank order, so that the channels' order cannot show in the last digit.
    order = np.lexsort((ranks, ids))
    ids, ranks = ids[order], ranks[order]
    names, first, where = np.unique(ids, return_index=True, return_inverse=True)
    scores: npt.NDArray[np.float64] = np.bincount(
        where, weights=1.0 / (RRF_K + ranks), minlength=len(names)
    ).astype(np.float64)
    best = np.lexsort((names, ranks[first], -np.round(scores, _DIGITS)))
    return names[best], scores[best]


def _ranks(ids: IntArray) -> tuple[IntArray, IntArray]:
    """Each id of a list once, with its best rank from 1."""
    names, first = np.unique(np.asarray(ids, np.int64), return_index=True)
    return names, first.astype(np.int64) + 1

"""nDCG of a context: how early the evidence appears (Järvelin and Kekäläinen 2002)."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet

from hindsight_evals.memory_system import Context


def ndcg(context: Context, evidence: AbstractSet[str]) -> float | None:
    """Return the discounted gain of the returned texts relative to the ideal order, in [0, 1]; None without evidence.

    A text gains 1 if it is based on an evidence turn on which no earlier text is based, so that repetitions gain
    nothing. At rank i, from 1, a gain counts 1 / log2(i + 1). The ideal order has one evidence turn per text from the
    first rank on, and a text based on several turns counts as one. So 1.0 is reached if every turn has its own text, or
    if no turn is left after the texts that gained.
    """
    if not evidence:
        return None
    left, gained, gains = set(evidence), 0.0, 0
    for rank, text in enumerate(context.served, 1):
        if left & text.sources:
            left -= text.sources
            gained += 1 / math.log2(rank + 1)
            gains += 1
    needed = gains + len(left)
    return gained / sum(1 / math.log2(rank + 1) for rank in range(1, needed + 1))

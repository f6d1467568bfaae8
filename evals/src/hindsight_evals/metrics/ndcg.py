"""nDCG of a context: how early the evidence comes (Järvelin and Kekäläinen 2002)."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet

from hindsight_evals.memory_system import Context


def ndcg(context: Context, evidence: AbstractSet[str]) -> float | None:
    """Discounted gain of the served texts over the ideal order, in [0, 1]; None for a question without evidence.

    A text gains 1 if it stands on a turn of evidence that none before it stood on, so that saying the same again gains
    nothing; at rank i, from 1, that counts 1 / log2(i + 1). Ideal is one turn of evidence a text from the first rank on, and
    a text that stands on several is worth no more than one: 1.0 is reached where every turn has a text of its own, or where
    no turn is left after the texts that gained.
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

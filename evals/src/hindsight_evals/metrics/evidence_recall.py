"""Evidence recall: how much of what answers a question is in its context."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from hindsight_evals.memory_system import Context


def evidence_recall(context: Context, evidence: AbstractSet[str]) -> float | None:
    """Share in [0, 1] of the turns of evidence on which any served text stands; None for a question without evidence.

    A text stands on its turn whatever it kept of it, so that this is what a reader could know at best.
    """
    if not evidence:
        return None
    served = {source for text in context.served for source in text.sources}
    return len(evidence & served) / len(evidence)

"""Evidence recall: how much of the evidence for a question is in its context."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from hindsight_evals.memory_system import Context


def evidence_recall(context: Context, evidence: AbstractSet[str]) -> float | None:
    """Return the share in [0, 1] of evidence turns on which a returned text is based; None for a question without evidence.

    A text counts for its turn regardless of how much of the turn it contains, so this is an upper limit of what a
    reader can know.
    """
    if not evidence:
        return None
    served = {source for text in context.served for source in text.sources}
    return len(evidence & served) / len(evidence)

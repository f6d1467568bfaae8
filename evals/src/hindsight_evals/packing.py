"""Equal budgets: texts in rank order while they fit, as the engine packs its own (paper section 4.2.5, eq. 8)."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_evals.memory_system import Context, ServedText


def packed(ranked: Iterable[ServedText], max_tokens: int) -> Context:
    """Those of the texts, best first, that fit the budget; one that does not fit is skipped, not the end."""
    kept: list[ServedText] = []
    left = max_tokens
    for text in ranked:
        if text.tokens <= left:
            kept.append(text)
            left -= text.tokens
    return Context(tuple(kept))

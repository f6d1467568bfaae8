"""Pack ranked texts into a token budget, as the engine does (paper section 4.2.5, eq. 8)."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_evals.memory_system import Context, ServedText


def packed(ranked: Iterable[ServedText], max_tokens: int) -> Context:
    """Return the texts, best first, that fit the budget; a text that does not fit is skipped."""
    kept: list[ServedText] = []
    left = max_tokens
    for text in ranked:
        if text.tokens <= left:
            kept.append(text)
            left -= text.tokens
    return Context(tuple(kept))

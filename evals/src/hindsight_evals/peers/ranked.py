"""Stores that keep texts and rank them for a question, as systems: their best texts, packed to the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from hindsight_evals.episode import MemoryText, Session
from hindsight_evals.memory_system import Context, ServedText
from hindsight_evals.packing import packed
from hindsight_integrations.models.protocols import TokenCounter

DEPTH = 500
"""Texts asked for: more than fill the largest budget, whatever their length."""


class TextStore(Protocol):
    """Keeps texts and ranks them. One writer; ranked by several threads at once."""

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Keep texts that it does not keep yet; at least one."""
        ...

    def rank(self, question: str, depth: int) -> Iterable[str]:
        """Ids of the texts nearest to a question, best first, at most so many."""
        ...


class RankedSystem:
    """A text store under a token budget. What becomes untrue stays: nothing tells a store of texts.

    Args:
        store: what ranks.
        tokens: counts what a text costs.
    """

    def __init__(self, store: TextStore, tokens: TokenCounter) -> None:
        self._store, self._tokens = store, tokens
        self._texts: dict[str, ServedText] = {}

    def retain(self, session: Session) -> None:
        """Keep every text of a session that is not kept yet."""
        new = [text for text in session.texts if text.id not in self._texts]
        if not new:
            return
        counts = self._tokens.count([text.text for text in new])
        self._store.add(new)
        for text, count in zip(new, counts, strict=True):
            self._texts[text.id] = ServedText(text.text, text.sources, count)

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:  # noqa: ARG002 - it knows no time
        """The best that fit; nothing where nothing is kept."""
        if not self._texts:
            return Context(())
        return packed((self._texts[found] for found in self._store.rank(question, DEPTH)), max_tokens)

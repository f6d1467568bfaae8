"""Systems made from stores that only rank texts: their best texts are packed into the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from hindsight_evals.episode import MemoryText, Session
from hindsight_evals.memory_system import Context, ServedText
from hindsight_evals.packing import packed
from hindsight_integrations.models.protocols import TokenCounter

DEPTH = 500
"""Number of texts requested, which is more than the largest budget can contain."""


class TextStore(Protocol):
    """Stores texts and ranks them. One writer; several threads may rank at once."""

    def add(self, texts: Sequence[MemoryText]) -> None:
        """Add texts that are not stored yet; at least one."""
        ...

    def rank(self, question: str, depth: int) -> Iterable[str]:
        """Return the ids of at most `depth` texts nearest to a question, best first."""
        ...


class RankedSystem:
    """A text store with a token budget. Texts that become untrue stay, because nothing tells the store.

    Args:
        store: the store.
        tokens: the token counter.
    """

    def __init__(self, store: TextStore, tokens: TokenCounter) -> None:
        self._store, self._tokens = store, tokens
        self._texts: dict[str, ServedText] = {}

    def retain(self, session: Session) -> None:
        """Add the texts of a session that are not stored yet."""
        new = [text for text in session.texts if text.id not in self._texts]
        if not new:
            return
        counts = self._tokens.count([text.text for text in new])
        self._store.add(new)
        for text, count in zip(new, counts, strict=True):
            self._texts[text.id] = ServedText(text.text, text.sources, count)

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:  # noqa: ARG002 - it knows no time
        """Return the best texts that fit the budget; none if the store is empty."""
        if not self._texts:
            return Context(())
        return packed((self._texts[found] for found in self._store.rank(question, DEPTH)), max_tokens)

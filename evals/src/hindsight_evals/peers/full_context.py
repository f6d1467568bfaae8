"""Full context: all texts, in order, regardless of the budget; the upper limit of presence and of leaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from hindsight_evals.episode import Session
from hindsight_evals.memory_system import Context, MemorySystem, Peer, Place, ServedText
from hindsight_integrations.models.protocols import TokenCounter


class FullContext:
    """All texts, in the order in which they were retained."""

    def __init__(self, tokens: TokenCounter) -> None:
        self._tokens = tokens
        self._texts: dict[str, ServedText] = {}

    def retain(self, session: Session) -> None:
        """Append a session's texts."""
        texts = session.texts
        counts = self._tokens.count([text.text for text in texts])
        self._texts |= {
            text.id: ServedText(text.text, text.sources, count)
            for text, count in zip(texts, counts, strict=True)
        }

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:  # noqa: ARG002 - of no use to it
        """Return all texts."""
        return Context(tuple(self._texts.values()))


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    yield FullContext(place.tokens)


FULL_CONTEXT = Peer("full-context", _opened, budgeted=False)

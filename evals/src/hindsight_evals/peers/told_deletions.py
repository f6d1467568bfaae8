"""A vector store from which the gold deletions are removed: the best possible result of a plain store with perfect deletions.

It is the reference for systems that withdraw memories themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from hindsight_evals.episode import GoldWithdrawal, MemoryText, Session
from hindsight_evals.memory_system import Context, MemorySystem, Peer, Place
from hindsight_evals.metrics.stating import says
from hindsight_evals.peers.nearest import NearestTexts
from hindsight_evals.peers.ranked import RankedSystem


class ToldDeletions:
    """Stores texts, and deletes those that contain what the ground truth withdraws; a text is deleted as a whole."""

    def __init__(self, place: Place) -> None:
        self._gone: set[str] = set()
        self._ranked = RankedSystem(_Standing(NearestTexts(place.embedder), self._gone), place.tokens)
        self._texts: dict[str, MemoryText] = {}

    def retain(self, session: Session) -> None:
        """Delete the texts that the session makes untrue, then add its texts."""
        for withdrawal in session.withdrawals:
            self._delete(withdrawal)
        self._ranked.retain(session)
        self._texts |= {text.id: text for text in session.texts}

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:
        """Return the nearest texts that were not deleted."""
        return self._ranked.recall(question, moment=moment, max_tokens=max_tokens)

    def _delete(self, withdrawal: GoldWithdrawal) -> None:
        self._gone.update(
            text.id
            for text in self._texts.values()
            if text.sources & withdrawal.sources and says(text.text, withdrawal.text)
        )


class _Standing:
    """The nearest texts without deleted ones."""

    def __init__(self, near: NearestTexts, gone: set[str]) -> None:
        self._near, self._gone = near, gone
        self.add = near.add

    def rank(self, question: str, depth: int) -> list[str]:
        found = self._near.rank(question, depth + len(self._gone))
        return [text for text in found if text not in self._gone][:depth]


@contextmanager
def _opened(place: Place) -> Iterator[MemorySystem]:
    yield ToldDeletions(place)


TOLD_DELETIONS = Peer("vectors-told-deletions", _opened)

"""This package: one bank per episode, with the engine's own recall, and reflect for answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Literal

from hindsight_evals.episode import Session
from hindsight_evals.memory_system import Context, MemorySystem, Peer, Place, ServedText
from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, RecalledUnit
from hindsight_integrations.model.documents import document_text
from hindsight_integrations.models.protocols import LanguageModel, Reranker

MOST_LISTED = 10_000  # memories per page


class HindsightSystem:
    """One bank.

    Its files are the engine's data directory, so that a killed run can continue; retaining a session again changes
    nothing.
    """

    def __init__(self, bank: MemoryBank) -> None:
        self._bank = bank

    def retain(self, session: Session) -> None:
        """Retain a session with the given facts; without facts, the engine extracts them."""
        if session.messages:
            self._bank.retain(
                list(session.messages), thread=session.id, timestamp=session.moment, facts=session.facts
            )

    def recall(self, question: str, *, moment: datetime, max_tokens: int) -> Context:
        """Return the result of recall within the budget, each memory as a reader sees it."""
        found = self._bank.recall(question, max_tokens=max_tokens, query_timestamp=moment)
        return Context(tuple(_served(unit) for unit in found.units))

    def held(self) -> Context:
        """Return every memory that is valid now, documents with their items."""
        served: list[ServedText] = []
        cursor = None
        while True:
            page = self._bank.units(limit=MOST_LISTED, cursor=cursor)
            for unit in page.units:
                items = page.items.get(unit.id, ())
                tokens = sum(each.tokens for each in (unit, *items))
                served.append(ServedText(document_text(unit.text, items), frozenset(unit.sources), tokens))
            cursor = page.cursor
            if cursor is None:
                return Context(tuple(served))

    def answer(self, question: str, *, moment: datetime) -> str:
        """Return the answer of reflect at that time; without a model, exact sums and lists, or the best memories."""
        return self._bank.reflect(question, as_of=moment, form_opinions=False).text


def hindsight(
    name: str = "hindsight",
    *,
    model: LanguageModel | str | None = None,
    reranker: Reranker | Literal["default"] | None = None,
    config: HindsightConfig | None = None,
) -> Peer:
    """Create this package as a system under evaluation.

    Args:
        name: its name in tables; each configuration needs a different one.
        model: as for `Hindsight.open`; it extracts sessions without facts, and answers in reflect.
        reranker: as for `Hindsight.open`; None disables reranking.
        config: settings; None reads them from the environment.
    """
    opened = partial(_opened, model=model, reranker=reranker, config=config)
    return Peer(name, opened, persistent=True)


@contextmanager
def _opened(
    place: Place,
    *,
    model: LanguageModel | str | None,
    reranker: Reranker | Literal["default"] | None,
    config: HindsightConfig | None,
) -> Iterator[MemorySystem]:
    with Hindsight.open(
        place.folder, model=model, embeddings=place.embedder, reranker=reranker, config=config
    ) as engine:
        yield HindsightSystem(engine.bank(place.episode))


def _served(found: RecalledUnit) -> ServedText:
    return ServedText(found.text, frozenset(found.unit.sources), found.tokens)


HINDSIGHT = hindsight()
HINDSIGHT_RERANKED = hindsight("hindsight-reranked", reranker="default")

"""Reranker: how relevant a passage is to a question, read together (paper section 4.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hindsight_integrations.ports.arrays import FloatArray


class Reranker(Protocol):
    """A cross-encoder. Loads its weights on first use; safe from many threads."""

    @property
    def name(self) -> str:
        """The model's name, for traces and doctor."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Raw logits (n,), one a text, in the order given; higher is more relevant."""
        ...

"""Vectors and token counts of drafts, made before anything of the bank is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.ports.arrays import Matrix, Vector
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.tempr.retain.drafts import Draft


@dataclass(frozen=True, slots=True)
class Vectors:
    """What one embedder makes of some drafts.

    Attributes:
        drafts: a row for each, (n, dimension), unit norm.
        statements: of each statement of what is obsolete, by its text.
        thresholds: of the embedder.
    """

    drafts: Matrix
    statements: Mapping[str, Vector]
    thresholds: Thresholds


def embedding_text(text: str, occurred: Interval | None, mentioned_at: datetime) -> str:
    """What is embedded: the text with a readable time, which the stored text does not carry (earlier paper 2.3.2)."""
    return f"{text} ({readable_time(occurred, mentioned_at)})"


def with_tokens(drafts: Sequence[Draft], tokens: TokenCounter) -> list[Draft]:
    """The drafts with what each text costs (paper eq. 8), counted in one batch."""
    counts = tokens.count([draft.unit.text for draft in drafts])
    return [replace(d, unit=replace(d.unit, tokens=count)) for d, count in zip(drafts, counts, strict=True)]


def embed(drafts: Sequence[Draft], embedder: Embedder) -> Vectors:
    """Vectors of the drafts, in one batch, and of their statements of what is obsolete, in another.

    Raises:
        ModelError: the embedder failed, or its vectors are not what they must be.
    """
    texts = [embedding_text(d.unit.text, d.unit.occurred, d.unit.mentioned_at) for d in drafts]
    vectors = _checked(embedder.embed_documents(texts), len(texts), embedder)
    stated = list(dict.fromkeys(text for draft in drafts for text in draft.invalidates))
    statements: Mapping[str, Vector] = {}
    if stated:
        found = _checked(embedder.embed_documents(stated), len(stated), embedder)
        statements = dict(zip(stated, found, strict=True))
    return Vectors(vectors, statements, embedder.identity.thresholds)


def _checked(vectors: Matrix, count: int, embedder: Embedder) -> Matrix:
    """The vectors, if they are finite and as many and as long as they must be.

    Raises:
        MalformedOutput: they are not; memory is left as it was.
    """
    identity = embedder.identity
    expected = (count, identity.dimension)
    if vectors.shape != expected:
        raise MalformedOutput(
            identity.name, str(vectors.shape), f"vectors of shape {vectors.shape}, not {expected}"
        )
    if not np.isfinite(vectors).all():
        raise MalformedOutput(identity.name, "", "vectors with NaN or infinite numbers")
    return vectors

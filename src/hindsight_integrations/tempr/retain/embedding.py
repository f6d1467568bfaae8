"""Vectors and token counts of drafts, made before anything of the bank is decided."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from hindsight_integrations.errors import MalformedOutput, ModelError
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.time import Interval, readable_time
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.ports.arrays import Matrix, Vector, fault_of_vectors
from hindsight_integrations.ports.embedder import Embedder
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.tempr.retain.drafts import Draft
from hindsight_integrations.tempr.retain.proposal import Proposal

logger = logging.getLogger("hindsight_integrations")


@dataclass(frozen=True, slots=True)
class Vectors:
    """What one embedder makes of some drafts.

    Attributes:
        drafts: a row for each, (n, dimension), unit norm.
        statements: of each statement of what is obsolete, by its text.
        thresholds: of the embedder.
        waiting: the turns that wait, with theirs; without one where the embedder failed.
    """

    drafts: Matrix
    statements: Mapping[str, Vector]
    thresholds: Thresholds
    waiting: tuple[UnitWrite, ...] = ()


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
    if not drafts:
        nothing = np.empty((0, embedder.identity.dimension), np.float32)
        return Vectors(nothing, {}, embedder.identity.thresholds)
    vectors = embed_units([draft.unit for draft in drafts], embedder)
    stated = list(dict.fromkeys(text for draft in drafts for text in draft.invalidates))
    statements: Mapping[str, Vector] = {}
    if stated:
        statements = dict(zip(stated, embedded(stated, embedder), strict=True))
    return Vectors(vectors, statements, embedder.identity.thresholds)


def waiting_writes(proposal: Proposal, tokens: TokenCounter, embedder: Embedder) -> tuple[UnitWrite, ...]:
    """The turns that wait, counted and embedded in one batch each; an embedder that fails costs their vectors alone.

    The model has failed already; that the embedder does too must not lose what was said.
    """
    units = [unit for passage in proposal.waiting for unit in passage.units]
    costs = tokens.count([unit.text for unit in units])
    try:
        vectors = [row.astype("<f4").tobytes() for row in embed_units(units, embedder)]
    except ModelError as error:
        logger.warning(
            "%d turns that wait for extraction have no vector: %s", len(units), type(error).__name__
        )
        vectors = [b""] * len(units)
    return tuple(
        UnitWrite(replace(unit, tokens=cost), vector)
        for unit, cost, vector in zip(units, costs, vectors, strict=True)
    )


def embed_units(units: Sequence[MemoryUnit], embedder: Embedder) -> Matrix:
    """Vectors of memory units, (n, dimension): the one way to vectors that are stored, of retain, edit and reindex.

    Raises:
        ModelError: the embedder failed, or its vectors are not what they must be.
    """
    return embedded([embedding_text(unit.text, unit.occurred, unit.mentioned_at) for unit in units], embedder)


def embedded(texts: Sequence[str], embedder: Embedder) -> Matrix:
    """Vectors of texts, if they are usable and as many and as long as they must be."""
    identity = embedder.identity
    vectors, expected = embedder.embed_documents(texts), (len(texts), identity.dimension)
    if vectors.shape != expected:
        raise MalformedOutput(
            identity.name, str(vectors.shape), f"vectors of shape {vectors.shape}, not {expected}"
        )
    if fault := fault_of_vectors(vectors):
        raise MalformedOutput(identity.name, "", fault)
    return vectors

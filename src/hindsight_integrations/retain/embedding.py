"""Vectors and token counts of drafts, made before anything of the bank is decided."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindsight_integrations.errors import ModelError
from hindsight_integrations.indexes.embedding import embed_units, embedded
from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.models.protocols import Embedder, TokenCounter
from hindsight_integrations.retain.drafts import Draft
from hindsight_integrations.retain.proposal import Proposal

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


def with_tokens(drafts: Sequence[Draft], tokens: TokenCounter) -> list[Draft]:
    """The drafts with what each text costs (paper eq. 8), whole and in short, counted in one batch."""
    units = [draft.unit for draft in drafts]
    counts = iter(tokens.count([text for unit in units for text in _forms(unit)]))
    return [replace(draft, unit=_counted(draft.unit, counts)) for draft in drafts]


def _forms(unit: MemoryUnit) -> tuple[str, ...]:
    return (unit.text, unit.compact_text) if unit.compact else (unit.text,)


def _counted(unit: MemoryUnit, counts: Iterator[int]) -> MemoryUnit:
    """The unit with the next counts; without a short form that saves nothing."""
    whole = next(counts)
    if not unit.compact:
        return replace(unit, tokens=whole)
    short = next(counts)
    return replace(unit, tokens=whole, compact=replace(unit.compact, tokens=short) if short < whole else None)


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

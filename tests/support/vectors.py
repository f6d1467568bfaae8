"""Seeded vectors for tests."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.model.arrays import Hits, IntArray, Matrix, Vector, ranked


def unit_vectors(count: int, dimension: int, *, seed: int = 0) -> Matrix:
    """Random directions (count, dimension), float32, unit norm; the same for the same seed."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimension))
    directions: Matrix = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return directions


def nearest(ids: IntArray, vectors: Matrix, query: Vector, limit: int) -> Hits:
    """The exact result of a nearest-neighbour search, computed in double precision."""
    cosines = (vectors.astype(np.float64) @ query.astype(np.float64)).astype(np.float32)
    return ranked(ids, cosines, limit)

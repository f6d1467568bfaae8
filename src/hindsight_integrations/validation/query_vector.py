"""The question's vector as a caller gives it, checked. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.options import Embedding
from hindsight_integrations.validation.limits import MAX_QUERY, checked_text

UNIT = 1e-5  # how far from 1 the length of a unit vector in float32 may be
MAX_EMBEDDED = 64  # texts embedded in place of one question

_REMEDY = (
    "Pass a vector of numbers made by the bank's embedder for a question, or texts to embed in its place."
)


def checked_embedding(given: Embedding) -> tuple[float, ...] | tuple[str, ...]:
    """A unit vector, or texts to embed; empty where the question itself is to be embedded.

    Args:
        given: as the caller wrote it. Whether its dimension is the embedder's is seen where the embedder is known.

    Raises:
        InvalidRequest: it is neither a vector with a direction nor a list of texts.
    """
    if given is None:
        return ()
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes):
        raise InvalidRequest("embedding", f"{type(given).__name__} is not a vector", _REMEDY)
    if any(isinstance(item, str) for item in given):
        if len(given) > MAX_EMBEDDED:
            raise InvalidRequest(
                "embedding", f"it has {len(given)} texts, over {MAX_EMBEDDED}", "Pass fewer."
            )
        return tuple(checked_text(text, f"embedding[{n}]", MAX_QUERY) for n, text in enumerate(given))
    return _unit_vector(given)


def _unit_vector(given: Sequence[Any] | npt.NDArray[Any]) -> tuple[float, ...]:
    try:
        vector = np.asarray(given)
    except ValueError:  # rows of different lengths
        raise InvalidRequest("embedding", "its numbers are not a single row", _REMEDY) from None
    if vector.ndim != 1 or not vector.size or vector.dtype.kind not in "fiu":
        raise InvalidRequest("embedding", "it is not a row of numbers", _REMEDY)
    vector = vector.astype(np.float64)
    if not np.isfinite(vector).all():
        raise InvalidRequest("embedding", "it has NaN or infinite numbers", _REMEDY)
    largest = np.abs(vector).max()
    if not largest:
        raise InvalidRequest("embedding", "it is all zeros, which has no direction", _REMEDY)
    scaled = vector / largest  # first, so that no square overflows or vanishes
    length = float(np.linalg.norm(scaled)) * largest
    if abs(length - 1) < UNIT:  # as the embedder gave it: the last bits decide between memories equally near
        return tuple(vector.tolist())
    return tuple((scaled / np.linalg.norm(scaled)).tolist())

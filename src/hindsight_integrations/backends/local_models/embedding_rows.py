"""What every local embedder does to its texts and vectors: valid UTF-8 in, unit-norm float32 rows out."""

from __future__ import annotations

import numpy as np

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.arrays import FloatArray, Matrix


def encodable(text: str) -> str:
    """The text with lone surrogates (halves of broken emoji) replaced: tokenizers take valid UTF-8 only."""
    return text.encode("utf-8", "replace").decode("utf-8")


def unit_rows(rows: FloatArray, model: str) -> Matrix:
    """Rows (n, d) at unit norm, float32.

    A row of zeros (a static model that knows no word of a text, an empty message) has no direction; it becomes the
    last axis. Models reduced by PCA vary least along it, so such a text is near nothing but others of its kind.

    Raises:
        MalformedOutput: a row holds NaN or infinite numbers.
    """
    wide = np.array(rows, np.float64, ndmin=2)
    norms = np.linalg.norm(wide, axis=1)
    if not np.isfinite(norms).all():
        raise MalformedOutput(model, repr(rows)[:200], "vectors with NaN or infinite numbers")
    lost = norms == 0.0
    wide[lost, -1], norms[lost] = 1.0, 1.0
    unit: Matrix = (wide / norms[:, None]).astype(np.float32)
    return unit

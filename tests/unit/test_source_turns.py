"""The source-turn signal: its effect on a memory's fused score and on reranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.indexes.hybrid import RRF_K
from hindsight_integrations.recall.retrieval import evidence

COSINES = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=20)


def test_evidence_is_the_formula_by_hand() -> None:
    """(6 * (c - 0.3) + w / max w) / 60: at cosine 0.5 and half of the best words 1.7 ranks; below the floor words only."""
    found = evidence(np.array([0.5, 0.1, 0.7]), np.array([2.0, 4.0, 0.0], np.float32))
    assert (found * RRF_K).tolist() == pytest.approx([1.2 + 0.5, 1.0, 2.4])


def test_no_words_count_nothing() -> None:
    """Without any word match only the cosine counts, and nothing is divided by 0."""
    assert evidence(np.array([0.3, 0.2]), np.zeros(2, np.float32)).tolist() == [0.0, 0.0]


@given(COSINES, st.data())
def test_evidence_rises_with_both(cosines: list[float], data: st.DataObject) -> None:
    """Evidence rises with cosine and with word score, and stays in its range."""
    count = len(cosines)
    words = data.draw(st.lists(st.floats(0.0, 30.0, width=32), min_size=count, max_size=count))
    near, worded = np.array(cosines), np.array(words, np.float32)
    found = evidence(near, worded)
    assert ((found >= 0.0) & (found <= 5.2 / RRF_K + 1e-9)).all()
    assert (evidence(np.minimum(near + 0.1, 1.0), worded) >= found - 1e-12).all()
    order = np.argsort(worded, kind="stable")
    same = evidence(np.full(count, 0.5), worded)[order]
    assert (np.diff(same) >= -1e-12).all()

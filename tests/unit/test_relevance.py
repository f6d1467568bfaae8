"""Relevance: nearness, questions for everything remembered, and cutting a ranking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.questions import asks_for_all
from hindsight_integrations.model.trace import Fate
from hindsight_integrations.recall.confidence import likely, nearness
from hindsight_integrations.recall.rerank import unread


def test_nearness_of_a_worked_example() -> None:
    """Cosine 0.3 and a BM25 of 12 over four distinct words: 0.3 + 0.05 * 12 / 4."""
    assert nearness(0.3, 12.0, "Who adopted who today") == pytest.approx(0.3 + 0.05 * 12 / 3)
    assert nearness(0.3, 12.0, "Who adopted Biscuit today?") == pytest.approx(0.45)


@given(
    cosine=st.floats(-1.0, 1.0),
    bm25=st.floats(0.0, 60.0),
    more=st.floats(0.01, 10.0),
    text=st.text(max_size=40),
)
def test_nearness_rises_with_meaning_and_with_words(
    cosine: float, bm25: float, more: float, text: str
) -> None:
    """Nearness rises with cosine and with BM25."""
    here = nearness(cosine, bm25, text)
    assert nearness(cosine + more, bm25, text) > here
    assert nearness(cosine, bm25 + more, text) > here
    assert here >= cosine


@every_row(
    ("question", "expected"),
    [
        ("What do you know about me?", True),
        ("What do you remember?", True),
        ("What do you know about my sister?", False),
        ("", False),
        ("Was weißt du über mich?", True),
        ("Was weißt du über Boote?", False),
        ("¿Qué sabes de mí?", True),
        ("¿Qué sabes de los barcos?", False),
    ],
)
def test_questions_for_whatever_is_remembered(question: str, expected: bool) -> None:
    """Questions for everything remembered name no subject such as a sister or a boat."""
    assert asks_for_all(question) is expected


@given(
    scores=st.lists(st.floats(-20.0, 20.0), max_size=12).map(lambda found: sorted(found, reverse=True)),
    least=st.floats(-25.0, 25.0) | st.sampled_from([float("-inf"), float("inf")]),
)
def test_a_cut_keeps_the_head_and_tells_the_fate_of_the_rest(scores: list[float], least: float) -> None:
    """A cut keeps everything above the threshold, and the trace lists the rest."""
    ranking = unread(np.arange(len(scores)), np.array(scores, np.float64))
    head, fates = likely(ranking, least)
    assert [*head.ids.tolist(), *fates] == ranking.ids.tolist()
    assert all(score >= least for score in head.scores)
    assert set(fates.values()) <= {Fate.UNLIKELY}
    assert all(scores[row] < least for row in fates)

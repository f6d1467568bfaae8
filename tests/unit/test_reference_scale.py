"""One scale for the cosines of every embedder: fixed points, order, and an uncalibrated embedder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.indexes.embedding import passage_cosine, question_cosine
from hindsight_integrations.model.embedder import REFERENCE, Thresholds

BGE = Thresholds(semantic_link=0.823, channel_floor=0.465, duplicate=0.967)
COSINES = st.floats(-1.0, 1.0)
RISING = st.lists(st.integers(-90, 99), min_size=3, max_size=3, unique=True).map(
    lambda given: Thresholds(*(sorted(given)[place] / 100 for place in (1, 0, 2)))
)
Line = Callable[[float, Thresholds], float]


@given(RISING)
def test_an_embedders_own_thresholds_lie_where_the_papers_do(own: Thresholds) -> None:
    """The same constants apply to every calibrated embedder; a semantic link is 0.7 for questions and passages."""
    assert question_cosine(own.channel_floor, own) == pytest.approx(0.3)
    assert question_cosine(own.semantic_link, own) == pytest.approx(0.7)
    assert passage_cosine(own.semantic_link, own) == pytest.approx(0.7)
    assert passage_cosine(own.duplicate, own) == pytest.approx(0.92)


@pytest.mark.parametrize("line", [question_cosine, passage_cosine])
@given(own=RISING, first=COSINES, second=COSINES)
def test_what_is_nearer_stays_nearer(line: Line, own: Thresholds, first: float, second: float) -> None:
    """The order of two cosines is preserved (passages may be equal at 0 or 1)."""
    low, high = sorted((first, second))
    assert line(low, own) <= line(high, own)


@pytest.mark.parametrize("line", [question_cosine, passage_cosine])
@given(cosine=st.floats(0.0, 1.0))
def test_the_reference_embedder_keeps_its_cosines(line: Line, cosine: float) -> None:
    """The mapping of the scale on which the papers' thresholds were set is the identity."""
    assert line(cosine, REFERENCE) == pytest.approx(cosine)


@given(RISING, COSINES)
def test_passages_are_alike_by_a_share(own: Thresholds, cosine: float) -> None:
    """Retraction averages it with a share of words, so it is in [0, 1] too."""
    assert 0.0 <= passage_cosine(cosine, own) <= 1.0


def test_unrelated_texts_of_a_narrow_embedder_are_not_alike() -> None:
    """With an embedder whose unrelated texts have cosines of 0.6, no memory is closed because of that."""
    assert passage_cosine(0.6, BGE) < 0.4
    assert passage_cosine(-1.0, BGE) == 0.0


def test_thresholds_that_do_not_rise_move_nothing() -> None:
    """An embedder without a calibration keeps its cosines."""
    flat = Thresholds(semantic_link=0.5, channel_floor=0.5, duplicate=0.5)
    assert (question_cosine(0.4, flat), passage_cosine(0.4, flat)) == (0.4, 0.4)

"""What every Reranker must do. Inherit, name the class Test..., and give a `reranker` fixture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hindsight_integrations.ports.reranker import Reranker

QUESTION = "Which pet did Alice adopt?"
PASSAGES = (
    "The database server ran out of disk space last night, and the whole team had to stay and clean up old logs.",
    "Alice did adopt a pet: a golden retriever.",
    "Tom bakes bread.",
)


class RerankerContract:
    """Checks shape, order, repeatability and that the answer wins."""

    pair_tolerance = 0.5
    """How far a pair's score may move with the batch it is in: int8 weights scale activations per batch."""

    @pytest.fixture
    def reranker(self) -> Reranker:
        raise NotImplementedError

    def test_the_answer_scores_highest(self, reranker: Reranker) -> None:
        """The passage that answers the question comes first."""
        assert int(np.argmax(reranker.score(QUESTION, PASSAGES))) == 1

    def test_one_finite_score_a_text(self, reranker: Reranker) -> None:
        """Every candidate gets a number that can be sorted by."""
        scores = reranker.score(QUESTION, PASSAGES)
        assert scores.shape == (len(PASSAGES),)
        assert scores.dtype == np.float32
        assert np.isfinite(scores).all()

    def test_scores_stand_in_the_order_given(self, reranker: Reranker) -> None:
        """Each score belongs to its own text, however the reranker batches or sorts."""
        forth = reranker.score(QUESTION, PASSAGES)
        back = reranker.score(QUESTION, PASSAGES[::-1])
        np.testing.assert_allclose(forth, back[::-1], atol=self.pair_tolerance)

    def test_no_texts_give_no_scores(self, reranker: Reranker) -> None:
        """A recall without candidates reranks nothing and does not fail."""
        assert reranker.score(QUESTION, []).shape == (0,)

    def test_odd_texts_have_scores(self, reranker: Reranker) -> None:
        """An empty question or passage, or a very long one, never stops a recall."""
        assert np.isfinite(reranker.score("", ["", "🐕", "word " * 2000])).all()

    def test_threads_get_their_own_answers(self, reranker: Reranker) -> None:
        """Concurrent recalls never see each other's scores."""
        questions = (QUESTION, "Who bakes bread?")
        expected = [reranker.score(question, PASSAGES) for question in questions]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda question: reranker.score(question, PASSAGES), questions * 3))
        for position, scores in enumerate(found):
            np.testing.assert_allclose(scores, expected[position % 2], atol=1e-4)

    def test_it_has_a_name(self, reranker: Reranker) -> None:
        """A trace says which model ordered the result."""
        assert reranker.name

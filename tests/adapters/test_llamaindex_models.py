"""An engine with LlamaIndex's models only; recognition of a model's vendor; and objects that are rejected at opening."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import RunnableLambda
from llama_index.core import Settings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from openai_server import (
    TOKENS_IN,
    TOKENS_OUT,
    OpenAIServer,
    RecordedRequest,
    ServerReply,
)
from pydantic import PrivateAttr
from table import every_row

from hindsight_integrations import EmbedderMismatch, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.model.reflections import ReflectEventKind
from hindsight_integrations.models.protocols import Completion, Prompt
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

FACT = "Ann Lee opened a bakery in Brenna."
QUESTION = "What did Ann Lee open?"
TEXT = "She opened a bakery in Brenna."

Opener = Callable[..., Hindsight]


class OwnOpenAI(OpenAI):  # type: ignore[misc] # LlamaIndex's types are not read
    """A user's subclass of a subclass of OpenAI's client."""


class Doubled(BaseEmbedding):  # type: ignore[misc] # as above
    """A user's own embedding model."""

    model_name: str = "hash-64"
    _asked: list[str] = PrivateAttr(default_factory=list)

    def _get_query_embedding(self, query: str) -> list[float]:
        self._asked.append(query)
        vector: list[float] = (2.0 * HashEmbedder(64).embed_query(query)).tolist()
        return vector

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = (2.0 * HashEmbedder(64).embed_documents([text])[0]).tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def scripted(request: RecordedRequest) -> ServerReply:
    """Answers each kind of question by the tool in its request; streamed requests get text."""
    if "tools" not in request.body:
        return f"{TEXT}\nSOURCES: 1"
    match request.body["tools"][0]["function"]["name"]:
        case "ConciseFacts":
            return {"facts": [{"lines": [1], "fact": FACT, "names": ["Ann Lee", "Brenna"]}]}
        case "LookupStep" | "ReflectStepAnswer" if "search_turns" in str(request.body["messages"][2:]):
            return {"thought": "enough", "tool": "answer", "arguments": []}
        case "LookupStep" | "ReflectStepAnswer":
            arguments = [{"name": "words", "value": "bakery"}]
            return {"thought": "what?", "tool": "search_turns", "arguments": arguments}
        case _:
            return {"text": TEXT, "based_on": ["1"], "sufficient": True, "opinions": []}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(scripted) as started:
        yield started


def openai(server: OpenAIServer) -> OwnOpenAI:
    return OwnOpenAI(model="gpt-4o-mini", api_base=server.url, api_key="k", max_retries=0, timeout=20)


@pytest.fixture
def bank(opener: Opener, light_config: Any, server: OpenAIServer) -> MemoryBank:
    """A bank of an engine with LlamaIndex's models only, with a memory made by them."""
    config = replace(light_config, retain=replace(light_config.retain, extraction="concise"))
    opened = opener(config=config, model=openai(server), embeddings=Doubled()).bank("ann")
    kept = opened.retain(
        [{"role": "user", "content": "I opened a bakery in Brenna.", "id": "m1", "name": "Ann Lee"}],
        timestamp="2024-05-01",
    )
    assert (kept.created, kept.tokens_in, kept.tokens_out) == (1, TOKENS_IN, TOKENS_OUT)
    return opened


def test_an_engine_runs_on_llamaindex_alone(bank: MemoryBank) -> None:
    """Facts are extracted, embedded and found, and a question is answered, with a user's own client and embedding model."""
    assert [each.unit.text for each in bank.recall(QUESTION).units] == [FACT]
    found = bank.reflect(QUESTION, form_opinions=False)
    assert found.text == TEXT
    assert [each.unit.unit.text for each in found.based_on if each.unit] == [FACT]
    assert (found.tokens_in, found.tokens_out) == (TOKENS_IN, TOKENS_OUT)


def test_answers_are_streamed(bank: MemoryBank) -> None:
    """The text is yielded while the client receives it, in any loop."""

    async def read() -> str:
        events = bank.asynchronous.reflect_stream(QUESTION, form_opinions=False)
        return "".join([event.text async for event in events])

    *events, last = bank.reflect_stream(QUESTION, form_opinions=False)
    assert len([event for event in events if event.kind is ReflectEventKind.TEXT]) > 1
    assert "".join(event.text for event in events) == TEXT
    assert last.reflection is not None
    assert len(last.reflection.based_on) == 1
    assert [asyncio.run(read()) for _ in range(2)] == [TEXT, TEXT]


def test_answers_are_found_in_steps(bank: MemoryBank) -> None:
    """The agentic strategy calls its tools through the same client."""
    found = bank.reflect(QUESTION, strategy="agentic", form_opinions=False)
    assert [(step.tool, step.arguments) for step in found.steps] == [("search_turns", {"words": "bakery"})]
    assert found.text == TEXT
    *events, last = bank.reflect_stream(QUESTION, strategy="agentic", form_opinions=False)
    assert last.reflection is not None
    assert [step.tool for step in last.reflection.steps] == ["search_turns"]
    assert "".join(event.text for event in events) == TEXT


def test_settings_are_not_touched(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """LlamaIndex's Settings are neither read nor changed."""
    mine, mock = MockLLM(), MockEmbedding(embed_dim=4)
    monkeypatch.setattr(Settings, "_llm", mine)
    monkeypatch.setattr(Settings, "_embed_model", mock)
    assert bank.reflect(QUESTION, form_opinions=False).text == TEXT
    assert Settings._llm is mine
    assert Settings._embed_model is mock


def test_questions_are_embedded_as_questions(opener: Opener, light_config: Any) -> None:
    """Recall requests question vectors from the embedding model, retain passage vectors."""
    embedding = Doubled()
    opened = opener(config=light_config, embeddings=embedding).bank("ann")
    opened.retain(FACT)
    opened.recall(QUESTION)
    assert QUESTION in embedding._asked
    assert FACT not in embedding._asked


def test_a_bank_knows_its_embedding_model(light_config: Any, tmp_path: Path) -> None:
    """Reopened with the same model it works; another model of the same class and dimension is rejected."""

    def opened(embedding: Doubled) -> Hindsight:
        return Hindsight.open(tmp_path, config=light_config, embeddings=embedding, reranker=None)

    with opened(Doubled()) as engine:
        engine.bank("ann").retain(FACT)
    with opened(Doubled()) as engine:
        assert [each.unit.text for each in engine.bank("ann").recall(QUESTION).units] == [FACT]
    with opened(Doubled(model_name="hash-other")) as engine, pytest.raises(EmbedderMismatch):
        engine.bank("ann").recall(QUESTION)


class Ours:
    """An object that implements our protocol without inheriting."""

    name = "ours"

    async def complete(self, prompt: Prompt[Any]) -> Completion[Any]:
        return Completion(prompt.schema.model_validate({"facts": []}))


def a_function(prompt: str) -> str:
    return prompt


class Nobodys:
    """An object that claims to be a chat model of an unknown vendor."""

    def with_structured_output(self, schema: object) -> None: ...

    def invoke(self, messages: object) -> None: ...


@every_row(
    "model",
    [
        MockLLM(),
        ScriptedModel([]),
        ScriptedModel([]).with_fallbacks([ScriptedModel([])]),
        Ours(),
        None,
    ],
    ids=["llamaindex", "langchain", "langchain-with-fallbacks", "ours", "none"],
)
def test_models_of_three_kinds_are_taken(opener: Opener, light_config: Any, model: Any) -> None:
    """The vendor is recognised by the class; an object that implements our protocol needs none."""
    assert opener(config=light_config, model=model).bank("ann").count() == 0


@every_row(
    ("model", "problem"),
    [
        (MockLLM, "MockLLM is a class, not an instance"),
        (Ours, "Ours is a class"),
        (a_function, "the function a_function is not a chat model"),
        (Nobodys(), r"an object of .*Nobodys is not a chat model"),
        (FakeListLLM(responses=["x"]), r"FakeListLLM is not a chat model"),
        (RunnableLambda(a_function), r"RunnableLambda is not a chat model"),
        (MockEmbedding(embed_dim=4), r"MockEmbedding is not a chat model"),
        (Settings, "is not a chat model"),
        (7, "an object of builtins.int is not a chat model"),
        ("", "is not of the form '<provider>:<name>'"),
        ("gpt-4o-mini", "is not of the form '<provider>:<name>'"),
        ("nobody:gpt-4o-mini", "LangChain cannot create 'nobody:gpt-4o-mini'"),
    ],
)
def test_a_model_that_is_nobodys_is_refused(
    opener: Opener, light_config: Any, model: Any, problem: str
) -> None:
    """The error is raised at opening, not at the first retain, and says what to pass."""
    with pytest.raises(InvalidRequest, match=problem) as caught:
        opener(config=light_config, model=model)
    assert "Pass a LlamaIndex LLM, a LangChain chat model, '<provider>:<name>'" in str(caught.value)


@every_row(
    "embeddings",
    [Doubled(), MockEmbedding(embed_dim=4), DeterministicFakeEmbedding(size=8), HashEmbedder()],
    ids=["llamaindex", "llamaindex-mock", "langchain", "ours"],
)
def test_embedders_of_three_kinds_are_taken(opener: Opener, light_config: Any, embeddings: Any) -> None:
    """A memory is embedded and found with each of them."""
    opened = opener(config=light_config, embeddings=embeddings).bank("ann")
    opened.retain(FACT)
    assert [each.unit.text for each in opened.recall("Ann Lee bakery").units] == [FACT]


class Duck:
    """Has the methods of LangChain's embeddings, but does not inherit from them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


@every_row(
    ("embeddings", "problem"),
    [
        (MockEmbedding, "MockEmbedding is a class"),
        (HashEmbedder, "HashEmbedder is a class"),
        (a_function, "the function a_function is not an embedder"),
        (Duck(), "Duck is not an embedder"),
        (MockLLM(), "MockLLM is not an embedder"),
        (ScriptedModel([]), "ScriptedModel is not an embedder"),
        ("local:BAAI/bge-small-en-v1.5", "'local:BAAI/bge-small-en-v1.5' is not an embedder"),
        ([[1.0, 0.0]], "an object of builtins.list is not an embedder"),
    ],
)
def test_embeddings_that_are_nobodys_are_refused(
    opener: Opener, light_config: Any, embeddings: Any, problem: str
) -> None:
    """The error is raised at opening."""
    with pytest.raises(InvalidRequest, match=problem) as caught:
        opener(config=light_config, embeddings=embeddings)
    assert "Pass a LlamaIndex BaseEmbedding, a LangChain Embeddings" in str(caught.value)


def test_opening_asks_nobody(opener: Opener, light_config: Any) -> None:
    """An engine can be opened while the services of its models are down."""
    with OpenAIServer([{}]) as gone:
        llm = openai(gone)
        embedding = OpenAIEmbedding(api_base=gone.url, api_key="k", max_retries=0)
    assert opener(config=light_config, model=llm, embeddings=embedding).banks() == []
    assert gone.requests == []

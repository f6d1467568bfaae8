"""LlamaIndex's LLMs against the contract: OpenAI's client on a local server, completion models, and users' own classes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal
from typing import Any, TypeAlias

import pytest
from llama_index.core import Settings
from llama_index.core.llms import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    CustomLLM,
    LLMMetadata,
    MockLLM,
)
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.llms.openai import OpenAI
from openai_server import (
    TOKENS_IN,
    TOKENS_OUT,
    Feature,
    Finish,
    Hang,
    OpenAIServer,
    Raw,
    Said,
    ServerReply,
    Status,
)
from pydantic import BaseModel, Field
from table import every_row

from hindsight_integrations.errors import (
    FeatureUnsupported,
    MalformedOutput,
    ModelRefused,
    ModelUnavailable,
    PromptTooLong,
)
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.models.llamaindex import LlamaIndexModel
from hindsight_integrations.models.protocols import LanguageModel, Prompt, PromptMessage, PromptRole
from hindsight_integrations.prompts.rendering import with_schema_in_words
from hindsight_integrations.testing.contracts import (
    VERDICT,
    Answer,
    LanguageModelContract,
    ModelFor,
    verdict_prompt,
)

Serving: TypeAlias = Callable[..., OpenAIServer]
TOOL_LESS = (Feature.TOOLS,)


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Starts local OpenAI servers, without some features, and stops them after the test."""

    def start(replies: Sequence[ServerReply], without: Sequence[Feature] = ()) -> OpenAIServer:
        return stack.enter_context(OpenAIServer(replies, without=without))

    with ExitStack() as stack:
        yield start


def openai(server: OpenAIServer, *, timeout: float = 20.0) -> OpenAI:
    return OpenAI(model="gpt-4o-mini", api_base=server.url, api_key="k", max_retries=0, timeout=timeout)


def adapted(server: OpenAIServer) -> LlamaIndexModel:
    return LlamaIndexModel(openai(server), in_words=with_schema_in_words)


class Written(CustomLLM):  # type: ignore[misc] # LlamaIndex's types are not read
    """A user's own completion model: it implements only `complete`, and reports tokens as in OpenAI's protocol."""

    answers: list[str] = Field(default_factory=list)
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="written")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        text = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        usage = {"prompt_tokens": 11, "completion_tokens": 7}
        return CompletionResponse(text=text, raw={"usage": usage})

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class AsyncAlone(Written):
    """A model whose sync methods raise."""

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        raise NotImplementedError

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        await asyncio.sleep(0)
        text = self.complete(messages[-1].content or "").text
        return ChatResponse(
            message=ChatMessage(role="assistant", content=text),
            additional_kwargs={"prompt_tokens": 11, "completion_tokens": 7},
        )


def as_text(answer: Answer) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer)


class TestOpenAIByToolCalls(LanguageModelContract):
    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return LlamaIndexModel(openai(serving(answers)))

        return build


class TestOpenAIInWords(LanguageModelContract):
    """A server without tools supports everything else."""

    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return adapted(serving(answers, TOOL_LESS))

        return build


class TestCustomLLM(LanguageModelContract):
    """A user's own class that only completes text is supported."""

    @pytest.fixture
    def model_for(self) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            llm = Written(answers=[as_text(answer) for answer in answers])
            return LlamaIndexModel(llm, in_words=with_schema_in_words)

        return build


class TestAsyncAlone(LanguageModelContract):
    """A model with only async methods is supported."""

    @pytest.fixture
    def model_for(self) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            llm = AsyncAlone(answers=[as_text(answer) for answer in answers])
            return LlamaIndexModel(llm, in_words=with_schema_in_words)

        return build


class Facts(BaseModel):
    """A short schema for extraction."""

    facts: list[ExtractedFact]


def test_the_schema_and_the_messages_are_sent(serving: Serving) -> None:
    """The service must call a tool whose arguments are the answer, and sees the roles unchanged."""
    server = serving([VERDICT])
    done = asyncio.run(adapted(server).complete(verdict_prompt("Truly?")))
    (request,) = server.requests
    assert [(message["role"], message["content"]) for message in request.body["messages"]] == [
        ("system", "Judge."),
        ("user", "Is water wet?"),
        ("assistant", "It is."),
        ("user", "Truly?"),
    ]
    assert request.body["tool_choice"] == "required"
    (tool,) = request.body["tools"]
    assert tool["function"]["name"] == "Verdict"
    assert "confidence" in tool["function"]["parameters"]["properties"]
    assert (done.tokens_in, done.tokens_out) == (TOKENS_IN, TOKENS_OUT)
    assert json.loads(done.text) == VERDICT


def test_extracted_facts_make_the_trip(serving: Serving) -> None:
    """The extraction schema, with its decimals, enums and nested parts, works as the schema of a tool."""
    fact = {"what": "A coffee cost 3.41 USD.", "record": {"kind": "expense", "value": "3.41", "unit": "USD"}}
    prompt = Prompt("facts", [PromptMessage(PromptRole.USER, "I paid 3.41 for a coffee.")], Facts)
    server = serving([{"facts": [fact]}])
    (found,) = asyncio.run(adapted(server).complete(prompt)).output.facts
    assert [record.value for record in found.records] == [Decimal("3.41")]
    assert "ExtractedFact" in json.dumps(server.requests[0].body["tools"])


def test_memories_with_braces_are_no_templates(serving: Serving) -> None:
    """Text that looks like a variable of LlamaIndex's prompt templates is sent unchanged."""
    server = serving([VERDICT])
    asyncio.run(adapted(server).complete(verdict_prompt("Is {this} a {{variable}}, or {0}?")))
    assert server.requests[0].body["messages"][-1]["content"] == "Is {this} a {{variable}}, or {0}?"


@every_row(
    ("reply", "expected"),
    [
        (Status(429), ModelUnavailable),
        (Status(503), ModelUnavailable),
        (Status(401), ModelRefused),
        (Status(403), ModelRefused),
        (Status(400, "This model's maximum context length is 8192 tokens."), PromptTooLong),
    ],
    ids=["rate-limit", "overloaded", "bad-key", "no-access", "too-long"],
)
def test_failures_have_our_types(serving: Serving, reply: ServerReply, expected: type[Exception]) -> None:
    """Retryable failures are distinguished from others, and the error names the model."""
    with pytest.raises(expected, match="OpenAI/gpt-4o-mini"):
        asyncio.run(adapted(serving([reply])).complete(verdict_prompt()))


def test_a_slow_service_is_unavailable(serving: Serving) -> None:
    """A request that exceeds the caller's timeout can be retried."""
    model = LlamaIndexModel(openai(serving([Hang()]), timeout=0.2))
    with pytest.raises(ModelUnavailable, match="imeout"):
        asyncio.run(model.complete(verdict_prompt()))


def test_nobody_listening_is_unavailable() -> None:
    """A server that is down can be retried."""
    with OpenAIServer([VERDICT]) as server:
        model = adapted(server)
    with pytest.raises(ModelUnavailable, match=r"[Cc]onnection"):
        asyncio.run(model.complete(verdict_prompt()))


@pytest.mark.parametrize("without", [(), TOOL_LESS], ids=["tool", "words"])
def test_an_answer_cut_short_is_never_taken(serving: Serving, without: tuple[Feature, ...]) -> None:
    """LlamaIndex closes the brackets of a truncated call; the result is not treated as complete."""
    server = serving([Finish('{"answer": "yes", "confidence": 0.5', "length")], without)
    with pytest.raises(MalformedOutput) as caught:
        asyncio.run(adapted(server).complete(verdict_prompt()))
    assert caught.value.cut_off
    assert (caught.value.tokens_in, caught.value.tokens_out) == (TOKENS_IN, TOKENS_OUT)


def test_a_call_that_just_breaks_off_is_malformed(serving: Serving) -> None:
    """This also holds if the service does not report the truncation."""
    with pytest.raises(MalformedOutput) as caught:
        asyncio.run(adapted(serving(['{"answer": "yes", "confidence": 0.5'])).complete(verdict_prompt()))
    assert caught.value.output == '{"answer": "yes", "confidence": 0.5'


@pytest.mark.parametrize("without", [(), TOOL_LESS], ids=["tool", "words"])
def test_an_error_page_is_malformed(serving: Serving, without: tuple[Feature, ...]) -> None:
    """A proxy's error page sent with status 200 never becomes a memory."""
    with pytest.raises(MalformedOutput) as caught:
        asyncio.run(adapted(serving([Raw("<html>busy</html>")], without)).complete(verdict_prompt()))
    assert caught.value.output == "<html>busy</html>"


def test_a_server_that_talks_instead_of_calling_is_understood(serving: Serving) -> None:
    """Small models write the JSON with some prose instead of calling the tool."""
    said = f"<think>Hm. {{}}</think>Sure:\n```json\n{json.dumps(VERDICT)}\n```"
    assert asyncio.run(adapted(serving([Said(said)])).complete(verdict_prompt())).output.answer == "yes"


def test_a_server_without_tools_is_asked_once(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    """The rejection is logged once, and tools are not requested again."""
    server = serving([VERDICT], TOOL_LESS)
    model = adapted(server)
    for _ in range(3):
        asyncio.run(model.complete(verdict_prompt()))
    assert ["tools" in request.body for request in server.requests] == [True, False, False, False]
    assert sum("rejects a tool call" in record.message for record in caplog.records) == 1


def test_a_model_that_can_do_nothing_is_named() -> None:
    """Without tools and text there is no way left, and the error names the model."""
    with pytest.raises(FeatureUnsupported, match="MockLLM"):
        asyncio.run(LlamaIndexModel(MockLLM()).complete(verdict_prompt()))


def test_the_callers_limits_are_kept(serving: Serving) -> None:
    """The caller's sampling settings on the LLM are kept."""
    server = serving([VERDICT])
    asyncio.run(adapted(server).complete(verdict_prompt()))
    body = server.requests[0].body
    assert (body["temperature"], body.get("max_completion_tokens")) == (0.1, None)


def test_loops_in_threads_at_once(serving: Serving) -> None:
    """One LLM serves a sync and an async part of an application concurrently, each in its own loop."""
    model = adapted(serving([VERDICT]))
    answers: list[str] = []

    def work() -> None:
        answers.extend(asyncio.run(model.complete(verdict_prompt())).output.answer for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["yes"] * 9


def test_a_caller_who_gives_up_waits_no_longer(serving: Serving) -> None:
    """Cancelling returns at once, whatever the service does."""
    model = adapted(serving([Hang()]))

    async def given_up() -> float:
        started = asyncio.get_running_loop().time()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.complete(verdict_prompt()), 0.2)
        return asyncio.get_running_loop().time() - started

    assert asyncio.run(given_up()) < 2.0


def test_mock_models_are_asked_and_answer_malformed() -> None:
    """LlamaIndex's mocks return the prompt, which is malformed but does not crash."""
    for llm in (MockLLM(), MockFunctionCallingLLM()):
        model = LlamaIndexModel(llm, in_words=with_schema_in_words)
        with pytest.raises(MalformedOutput, match=type(llm).__name__):
            asyncio.run(model.complete(verdict_prompt()))


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage(
            role="assistant",
            blocks=[
                {"block_type": "thinking", "content": '{"answer": "no", "confidence": 0.1}'},
                {"block_type": "tool_call", "tool_name": "Verdict", "tool_kwargs": VERDICT},
            ],
        ),
        ChatMessage(
            role="assistant",
            additional_kwargs={"tool_calls": [{"function": {"arguments": json.dumps(VERDICT)}}]},
        ),
        ChatMessage(
            role="assistant", additional_kwargs={"tool_calls": [{"name": "Verdict", "input": VERDICT}]}
        ),
    ],
    ids=["block", "openai", "anthropic"],
)
def test_calls_are_found_where_clients_keep_them(message: ChatMessage) -> None:
    """Many clients do not use blocks yet; thinking is never part of the answer."""
    llm = MockFunctionCallingLLM(response_generator=lambda *_, **__: message)
    assert asyncio.run(LlamaIndexModel(llm).complete(verdict_prompt())).output.answer == "yes"


def test_the_settings_of_llamaindex_are_not_touched(serving: Serving) -> None:
    """An engine calls the LLM that it was given; Settings are neither read nor set."""
    before = Settings._llm, Settings._embed_model
    asyncio.run(adapted(serving([VERDICT])).complete(verdict_prompt()))
    assert (Settings._llm, Settings._embed_model) == before

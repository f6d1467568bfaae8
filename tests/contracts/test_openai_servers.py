"""OpenAI-compatible servers: ways to request structured output, failures, and time limits.

The real OpenAI client talks to a local server; no key and no network are used.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import reduce
from operator import add

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from openai_server import (
    TOKENS_IN,
    TOKENS_OUT,
    Drip,
    Dropped,
    Feature,
    Finish,
    Hang,
    OpenAIServer,
    Raw,
    Said,
    Script,
    ServerReply,
    Status,
)
from pydantic import SecretStr
from table import every_row

from hindsight_integrations.errors import (
    FeatureUnsupported,
    HindsightError,
    MalformedOutput,
    ModelRefused,
    ModelUnavailable,
    PromptTooLong,
)
from hindsight_integrations.models.langchain import LangChainModel
from hindsight_integrations.models.named_models import language_model
from hindsight_integrations.models.protocols import LanguageModel
from hindsight_integrations.models.vendor_errors import TimedModel
from hindsight_integrations.prompts.rendering import with_schema_in_words
from hindsight_integrations.testing.contracts import (
    VERDICT,
    Answer,
    LanguageModelContract,
    ModelFor,
    Verdict,
    verdict_prompt,
)

Serving = Callable[..., OpenAIServer]

SCHEMA_LESS, TOOL_LESS = {Feature.JSON_SCHEMA}, {Feature.JSON_SCHEMA, Feature.TOOLS}


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Starts local servers, and stops them after the test."""
    with ExitStack() as stack:

        def start(replies: Script, without: frozenset[Feature] = frozenset()) -> OpenAIServer:
            return stack.enter_context(OpenAIServer(replies, without=without))

        yield start


def chat(server: OpenAIServer, *, streaming: bool = False, timeout: float = 20.0) -> ChatOpenAI:
    return ChatOpenAI(
        model="local-test",
        base_url=server.url,
        api_key=SecretStr("k"),
        max_retries=0,
        timeout=timeout,
        streaming=streaming,
        stream_usage=streaming,
    )


def named(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, *, timeout_s: float = 20.0) -> LanguageModel:
    """The model as created by `open(model="openai:...")`."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    return language_model("openai:local-test", in_words=with_schema_in_words, timeout_s=timeout_s)


def asked(model: LanguageModel) -> Verdict:
    return asyncio.run(model.complete(verdict_prompt())).output


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


class TestByToolCalls(LanguageModelContract):
    """A server that rejects response_format supports everything else."""

    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return LangChainModel(chat(serving(answers, SCHEMA_LESS)))

        return build


class TestInWords(LanguageModelContract):
    """A server without response_format and tools is supported."""

    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return LangChainModel(chat(serving(answers, TOOL_LESS)), in_words=with_schema_in_words)

        return build


class TestStreaming(LanguageModelContract):
    """Answers of a client that is set to stream are requested as a whole, because a stream of prose raises an unclear error."""

    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return LangChainModel(chat(serving(answers), streaming=True))

        return build


class TestStreamingToolCalls(LanguageModelContract):
    """This includes answers in the arguments of a tool call."""

    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return LangChainModel(chat(serving(answers, SCHEMA_LESS), streaming=True))

        return build


@pytest.mark.parametrize("without", [frozenset(), frozenset(SCHEMA_LESS)], ids=["schema", "tool"])
def test_the_server_streams_as_the_real_one_does(serving: Serving, without: frozenset[Feature]) -> None:
    """A test of a streaming agent gets events with content or pieces of a call, and the usage at the end."""
    server = serving([{"city": "Lisbon", "note": "a text of more than one piece"}], without)
    bound = chat(server, streaming=True)
    asking = bound.bind_tools([Verdict]) if without else bound
    chunks = [chunk for chunk in asking.stream("Where?") if isinstance(chunk, AIMessageChunk)]
    assert len(chunks) > 4
    whole = reduce(add, chunks)
    assert isinstance(whole, AIMessageChunk)
    if without:
        assert [call["args"]["city"] for call in whole.tool_calls] == ["Lisbon"]
    else:
        assert '"city": "Lisbon"' in str(whole.content)
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == TOKENS_OUT


def test_a_name_uses_the_endpoint_of_the_environment(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`model="openai:<name>"` with OPENAI_BASE_URL is enough for Ollama, llama.cpp, vLLM or LM Studio."""
    server = serving([VERDICT])
    model = named(server, monkeypatch)
    assert asked(model).answer == "yes"
    (request,) = server.requests
    assert (model.name, request.path) == ("openai:local-test", "/v1/chat/completions")
    assert request.body["model"] == "local-test"
    assert request.headers["authorization"] == "Bearer from-the-environment"
    assert request.body["max_completion_tokens"] == verdict_prompt().most_tokens


def test_a_missing_key_says_that_a_server_of_ones_own_takes_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """A local server needs no key, but its client does: the error says what to set."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelRefused, match="set OPENAI_API_KEY to any text"):
        language_model("openai:local-test")


def test_a_server_without_schemas_is_asked_by_a_tool_call_from_then_on(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The rejection costs one request and one log line, not one per call."""
    server = serving([VERDICT], SCHEMA_LESS)
    model = named(server, monkeypatch)
    assert [asked(model).answer for _ in range(3)] == ["yes"] * 3
    assert [sorted(request.body.keys() & {"response_format", "tools"}) for request in server.requests] == [
        ["response_format"],
        ["tools"],
        ["tools"],
        ["tools"],
    ]
    (line,) = warnings(caplog)
    assert "rejects response_format json_schema; using a tool call" in line


def test_a_server_without_tools_is_asked_in_words(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The system message then contains the schema, and the answer may be in a code fence."""
    server = serving([f"```json\n{Verdict(answer='yes', confidence=1).model_dump_json()}\n```"], TOOL_LESS)
    model = named(server, monkeypatch)
    assert [asked(model).answer for _ in range(2)] == ["yes"] * 2
    assert len(server.requests) == 4
    assert len(warnings(caplog)) == 2
    system = server.requests[-1].body["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("Judge.\n\nAnswer with one JSON object")
    assert '"confidence"' in system["content"]


def test_calls_at_once_step_down_together(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    """Several passages that are rejected concurrently fall back by one step, not by one each."""
    server = serving([VERDICT], SCHEMA_LESS)
    model = LangChainModel(chat(server), in_words=with_schema_in_words)

    async def all_of_them() -> list[str]:
        done = await asyncio.gather(*(model.complete(verdict_prompt(str(n))) for n in range(6)))
        return [item.output.answer for item in done]

    assert asyncio.run(all_of_them()) == ["yes"] * 6
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("feature", [Feature.MAX_TOKENS, Feature.TEMPERATURE])
def test_what_a_server_refuses_is_not_sent_again(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, feature: Feature
) -> None:
    """A server without max_completion_tokens, or a model with a fixed temperature, still gets schemas."""
    server = serving([VERDICT], {feature})
    model = named(server, monkeypatch)
    assert [asked(model).answer for _ in range(2)] == ["yes"] * 2
    assert [feature in request.body for request in server.requests] == [True, False, False]
    assert all("response_format" in request.body for request in server.requests)
    (line,) = warnings(caplog)
    assert f"rejects {feature}" in line


def test_openai_itself_is_sent_no_temperature(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's newer models reject a temperature; other servers get one, because their defaults are too high for facts."""
    own = named(serving([VERDICT]), monkeypatch)
    monkeypatch.delenv("OPENAI_BASE_URL")
    hosted = language_model("openai:gpt-5-mini")
    assert isinstance(own, TimedModel)
    assert isinstance(hosted, TimedModel)
    assert [_sent(model) for model in (own._model, hosted._model)] == [
        {"max_completion_tokens", "temperature"},
        {"max_completion_tokens"},
    ]


def _sent(model: object) -> set[str]:
    assert isinstance(model, LangChainModel)
    return {extra.value for extra in model._now[1]}


def test_a_server_that_can_do_nothing_is_named(serving: Serving) -> None:
    """If tools are rejected and no text is returned, the error says what kind of server is needed."""
    with pytest.raises(FeatureUnsupported, match="Use a server with response_format json_schema"):
        asked(LangChainModel(chat(serving([VERDICT], TOOL_LESS))))


@pytest.mark.parametrize(
    "message",
    [
        "the request exceeds the available context size. try increasing it",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 max_tokens",
    ],
)
def test_a_prompt_over_the_context_says_so(serving: Serving, message: str) -> None:
    """It is not treated as a rejection of the schema, and the error names the settings that help."""
    with pytest.raises(PromptTooLong, match=r"extraction='concise'.*chunk_characters"):
        asked(LangChainModel(chat(serving([Status(400, message)])), in_words=with_schema_in_words))


def test_a_template_without_tools_is_a_refusal(serving: Serving) -> None:
    """llama.cpp without templates answers 500 to tools, which is not an outage."""
    server = serving(
        [Status(400, "response_format is unknown"), Status(500, "tools param requires --jinja flag"), VERDICT]
    )
    model = LangChainModel(chat(server), in_words=with_schema_in_words)
    assert asked(model).answer == "yes"


@every_row(
    "text",
    [
        '<think>{"answer": "no", "confidence": 1}?</think>{"answer": "yes", "confidence": 0.5}',
        'Here you are:\n```json\n{"answer": "yes", "confidence": 0.5}\n```',
    ],
    ids=["reasoning", "fence"],
)
@every_row("without", [frozenset(), frozenset(TOOL_LESS)], ids=["schema", "words"])
def test_reasoning_and_fences_cost_no_second_call(
    serving: Serving, text: str, without: frozenset[Feature]
) -> None:
    """A model that writes its reasoning, or decorates its answer, is understood."""
    server = serving([text], without)
    assert asked(LangChainModel(chat(server), in_words=with_schema_in_words)) == Verdict(
        answer="yes", confidence=0.5
    )
    assert len(server.requests) == 1 + 2 * bool(without)


def test_a_server_that_talks_instead_of_calling_is_understood(serving: Serving) -> None:
    """A model that writes the arguments of its tool as text has answered."""
    server = serving([Said('{"answer": "yes", "confidence": 0.5}')], SCHEMA_LESS)
    assert asked(LangChainModel(chat(server))).answer == "yes"


@every_row(
    "text",
    ['{"answer": "yes", "confidence": 0.5', '{"answer": "yes", "confidence": 0.5} and so on, '],
    ids=["open", "whole"],
)
@every_row(
    "without", [frozenset(), frozenset(SCHEMA_LESS), frozenset(TOOL_LESS)], ids=["schema", "tool", "words"]
)
def test_an_answer_that_was_cut_off_is_never_taken(
    serving: Serving, text: str, without: frozenset[Feature]
) -> None:
    """In every mode, an answer that ends at the token limit is malformed, and is never completed by guessing."""
    model = LangChainModel(chat(serving([Finish(text, "length")], without)), in_words=with_schema_in_words)
    with pytest.raises(MalformedOutput) as caught:
        asked(model)
    assert caught.value.cut_off
    assert (caught.value.tokens_in, caught.value.tokens_out) == (TOKENS_IN, TOKENS_OUT)
    assert caught.value.output.startswith('{"answer"')


@every_row("reply", [Status(429, retry_after=0.05), Status(500), Status(503), Dropped(VERDICT)])
def test_what_passes_is_asked_again(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, reply: ServerReply
) -> None:
    """A rate limit, an error and a dropped connection are retried twice before the error is raised."""
    server = serving([reply, reply, VERDICT])
    assert asked(named(server, monkeypatch)).answer == "yes"
    assert len(server.requests) == 3


def test_what_does_not_pass_is_unavailable(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is raised after three attempts."""
    server = serving([Status(500)])
    with pytest.raises(ModelUnavailable, match="scripted failure"):
        asked(named(server, monkeypatch))
    assert len(server.requests) == 3


def test_retry_after_is_honoured(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request is repeated at the time that the service names, and not before."""
    server = serving([Status(429, retry_after=0.7), VERDICT])
    began = time.monotonic()
    assert asked(named(server, monkeypatch)).answer == "yes"
    assert time.monotonic() - began >= 0.7


def test_retry_after_beyond_the_timeout_is_told_at_once(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call does not wait: the error says when to try again."""
    server = serving([Status(429, retry_after=600)])
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="Try again in 600 s") as caught:
        asked(named(server, monkeypatch))
    assert caught.value.retry_after == 600
    assert time.monotonic() - began < 10
    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [Hang(), Drip(VERDICT, 60)], ids=["silent", "dripping"])
def test_a_call_ends_with_its_time(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, reply: ServerReply
) -> None:
    """This holds even if a byte arrives now and then, which no timeout of the connection detects."""
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0.5 s|imed out"):
        asyncio.run(_leaving_threads(named(serving([reply]), monkeypatch, timeout_s=0.5)))
    assert time.monotonic() - began < 10


async def _leaving_threads(model: LanguageModel) -> Verdict:
    return (await model.complete(verdict_prompt())).output


def test_an_error_page_is_malformed_however_it_is_asked(serving: Serving) -> None:
    """A proxy that answers 200 with HTML never becomes a memory."""
    for without in (frozenset(), frozenset(SCHEMA_LESS), frozenset(TOOL_LESS)):
        model = LangChainModel(
            chat(serving([Raw("<html>busy</html>")], without)), in_words=with_schema_in_words
        )
        with pytest.raises(HindsightError):
            asked(model)


def test_a_callers_own_model_gets_the_time_and_no_more_tries(serving: Serving) -> None:
    """The retries of a caller's own chat model are unchanged; the time limit of a call applies to it too."""
    server = serving([Status(500), VERDICT])
    with pytest.raises(ModelUnavailable):
        asked(language_model(chat(server)))
    assert len(server.requests) == 1
    mine = LangChainModel(chat(server))
    assert language_model(mine) is mine, "a LanguageModel of one's own keeps its own time"
    slow = language_model(chat(serving([Hang(3)])), timeout_s=0.2)
    assert isinstance(slow, TimedModel)
    with pytest.raises(ModelUnavailable, match="model_timeout_s"):
        asked(slow)

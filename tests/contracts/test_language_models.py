"""Language models: the contract for LangChain's chat models, the conversion of errors, and the test doubles of the package.

The real OpenAI client talks to a local server that speaks its protocol; no key and no network are used.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from decimal import Decimal
from typing import TypeAlias

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from openai import BadRequestError
from openai_server import (
    TOKENS_IN,
    TOKENS_OUT,
    Finish,
    Hang,
    OpenAIServer,
    Raw,
    ServerReply,
    Status,
)
from pydantic import BaseModel, SecretStr
from table import every_row

from hindsight_integrations.errors import (
    InvalidRequest,
    MalformedOutput,
    MissingDependency,
    ModelRefused,
    ModelUnavailable,
)
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.models.langchain import LangChainModel
from hindsight_integrations.models.named_models import language_model
from hindsight_integrations.models.protocols import LanguageModel, Prompt, PromptMessage, PromptRole
from hindsight_integrations.testing.contracts import (
    VERDICT,
    Answer,
    LanguageModelContract,
    ModelFor,
    Verdict,
    verdict_prompt,
)
from hindsight_integrations.testing.scripted_model import ScriptedModel, ScriptExhausted

Serving: TypeAlias = "Callable[[Sequence[ServerReply]], OpenAIServer]"


class TestScriptedModel(LanguageModelContract):
    @pytest.fixture
    def model_for(self) -> ModelFor:
        return lambda answers: LangChainModel(ScriptedModel(answers))

    def test_it_records_its_prompts(self) -> None:
        """A test can check the prompt that was sent: roles and texts, in order."""
        scripted = ScriptedModel([VERDICT])
        asyncio.run(LangChainModel(scripted).complete(verdict_prompt("Truly?")))
        (messages,) = scripted.prompts
        assert [type(message) for message in messages] == [
            SystemMessage,
            HumanMessage,
            AIMessage,
            HumanMessage,
        ]
        assert messages[-1].content == "Truly?"

    def test_an_exception_in_the_script_is_raised_unchanged(self) -> None:
        """A bug in a user's own model class is not converted to one of our errors."""
        model = LangChainModel(ScriptedModel([KeyError("bug")]))
        with pytest.raises(KeyError, match="bug"):
            asyncio.run(model.complete(verdict_prompt()))

    def test_a_script_too_short_says_so(self) -> None:
        """A test with more calls than planned fails with the number of calls."""
        with pytest.raises(ScriptExhausted, match="called 1 times"):
            ScriptedModel([]).invoke("hello")

    def test_a_function_can_answer_by_prompt(self) -> None:
        """Concurrent calls get the answer to their own question, in any order."""

        def reply(messages: Sequence[object]) -> Verdict:
            return Verdict(answer=str(getattr(messages[-1], "content", "")), confidence=1.0)

        model = LangChainModel(ScriptedModel(reply))

        async def ask() -> list[str]:
            done = await asyncio.gather(*(model.complete(verdict_prompt(str(i))) for i in range(5)))
            return [item.output.answer for item in done]

        assert asyncio.run(ask()) == ["0", "1", "2", "3", "4"]

    def test_it_is_a_langchain_model_sync_and_async(self) -> None:
        """The double works wherever LangChain accepts a chat model, with and without the raw message."""
        scripted = ScriptedModel(["hi", "ho", VERDICT, VERDICT, "no json"])
        assert scripted.invoke("x").content == "hi"
        assert asyncio.run(scripted.ainvoke("x")).content == "ho"
        structured = scripted.with_structured_output(Verdict)
        assert structured.invoke("x") == Verdict(answer="yes", confidence=0.5)
        assert asyncio.run(structured.ainvoke("x")) == Verdict(answer="yes", confidence=0.5)
        with pytest.raises(ValueError, match="Expecting value"):
            structured.invoke("x")


@pytest.fixture
def serving() -> Iterator[Serving]:
    """Starts local OpenAI servers and stops them after the test."""
    with ExitStack() as stack:
        yield lambda replies: stack.enter_context(OpenAIServer(replies))


def chat(server: OpenAIServer, *, timeout: float = 20.0) -> ChatOpenAI:
    return ChatOpenAI(
        model="gpt-test", base_url=server.url, api_key=SecretStr("k"), max_retries=0, timeout=timeout
    )


class Facts(BaseModel):
    """A short schema for extraction."""

    facts: list[ExtractedFact]


class TestChatOpenAI(LanguageModelContract):
    @pytest.fixture
    def model_for(self, serving: Serving) -> ModelFor:
        def build(answers: list[Answer]) -> LanguageModel:
            return LangChainModel(chat(serving(answers)))

        return build

    def test_the_schema_and_the_messages_are_sent(self, serving: Serving) -> None:
        """The service must follow the schema (structured outputs), and sees the roles unchanged."""
        server = serving([VERDICT])
        done = asyncio.run(LangChainModel(chat(server)).complete(verdict_prompt("Truly?")))
        (request,) = server.requests
        roles = [(message["role"], message["content"]) for message in request.body["messages"]]
        assert roles == [
            ("system", "Judge."),
            ("user", "Is water wet?"),
            ("assistant", "It is."),
            ("user", "Truly?"),
        ]
        assert request.body["response_format"]["type"] == "json_schema"
        assert "confidence" in request.body["response_format"]["json_schema"]["schema"]["properties"]
        assert (done.tokens_in, done.tokens_out) == (TOKENS_IN, TOKENS_OUT)

    def test_extracted_facts_make_the_trip(self, serving: Serving) -> None:
        """The extraction schema, with its decimals and enums, works with OpenAI's structured outputs."""
        fact = {
            "what": "A coffee cost 3.41 USD.",
            "record": {"kind": "expense", "value": "3.41", "unit": "USD"},
        }
        model = LangChainModel(chat(serving([{"facts": [fact]}])))
        prompt = Prompt("facts", [PromptMessage(PromptRole.USER, "I paid 3.41 for a coffee.")], Facts)
        (found,) = asyncio.run(model.complete(prompt)).output.facts
        assert [record.value for record in found.records] == [Decimal("3.41")]

    @every_row(
        ("reply", "expected"),
        [
            (Status(429), ModelUnavailable),
            (Status(500), ModelUnavailable),
            (Status(503), ModelUnavailable),
            (Status(401), ModelRefused),
            (Status(403), ModelRefused),
        ],
        ids=["rate-limit", "error", "overloaded", "bad-key", "no-access"],
    )
    def test_failures_have_our_types(
        self, serving: Serving, reply: ServerReply, expected: type[Exception]
    ) -> None:
        """Retryable failures are distinguished from others, and the error names the model."""
        with pytest.raises(expected, match=r"ChatOpenAI/gpt-test.*scripted failure"):
            asyncio.run(LangChainModel(chat(serving([reply]))).complete(verdict_prompt()))

    def test_a_bad_request_passes_unchanged(self, serving: Serving) -> None:
        """The vendor's message about an invalid request is shown."""
        with pytest.raises(BadRequestError, match="scripted failure"):
            asyncio.run(LangChainModel(chat(serving([Status(400)]))).complete(verdict_prompt()))

    def test_a_slow_service_is_unavailable(self, serving: Serving) -> None:
        """A request that exceeds the caller's timeout can be retried."""
        with pytest.raises(ModelUnavailable, match="imeout"):
            asyncio.run(LangChainModel(chat(serving([Hang()]), timeout=0.2)).complete(verdict_prompt()))

    def test_nobody_listening_is_unavailable(self) -> None:
        """A server that is down can be retried."""
        with OpenAIServer([VERDICT]) as server:
            model = LangChainModel(chat(server))
        with pytest.raises(ModelUnavailable, match=r"[Cc]onnection"):
            asyncio.run(model.complete(verdict_prompt()))

    def test_an_answer_cut_short_is_malformed(self, serving: Serving) -> None:
        """An answer that hit the token limit is not treated as complete; the received part is kept."""
        server = serving([Finish('{"answer": "ye', "length")])
        with pytest.raises(MalformedOutput) as caught:
            asyncio.run(LangChainModel(chat(server)).complete(verdict_prompt()))
        assert '"ye' in caught.value.output

    def test_an_error_page_is_malformed(self, serving: Serving) -> None:
        """A proxy's error page sent with status 200 never becomes a memory."""
        model = LangChainModel(chat(serving([Raw("<html>busy</html>")])))
        with pytest.raises(MalformedOutput) as caught:
            asyncio.run(model.complete(verdict_prompt()))
        assert caught.value.output == "<html>busy</html>"

    def test_loops_in_threads_at_once(self, serving: Serving) -> None:
        """One model serves a sync and an async part of an application concurrently, each in its own loop."""
        model = LangChainModel(chat(serving([VERDICT])))
        answers: list[str] = []

        def work() -> None:
            answers.extend(asyncio.run(model.complete(verdict_prompt())).output.answer for _ in range(3))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == ["yes"] * 9


def test_an_openai_model_takes_the_name_and_the_usual_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """`model="openai:<name>"` needs only the environment variables that langchain-openai documents."""
    with OpenAIServer([VERDICT]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        model = language_model("openai:gpt-test")
        assert asyncio.run(model.complete(verdict_prompt())).output.answer == "yes"
    assert model.name == "openai:gpt-test"
    assert server.requests[0].body["model"] == "gpt-test"
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"


def test_an_openai_model_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key is reported at once, with its name."""
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)
    with pytest.raises(ModelRefused, match="OPENAI_API_KEY"):
        language_model("openai:gpt-test")


@every_row("name", ["gpt-test", "openai:", ":gpt-test", ""])
def test_a_provider_is_not_guessed(name: str) -> None:
    """Memory text is never sent to a provider that the caller did not name."""
    with pytest.raises(InvalidRequest, match="is not of the form '<provider>:<name>'"):
        language_model(name)


def test_a_model_without_an_answer_is_malformed() -> None:
    """A model that calls no tool and answers nothing is called again."""

    class Silent:
        def with_structured_output(self, schema: object, *, include_raw: bool) -> Silent:
            return self

        def invoke(self, messages: object) -> dict[str, object]:
            return {"raw": AIMessage(content=""), "parsed": None, "parsing_error": None}

    with pytest.raises(MalformedOutput, match="no structured answer"):
        asyncio.run(LangChainModel(Silent()).complete(verdict_prompt()))  # type: ignore[arg-type] # a duck


def test_transport_errors_are_unavailable_whatever_the_client() -> None:
    """A vendor whose client raises httpx errors is retried too."""
    model = LangChainModel(ScriptedModel([httpx.ConnectTimeout("slow"), ConnectionResetError("reset")]))
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            asyncio.run(model.complete(verdict_prompt()))


@every_row(
    ("status", "expected"),
    [
        (408, ModelUnavailable),
        (429, ModelUnavailable),
        (500, ModelUnavailable),
        (529, ModelUnavailable),
        (401, ModelRefused),
        (403, ModelRefused),
        (400, httpx.HTTPStatusError),
        (404, httpx.HTTPStatusError),
    ],
)
def test_an_unknown_vendors_http_status_is_understood(status: int, expected: type[Exception]) -> None:
    """An error of an unknown vendor is retried, refused or passed on, according to its HTTP status."""
    request = httpx.Request("POST", "http://vendor.invalid/chat")
    failure = httpx.HTTPStatusError(
        "failed", request=request, response=httpx.Response(status, request=request)
    )
    with pytest.raises(expected):
        asyncio.run(LangChainModel(ScriptedModel([failure])).complete(verdict_prompt()))


def test_a_provider_without_its_package_says_what_to_install() -> None:
    """Names and install advice are LangChain's."""
    with pytest.raises(MissingDependency, match="pip install langchain-anthropic"):
        language_model("anthropic:claude-sonnet-4-5")


def test_a_named_provider_is_asked_through_langchain(monkeypatch: pytest.MonkeyPatch) -> None:
    """`init_chat_model` creates the client; errors and recordings contain the name."""
    scripted = ScriptedModel(script=["{}"])
    monkeypatch.setattr("langchain.chat_models.init_chat_model", {"groq:llama-4": scripted}.get)
    assert language_model("groq:llama-4").name == "groq:llama-4"

"""Streamed answers of LlamaIndex's LLMs: OpenAI's client on a local server, mocks, and LLMs that cannot stream."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.llms.openai import OpenAI
from openai_server import (
    Drip,
    Dropped,
    Finish,
    OpenAIServer,
    ServerReply,
    Status,
)
from table import every_row

from hindsight_integrations.errors import MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.models.llamaindex import LlamaIndexModel
from hindsight_integrations.models.protocols import (
    PromptMessage,
    PromptRole,
    StreamingLanguageModel,
    TextPrompt,
)
from hindsight_integrations.models.vendor_errors import TimedModel
from hindsight_integrations.prompts.rendering import with_schema_in_words

TEXT = "The ferry to Brenna leaves at seven, and the last one back at nine in the evening."
PROMPT = TextPrompt(
    "told", (PromptMessage(PromptRole.SYSTEM, "Tell."), PromptMessage(PromptRole.USER, "When?"))
)
Serving = Callable[..., OpenAIServer]


@pytest.fixture
def serving() -> Iterator[Serving]:
    with ExitStack() as stack:
        yield lambda replies, **options: stack.enter_context(OpenAIServer(replies, **options))


def openai(server: OpenAIServer) -> OpenAI:
    return OpenAI(model="gpt-4o-mini", api_base=server.url, api_key="k", max_retries=0, timeout=20)


def adapted(llm: Any) -> LlamaIndexModel:
    return LlamaIndexModel(llm, in_words=with_schema_in_words)


def timed(server: OpenAIServer, *, seconds: float = 20.0, tries: int = 1) -> TimedModel:
    return TimedModel(adapted(openai(server)), timeout_s=seconds, tries=tries)


async def read(model: StreamingLanguageModel) -> list[str]:
    return [piece async for piece in model.stream(PROMPT)]


def test_two_event_loops_get_the_answer_in_pieces(serving: Serving) -> None:
    """A reader sees the first words before the last ones have arrived, in any loop."""
    model = timed(serving([TEXT]))
    for _ in range(3):
        pieces = asyncio.run(read(model))
        assert "".join(pieces) == TEXT
        assert len(pieces) > 3
        assert "" not in pieces


def test_reasoning_is_left_out(serving: Serving) -> None:
    """A small model's reasoning is never shown to a reader."""
    pieces = asyncio.run(read(timed(serving([f"<think>Ferries? <b>Brenna</b>.</think>{TEXT}"]))))
    assert "".join(pieces) == TEXT


@every_row(
    ("reply", "error"),
    [
        (Status(503), ModelUnavailable),
        (Status(401), ModelRefused),
        (Dropped(TEXT * 20), ModelUnavailable),
        (Finish(TEXT, "length"), MalformedOutput),
    ],
    ids=["down", "refused", "broken-off", "cut-off"],
)
def test_a_services_failures_are_ours(serving: Serving, reply: ServerReply, error: type[Exception]) -> None:
    """No vendor's exception reaches a caller, before the first piece or after some."""
    with pytest.raises(error):
        asyncio.run(read(timed(serving([reply]))))


def test_a_stream_that_takes_too_long_ends(serving: Serving) -> None:
    """The time limit of a call applies to the whole answer, however often a piece arrives."""
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"within 0\.4 s"):
        asyncio.run(read(timed(serving([Drip(TEXT * 10, 20.0)]), seconds=0.4)))
    assert time.monotonic() - started < 5.0


def test_a_reader_who_leaves_ends_the_call(serving: Serving) -> None:
    """The service notices that its client has disconnected, so nobody pays for an answer that is not read."""
    server = serving([Drip(TEXT * 40, 15.0)])
    gc.disable()  # would also end the request, but later

    async def first() -> str:
        stream = timed(server).stream(PROMPT)
        piece = await anext(stream)
        await stream.aclose()
        return piece

    try:
        assert TEXT.startswith(asyncio.run(first()))
        until = time.monotonic() + 5.0
        while not server.left and time.monotonic() < until:
            time.sleep(0.02)
        assert server.left == 1
    finally:
        gc.enable()


class Complete(CustomLLM):  # type: ignore[misc] # LlamaIndex's types are not read
    """A completion model that cannot stream."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="whole")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=f"<think>When?</think>{TEXT}")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_model_that_cannot_stream_answers_in_one_piece() -> None:
    """This includes a user's own completion model; reasoning is removed as usual."""
    assert asyncio.run(read(adapted(Complete()))) == [TEXT]


def test_mock_models_stream() -> None:
    """LlamaIndex's mocks return the prompt, piece by piece."""
    said = "".join(asyncio.run(read(adapted(MockLLM()))))
    assert "When?" in said
    mock = MockFunctionCallingLLM(
        response_generator=lambda *_, **__: ChatMessage(role="assistant", content=TEXT)
    )
    assert "".join(asyncio.run(read(adapted(mock)))) == TEXT

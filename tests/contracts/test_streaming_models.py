"""Models that stream plain text: the pieces, removed reasoning, failures, and readers that stop.

The real OpenAI client talks to a local server; no key and no network are used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from openai_server import (
    Drip,
    Dropped,
    Feature,
    Finish,
    OpenAIServer,
    Script,
    ServerReply,
    Status,
)
from pydantic import SecretStr
from table import every_row

from hindsight_integrations.errors import MalformedOutput, ModelRefused, ModelUnavailable
from hindsight_integrations.models.langchain import LangChainModel
from hindsight_integrations.models.protocols import (
    PromptMessage,
    PromptRole,
    SpokenText,
    StreamingLanguageModel,
    TextPrompt,
)
from hindsight_integrations.models.structured_output import Extra
from hindsight_integrations.models.vendor_errors import TimedModel
from hindsight_integrations.testing.scripted_model import ScriptedModel

TEXT = "The ferry to Brenna leaves at seven, and the last one back at nine in the evening."
PROMPT = TextPrompt(
    "told", (PromptMessage(PromptRole.SYSTEM, "Tell."), PromptMessage(PromptRole.USER, "When?"))
)
Serving = Callable[[Script], OpenAIServer]


@pytest.fixture
def serving() -> Iterator[Serving]:
    with ExitStack() as stack:
        yield lambda replies: stack.enter_context(OpenAIServer(replies))


def chat(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(model="any", base_url=server.url, api_key=SecretStr("test"), max_retries=0, timeout=20)


def timed(server: OpenAIServer, *, seconds: float = 20.0, tries: int = 1) -> TimedModel:
    return TimedModel(LangChainModel(chat(server), name="any"), timeout_s=seconds, tries=tries)


async def read(model: StreamingLanguageModel) -> list[str]:
    return [piece async for piece in model.stream(PROMPT)]


def test_a_service_gives_its_answer_in_pieces(serving: Serving) -> None:
    """A reader sees the first words before the last ones have arrived, and no text is lost."""
    pieces = asyncio.run(read(timed(serving([TEXT]))))
    assert "".join(pieces) == TEXT
    assert len(pieces) > 3
    assert "" not in pieces


def test_a_scripted_model_streams() -> None:
    """Tests can script streamed answers."""
    pieces = asyncio.run(read(LangChainModel(ScriptedModel([TEXT]))))
    assert "".join(pieces) == TEXT
    assert len(pieces) > 3


def test_two_event_loops_stream_one_after_the_other(serving: Serving) -> None:
    """An engine used from one loop and then from another still streams."""
    model = timed(serving([TEXT]))
    for _ in range(3):
        assert "".join(asyncio.run(read(model))) == TEXT


def test_reasoning_is_left_out(serving: Serving) -> None:
    """A small model's reasoning is never shown to a reader."""
    pieces = asyncio.run(read(timed(serving([f"<think>Ferries? <b>Brenna</b>.</think>{TEXT}"]))))
    assert "".join(pieces) == TEXT


def test_parts_that_are_reasoning_are_left_out() -> None:
    """If a model marks its reasoning as such, only the other text is returned."""
    content: list[str | dict[str, str]] = [
        {"type": "reasoning", "reasoning": "Ferries."},
        {"type": "text", "text": TEXT},
    ]
    model = LangChainModel(ScriptedModel([AIMessage(content=content)]))
    assert "".join(asyncio.run(read(model))) == TEXT


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


def test_it_is_asked_again_before_its_first_piece_only(serving: Serving) -> None:
    """The call is repeated if the service is down briefly; a reader never gets the beginning of an answer twice."""
    assert "".join(asyncio.run(read(timed(serving([Status(503, retry_after=0), TEXT]), tries=2)))) == TEXT
    broken = serving([Dropped(TEXT * 20), TEXT])
    with pytest.raises(ModelUnavailable):
        asyncio.run(read(timed(broken, tries=3)))
    assert len(broken.requests) == 1


def test_a_stream_that_takes_too_long_ends(serving: Serving) -> None:
    """The time limit of a call applies to the whole answer, however often a piece arrives."""
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"within 0\.4 s"):
        asyncio.run(read(timed(serving([Drip(TEXT * 10, 20.0)]), seconds=0.4)))
    assert time.monotonic() - started < 5.0


def test_a_slow_reader_takes_none_of_the_time(serving: Serving) -> None:
    """The time limit applies to the model; a reader may take longer over each piece."""

    async def slowly() -> str:
        text = ""
        async for piece in timed(serving([TEXT]), seconds=1.0).stream(PROMPT):
            text += piece
            await asyncio.sleep(0.25)
        return text

    assert asyncio.run(slowly()) == TEXT


def test_a_reader_who_leaves_ends_the_call(serving: Serving) -> None:
    """The service notices that its client has disconnected, so nobody pays for an answer that is not read."""
    server = serving([Drip(TEXT * 40, 15.0)])

    async def first() -> str:
        stream = timed(server).stream(PROMPT)
        piece = await anext(stream)
        await stream.aclose()
        return piece

    assert TEXT.startswith(asyncio.run(first()))
    until = time.monotonic() + 5.0
    while not server.left and time.monotonic() < until:
        time.sleep(0.02)
    assert server.left == 1


def test_what_a_service_refuses_is_left_out_of_a_stream_too() -> None:
    """A server without max_completion_tokens streams too."""
    with OpenAIServer([TEXT], without={Feature.MAX_TOKENS}) as server:
        model = LangChainModel(chat(server), sends={Extra.MOST_TOKENS})
        assert "".join(asyncio.run(read(model))) == TEXT
        assert len(server.requests) == 2


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "<thin", "<", "a < b", "x", "</", "<THINK>"]), max_size=8
    )
)
def test_however_it_is_cut_the_same_is_said(parts: list[str]) -> None:
    """The pieces of a text, however it is cut, give the same result as the whole text."""
    text = "".join(parts)
    said = []
    for pieces in ([text], list(text)):
        spoken = SpokenText()
        said.append("".join(map(spoken.feed, pieces)) + spoken.end())
    assert said[0] == said[1]
    assert "<think>" not in said[0].lower()

"""The LLM that tests of LlamaIndex agents and engines are scripted with."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.agent.workflow import AgentStream, FunctionAgent, ReActAgent
from llama_index.core.llms import ChatMessage

from hindsight_integrations.testing.scripted_llm import ScriptedLLM, calling
from hindsight_integrations.testing.scripted_model import ScriptExhausted

ASKED = [ChatMessage(role="user", content="Where is the kayak?")]
WORDS = "The kayak lies in the shed."


def shed(name: str) -> str:
    """Where a boat lies."""
    return f"{name}: in the shed"


def test_every_way_of_asking_gives_the_next_reply() -> None:
    """Chat and completion, sync and async, whole and streamed: one reply each, and each prompt is kept."""
    llm = ScriptedLLM([WORDS] * 8)

    async def asynchronous() -> list[str]:
        chat = [piece async for piece in await llm.astream_chat(ASKED)]
        complete = [piece async for piece in await llm.astream_complete("Where?")]
        return [
            str((await llm.achat(ASKED)).message.content),
            (await llm.acomplete("Where?")).text,
            "".join(piece.delta or "" for piece in chat),
            "".join(piece.delta or "" for piece in complete),
            str(chat[-1].message.content),
        ]

    assert llm.chat(ASKED).message.content == llm.complete("Where?").text == WORDS
    pieces = list(llm.stream_chat(ASKED))
    assert len(pieces) > 2
    assert "".join(piece.delta or "" for piece in pieces) == WORDS == pieces[-1].message.content
    assert "".join(piece.delta or "" for piece in llm.stream_complete("Where?")) == WORDS
    assert asyncio.run(asynchronous()) == [WORDS] * 5
    assert llm.calls == 8
    assert llm.last_prompt == "Where?"
    with pytest.raises(ScriptExhausted):
        llm.chat(ASKED)


def test_errors_are_raised_and_functions_answer_by_what_they_are_asked() -> None:
    """A test can let a model fail, and foretell answers of callers whose order is not known."""
    with pytest.raises(TimeoutError):
        ScriptedLLM([TimeoutError()]).chat(ASKED)
    echo = ScriptedLLM(lambda messages: f"{messages[-1].content} In the shed.")
    assert echo.chat(ASKED).message.content == "Where is the kayak? In the shed."


@pytest.mark.parametrize("streaming", [True, False])
def test_agents_of_both_kinds_are_driven_by_it(streaming: bool) -> None:
    """A tool is called with its arguments, its result is shown to the model, and the answer streams."""

    async def run(kind: type, llm: ScriptedLLM) -> tuple[str, int]:
        handler = kind(tools=[shed], llm=llm, streaming=streaming).run(user_msg="Where is the kayak?")
        streamed = [event async for event in handler.stream_events() if isinstance(event, AgentStream)]
        return str(await handler), len(streamed)

    function = ScriptedLLM([calling("shed", name="kayak"), WORDS])
    step = 'Thought: I look.\nAction: shed\nAction Input: {"name": "kayak"}'
    react = ScriptedLLM([step, f"Thought: I know.\nAnswer: {WORDS}"], calls_tools=False)
    for kind, llm in ((FunctionAgent, function), (ReActAgent, react)):
        answer, pieces = asyncio.run(run(kind, llm))
        assert answer == WORDS
        assert (pieces > 2) is streaming
        assert "kayak: in the shed" in llm.last_prompt

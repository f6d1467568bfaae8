"""ScriptedLLM, the fake LLM for tests of LlamaIndex agents and engines."""

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
    """The place of a boat."""
    return f"{name}: in the shed"


def test_every_way_of_asking_gives_the_next_reply() -> None:
    """Chat and completion, sync, async and streamed, give one reply each and record each prompt."""
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
    """A script can raise errors, or be a function of the messages."""
    with pytest.raises(TimeoutError):
        ScriptedLLM([TimeoutError()]).chat(ASKED)
    echo = ScriptedLLM(lambda messages: f"{messages[-1].content} In the shed.")
    assert echo.chat(ASKED).message.content == "Where is the kayak? In the shed."


@pytest.mark.parametrize("streaming", [True, False])
def test_agents_of_both_kinds_are_driven_by_it(streaming: bool) -> None:
    """An agent calls its tool, shows the result to the model and streams the answer."""

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

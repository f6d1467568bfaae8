"""Conversations of LlamaIndex's agents: passed completely, stored as JSON, concurrent, handed over, long, and with tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.workflow import Context, JsonSerializer
from scripted_agents import (
    agent_of,
    scripted,
    turn,
    turns,
)

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, RecallOptions
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock, HindsightToolSpec
from hindsight_integrations.testing.scripted_llm import ScriptedLLM, calling

Opener = Callable[..., Hindsight]
KINDS = pytest.mark.parametrize("kind", ["function", "react", "workflow"])
HOLDERS = pytest.mark.parametrize("holder", ["memory", "block"])

ALL: RecallOptions = {"relevance": "all"}  # a bag of words cannot judge relevance


@pytest.fixture
def home(opener: Opener, light_config: HindsightConfig, tmp_path: Path) -> Callable[[], MemoryBank]:
    """Opens the bank of one directory repeatedly, closing the previous engine."""
    opened: list[Hindsight] = []

    def open_home() -> MemoryBank:
        for engine in opened:
            engine.close()
        opened.append(opener(tmp_path / "home", config=light_config))
        return opened[-1].bank("alice")

    return open_home


def memory_of(holder: str, bank: MemoryBank, session: str, folder: Path, **options: Any) -> BaseMemory:
    """Our memory, or LlamaIndex's own with our block and its messages in a file."""
    if holder == "memory":
        return HindsightMemory(bank=bank, session_id=session, recall_options=ALL, **options)
    return Memory.from_defaults(
        session_id=session,
        memory_blocks=[HindsightMemoryBlock(bank=bank, recall_options=ALL)],
        async_database_uri=f"sqlite+aiosqlite:///{folder / 'chat.db'}",
        **options,
    )


def remembered(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.iterate_units())


def prompt(llm: ScriptedLLM) -> str:
    return llm.last_prompt


TOLD = ["My kayak is green.", "I keep it in Turku.", "What colour is my kayak?"]
KEPT = ["user: I keep it in Turku.", "user: My kayak is green."]


@KINDS
@HOLDERS
def test_a_history_given_with_every_run_is_remembered_once(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str
) -> None:
    """Stateless servers pass the whole conversation in each run; memories of messages that they drop become invalid."""
    bank = home()
    agent = agent_of(kind, scripted(kind))
    history: list[ChatMessage] = []
    for text, answer in zip(TOLD, ["Which green?", "Where in Turku?", "Guess?"], strict=True):
        memory = memory_of(holder, bank, "monday", tmp_path)
        turns("one loop", agent, [text], memory=memory, chat_history=list(history))
        history += [ChatMessage(role="user", content=text), ChatMessage(role="assistant", content=answer)]
    assert remembered(bank) == KEPT
    edited = [*history[:2], ChatMessage(role="user", content="I keep it in Oulu.")]
    edited.append(ChatMessage(role="assistant", content="Where in Oulu?"))
    memory = memory_of(holder, bank, "monday", tmp_path)
    turns("one loop", agent, ["Is it far?"], memory=memory, chat_history=edited)
    turns("one loop", agent, ["Is it?"], memory=memory)
    kept = ["user: I keep it in Oulu.", "user: My kayak is green."]
    expected = kept if holder == "memory" else sorted([*kept, "user: I keep it in Turku."])
    assert remembered(bank) == expected


@KINDS
def test_a_context_with_its_memory_goes_through_json_and_a_restart(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str
) -> None:
    """A server that stores contexts as JSON gets the conversation and the memory back when the engine is open."""
    bank = home()
    llm = scripted(kind)
    agent = agent_of(kind, llm)

    async def first() -> str:
        context: Context[Any] = Context(agent)
        memory = memory_of("memory", bank, "monday", tmp_path)
        await turn(agent, TOLD[0], ctx=context, memory=memory)
        await turn(agent, TOLD[1], ctx=context)
        return json.dumps(context.to_dict(serializer=JsonSerializer()))

    kept = asyncio.run(first())
    bank = home()

    async def second() -> str:
        context: Context[Any] = Context.from_dict(agent, json.loads(kept), serializer=JsonSerializer())
        return await turn(agent, TOLD[2], ctx=context)

    assert asyncio.run(second()) == "Noted."
    assert "My kayak is green." in prompt(llm)
    assert remembered(bank) == KEPT
    history = memory_of("memory", bank, "monday", tmp_path).get_all()
    assert [m.content for m in history if m.role == "user"] == TOLD


@HOLDERS
def test_sessions_at_once_share_the_bank_and_nothing_else(
    home: Callable[[], MemoryBank], tmp_path: Path, holder: str
) -> None:
    """Five concurrent conversations of one agent have five histories, and every statement is stored once."""
    bank = home()
    agent = agent_of("function", scripted("function"))
    memories = {name: memory_of(holder, bank, name, tmp_path) for name in "abcde"}

    async def talk(name: str) -> None:
        for text in (f"Boat {name} is green.", f"Boat {name} lies in Turku."):
            await turn(agent, text, memory=memories[name])

    async def all_talks() -> None:
        if (
            holder == "block"
        ):  # LlamaIndex's store creates its table on first use, which two concurrent calls would do twice
            await turn(agent, "Is it?", memory=memory_of(holder, bank, "first", tmp_path))
        await asyncio.gather(*(talk(name) for name in memories))

    asyncio.run(all_talks())
    told = [f"user: Boat {name} {what}." for name in "abcde" for what in ("is green", "lies in Turku")]
    assert remembered(bank) == sorted(told)
    for name, memory in memories.items():
        said = [m.content for m in memory.get_all() if m.role == "user"]
        assert said == [f"Boat {name} is green.", f"Boat {name} lies in Turku."]


@HOLDERS
def test_both_agents_of_a_handoff_see_memories_and_the_handoff_is_none(
    home: Callable[[], MemoryBank], tmp_path: Path, holder: str
) -> None:
    """AgentWorkflow hands a turn from one agent to another; its bookkeeping is never retained."""
    bank = home()
    bank.retain([{"role": "user", "content": "My kayak is green."}])
    llm = ScriptedLLM(
        [
            calling("handoff", to_agent="back", reason="The other one knows boats."),
            "Noted.",
            "Noted.",
        ]
    )
    front = FunctionAgent(name="front", description="talks", llm=llm, can_handoff_to=["back"])
    back = FunctionAgent(name="back", description="knows boats", llm=llm, system_prompt="Boats.")
    workflow = AgentWorkflow(agents=[front, back], root_agent="front")
    memory = memory_of(holder, bank, "monday", tmp_path)
    turns("one loop", workflow, ["I want to sell my kayak.", "Is it green?"], memory=memory)
    assert llm.calls == 3
    for asked in llm.prompts:
        assert "My kayak is green." in "\n".join(str(message.content) for message in asked)
    assert remembered(bank) == ["user: I want to sell my kayak.", "user: My kayak is green."]


@KINDS
def test_what_an_agent_writes_into_its_prompt_stays_out_of_the_history(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str
) -> None:
    """An agent with a state writes the state into the last message of its prompt: the stored message does not change."""
    bank = home()
    llm = scripted(kind)
    if kind == "workflow":
        front = FunctionAgent(name="front", description="talks", llm=llm)
        agent: Any = AgentWorkflow(agents=[front], initial_state={"stage": "harbour"})
    else:
        agent = agent_of(kind, llm, initial_state={"stage": "harbour"})
    memory = memory_of("memory", bank, "monday", tmp_path)
    turns("one loop", agent, TOLD, memory=memory)
    assert "harbour" in prompt(llm)
    assert [m.content for m in memory.get_all() if m.role == "user"] == TOLD
    assert remembered(bank) == KEPT


@pytest.mark.parametrize("holder", ["memory", "block"])
def test_a_long_chat_stays_under_its_limit_and_every_statement_is_a_memory(
    home: Callable[[], MemoryBank], tmp_path: Path, holder: str
) -> None:
    """Twelve turns with a small window: the model sees the end of the chat, and the bank contains all of it."""
    bank = home()
    llm = scripted("function")
    agent = agent_of("function", llm)
    memory = memory_of(holder, bank, "monday", tmp_path, token_limit=200)
    told = [f"Boat number {number} lies in harbour {number}." for number in range(12)]
    turns("many loops", agent, [*told, "Which boats are there?"], memory=memory)
    assert remembered(bank) == sorted(f"user: {text}" for text in told)
    shown = [m for m in llm.prompts[-1] if m.role in ("user", "assistant")]
    assert len(shown) < 24
    assert shown[0].role == "user"


def test_an_agent_keeps_and_finds_memories_by_tools(home: Callable[[], MemoryBank]) -> None:
    """Text that the model retains is found by it in a later conversation, and a failing bank is reported as an error."""
    bank = home()
    tools = {tool.metadata.name: tool for tool in HindsightToolSpec(bank).to_tool_list()}

    def call(name: str, text: str) -> ChatMessage:
        argument = tools[name].metadata.get_parameters_dict()["required"][0]
        return calling(name, **{argument: text})

    llm = ScriptedLLM(
        [
            call("retain_memory", "Ann's kayak is green."),
            "Kept.",
            call("recall_memories", "What colour is the kayak?"),
            "Green.",
            call("recall_memories", "What colour is the kayak?"),
            "I cannot tell.",
        ]
    )
    agent = FunctionAgent(tools=list(tools.values()), llm=llm)
    assert turns("one loop", agent, ["Keep that Ann's kayak is green."]) == ["Kept."]
    assert remembered(bank) == ["Ann's kayak is green."]
    assert turns("one loop", agent, ["What colour is Ann's kayak?"]) == ["Green."]
    assert "Ann's kayak is green." in str(llm.prompts[3][-1].content)
    home()

    async def results() -> list[Any]:
        handler = agent.run(user_msg="What colour is Ann's kayak?")
        seen = [event async for event in handler.stream_events()]
        await handler
        return [event.tool_output for event in seen if hasattr(event, "tool_output")]

    outputs = asyncio.run(results())
    assert [output.is_error for output in outputs] == [True]
    assert "green" not in str(outputs[0].content)

"""LlamaIndex's agents with a memory: many turns, in one loop or several, streamed, closed and reopened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory, Memory
from scripted_agents import (
    LEVEL,
    agent_of,
    function_replies,
    gauge,
    last_said,
    react_replies,
    scripted,
    turns,
)
from workflows.errors import WorkflowRuntimeError

from hindsight_integrations import AsyncMemoryBank, Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock
from hindsight_integrations.testing.scripted_llm import Reply, ScriptedLLM, calling

Opener = Callable[..., Hindsight]
KINDS = pytest.mark.parametrize("kind", ["function", "react", "workflow"])
HOLDERS = pytest.mark.parametrize("holder", ["memory", "block"])


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
        return HindsightMemory(bank=bank, session_id=session, recall_options={"relevance": "all"}, **options)
    return Memory.from_defaults(
        session_id=session,
        memory_blocks=[HindsightMemoryBlock(bank=bank, recall_options={"relevance": "all"})],
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
@pytest.mark.parametrize(
    ("loops", "streaming"),
    [
        pytest.param("one loop", True, id="one loop-streamed"),
        pytest.param("many loops", False, id="many loops-whole"),
        pytest.param("one loop", False, id="one loop-whole", marks=pytest.mark.slow),
        pytest.param("many loops", True, id="many loops-streamed", marks=pytest.mark.slow),
    ],
)
def test_what_is_told_is_remembered_once_and_recalled_in_another_session(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str, loops: str, streaming: bool
) -> None:
    """Statements become memories, questions and empty answers do not; chat and memories survive a restart."""
    bank = home()
    llm = scripted(kind)
    agent = agent_of(kind, llm, streaming=streaming)
    # LlamaIndex's Memory inserts blocks into a system message, which ReActAgent drops, unless it is
    # configured otherwise
    beside: dict[str, Any] = {"insert_method": "user"} if (holder, kind) == ("block", "react") else {}
    memory = memory_of(holder, bank, "monday", tmp_path, **beside)
    assert turns(loops, agent, TOLD, memory=memory) == ["Noted."] * 3
    assert remembered(bank) == KEPT
    assert "My kayak is green." in prompt(llm)
    said = [str(message.content) for message in memory.get_all() if message.role == "user"]
    assert said == TOLD
    assert len(memory.get_all()) == 6

    bank = home()
    again = memory_of(holder, bank, "monday", tmp_path)
    assert [str(message.content) for message in again.get_all() if message.role == "user"] == TOLD
    for asked, known in (("What colour is my kayak?", TOLD[0]), ("Where in Turku do I keep it?", TOLD[1])):
        turns(loops, agent, [asked], memory=memory_of(holder, bank, f"new: {asked}", tmp_path, **beside))
        assert known in prompt(llm)
    assert remembered(bank) == KEPT


@KINDS
@HOLDERS
@pytest.mark.parametrize("system", [None, "You help paddlers."])
def test_memories_reach_the_model_of_every_agent_with_and_without_a_system_prompt(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str, system: str | None
) -> None:
    """ReAct agents drop a leading system message, so memories are not inserted there; the agent's own prompt stays."""
    bank = home()
    bank.retain([{"role": "user", "content": "My kayak is green."}])
    llm = scripted(kind)
    options: dict[str, Any] = {}
    if holder == "block" and kind == "react":
        options["insert_method"] = "user"  # LlamaIndex's Memory inserts blocks into a system message
    memory = memory_of(holder, bank, "monday", tmp_path, **options)
    agent = agent_of(kind, llm, system_prompt=system)
    assert turns("one loop", agent, ["What colour is my kayak?"], memory=memory) == ["Noted."]
    assert prompt(llm).count("My kayak is green.") == 1
    assert (system or "What colour") in prompt(llm)
    assert memory.get_all()[0].content == "What colour is my kayak?"


@KINDS
@HOLDERS
def test_a_turn_with_tools_is_one_memory_and_keeps_calls_with_their_results(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str
) -> None:
    """Neither tool results nor ReAct thoughts are memories; a question that is repeated inside a turn is not retained again."""
    bank = home()
    llm = scripted(kind)
    agent = agent_of(kind, llm)
    memory = memory_of(holder, bank, "monday", tmp_path)
    assert turns("one loop", agent, ["Look up the lake for my trip."], memory=memory) == ["Noted."]
    assert LEVEL in prompt(llm)
    assert turns("one loop", agent, ["My kayak is green.", "Look up the lake, please."], memory=memory)
    turns("one loop", agent, ["Is it high?"], memory=memory)
    assert remembered(bank) == sorted(
        ["user: Look up the lake for my trip.", "user: My kayak is green.", "user: Look up the lake, please."]
    )
    roles = [message.role.value for message in memory.get_all()]
    with_tool = ["user", "assistant"] if kind == "react" else ["user", "assistant", "tool", "assistant"]
    assert roles == [*with_tool, "user", "assistant", *with_tool, "user", "assistant"]


@pytest.mark.parametrize("kind", ["function", "workflow"])
def test_memory_is_recalled_once_a_turn_however_often_the_agent_reads(
    home: Callable[[], MemoryBank], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """An agent reads its memory at the start, after each tool and at the end: that is one recall."""
    asked: list[str] = []
    recall = AsyncMemoryBank.recall

    async def counted(self: AsyncMemoryBank, query: str, **options: Any) -> Any:
        asked.append(query)
        return await recall(self, query, **options)

    bank = home()
    monkeypatch.setattr(AsyncMemoryBank, "recall", counted)
    agent = agent_of(kind, scripted(kind))
    memory = memory_of("memory", bank, "monday", tmp_path)
    turns("one loop", agent, ["Look up the lake for my trip.", "My kayak is green."], memory=memory)
    assert asked == ["Look up the lake for my trip.", "My kayak is green."]


@pytest.mark.parametrize("holder", ["memory", "block"])
def test_the_answer_of_a_react_agent_is_learnt_without_its_thoughts(
    home: Callable[[], MemoryBank], tmp_path: Path, holder: str
) -> None:
    """The agent keeps its trace in the history; the memory is what it told the user."""
    bank = home()
    llm = ScriptedLLM(
        [
            'Thought: I look it up.\nAction: gauge\nAction Input: {"lake": "Saimaa"}',
            "Thought: Now I know.\nAnswer: The ferry leaves at six.",
            "Thought: Nothing to do.\nAnswer: Noted.",
        ],
        calls_tools=False,
    )
    agent = ReActAgent(tools=[gauge], llm=llm)
    memory = memory_of(holder, bank, "monday", tmp_path)
    answers = turns("one loop", agent, ["When does the ferry leave?", "My kayak is green."], memory=memory)
    assert answers == ["The ferry leaves at six.", "Noted."]
    assert remembered(bank) == ["assistant: The ferry leaves at six.", "user: My kayak is green."]
    assert "Observation" in str(memory.get_all()[1].content)


@KINDS
@HOLDERS
@pytest.mark.parametrize("failure", ["model", "iterations", "tool"])
def test_a_turn_that_fails_is_remembered_with_the_next(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str, failure: str
) -> None:
    """If the model is down, an agent never ends or a tool raises, no statement is lost or duplicated."""
    bank = home()
    normal = react_replies if kind == "react" else function_replies
    failing = [True]

    def replies(messages: list[ChatMessage]) -> Reply:
        told = messages[-1].role == "tool" or last_said(messages).startswith("Observation")
        if not failing or (failure == "tool" and told):
            return normal(messages)
        if failure == "model":
            return ConnectionError("down")
        tool = "broken" if failure == "tool" else "gauge"
        if kind == "react":
            return f'Thought: I look.\nAction: {tool}\nAction Input: {{"lake": "Saimaa"}}'
        return calling(tool, lake="Saimaa")

    llm = ScriptedLLM(replies, calls_tools=kind != "react")
    agent = agent_of(kind, llm)
    memory = memory_of(holder, bank, "monday", tmp_path)
    if failure == "tool":
        assert turns("one loop", agent, ["My kayak is green."], memory=memory) == ["Noted."]
        assert "no depth of Saimaa" in prompt(llm)
    else:
        error = ConnectionError if failure == "model" else WorkflowRuntimeError
        with pytest.raises(error):
            turns("one loop", agent, ["My kayak is green."], memory=memory, max_iterations=2)
    failing.clear()
    assert turns("one loop", agent, ["I keep it in Turku.", "Where?"], memory=memory) == ["Noted."] * 2
    assert remembered(bank) == KEPT
    assert [m.content for m in memory.get_all() if m.role == "user"] == [
        "My kayak is green.",
        "I keep it in Turku.",
        "Where?",
    ]

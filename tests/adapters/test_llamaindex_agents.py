"""LlamaIndex's agents with a memory: turn after turn, in one loop or in many, streamed, closed and opened again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemory, Memory
from llama_index.core.workflow import Context, JsonSerializer
from workflows.errors import WorkflowRuntimeError

from hindsight_integrations import AsyncMemoryBank, Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock, HindsightToolSpec
from hindsight_integrations.testing.scripted_llm import Reply, ScriptedLLM, calling

Opener = Callable[..., Hindsight]
KINDS = pytest.mark.parametrize("kind", ["function", "react", "workflow"])
HOLDERS = pytest.mark.parametrize("holder", ["memory", "block"])
LEVEL = "Saimaa stands at 76 metres"


def gauge(lake: str) -> str:
    """How high a lake stands."""
    return f"{LEVEL} ({lake})"


def broken(lake: str) -> str:
    """How deep a lake is."""
    raise RuntimeError(f"no depth of {lake}")


def last_said(messages: list[ChatMessage]) -> str:
    return str(messages[-1].content or "")


def function_replies(messages: list[ChatMessage]) -> Reply:
    """Calls a tool where the user says "look up", and takes note of everything else."""
    if messages[-1].role == "tool":
        return "Noted."
    asked = next(str(m.content) for m in reversed(messages) if m.role == "user")
    return calling("gauge", lake="Saimaa") if "Look up" in asked.splitlines()[-1] else "Noted."


def react_replies(messages: list[ChatMessage]) -> Reply:
    """The same in the words of a ReAct agent."""
    if "Look up" in (last_said(messages).splitlines() or [""])[-1]:
        return 'Thought: I look it up.\nAction: gauge\nAction Input: {"lake": "Saimaa"}'
    return "Thought: I can answer without using any more tools.\nAnswer: Noted."


def scripted(kind: str) -> ScriptedLLM:
    return ScriptedLLM(react_replies, calls_tools=False) if kind == "react" else ScriptedLLM(function_replies)


def agent_of(kind: str, llm: ScriptedLLM, **options: Any) -> Any:
    """An agent with a tool; a workflow of one agent and another that nobody hands over to."""
    if kind == "react":
        return ReActAgent(tools=[gauge, broken], llm=llm, **options)
    agent = FunctionAgent(name="front", description="talks", tools=[gauge, broken], llm=llm, **options)
    if kind == "function":
        return agent
    other = FunctionAgent(name="back", description="waits", llm=llm, system_prompt="You wait.")
    return AgentWorkflow(agents=[agent, other], root_agent="front")


@pytest.fixture
def home(opener: Opener, light_config: HindsightConfig, tmp_path: Path) -> Callable[[], MemoryBank]:
    """Opens the bank of the same directory again and again, closing what was open before."""
    opened: list[Hindsight] = []

    def open_home() -> MemoryBank:
        for engine in opened:
            engine.close()
        opened.append(opener(tmp_path / "home", config=light_config))
        return opened[-1].bank("alice")

    return open_home


def memory_of(holder: str, bank: MemoryBank, session: str, folder: Path, **options: Any) -> BaseMemory:
    """Ours, or LlamaIndex's own with our block, its messages in a file."""
    if holder == "memory":
        return HindsightMemory(bank=bank, session_id=session, **options)
    return Memory.from_defaults(
        session_id=session,
        memory_blocks=[HindsightMemoryBlock(bank=bank)],
        async_database_uri=f"sqlite+aiosqlite:///{folder / 'chat.db'}",
        **options,
    )


async def turn(agent: Any, text: str, **options: Any) -> str:
    handler = agent.run(user_msg=text, **options)
    async for _ in handler.stream_events():
        pass
    return str(await handler)


def turns(loops: str, agent: Any, texts: list[str], **options: Any) -> list[str]:
    """The turns one after the other: all in one event loop, or each in a loop of its own."""

    async def all_of_them() -> list[str]:
        return [await turn(agent, text, **options) for text in texts]

    if loops == "one loop":
        return asyncio.run(all_of_them())
    return [asyncio.run(turn(agent, text, **options)) for text in texts]


def remembered(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.iterate_units())


def prompt(llm: ScriptedLLM) -> str:
    return llm.last_prompt


TOLD = ["My kayak is green.", "I keep it in Turku.", "What colour is my kayak?"]
KEPT = ["user: I keep it in Turku.", "user: My kayak is green."]


@KINDS
@HOLDERS
@pytest.mark.parametrize("loops", ["one loop", "many loops"])
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "whole"])
def test_what_is_told_is_remembered_once_and_recalled_in_another_session(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str, loops: str, streaming: bool
) -> None:
    """Statements become memories, questions and answers of no content do not; a restart keeps chat and memories."""
    bank = home()
    llm = scripted(kind)
    agent = agent_of(kind, llm, streaming=streaming)
    memory = memory_of(holder, bank, "monday", tmp_path)
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
        turns(loops, agent, [asked], memory=memory_of(holder, bank, f"new: {asked}", tmp_path))
        assert known in prompt(llm)
    assert remembered(bank) == KEPT


@KINDS
@HOLDERS
@pytest.mark.parametrize("system", [None, "You help paddlers."])
def test_memories_reach_the_model_of_every_agent_with_and_without_a_system_prompt(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str, system: str | None
) -> None:
    """ReAct agents drop a leading system message: the memories must not be in it; the agent's own prompt stays."""
    bank = home()
    bank.retain([{"role": "user", "content": "My kayak is green."}])
    llm = scripted(kind)
    options: dict[str, Any] = {}
    if holder == "block" and kind == "react":
        options["insert_method"] = "user"  # LlamaIndex's Memory itself writes blocks into a system message
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
    """What a tool said is no memory, nor what a ReAct agent thought; the question asked again inside a turn is no second one."""
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
    """The agent keeps its trace in the history; a memory is what it told the user."""
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
    """A model that is down, an agent that never ends, a tool that raises: no statement is lost or doubled."""
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


@KINDS
@HOLDERS
def test_a_history_given_with_every_run_is_remembered_once(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str, holder: str
) -> None:
    """Servers without state pass the whole conversation again; what they drop from it holds no more."""
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
    turns("one loop", agent, ["Really?"], memory=memory)
    kept = ["user: I keep it in Oulu.", "user: My kayak is green."]
    expected = kept if holder == "memory" else sorted([*kept, "user: I keep it in Turku."])
    assert remembered(bank) == expected


@KINDS
def test_a_context_with_its_memory_goes_through_json_and_a_restart(
    home: Callable[[], MemoryBank], tmp_path: Path, kind: str
) -> None:
    """A server that keeps contexts as JSON gets the conversation and the memory back once the engine is open."""
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
    """Five conversations of one agent in one loop: five histories, every statement once."""
    bank = home()
    agent = agent_of("function", scripted("function"))
    memories = {name: memory_of(holder, bank, name, tmp_path) for name in "abcde"}

    async def talk(name: str) -> None:
        for text in (f"Boat {name} is green.", f"Boat {name} lies in Turku."):
            await turn(agent, text, memory=memories[name])

    async def all_talks() -> None:
        if (
            holder == "block"
        ):  # LlamaIndex's store makes its table on first use, and twice at once is one too many
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
    """AgentWorkflow hands a turn from one agent to another: the bookkeeping of it is never learnt."""
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
    """An agent with a state writes it into the last message it was given: the stored message stays as it was said."""
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
    """Twelve turns through a small window: the model sees the end of the chat, the bank knows all of it."""
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
    """What the model chooses to retain is found by it in a later conversation, and a failing bank is an error to it."""
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

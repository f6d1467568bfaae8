"""HindsightMemoryBlock in LlamaIndex's own Memory: each message becomes one memory, and memories are recalled once per turn."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import BaseWorkflowAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import TextBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory
from table import every_row

from hindsight_integrations import BankNotFound, BankNotOpen, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemoryBlock
from hindsight_integrations.testing.scripted_llm import Reply, ScriptedLLM
from hindsight_integrations.testing.scripted_llm import calling as scripted_call


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Hindsight]:
    with Hindsight.open(tmp_path / "memory", reranker=None) as opened:
        yield opened


@pytest.fixture
def bank(engine: Hindsight) -> MemoryBank:
    return engine.bank("alice")


def words(text: str) -> list[str]:
    return text.split()


def user(text: str) -> ChatMessage:
    return ChatMessage(text, role="user")


def assistant(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def calling(tool: str, call_id: str = "c1") -> ChatMessage:
    block = ToolCallBlock(tool_call_id=call_id, tool_name=tool, tool_kwargs={})
    return ChatMessage(role="assistant", blocks=[block])


def result(text: str, call_id: str = "c1") -> ChatMessage:
    return ChatMessage(text, role="tool", additional_kwargs={"tool_call_id": call_id})


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units)


def chat(*blocks: BaseMemoryBlock[Any], **options: Any) -> Memory:
    return Memory.from_defaults(
        session_id=options.pop("session_id", "chat"),
        memory_blocks=list(blocks),
        tokenizer_fn=words,
        **options,
    )


@pytest.fixture
def follows(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of the messages of each retain, in order."""
    given: list[list[str]] = []
    threads = type(bank.asynchronous.threads)
    follow = threads.follow

    async def noted(self: Any, messages: Sequence[dict[str, Any]], **options: Any) -> Any:
        given.append(["".join(part["text"] for part in each["content"]) for each in messages])
        return await follow(self, messages, **options)

    monkeypatch.setattr(threads, "follow", noted)
    return given


def test_a_short_chat_is_retained_when_it_is_read(bank: MemoryBank) -> None:
    """Nothing overflows or is flushed, and everything is remembered."""
    memory = chat(HindsightMemoryBlock(bank))
    memory.put_messages([user("I keep bees in Porto."), assistant("Bees like the lavender there.")])
    memory.get()
    assert texts(bank) == ["assistant: Bees like the lavender there.", "user: I keep bees in Porto."]


def test_a_turn_is_retained_once_however_often_it_is_read(bank: MemoryBank, follows: list[list[str]]) -> None:
    """An agent reads before each step and after its answer; the turn is one extraction, when it is finished."""
    memory = chat(HindsightMemoryBlock(bank))
    asked = "I keep bees in Porto."
    memory.put(user(asked))
    memory.get(input=asked)
    memory.put_messages([calling("weather"), result("Sunny in Porto.")])
    memory.get(input=asked)
    assert follows == []
    memory.put(assistant("Bees fly today."))
    for _ in range(3):
        memory.get()
    assert follows == [[asked, "", "Sunny in Porto.", "Bees fly today."]]
    assert texts(bank) == ["assistant: Bees fly today.", f"user: {asked}"]


def test_the_next_turn_comes_with_the_one_before_as_context(
    bank: MemoryBank, follows: list[list[str]]
) -> None:
    """Only new messages are retained, and the model sees the previous ones."""
    memory = chat(HindsightMemoryBlock(bank))
    for said, answer in (("I keep bees.", "How many hives are there?"), ("There are nine hives.", "Many!")):
        memory.put_messages([user(said), assistant(answer)])
        memory.get()
    assert follows[1] == ["I keep bees.", "How many hives are there?", "There are nine hives.", "Many!"]


def test_a_question_that_never_came_into_the_chat_is_not_retained(bank: MemoryBank) -> None:
    """The search text passed to `get` need not be a message."""
    memory = chat(HindsightMemoryBlock(bank))
    memory.put_messages([user("I keep bees."), assistant("Where are they?")])
    memory.get(input="The user owns a yacht in Monaco.")
    memory.get()
    assert texts(bank) == ["user: I keep bees."]


def test_a_user_message_that_got_no_answer_is_retained_when_the_user_goes_on(bank: MemoryBank) -> None:
    """An agent that ran out of steps leaves such a message."""
    memory = chat(HindsightMemoryBlock(bank))
    memory.put(user("I keep bees in Porto."))
    memory.put(user("I keep goats in Evora."))
    memory.get()
    assert texts(bank) == ["user: I keep bees in Porto."]


def test_equal_statements_of_one_chat_are_two_memories(bank: MemoryBank) -> None:
    """They happened twice, even if the first has left the window long ago."""
    memory = chat(HindsightMemoryBlock(bank), token_limit=40, token_flush_size=8)
    for number in range(6):
        for said in ("I ran five kilometres.", f"Then I read chapter {number}."):
            memory.put(user(said))
            memory.put(assistant("Well done!"))
        memory.get()
    assert texts(bank).count("user: I ran five kilometres.") == 6


def test_a_chat_loaded_at_once_is_flushed_in_pieces_that_go_on(bank: MemoryBank) -> None:
    """Nothing has been read yet; equal statements in two parts are two memories."""
    memory = chat(HindsightMemoryBlock(bank), token_limit=20, token_flush_size=8)
    memory.put_messages(
        [
            message
            for number in range(6)
            for message in (
                user(f"I saw film {number}."),
                assistant("Nice!"),
                user("I had popcorn."),
                assistant("Yum!"),
            )
        ]
    )
    memory.get()
    assert texts(bank).count("user: I had popcorn.") == 6
    assert len([text for text in texts(bank) if "film" in text]) == 6


def test_a_chat_that_is_set_again_each_turn_is_not_doubled(bank: MemoryBank) -> None:
    """`agent.run(chat_history=...)` sets the whole chat, including flushed messages, before each turn."""
    memory = chat(HindsightMemoryBlock(bank), token_limit=30, token_flush_size=8)
    history: list[ChatMessage] = []
    for number in range(6):
        memory.set(history)
        turn = [user(f"I planted tree number {number} today."), assistant("Okay.")]
        for message in turn:
            memory.put(message)
            memory.get()
        history += turn
    assert texts(bank) == [f"user: I planted tree number {number} today." for number in range(6)]


def test_an_answer_given_again_is_kept_beside_the_first(bank: MemoryBank) -> None:
    """The block cannot distinguish a fork from a window: retained memories stay, and nothing before them is duplicated."""
    memory = chat(HindsightMemoryBlock(bank))
    memory.put_messages([user("I keep bees."), assistant("Bees need water in summer.")])
    memory.get()
    memory.set([user("I keep bees."), assistant("Bees need sugar in winter.")])
    memory.get()
    assert texts(bank) == [
        "assistant: Bees need sugar in winter.",
        "assistant: Bees need water in summer.",
        "user: I keep bees.",
    ]


def test_a_react_trace_is_remembered_by_its_answer(bank: MemoryBank) -> None:
    """ReActAgent puts thoughts and observations into the chat as one message."""
    memory = chat(HindsightMemoryBlock(bank))
    trace = "Thought: I look it up.\nAction: find\nAction Input: {}\nObservation: nothing\nThought: Done.\nAnswer: Bees sleep."
    memory.put_messages([user("I keep bees."), assistant(trace)])
    memory.get()
    assert texts(bank) == ["assistant: Bees sleep.", "user: I keep bees."]


def test_memories_are_recalled_once_a_turn(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often an agent reads, the prompt of a turn stays the same."""
    asked: list[str] = []
    recall = type(bank.asynchronous).recall

    async def noted(self: Any, query: str, **options: Any) -> Any:
        asked.append(query)
        return await recall(self, query, **options)

    monkeypatch.setattr(type(bank.asynchronous), "recall", noted)
    memory = chat(HindsightMemoryBlock(bank))
    for said in ("I keep bees.", "I keep bees."):
        memory.put(user(said))
        memory.get(input=said)
        memory.put_messages([calling("weather"), result("Sunny.")])
        memory.get(input=said)
        memory.put(assistant("Fine!"))
        memory.get()
    assert asked == ["I keep bees.", "I keep bees."]


def test_another_chat_finds_what_this_one_said(bank: MemoryBank) -> None:
    """The memories are inserted as data, between markers."""
    first = chat(HindsightMemoryBlock(bank), session_id="monday")
    first.put_messages([user("I keep bees in Porto."), assistant("Lovely!")])
    first.get()
    second = chat(HindsightMemoryBlock(bank), session_id="friday")
    (system,) = second.get(input="Where do I keep my bees?")
    assert system.role == "system"
    assert "<<<MEMORIES\n- user: I keep bees in Porto." in str(system.content)


def test_truncation_drops_the_memories_found_last_and_cuts_none(bank: MemoryBank) -> None:
    """Whole memories are removed until enough tokens, counted by the Memory, are saved."""
    block = HindsightMemoryBlock(bank, tokenizer_fn=words)
    bank.retain([{"role": "user", "content": f"I own a boat called number {n}."} for n in range(5)])
    content = asyncio.run(block.aget([user("What is my boat called?")]))
    lines = [line for line in content.split("\n") if line.startswith("- ")]
    assert len(lines) == 5
    left = 5
    for tokens in range(1, len(words(content))):
        shorter = asyncio.run(block.atruncate(content, tokens))
        kept = [line for line in (shorter or "").split("\n") if line.startswith("- ")]
        assert kept == lines[: len(kept)]
        assert len(words(content)) - len(words(shorter or "")) >= tokens
        assert len(kept) <= left
        left = len(kept)
    assert asyncio.run(block.atruncate(content, len(words(content)))) is None
    assert asyncio.run(block.atruncate("", 5)) is None


def test_a_block_is_stored_by_reference(bank: MemoryBank, engine: Hindsight) -> None:
    """Fields, JSON and pickle contain the bank's location and the options."""
    block = HindsightMemoryBlock(bank, name="notes", max_tokens=99, tags=["a"], recall_options={"k": 3})
    loads: Sequence[Callable[[], HindsightMemoryBlock]] = (
        lambda: HindsightMemoryBlock(**block.model_dump()),
        lambda: HindsightMemoryBlock.model_validate_json(block.model_dump_json()),
        lambda: pickle.loads(pickle.dumps(block)),  # noqa: S301 - our own
    )
    for load in loads:
        again = load()
        assert again.model_dump() == block.model_dump()
        assert again.bank.name == "alice"
    written = block.model_dump_json()
    engine.forget_bank("alice")
    with pytest.raises(BankNotFound):
        HindsightMemoryBlock.model_validate_json(written)
    engine.close()
    with pytest.raises(BankNotOpen):
        HindsightMemoryBlock.model_validate_json(written)


@every_row(
    "options",
    [{"max_tokens": -1}, {"max_tokens": "many"}, {"max_tokens": True}, {"on_error": "ignore"}],
)
def test_arguments_of_no_use_are_refused(bank: MemoryBank, options: dict[str, Any]) -> None:
    """The error is raised when the block is created, not in the first turn."""
    with pytest.raises(InvalidRequest):
        HindsightMemoryBlock(bank, **options)
    with pytest.raises(InvalidRequest):
        HindsightMemoryBlock("alice")


def test_a_block_is_used_without_a_memory_too(bank: MemoryBank) -> None:
    """The block then does not know the chat, and several text blocks are one message."""
    block = HindsightMemoryBlock(bank)
    assert asyncio.run(block.aget()) == ""
    asyncio.run(block.aput([]))
    two = ChatMessage(role="user", blocks=[TextBlock(text="I keep bees."), TextBlock(text="They are nine.")])
    asyncio.run(block.aput([two]))
    assert len(texts(bank)) == 1


@pytest.mark.parametrize("agent_of", [FunctionAgent, ReActAgent])
def test_an_agent_costs_one_retain_and_one_recall_a_turn(
    bank: MemoryBank, follows: list[list[str]], agent_of: type[BaseWorkflowAgent]
) -> None:
    """LlamaIndex's own agents run twice with a tool; its Memory reads several times in each run."""

    def weather(place: str) -> str:
        """The weather of a place."""
        return f"Sunny in {place}."

    replies: list[Reply] = []
    for number in (1, 2):
        answer = f"Bees number {number} fly today."
        if agent_of is FunctionAgent:
            replies += [scripted_call("weather", "", place="Porto"), answer]
        else:
            replies += [
                'Thought: I look.\nAction: weather\nAction Input: {"place": "Porto"}',
                f"Thought: I can answer.\nAnswer: {answer}",
            ]
    model = ScriptedLLM(replies, calls_tools=agent_of is FunctionAgent)
    memory = chat(HindsightMemoryBlock(bank))

    async def run() -> None:
        agent = agent_of(tools=[weather], llm=model, streaming=False)
        for number in (1, 2):
            await agent.run(f"I keep bees in hive number {number}.", memory=memory)

    asyncio.run(run())
    assert len(follows) == 2
    assert [text for text in texts(bank) if text.startswith("user")] == [
        "user: I keep bees in hive number 1.",
        "user: I keep bees in hive number 2.",
    ]
    assert [text for text in texts(bank) if text.startswith("assistant")] == [
        "assistant: Bees number 1 fly today.",
        "assistant: Bees number 2 fly today.",
    ]

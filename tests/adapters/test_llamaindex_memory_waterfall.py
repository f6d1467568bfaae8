"""LlamaIndex's Memory with our block: the queue and its flushes, priorities, truncation, insertion, and concurrent reads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, InsertMethod, Memory, StaticMemoryBlock
from llama_index.core.storage.chat_store.sql import MessageStatus

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemoryBlock

TREES = ("an oak", "a birch", "a maple", "a willow", "a cedar", "a walnut", "a linden", "a rowan")


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


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text for unit in bank.units().units)


def chat(*blocks: BaseMemoryBlock[Any], **options: Any) -> Memory:
    options = {"session_id": "chat", "token_limit": 40, "token_flush_size": 8, **options}
    return Memory.from_defaults(memory_blocks=list(blocks), tokenizer_fn=words, **options)


def block_of(bank: MemoryBank, **options: Any) -> HindsightMemoryBlock:
    return HindsightMemoryBlock(bank, tokenizer_fn=words, **options)


def planted(tree: str) -> str:
    return f"I planted {tree} in the garden."


def put_turns(memory: Memory, trees: Sequence[str] = TREES) -> list[str]:
    """Put a number of turns; return the memories that should result if each statement is one memory."""
    for tree in trees:
        memory.put(user(planted(tree)))
        memory.put(assistant("Okay."))
    return sorted(f"user: {planted(tree)}" for tree in trees)


def memories_in(message: ChatMessage) -> list[str]:
    return [line for line in str(message.content).split("\n") if line.startswith("- ")]


def test_what_leaves_the_queue_is_retained_oldest_first(bank: MemoryBank) -> None:
    """If the memory is never read, the bank contains what the chat store has archived, and nothing else."""
    memory = chat(block_of(bank))
    put_turns(memory)
    archived = [
        str(each.content) for each in memory.get_all(status=MessageStatus.ARCHIVED) if each.role == "user"
    ]
    assert archived
    assert archived == [planted(tree) for tree in TREES[: len(archived)]]
    assert texts(bank) == sorted(f"user: {text}" for text in archived)


def test_what_stays_in_the_queue_is_retained_by_a_read(bank: MemoryBank) -> None:
    """Flushed, read or both: each message is one memory."""
    memory = chat(block_of(bank))
    expected = put_turns(memory)
    for _ in range(3):
        memory.get()
    assert texts(bank) == expected


def test_a_block_that_takes_no_flushed_messages_learns_by_reads(bank: MemoryBank) -> None:
    """With accept_short_term_memory=False, the block retains only the window when it is read."""
    memory = chat(block_of(bank, accept_short_term_memory=False))
    put_turns(memory)
    assert texts(bank) == []
    memory.get()
    left = [str(each.content) for each in memory.get_all(status=MessageStatus.ACTIVE) if each.role == "user"]
    assert texts(bank) == sorted(f"user: {text}" for text in left)


def test_several_blocks_fill_several_banks(engine: Hindsight) -> None:
    """Each block has its own options and retains each message once, and its memories appear under its name in the prompt."""
    first, second = engine.bank("private"), engine.bank("shared")
    memory = chat(
        block_of(first, name="private", tags=["mine"]),
        block_of(second, name="shared", roles=["user", "assistant", "tool"]),
        token_limit=400,
        token_flush_size=8,
    )
    expected = put_turns(memory)
    memory.get()
    assert texts(first) == texts(second) == expected
    assert all(unit.tags == ("mine",) for unit in first.units().units)
    (system, *_) = memory.get(input="What did I plant in the garden?")
    assert system.role == "system"
    assert str(system.content).index("<private>") < str(system.content).index("<shared>")


def test_two_blocks_of_one_bank_make_each_memory_once(bank: MemoryBank) -> None:
    """Both derive the same key from a message."""
    memory = chat(block_of(bank, name="one"), block_of(bank, name="other"))
    expected = put_turns(memory)
    memory.get()
    assert texts(bank) == expected


def test_a_block_of_priority_0_is_never_truncated_and_smaller_numbers_go_first(engine: Hindsight) -> None:
    """LlamaIndex determines how many tokens must be saved; the lowest-ranked memories are dropped."""
    banks = [engine.bank(f"bank {number}") for number in range(3)]
    for each in banks:
        each.retain([{"role": "user", "content": planted(tree)} for tree in TREES[:4]])
    blocks = [
        block_of(each, name=f"block{priority}", priority=priority) for priority, each in enumerate(banks)
    ]
    question = "What did I plant in the garden?"
    whole = [asyncio.run(block.aget([user(question)])) for block in blocks]
    size = sum(len(words(content)) for content in whole)
    kept = {}
    for limit in range(size - 60, size + 1, 6):
        (system,) = chat(*blocks, session_id=f"chat {limit}", token_limit=limit).get(input=question)
        parts = str(system.content)
        kept[limit] = [
            parts.partition(f"<block{number}>")[2].partition(f"</block{number}>")[0].count("\n- ")
            for number in range(3)
        ]
    assert kept[max(kept)] == [4, 4, 4]
    assert all(first == 4 for first, _, _ in kept.values())
    assert all(last == 4 or middle == 0 for _, middle, last in kept.values())
    assert {middle for _, middle, _ in kept.values()} >= {0, 1, 2, 3, 4}


def test_memories_go_before_the_text_of_a_system_message(bank: MemoryBank) -> None:
    """Memories are inserted into the chat's system message if there is one; the stored message does not change."""
    bank.retain([{"role": "user", "content": planted("an oak")}])
    memory = chat(block_of(bank), token_limit=400)
    memory.put(ChatMessage("You are a gardener.", role="system"))
    memory.put(user("What did I plant in the garden?"))
    system, question = memory.get()
    assert memories_in(system)
    assert str(system.content).endswith("You are a gardener.")
    assert question.content == "What did I plant in the garden?"
    assert [each.content for each in memory.get_all()] == ["You are a gardener.", question.content]


def test_memories_go_before_the_text_of_the_user(bank: MemoryBank) -> None:
    """Memories are inserted into the user's message, and are not retained as the user's words."""
    bank.retain([{"role": "user", "content": planted("an oak")}])
    memory = chat(block_of(bank), token_limit=400, insert_method=InsertMethod.USER)
    memory.put(user("I water what I planted in the garden."))
    (asked,) = memory.get()
    assert memories_in(asked)
    assert str(asked.content).endswith("I water what I planted in the garden.")
    memory.put(assistant("Okay."))
    memory.get()
    assert texts(bank) == [f"user: {planted('an oak')}", "user: I water what I planted in the garden."]


def test_memories_that_come_back_in_a_chat_are_not_learnt_again(bank: MemoryBank) -> None:
    """A program that sets the chat to the output of `get` passes our block back."""
    bank.retain([{"role": "user", "content": planted("an oak")}])
    memory = chat(block_of(bank), token_limit=400, insert_method=InsertMethod.USER)
    memory.put(user("I water what I planted in the garden."))
    memory.set([*memory.get(), assistant("Okay.")])
    memory.get()
    assert sum("oak" in text for text in texts(bank)) == 1


def test_an_empty_bank_puts_nothing_into_the_prompt(bank: MemoryBank) -> None:
    """There are no empty tags and no system message."""
    memory = chat(block_of(bank))
    memory.put(user("What did I plant?"))
    assert [each.content for each in memory.get()] == ["What did I plant?"]


def test_a_static_block_beside_ours_stays_as_it_is(bank: MemoryBank) -> None:
    """LlamaIndex's own blocks work as usual."""
    bank.retain([{"role": "user", "content": planted("an oak")}])
    static = StaticMemoryBlock(name="rules", static_content="Be brief.", priority=0)
    memory = chat(static, block_of(bank), token_limit=400)
    (system,) = memory.get(input="What did I plant in the garden?")
    assert "<rules>" in str(system.content)
    assert memories_in(system)


class Greedy(BaseMemoryBlock[str]):  # type: ignore[misc] # mypy is told to skip LlamaIndex
    """A block that removes the session's id from the messages all blocks share, as LlamaIndex's vector block does."""

    name: str = "greedy"

    async def _aget(self, messages: Any = None, **kwargs: Any) -> str:
        return ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            message.additional_kwargs.pop("session_id", None)


@pytest.mark.parametrize("greedy_first", [True, False])
def test_the_chat_of_a_flushed_message_is_known_beside_other_blocks(
    bank: MemoryBank, greedy_first: bool
) -> None:
    """Otherwise the flush and the read of one message would belong to two chats, and give two memories."""
    blocks = [Greedy(), block_of(bank)]
    memory = chat(*(blocks if greedy_first else reversed(blocks)))
    expected = put_turns(memory)
    memory.get()
    assert texts(bank) == expected


def test_reads_at_once_retain_each_message_once_and_recall_once(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one loop, and from threads."""
    asked: list[str] = []
    recall = type(bank.asynchronous).recall

    async def noted(self: Any, query: str, **options: Any) -> Any:
        asked.append(query)
        return await recall(self, query, **options)

    monkeypatch.setattr(type(bank.asynchronous), "recall", noted)
    memory = chat(block_of(bank), token_limit=400)
    memory.put_messages(
        [user(planted("an oak")), assistant("Okay."), user(planted("a birch")), assistant("Okay.")]
    )

    async def reads() -> list[list[ChatMessage]]:
        return list(await asyncio.gather(*(memory.aget() for _ in range(8))))

    results = asyncio.run(reads())
    assert len({str(each) for each in results}) == 1
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: asyncio.run(block_reads(memory)), range(8)))
    assert texts(bank) == [f"user: {planted('a birch')}", f"user: {planted('an oak')}"]
    assert asked == [planted("a birch")]


async def block_reads(memory: Memory) -> None:
    """A read of the blocks alone, because LlamaIndex's in-memory store belongs to one loop."""
    (block,) = memory.memory_blocks
    messages = [user(planted("an oak")), assistant("Okay."), user(planted("a birch")), assistant("Okay.")]
    await block.aget(messages, session_id=memory.session_id)


def test_puts_and_reads_at_once_lose_nothing_with_the_chats_store(bank: MemoryBank) -> None:
    """Two concurrent puts may flush, and LlamaIndex then archives messages that no block gets; the store still contains them."""

    async def run() -> None:
        memory = chat()
        memory.memory_blocks = [block_of(bank, chat_store=memory.sql_store)]
        await memory.aget()
        for tree in TREES:
            await asyncio.gather(
                memory.aput_messages([user(planted(tree)), assistant("Okay.")]),
                memory.aput_messages([user(f"{planted(tree)} Twice."), assistant("Okay.")]),
                memory.aget(),
            )
        await memory.aget()

    asyncio.run(run())
    said = [f"user: {planted(tree)}{twice}" for tree in TREES for twice in ("", " Twice.")]
    assert texts(bank) == sorted(said)


def test_tool_calls_that_llamaindex_does_not_count_lose_no_memory(bank: MemoryBank) -> None:
    """Calls are not counted, so the queue exceeds its limit; the messages around them are remembered once."""
    memory = chat(block_of(bank, roles=["user", "assistant", "tool"]))
    for number, tree in enumerate(TREES):
        call = ToolCallBlock(
            tool_call_id=f"c{number}", tool_name="water", tool_kwargs={"note": "drop " * 200}
        )
        memory.put(user(planted(tree)))
        memory.put(ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Dry."), call]))
        memory.put(
            ChatMessage(f"Watered {tree}.", role="tool", additional_kwargs={"tool_call_id": f"c{number}"})
        )
        memory.get()
        memory.put(assistant("Okay."))
        memory.get()
    found = texts(bank)
    assert [text for text in found if text.startswith("user")] == sorted(
        f"user: {planted(tree)}" for tree in TREES
    )
    watered = [text for text in found if "Watered" in text]
    assert len(watered) == len(TREES)
    assert all("water(note=" in text for text in watered)
    assert not any("Dry." in text for text in found)


def test_a_queue_that_begins_with_an_answer_loses_no_memory(bank: MemoryBank) -> None:
    """LlamaIndex's queue may begin so, with a greeting or a cut chat."""
    memory = chat(block_of(bank), token_limit=400)
    memory.set([assistant("The shop in Porto opens at nine."), user(planted("an oak")), assistant("Okay.")])
    memory.get()
    small = chat(block_of(bank), token_limit=20)
    small.set([assistant("The shop in Porto opens at nine."), user(planted("an oak")), assistant("Okay.")])
    put_turns(small, TREES[1:4])
    small.get()
    assert Counter(texts(bank)) == Counter(
        ["assistant: The shop in Porto opens at nine.", *(f"user: {planted(tree)}" for tree in TREES[:4])]
    )


def test_the_prompt_of_the_system_is_no_memory_though_llamaindex_flushes_it(bank: MemoryBank) -> None:
    """A message without text is not a memory either."""
    memory = chat(block_of(bank))
    memory.put(ChatMessage("You are a gardener and live in Porto.", role="system"))
    memory.put(ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/oak.png")]))
    memory.put(assistant("Okay."))
    expected = put_turns(memory)
    memory.get()
    assert texts(bank) == expected

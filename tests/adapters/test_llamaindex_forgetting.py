"""Chats stored next to a bank are erased with it, are separate from other banks' chats and from a graph's thread of the same name."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core.llms import ChatMessage

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.llamaindex import HindsightMemory

LOCKER = "My locker code is Zanzibar-4711."


def chat(bank: MemoryBank, session: str, *texts: str) -> HindsightMemory:
    memory = HindsightMemory(bank, session_id=session)
    for text in texts:
        memory.put_messages([ChatMessage(text, role="user"), ChatMessage("I see.", role="assistant")])
    return memory


def test_a_forgotten_bank_takes_its_chats_along(tmp_path: Path) -> None:
    """The file no longer contains the text, and a new bank of that name does not find the chat; other chats are kept."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        chat(engine.bank("alice"), "s", LOCKER)
        other = chat(engine.bank("alice/s"), "s", "I keep bees in Porto.")
        engine.forget_bank("alice")
        assert HindsightMemory(engine.bank("alice"), session_id="s").get_all() == []
        assert len(other.get_all()) == 2
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"Zanzibar" in file.read_bytes()]


@pytest.mark.parametrize(("one", "two"), [(("a", "b/s"), ("a/b", "s")), (('a", "b', "s"), ("a", 'b", "s'))])
def test_no_two_banks_share_a_chat(tmp_path: Path, one: tuple[str, str], two: tuple[str, str]) -> None:
    """This holds for any characters in bank names and sessions."""
    with Hindsight.open(tmp_path, reranker=None) as engine:
        chat(engine.bank(one[0]), one[1], LOCKER)
        assert HindsightMemory(engine.bank(two[0]), session_id=two[1]).get_all() == []


def test_a_graphs_thread_of_the_same_name_is_another_list() -> None:
    """Each framework passes its own messages; messages missing from the other's list are not treated as dropped."""
    with Hindsight.open(":memory:", reranker=None) as engine:
        bank = engine.bank("alice")
        bank.threads.follow(
            [HumanMessage("I keep bees in Porto.", id="1"), AIMessage("Nice.", id="2")], thread="t"
        )
        chat(bank, "t", "My dog is called Rex.")
        bank.threads.follow(
            [HumanMessage("I keep bees in Porto.", id="1"), AIMessage("Nice!", id="3")], thread="t"
        )
        texts = {unit.text for unit in bank.units().units}
    assert {"user: I keep bees in Porto.", "user: My dog is called Rex."} <= texts

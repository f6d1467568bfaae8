"""A message too long to be recalled whole is stored in pieces that can be."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import create_recall_node, create_retain_node

FILLER = "The report goes on about nothing in particular for a while. "
LONG = (
    FILLER * 200 + "The vault code of the museum is kept by Ines Molnar. " + FILLER * 200
)  # 24,000 characters


def test_a_sentence_in_the_middle_of_a_long_message_is_recalled_by_an_agent(light: Hindsight) -> None:
    bank = light.bank("ann")
    config: RunnableConfig = {"configurable": {"thread_id": "t"}}
    create_retain_node(bank).invoke(
        {"messages": [HumanMessage(LONG, id="m1"), AIMessage("I read it.", id="m2")]}, config
    )
    asked = {"messages": [HumanMessage("Who keeps the vault code of the museum?", id="m3")]}
    shown = create_recall_node(bank).called().invoke(asked, config)["memories"]
    assert any("Ines Molnar" in memory["text"] for memory in shown)
    assert max(len(unit.text) for unit in bank.iterate_units()) < 2_100


def test_its_pieces_are_the_speakers_words_in_order_and_the_turn_stays_whole(light: Hindsight) -> None:
    bank = light.bank("ann")
    said = {"role": "user", "content": LONG, "id": "m1"}
    first = bank.retain([said], timestamp="2025-01-01", thread="t")
    pieces = [unit.text.removeprefix("user: ") for unit in bank.iterate_units()]
    assert "".join(" ".join(pieces).split()) == "".join(LONG.split())
    assert {unit.speaker for unit in bank.iterate_units()} == {"user"}
    assert {unit.sources for unit in bank.iterate_units()} == {("m1",)}
    assert len(bank.retain([said], timestamp="2025-01-01", thread="t").unit_ids) == 0
    assert len(first.unit_ids) == len(pieces)
    bank.forget(thread="t", message="m1")
    assert bank.count() == 0

"""Compact text: more memories fit, none costs more, and removed items do not reappear."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.langgraph import HindsightRetriever, create_recall_node

Opener = Callable[..., Hindsight]
SOLD = "Ines sold the red kayak to Bruno."
FACTS: list[dict[str, Any]] = [
    {
        "what": SOLD,
        "when": "Friday, May 3, 2024",
        "why": "She needed the room in her shed for a new canoe.",
        "occurred_start": "2024-05-03",
    },
    {"what": "Ines bought a canoe.", "when": "in May 2024", "occurred_start": "2024-05"},
    {"what": "Ines keeps a kayak paddle as a keepsake.", "why": "It was the first one that she carved."},
    {"what": "Bruno repairs kayaks."},
]
ASKED = "What about kayaks and the canoe?"


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return told(light.bank("ines"))


def told(bank: MemoryBank) -> MemoryBank:
    bank.retain("Ines talked about boats.", facts=FACTS)
    return bank


def shown(bank: MemoryBank, **options: Any) -> list[str]:
    return sorted(item.text for item in bank.recall(ASKED, text="compact", **options).units)


SHORT = [
    "Bruno repairs kayaks.",
    "Ines bought a canoe. (2024-05)",
    "Ines keeps a kayak paddle as a keepsake.",
    f"{SOLD} (2024-05-03)",
]


def test_it_says_what_happened_and_the_date_in_figures(bank: MemoryBank) -> None:
    """The date has its known precision; the unit, and recall by default, have the whole text."""
    assert shown(bank) == SHORT
    whole = bank.recall(ASKED)
    assert [item.text for item in whole.units] == [item.unit.text for item in whole.units]
    assert any("new canoe" in item.text for item in whole.units)


def test_no_memory_costs_more_and_the_budget_holds_for_what_is_shown(bank: MemoryBank) -> None:
    """The budgets apply to the compact texts, and none contains fewer memories than with full text."""
    for tokens in range(1, 120, 7):
        short = bank.recall(ASKED, text="compact", max_tokens=tokens)
        counted = bank.asynchronous._context.services.tokens.count([item.text for item in short.units])
        assert short.tokens == sum(counted) == sum(item.tokens for item in short.units) <= tokens
        assert len(short.units) >= len(bank.recall(ASKED, max_tokens=tokens).units)


def test_it_stays_through_archive_and_restart_and_goes_with_an_edit(
    opener: Opener, light_config: HindsightConfig, tmp_path: Path
) -> None:
    """An archive contains the compact forms; a caller's own texts are returned unchanged."""
    home = opener(tmp_path / "home", config=light_config)
    told(home.bank("ines")).archive.export(tmp_path / "ines.jsonl")
    home.close()
    again = opener(tmp_path / "home", config=light_config)
    assert shown(again.bank("ines")) == SHORT
    other = again.bank("other")
    other.archive.load(tmp_path / "ines.jsonl")
    assert shown(other) == SHORT
    (sold,) = (unit for unit in other.iterate_units() if SOLD in unit.text)
    words = f"{SOLD} | When: Saturday | Bruno insisted."
    other.edit(sold.id, text=words)
    assert words in shown(other)


def test_a_document_in_short_has_the_items_that_hold(light: Hindsight) -> None:
    """The head is compact, and a removed item is not shown."""
    bank = light.bank("port")
    items = ["crane repair", "new mooring fees", "pier lights"]
    agenda: dict[str, Any] = {
        "what": "Agenda of the harbour meeting",
        "why": "The council sits in May.",
        "records": [{"kind": "document_item", "category": "agenda", "value": item} for item in items],
    }
    (unit,) = bank.retain(agenda["what"], facts=[agenda], timestamp="2024-05-01").unit_ids
    struck = {
        "what": "User struck something off the harbour agenda.",
        "changes": [{"unit_id": unit, "change": "removes", "items": [2]}],
    }
    bank.retain(struck["what"], facts=[struck], timestamp="2024-05-02")
    found = bank.recall("agenda of the harbour meeting", text="compact").units
    (left,) = (item for item in found if item.unit.id == unit)
    assert left.unit.compact
    lines = "Agenda of the harbour meeting\n- agenda: crane repair\n- agenda: pier lights"
    assert left.text == left.beside_date == lines


def test_integrations_show_a_date_once(bank: MemoryBank) -> None:
    """A prompt shows the date next to the memory; a document, which has only its text, contains it. `text="full"` shows everything."""
    given = {"messages": [HumanMessage(ASKED)]}
    lines = create_recall_node(bank, output="text", relevance="all").invoke(given)["memories"]
    assert f"- {SOLD} (happened on Friday, May 3, 2024)" in lines.splitlines()
    assert "2024-05" not in lines
    documents = HindsightRetriever(bank=bank, relevance="all").invoke(ASKED)
    assert sorted(document.page_content for document in documents) == SHORT
    whole = HindsightRetriever(bank=bank, relevance="all", text="full").invoke(ASKED)
    assert any("She needed the room" in document.page_content for document in whole)


def test_a_line_that_comes_back_in_short_is_not_learnt_again(bank: MemoryBank) -> None:
    """A prompt's block that becomes part of a message is not retained as news."""
    given = {"messages": [HumanMessage(ASKED)]}
    lines = create_recall_node(bank, output="text", relevance="all").invoke(given)["memories"]
    before = bank.count()
    bank.retain([{"role": "assistant", "content": lines}])
    assert bank.count() == before

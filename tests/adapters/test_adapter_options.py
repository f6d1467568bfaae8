"""The frameworks' ways to call recall: options that select memories are passed on and validated there."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from langchain_core.tools import StructuredTool

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.langgraph import create_recall_node
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.model.options import RECALL_DEFAULTS, REFLECT_DEFAULTS

OPTIONS: dict[str, Any] = {
    "tag_groups": [{"tags": ["boats"]}, {"not": {"tags": ["old"]}}],
    "min_scores": {"semantic": 0.1},
}


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    bank = light.bank("alice")
    for text, tags, length in (
        ("My kayak is red.", ["boats"], 4.5),
        ("My kayak leaked.", ["boats", "old"], 4.5),
        ("My kayak is blue.", ["boats"], 10),
        ("A kayak.", [], 4.5),
    ):
        bank.retain(text, tags=tags, metadata={"length": length})
    return bank


def texts_recalled(bank: MemoryBank, **options: Any) -> list[str]:
    """The texts that the node writes into a graph's state."""
    state = {"messages": [{"role": "user", "content": "my kayak"}]}
    return [memory["text"] for memory in create_recall_node(bank, **options).invoke(state)["memories"]]


def test_the_recall_node_chooses_by_tag_groups_and_scores(bank: MemoryBank) -> None:
    """The state contains only memories whose tags and scores meet the conditions."""
    assert sorted(texts_recalled(bank, **OPTIONS)) == ["My kayak is blue.", "My kayak is red."]
    shorter = {"key": "length", "value": 5, "operator": "<"}
    assert texts_recalled(bank, metadata=shorter, **OPTIONS) == ["My kayak is red."]
    assert texts_recalled(bank, min_scores={"semantic": 1.0, "keyword": 1e6}, include_core=False) == []
    with pytest.raises(InvalidRequest, match="tag_groups"):
        texts_recalled(bank, tag_groups=[{}])
    with pytest.raises(InvalidRequest, match=r"metadata\.operator"):
        texts_recalled(bank, metadata={"key": "length", "value": 5, "operator": "<<"})


def test_the_retriever_chooses_by_tag_groups_and_scores(bank: MemoryBank) -> None:
    """A query engine gets the same memories as nodes."""
    nodes = HindsightRetriever(bank, **OPTIONS).retrieve("my kayak")
    assert sorted(found.node.text for found in nodes) == ["My kayak is blue.", "My kayak is red."]
    with pytest.raises(InvalidRequest, match="min_scores"):
        HindsightRetriever(bank, min_scores={"best": 1}).retrieve("my kayak")


def test_a_framework_makes_a_tool_of_a_method(bank: MemoryBank) -> None:
    """Wherever a framework reads the signature of recall or reflect, options are listed one by one with their types."""
    tool = StructuredTool.from_function(bank.recall)
    assert [*tool.args] == ["query", *RECALL_DEFAULTS]
    assert [*get_type_hints(bank.reflect)] == ["query", "return", *REFLECT_DEFAULTS]
    found = tool.invoke({"query": "my kayak", "k": 1, "tags": ["boats"], "tags_match": "all_strict"})
    assert len(found.units) == 1

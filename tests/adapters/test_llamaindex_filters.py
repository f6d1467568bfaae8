"""LlamaIndex's MetadataFilters on our retriever, compared with LlamaIndex's own store."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn
from table import every_row

from hindsight_integrations import Document, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.llamaindex import HindsightRetriever

BOATS: dict[str, dict[str, Any]] = {
    "The first kayak is red.": {"length": 9, "maker": "Ohm", "sold": False, "crew": ["Ann", "Bo"]},
    "The second kayak is blue.": {"length": 10, "maker": "Ohmstead", "sold": True, "crew": ["Bo"]},
    "The third kayak is green.": {"length": 10.5, "maker": "ohm & sons"},
    "The fourth kayak is white.": {},
}


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """Four kayaks, each with its own metadata."""
    bank = light.bank("boats")
    for number, (text, metadata) in enumerate(BOATS.items()):
        bank.retain(Document(text, id=f"d{number}", metadata=metadata))
    return bank


def found(bank: MemoryBank, **options: Any) -> set[str]:
    return {node.node.text for node in HindsightRetriever(bank, **options).retrieve("Which kayak is it?")}


def of(key: str, operator: str, value: Any) -> MetadataFilter:
    return MetadataFilter(key=key, value=value, operator=FilterOperator(operator))


def group(*filters: MetadataFilter | MetadataFilters, condition: str = "and") -> MetadataFilters:
    return MetadataFilters(filters=list(filters), condition=FilterCondition(condition))


def by_llamaindex(filters: MetadataFilters) -> set[str]:
    """The texts that LlamaIndex's own vector store would search."""
    passes = build_metadata_filter_fn(lambda text: BOATS[text], filters)
    return {text for text in BOATS if passes(text)}


@every_row(
    "filters",
    [
        group(of("length", "==", 10)),
        group(of("length", "!=", 10)),
        group(of("length", ">", 9)),
        group(of("length", "<", 10)),
        group(of("length", ">=", 10)),
        group(of("length", "<=", 10)),
        group(of("length", "in", [9, 10])),
        group(of("maker", "nin", ["Ohm"])),
        group(of("crew", "any", ["Ann", "Cy"])),
        group(of("crew", "all", ["Ann", "Bo"])),
        group(of("crew", "contains", "Bo")),
        group(of("maker", "text_match", "Ohm")),
        group(of("maker", "text_match_insensitive", "OHM")),
        group(of("crew", "is_empty", None)),
        group(of("length", ">", 9), of("maker", "==", "Ohmstead")),
        group(of("length", "<", 10), of("maker", "==", "Ohmstead"), condition="or"),
    ],
    ids=lambda filters: f"{len(filters.filters)} {filters.filters[0].operator.value}",
)
def test_the_memories_are_those_of_llamaindexs_own_store(bank: MemoryBank, filters: MetadataFilters) -> None:
    """Every operator and condition selects the same memories in both, sync and async."""
    expected = by_llamaindex(filters)
    assert 0 < len(expected) < len(BOATS)
    assert found(bank, filters=filters) == expected
    nodes = asyncio.run(HindsightRetriever(bank, filters=filters).aretrieve("Which kayak is it?"))
    assert {node.node.text for node in nodes} == expected


def test_nested_groups_and_not_hold(bank: MemoryBank) -> None:
    """Groups can be nested; NOT means that no condition matches."""
    either = group(of("length", "==", 9), of("length", "==", 10), condition="or")
    assert found(bank, filters=group(either, of("crew", "contains", "Ann"))) == {"The first kayak is red."}
    neither = found(bank, filters=group(either, condition="not"))
    assert neither == {"The third kayak is green.", "The fourth kayak is white."}


def test_without_a_condition_all_must_hold(bank: MemoryBank) -> None:
    """LlamaIndex allows None as the condition."""
    filters = MetadataFilters(filters=[of("length", "==", 10), of("maker", "==", "Ohm")], condition=None)
    assert found(bank, filters=filters) == set()


def test_a_filter_counts_before_limits_and_beside_the_banks_own_form(bank: MemoryBank) -> None:
    """The best matching memories are returned, not the matching ones among the best; a boolean needs the bank's own form."""
    last = group(of("maker", "==", "ohm & sons"))
    assert found(bank, filters=last, k=1) == {"The third kayak is green."}
    long = group(of("length", ">=", 10))
    assert found(bank, filters=long, metadata={"sold": True}) == {"The second kayak is blue."}
    assert found(bank, metadata={"sold": False}) == {"The first kayak is red."}


def test_a_missing_key_and_a_value_of_another_type_match_nothing(bank: MemoryBank) -> None:
    """They raise no exception, because metadata from several sources often differ."""
    assert found(bank, filters=group(of("colour", "==", "red"))) == set()
    assert found(bank, filters=group(of("maker", ">", 3))) == set()


@every_row(
    ("options", "message"),
    [
        ({"filters": {"maker": "Ohm"}}, "filters: .* is not LlamaIndex's MetadataFilters"),
        ({"filters": [of("maker", "==", "Ohm")]}, "filters: .* is not LlamaIndex's MetadataFilters"),
        ({"filters": group(of("length", "in", 9))}, "metadata"),
        ({"metadata": {"key": "length", "operator": "~", "value": 1}}, "metadata.operator"),
    ],
)
def test_what_is_no_filter_is_refused(bank: MemoryBank, options: dict[str, Any], message: str) -> None:
    """A mapping instead of MetadataFilters, a list operator without a list, and an unknown operator are rejected."""
    with pytest.raises(InvalidRequest, match=message):
        found(bank, **options)

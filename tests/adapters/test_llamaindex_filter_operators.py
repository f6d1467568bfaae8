"""LlamaIndex's metadata filters give the same result as LlamaIndex's own in-memory store."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn
from plain_metadata import selects

from hindsight_integrations import MetadataCondition, MetadataOperator
from hindsight_integrations.llamaindex.retriever import core_filters
from hindsight_integrations.model.metadata import OF_LISTS
from hindsight_integrations.validation.metadata import checked_metadata_filter

WORDS = st.sampled_from(
    ["", "a", "ab", "b", "Ab", "c"]
)  # without numeric strings, which are deliberately compared in another way
NUMBERS = st.integers(-2, 2) | st.sampled_from([0.5, 1.0])
METADATA = st.dictionaries(
    st.sampled_from("xyz"),
    WORDS | NUMBERS | st.lists(WORDS, max_size=3) | st.lists(st.integers(0, 2), max_size=3),
)


def _values(operator: FilterOperator) -> st.SearchStrategy[Any]:
    lists = st.lists(WORDS, max_size=3) | st.lists(st.integers(0, 2), max_size=3)
    if operator.value in OF_LISTS:
        return lists
    if operator in (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE):
        return WORDS
    if operator in (FilterOperator.EQ, FilterOperator.NE):
        return WORDS | NUMBERS | lists
    return WORDS | NUMBERS


FILTERS = st.sampled_from(list(FilterOperator)).flatmap(
    lambda operator: st.builds(
        MetadataFilter, key=st.sampled_from("xyz"), value=_values(operator), operator=st.just(operator)
    )
)


def test_operators_and_conditions_have_the_same_names() -> None:
    assert {each.value for each in MetadataOperator} == {each.value for each in FilterOperator}
    assert {each.value for each in MetadataCondition} == {each.value for each in FilterCondition}


@given(METADATA, st.lists(FILTERS, min_size=1, max_size=3), st.sampled_from([*FilterCondition, None]))
def test_filters_pass_what_they_pass_in_llamaindex(
    metadata: dict[str, Any], filters: list[MetadataFilter], condition: FilterCondition | None
) -> None:
    """If LlamaIndex raises because the two values cannot be compared, our filter still gives a result."""
    theirs = MetadataFilters(filters=filters, condition=condition)
    ours = checked_metadata_filter(core_filters(theirs))
    assert ours is not None
    passes = selects(ours, metadata)
    try:
        expected = build_metadata_filter_fn(lambda _: metadata, theirs)("node")
    except TypeError:
        assume(False)
    assert passes == expected


@pytest.mark.parametrize("operator", list(FilterOperator))
@pytest.mark.parametrize("own", ["a", 1, 0.5, True, ["a"], [1, True], [], ""])
@given(st.data())
def test_what_cannot_be_compared_is_no_error(own: Any, operator: FilterOperator, data: st.DataObject) -> None:
    """This holds for any value of the memory and any value of the filter."""
    wanted = {"key": "k", "value": data.draw(_values(operator)), "operator": operator.value}
    checked = checked_metadata_filter(wanted)
    assert checked is not None
    assert selects(checked, {"k": own}) in (True, False)

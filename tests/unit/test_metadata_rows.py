"""The in-memory metadata of a bank's units."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_metadata import selects
from table import every_row

from hindsight_integrations import MetadataFilter, MetadataGroup
from hindsight_integrations.indexes import columns
from hindsight_integrations.indexes.columns import MetadataRows

SCALARS = st.integers(0, 3) | st.sampled_from(["a", "1", True, 1.0, 0.5, ""])
METADATA = st.dictionaries(st.sampled_from("xyz"), SCALARS | st.lists(SCALARS, max_size=2), max_size=3)
FILTERS = st.builds(
    MetadataFilter,
    st.sampled_from("xyzw"),
    SCALARS,
    st.sampled_from(["==", "!=", "<", ">=", "contains", "is_empty"]),
)
CONDITIONS = FILTERS | st.builds(
    MetadataGroup, st.lists(FILTERS, max_size=3), st.sampled_from(["and", "or", "not"])
)


@given(st.lists(st.lists(METADATA, max_size=6), max_size=4), CONDITIONS, st.sampled_from([1, 2, 4_096]))
def test_rows_pass_as_their_metadata_does(batches: list[list[Any]], condition: Any, remembered: int) -> None:
    """Filtering rows equals filtering their metadata, however much is cached or added later."""
    rows, units = MetadataRows(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "REMEMBERED", remembered)
        for batch in batches:
            units += list(
                zip(batch, rows.coded([json.dumps(each) if each else "" for each in batch]), strict=True)
            )
            passing = rows.passing(condition)
            for metadata, row in units:
                assert passing[row] == selects(condition, metadata), (metadata, condition)


def test_repeated_metadata_takes_one_row() -> None:
    rows = MetadataRows()
    same = rows.coded(['{"a": 1}', "", "{}", '{"a": 1}', '{"a": "1"}', '{"a": true}', '{"a": 1.0}'])
    assert same == [1, 0, 0, 1, 2, 3, 4]
    assert len(rows) == 5
    assert rows.passing(MetadataFilter("a", 1)).tolist() == [False, True, True, False, True]


@every_row("damaged", ["{", "[1]", "5", "null", '"a"', "{'a': 1}"])
def test_what_is_no_metadata_counts_as_none(damaged: str) -> None:
    """Invalid metadata counts as empty, so that a damaged memory does not keep its bank from opening."""
    assert MetadataRows().coded([damaged, '{"a": 1}']) == [0, 1]


def test_what_is_found_does_not_change_when_more_comes() -> None:
    rows = MetadataRows()
    rows.coded(['{"a": 1}'])
    before = rows.passing(MetadataFilter("a", 1))
    rows.coded([json.dumps({"a": number}) for number in range(1_000)])
    assert before.tolist() == [False, True]
    assert np.flatnonzero(rows.passing(MetadataFilter("a", 998, ">="))).tolist() == [999, 1_000]

"""The filters of a query, as a mask over the columns (paper section 4.2.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hindsight_integrations.indexes.columns import (
    Columns,
    found_types,
    in_groups,
    shown_at,
    tagged,
    with_metadata,
)
from hindsight_integrations.model.arrays import BoolArray
from hindsight_integrations.model.requests import RecallQuery, TagsMatch


def selection(columns: Columns, query: RecallQuery) -> BoolArray:
    """Return a mask of the units that pass the query's filters on type, tags, metadata and validity."""
    mask = np.ones(len(columns), bool)
    for condition in _conditions(query).values():
        mask &= condition(columns)
    return mask


def why_nothing(columns: Columns, query: RecallQuery) -> str:
    """Describe the first filter that no unit passes; empty if some pass all filters."""
    if not len(columns):
        return "filters: the bank has no memories"
    mask = np.ones(len(columns), bool)
    for name, condition in _conditions(query).items():
        before = int(mask.sum())
        mask &= condition(columns)
        if not mask.any():
            return f"filters: of {before} memories none passes {name}"
    return ""


def _conditions(query: RecallQuery) -> dict[str, Callable[[Columns], BoolArray]]:
    """Return the filters of a query by description, in the order in which `why_nothing` reports them."""
    conditions: dict[str, Callable[[Columns], BoolArray]] = {
        f"types {', '.join(query.types)}": lambda columns: found_types(columns, query.types)
    }
    if query.tags or query.tags_match is TagsMatch.EXACT:
        wanted = f"tags {', '.join(query.tags) or 'none'} ({query.tags_match})"
        conditions[wanted] = lambda columns: tagged(columns, query.tags, query.tags_match)
    if query.tag_groups:
        conditions["tag_groups"] = lambda columns: in_groups(columns, query.tag_groups)
    if query.metadata is not None:
        conditions["metadata"] = lambda columns: with_metadata(columns, query.metadata)
    moment = f"as_of {query.as_of:%Y-%m-%d %H:%M:%S}" if query.as_of else "validity (all are invalid)"
    if query.as_of or not query.include_invalidated:
        conditions[moment] = lambda columns: shown_at(
            columns, query.as_of, include_invalidated=query.include_invalidated
        )
    return conditions

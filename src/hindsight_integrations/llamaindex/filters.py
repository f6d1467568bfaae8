"""LlamaIndex's metadata filters as the core's, which has the same operators and conditions. Pure."""

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import MetadataFilter as LlamaIndexFilter
from llama_index.core.vector_stores.types import MetadataFilters

from hindsight_integrations import InvalidRequest, MetadataFilter, MetadataGroup
from hindsight_integrations.errors import shown


def core_filters(given: object) -> MetadataGroup:
    """The same conditions in the core's words; what an operator makes of a value is checked by the recall.

    Args:
        given: LlamaIndex's filters, nested or not; without a condition all of them must hold, as LlamaIndex has it.

    Raises:
        InvalidRequest: it is no MetadataFilters.
    """
    if not isinstance(given, MetadataFilters):
        raise InvalidRequest(
            "filters",
            f"{shown(given)} is not LlamaIndex's MetadataFilters",
            "Pass MetadataFilters(filters=[MetadataFilter(key=..., value=...)]), or the bank's own form as metadata=.",
        )
    return MetadataGroup(tuple(map(_condition, given.filters)), _named(given.condition) or "and")


def _condition(given: LlamaIndexFilter | MetadataFilters) -> MetadataFilter | MetadataGroup:
    if isinstance(given, MetadataFilters):
        return core_filters(given)
    return MetadataFilter(given.key, given.value, _named(given.operator))


def _named(given: Any) -> Any:  # noqa: ANN401 - what was built around LlamaIndex's own checks is refused by the recall
    return getattr(given, "value", given)

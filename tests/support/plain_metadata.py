"""A metadata filter applied to one memory, as a reference for the columns of a bank."""

from __future__ import annotations

from hindsight_integrations import MetadataCondition, MetadataFilter
from hindsight_integrations.model.metadata import Metadata, MetadataTest, value_test


def selects(condition: MetadataTest, metadata: Metadata) -> bool:
    """Whether a condition lets a memory with this metadata through.

    Args:
        condition: a checked one: operators fit their values.
        metadata: the memory's.
    """
    if isinstance(condition, MetadataFilter):
        return value_test(condition)(metadata.get(condition.key))
    passed = [selects(part, metadata) for part in condition.filters]
    if not passed or condition.condition == MetadataCondition.AND:
        return all(passed)
    return any(passed) is (condition.condition == MetadataCondition.OR)

"""Wrongly withdrawn: valid items that a system no longer considers true."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context
from hindsight_evals.metrics.stating import stated


def wrongly_withdrawn(held: Context, items: Iterable[Item]) -> tuple[str, ...]:
    """Return the texts of valid items that the system no longer states, although it was told each of them.

    The cause may be extraction or retraction; with gold facts, it is retraction.

    Args:
        held: everything that the system considers true.
        items: the items of the ground truth.
    """
    return tuple(item.text for item in items if item.valid and not stated(held, item))

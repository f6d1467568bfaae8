"""Wrongly withdrawn: what holds, and a system no longer takes for true."""

from __future__ import annotations

from collections.abc import Iterable

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context
from hindsight_evals.metrics.stating import stated


def wrongly_withdrawn(held: Context, items: Iterable[Item]) -> tuple[str, ...]:
    """Texts of the valid items that nothing a system still holds states, although it was told each of them.

    Extraction may have lost one as well as retraction; given gold facts, only retraction can.

    Args:
        held: everything it takes for true.
        items: of the ground truth.
    """
    return tuple(item.text for item in items if item.valid and not stated(held, item))

"""Leak rate: how many of the invalid items are returned as true."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context
from hindsight_evals.metrics.stating import stated


def leak_rate(context: Context, items: Sequence[Item]) -> float | None:
    """Return the share in [0, 1] of invalid items that a context states as true; None without invalid items."""
    gone = [item for item in items if not item.valid]
    return sum(stated(context, item) for item in gone) / len(gone) if gone else None

"""Context FAMA: FAMA of what a system serves, before any reader: no model judges."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context
from hindsight_evals.metrics.fama import Fama
from hindsight_evals.metrics.stating import stated


def context_fama(context: Context, items: Sequence[Item]) -> Fama | None:
    """FAMA with each valid item as a criterion of presence and each invalidated one as a criterion of absence.

    An item is present where a served text states it as true (`stating.states`): an invalidated one that is served with a mark
    that says so is absent. None without items.
    """
    if not items:
        return None
    wanted = [stated(context, item) for item in items if item.valid]
    leaked = [stated(context, item) for item in items if not item.valid]
    return Fama(sum(wanted), len(wanted), len(leaked) - sum(leaked), len(leaked))

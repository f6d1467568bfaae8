"""Context FAMA: FAMA of the texts that a system returns, without a reader or judge."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context
from hindsight_evals.metrics.fama import Fama
from hindsight_evals.metrics.stating import stated


def context_fama(context: Context, items: Sequence[Item]) -> Fama | None:
    """Compute FAMA with each valid item as a presence criterion and each invalid one as an absence criterion.

    An item is present if a returned text states it as true (`stating.states`). An invalid item that is returned with a
    mark that says so counts as absent. None without items.
    """
    if not items:
        return None
    wanted = [stated(context, item) for item in items if item.valid]
    leaked = [stated(context, item) for item in items if not item.valid]
    return Fama(sum(wanted), len(wanted), len(leaked) - sum(leaked), len(leaked))

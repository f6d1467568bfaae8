"""What is older than it may get is forgotten (`RetentionConfig`). Blocking; `settle` runs it on the writer thread."""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.erasing import erased
from hindsight_integrations.model.erasure import Erasure


def forget_expired(bank: BankContext) -> int:
    """Erase the bank's memories and turns that were mentioned longer ago than they may be kept; how many memories."""
    settings, now = bank.tools.config.retention, bank.tools.clock.now()
    age = settings.age_in(bank.name)
    ages = {"": age} if age is not None else {}
    ages |= {tag: timedelta(days=days) for tag, days in settings.tags.items()}
    chosen = (Erasure(before=now - age, tags=(tag,) if tag else ()) for tag, age in ages.items())
    return sum(len(erased(bank, erasure).unit_ids) for erasure in chosen)

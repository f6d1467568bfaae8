"""Projection: applies what the ledger committed to a bank's indexes, and rebuilds any that fell out of step.

Each index keeps its own watermark. What it has not seen is read from the ledger's change feed and applied; applying
twice is harmless, so a kill between an index's work and its watermark costs a replay, never a memory. So an index need not
be written with every commit: searches have what it lacks from memory, and it is written in batches.
"""

from __future__ import annotations

from hindsight_integrations.search.projection.bank_projection import BankProjection, Indexes

__all__ = ["BankProjection", "Indexes"]

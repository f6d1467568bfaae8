"""Vector indexes that are opened and written in the background."""

from __future__ import annotations

import time

import pytest

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.indexes import projection as bank_projection


def search_chroma_in_small_banks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use Chroma in banks of any size, after the background has opened it."""
    monkeypatch.setattr(bank_projection, "EXACT_LIMIT", 0)


def wait_for_background(engine: Hindsight, bank: MemoryBank) -> None:
    """Open a bank, and wait until its vector index is open and contains every vector."""
    context, workers = bank.asynchronous._context, engine.asynchronous._workers
    key = context._header.key
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        workers.queued_read(int).result()
        if not workers.queued(key, lambda: context.projection._continuing).result():
            return
    raise AssertionError("the background does not end")

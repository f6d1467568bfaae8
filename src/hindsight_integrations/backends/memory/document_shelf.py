"""Documents, chunks and message versions of the dict-backed ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hindsight_integrations.backends.memory.bank_state import BankState
from hindsight_integrations.backends.memory.banks import DictBanks
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.model.writes import NOWHERE
from hindsight_integrations.ports.arrays import IntArray
from hindsight_integrations.ports.document_shelf import StoredDocument


class DictShelf(DictBanks):
    """The document reads of a ledger in dicts."""

    def document(self, bank: str, document_id: str) -> StoredDocument | None:
        """A document and its present chunks, in order; None if it was never retained."""
        with self._bank(bank) as state:
            document = state.documents.get(document_id)
            if document is None:
                return None
            ever = [chunk for chunk in state.chunks.values() if chunk.document_id == document_id]
            present = sorted((c for c in ever if c.position != NOWHERE), key=lambda c: c.position)
            after = max((chunk.ordinal for chunk in ever), default=-1) + 1
            return StoredDocument(document_id, document.content_hash, tuple(present), after)

    def units_of_chunks(self, bank: str, document_id: str, ordinals: Sequence[int]) -> IntArray:
        """Row ids of the valid units made from these chunks of a document, ascending."""
        wanted = frozenset(ordinals)
        with self._bank(bank) as state:
            return _valid(state, lambda unit: unit.document_id == document_id and unit.chunk in wanted)

    def units_of_messages(self, bank: str, messages: Sequence[tuple[str, str]]) -> IntArray:
        """Row ids of the valid units with one of these (thread, message id) among their sources, ascending."""
        wanted = frozenset(messages)
        with self._bank(bank) as state:
            return _valid(state, lambda unit: any((unit.thread, source) in wanted for source in unit.sources))


def _valid(state: BankState, condition: Callable[[MemoryUnit], bool]) -> IntArray:
    rows = (row for row, held in state.units.items() if held.unit.closed_at is None and condition(held.unit))
    return np.array(sorted(rows), np.int64)

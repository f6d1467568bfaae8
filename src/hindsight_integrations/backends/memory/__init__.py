"""Dict-backed doubles of the storage ports: the contracts in their plainest form, for tests and for small throwaway banks."""

from __future__ import annotations

from hindsight_integrations.backends.memory.keyword_index import DictKeywordIndex
from hindsight_integrations.backends.memory.ledger import DictLedger
from hindsight_integrations.backends.memory.memory_graph import DictMemoryGraph
from hindsight_integrations.backends.memory.vector_index import DictVectorIndex

__all__ = ["DictKeywordIndex", "DictLedger", "DictMemoryGraph", "DictVectorIndex"]

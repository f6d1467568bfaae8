"""LlamaIndex integration: memory for agents and chat engines, memory block, retriever, query engine and tools.

LlamaIndex is imported when a name of this package is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.lazy import adapter_attribute

if TYPE_CHECKING:
    from hindsight_integrations.llamaindex.memory import HindsightMemory
    from hindsight_integrations.llamaindex.memory_block import HindsightMemoryBlock
    from hindsight_integrations.llamaindex.query_engine import HindsightQueryEngine
    from hindsight_integrations.llamaindex.retriever import HindsightRetriever
    from hindsight_integrations.llamaindex.tools import HindsightToolSpec

__all__ = [
    "HindsightMemory",
    "HindsightMemoryBlock",
    "HindsightQueryEngine",
    "HindsightRetriever",
    "HindsightToolSpec",
]

_HOME_OF = {
    "HindsightMemory": "memory",
    "HindsightMemoryBlock": "memory_block",
    "HindsightQueryEngine": "query_engine",
    "HindsightRetriever": "retriever",
    "HindsightToolSpec": "tools",
}


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> object:
        return adapter_attribute(
            __name__,
            _HOME_OF,
            name,
            vendors=("llama_index",),
            extra="llamaindex",
            distribution="llama-index-core",
        )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""LangGraph integration: nodes, agent middleware, tools, a retriever, the reflect subgraph and a store.

LangGraph is imported when a name of this package is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.lazy import adapter_attribute

if TYPE_CHECKING:
    from hindsight_integrations.langgraph.middleware import HindsightMiddleware
    from hindsight_integrations.langgraph.nodes import (
        EventKind,
        RecallOutput,
        create_recall_node,
        create_retain_node,
        create_settle_node,
        omit_payloads,
    )
    from hindsight_integrations.langgraph.reflect_graph import create_reflect_subgraph
    from hindsight_integrations.langgraph.retriever import HindsightRetriever
    from hindsight_integrations.langgraph.state import Memory, MemoryState, format_memories, with_memories
    from hindsight_integrations.langgraph.store import HindsightStore, identity_of, namespace_label
    from hindsight_integrations.langgraph.tools import ToolVerb, create_memory_tools
    from hindsight_integrations.tolerance import OnError

__all__ = [
    "EventKind",
    "HindsightMiddleware",
    "HindsightRetriever",
    "HindsightStore",
    "Memory",
    "MemoryState",
    "OnError",
    "RecallOutput",
    "ToolVerb",
    "create_memory_tools",
    "create_recall_node",
    "create_reflect_subgraph",
    "create_retain_node",
    "create_settle_node",
    "format_memories",
    "identity_of",
    "namespace_label",
    "omit_payloads",
    "with_memories",
]

_HOME_OF = {
    "EventKind": "nodes",
    "HindsightMiddleware": "middleware",
    "HindsightRetriever": "retriever",
    "HindsightStore": "store",
    "Memory": "state",
    "MemoryState": "state",
    "OnError": "nodes",
    "RecallOutput": "nodes",
    "ToolVerb": "tools",
    "create_memory_tools": "tools",
    "create_recall_node": "nodes",
    "create_reflect_subgraph": "reflect_graph",
    "create_retain_node": "nodes",
    "create_settle_node": "nodes",
    "format_memories": "state",
    "identity_of": "store",
    "namespace_label": "store",
    "omit_payloads": "nodes",
    "with_memories": "state",
}
_EXTRA_OF = {"HindsightMiddleware": "langchain"}  # names that need another extra than "langgraph"


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> object:
        extra = _EXTRA_OF.get(name, "langgraph")
        return adapter_attribute(__name__, _HOME_OF, name, vendors=("langgraph", "langchain"), extra=extra)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

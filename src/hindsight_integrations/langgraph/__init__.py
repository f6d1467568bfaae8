"""Long-term memory for LangGraph graphs: nodes that recall, retain and settle.

Importing this package does not import LangGraph; using a name does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.lazy import adapter_attribute

if TYPE_CHECKING:
    from hindsight_integrations.langgraph.events import EventKind
    from hindsight_integrations.langgraph.memories import Memory, format_memories, with_memories
    from hindsight_integrations.langgraph.recall_node import RecallOutput, create_recall_node
    from hindsight_integrations.langgraph.reflect_graph import create_reflect_subgraph
    from hindsight_integrations.langgraph.retain_node import create_retain_node
    from hindsight_integrations.langgraph.retriever import HindsightRetriever
    from hindsight_integrations.langgraph.settle_node import create_settle_node
    from hindsight_integrations.langgraph.tracing import omit_payloads
    from hindsight_integrations.tolerance import OnError

__all__ = [
    "EventKind",
    "HindsightRetriever",
    "Memory",
    "OnError",
    "RecallOutput",
    "create_recall_node",
    "create_reflect_subgraph",
    "create_retain_node",
    "create_settle_node",
    "format_memories",
    "omit_payloads",
    "with_memories",
]

_HOME_OF = {
    "EventKind": "events",
    "HindsightRetriever": "retriever",
    "Memory": "memories",
    "OnError": "failures",
    "RecallOutput": "recall_node",
    "create_recall_node": "recall_node",
    "create_reflect_subgraph": "reflect_graph",
    "create_retain_node": "retain_node",
    "create_settle_node": "settle_node",
    "format_memories": "memories",
    "omit_payloads": "tracing",
    "with_memories": "memories",
}


if not TYPE_CHECKING:  # a type checker shall go on naming what is not there

    def __getattr__(name: str) -> object:
        return adapter_attribute(__name__, _HOME_OF, name, vendor="langgraph", extra="langgraph")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

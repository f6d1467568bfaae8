"""Long-term memory for LangGraph graphs: a node that recalls and a node that retains.

Importing this package does not import LangGraph; using a name does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hindsight_integrations.lazy import adapter_attribute

if TYPE_CHECKING:
    from hindsight_integrations.langgraph.memories import Memory, format_memories
    from hindsight_integrations.langgraph.nodes import create_recall_node, create_retain_node

__all__ = ["Memory", "create_recall_node", "create_retain_node", "format_memories"]

_HOME_OF = {
    "Memory": "memories",
    "create_recall_node": "nodes",
    "create_retain_node": "nodes",
    "format_memories": "memories",
}


if not TYPE_CHECKING:  # a type checker shall go on naming what is not there

    def __getattr__(name: str) -> object:
        return adapter_attribute(__name__, _HOME_OF, name, vendor="langgraph", extra="langgraph")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""What tracers record of the nodes."""

# No `from __future__ import annotations`: see memories.py.

from typing import TypedDict

from langgraph.types import TracePolicy, omit_payload

from hindsight_integrations.langgraph.node import MemoryNode


class NodeArguments(TypedDict):
    """Arguments of `StateGraph.add_node`."""

    action: MemoryNode
    trace_policy: TracePolicy


def omit_payloads(node: MemoryNode) -> NodeArguments:
    """A node whose run is traced with its time alone: `graph.add_node("retain", **omit_payloads(create_retain_node(...)))`.

    What it read and wrote stands in no trace of it, and calls of models on the way are not traced at all. The run of the
    graph as a whole, and other nodes that read the state, record it all the same: LangSmith's client hides those
    (`hide_inputs`, `hide_outputs`).

    Args:
        node: one of this package.
    """
    policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
    return NodeArguments(action=node.untraced(), trace_policy=policy)

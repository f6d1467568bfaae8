"""What tracers record of the nodes."""

# No `from __future__ import annotations`: see memories.py.

from langgraph.types import TracePolicy, omit_payload


def omit_payloads() -> TracePolicy:
    """A policy for `add_node(..., trace_policy=omit_payloads())`: the node's run is traced without what it read and wrote.

    The conversation and its memories then stand in no trace of this node. The run of the graph as a whole, and other
    nodes that read the state, record it all the same: LangSmith's client hides those (`hide_inputs`, `hide_outputs`).
    """
    return TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)

"""A graph for LangGraph's Agent Server: it remembers each user across threads and restarts. Runs without a key.

    pip install "hindsight-integrations[langgraph,offline]" "langgraph-cli[inmem]"
    cd examples/agent_server
    langgraph dev

The server creates the store named in langgraph.json and passes it to every node (`runtime.store`); it stores the checkpoints
itself. The graph and the store share one engine in HINDSIGHT_DIRECTORY (default: ./.hindsight).
"""

from dataclasses import dataclass

from langchain_core.messages import AIMessage
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime

from hindsight_integrations.langgraph import (
    MemoryState,
    create_recall_node,
    create_retain_node,
    namespace_label,
)
from hindsight_integrations.langgraph.agent_server import server_engine


@dataclass
class User:
    """The user, passed by the client as the run's context. With authentication, the server's user takes precedence."""

    user_id: str


async def answer(state: MemoryState, runtime: Runtime[User]) -> dict[str, list[AIMessage]]:
    """Stand in for a language model: quote the best memory, and count the user's visits in the store."""
    store = runtime.store
    namespace = ("visits", namespace_label(runtime.context.user_id))
    visits = 1
    if store is not None:
        before = await store.aget(namespace, "count")
        visits += before.value["n"] if before else 0
        await store.aput(namespace, "count", {"n": visits})
    best = state["memories"][0]["text"] if state["memories"] else "nothing yet"
    return {"messages": [AIMessage(f"Visit {visits}. I remember: {best}")]}


memory = server_engine()
builder = StateGraph(MemoryState, context_schema=User)
builder.add_node("recall", create_recall_node(memory))
builder.add_node("answer", answer)
builder.add_node("retain", create_retain_node(memory, roles=("user",)))
builder.add_edge(START, "recall")
builder.add_edge("recall", "answer")
builder.add_edge("answer", "retain")
graph = builder.compile()

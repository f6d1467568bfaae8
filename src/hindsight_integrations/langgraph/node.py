"""A node of this package: one runnable for `invoke` and `ainvoke`, which leaves no run of its own in a trace."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

Update = dict[str, Any]
Run = Callable[[Any, RunnableConfig], Update]
AsyncRun = Callable[[Any, RunnableConfig], Awaitable[Update]]


class MemoryNode(Runnable[Any, Update]):
    """A function for `invoke` and a coroutine for `ainvoke`: a bare coroutine fails under `invoke`.

    LangGraph traces a node as a run of its own already. A RunnableLambda inside it would be a second one, with the state
    once more as its input, which no `trace_policy` of the node reaches. So this traces nothing by itself.

    Args:
        name: the node's name, where the graph gives it none.
        run: of (state, config), what the node writes into the state.
        arun: the same for code that awaits.
    """

    def __init__(self, name: str, run: Run, arun: AsyncRun) -> None:
        self.name = name
        self._run, self._arun = run, arun

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's
        """Run the node on a state."""
        return self._run(input, ensure_config(config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's
        """Run the node on a state, awaiting."""
        return await self._arun(input, ensure_config(config))


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a graph a node runs.

    Attributes:
        node: its name there.
        thread: id of the conversation; empty in a run without one.
        namespace: the nodes of the graphs around it, outermost first and joined by "|", as LangGraph names subgraphs but
            without the ids of tasks, which differ from turn to turn; empty in the outermost graph.
        run_id: the run's id, where the caller gave one.
    """

    node: str
    thread: str
    namespace: str
    run_id: str | None


def place_of(config: RunnableConfig) -> Place:
    """Where the node of this config runs."""
    configurable, metadata = config.get("configurable", {}), config.get("metadata", {})
    info = current_runtime().execution_info
    # LangGraph writes a node's name and the id of its task for each graph around, and for the node itself.
    around = str(configurable.get("checkpoint_ns", "")).split("|")[:-1]
    return Place(
        node=str(metadata.get("langgraph_node", "")) or "memory",
        thread=str(configurable.get("thread_id", "")),
        namespace="|".join(part.split(":")[0] for part in around),
        run_id=info.run_id if info else None,
    )


def current_runtime() -> Runtime[Any]:
    """The runtime of the run we are in; outside a graph (a node invoked by itself) its defaults stand for it."""
    try:
        get_config()
    except RuntimeError:  # no run of anything
        return Runtime()
    return cast("Runtime[Any] | None", get_runtime()) or Runtime()

"""A node of this package: one runnable for `invoke` and `ainvoke`, which leaves no run of its own in a trace."""

# No `from __future__ import annotations`: see memories.py.

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self, cast

from langchain_core.callbacks import AsyncCallbackManager, CallbackManager
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config, patch_config
from langchain_core.runnables.config import set_config_context
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime
from langsmith import tracing_context

from hindsight_integrations import InvalidRequest

READ = "__pregel_read"  # where LangGraph keeps the function by which a node reads the channels of its graph

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
        traced: whether tracers see what models are asked on the way.
        writes: the key of the state it writes, which the graph must have; empty where other code takes what it gives.
    """

    def __init__(self, name: str, run: Run, arun: AsyncRun, *, traced: bool = True, writes: str = "") -> None:
        self.name = name
        self._run, self._arun, self._traced, self._writes = run, arun, traced, writes

    def untraced(self) -> Self:
        """The same node, of whose calls of models no tracer hears."""
        return type(self)(self.name or "", self._run, self._arun, traced=False, writes=self._writes)

    def called(self) -> Self:
        """The same node for code that calls it and takes what it gives, so that no graph need have its key."""
        return type(self)(self.name or "", self._run, self._arun, traced=self._traced)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's
        """Run the node on a state."""
        given = ensure_config(config)
        check_key(given, self._writes)
        if self._traced:
            return self._run(input, given)
        given = patch_config(given, callbacks=CallbackManager([]))
        with set_config_context(given) as context:
            return context.run(self._untraced, input, given)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:  # noqa: A002, ANN401 - LangChain's
        """Run the node on a state, awaiting."""
        given = ensure_config(config)
        check_key(given, self._writes)
        if self._traced:
            return await self._arun(input, given)
        given = patch_config(given, callbacks=AsyncCallbackManager([]))
        with set_config_context(given) as context:
            return await asyncio.create_task(self._auntraced(input, given), context=context)

    def _untraced(self, given: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
        with tracing_context(
            enabled=False
        ):  # or LangChain makes a tracer of its own, where the environment asks for one
            return self._run(given, config)

    async def _auntraced(self, given: Any, config: RunnableConfig) -> Update:  # noqa: ANN401 - the user's state type
        with tracing_context(enabled=False):
            return await self._arun(given, config)


def check_key(config: RunnableConfig, key: str) -> None:
    """Refuse to run in a graph whose state has no such key: LangGraph would drop the memories without a word.

    Args:
        config: of the run; outside a graph nothing is checked.
        key: of the state; empty for none.

    Raises:
        InvalidRequest: the state of the graph has no such key.
    """
    read = config.get("configurable", {}).get(READ)
    if not key or not callable(read):
        return
    try:
        read(key, False)
    except KeyError:
        raise InvalidRequest(
            "output_key",
            f"the graph's state has no {key!r}, so LangGraph would drop the memories",
            "Inherit the state from hindsight_integrations.langgraph.MemoryState, or declare the key in it: "
            f"`{key}: list[Memory]`. Code that calls the node itself uses `node.called()`.",
        ) from None


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
        thread="" if (thread := configurable.get("thread_id")) is None else str(thread),
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

"""Whose memory a node works on: from what the node was given, or from the run."""

# No `from __future__ import annotations`: see state.py.

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime

from hindsight_integrations import AsyncHindsight, AsyncMemoryBank, Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.errors import shown
from hindsight_integrations.model.tasks import WorkerMode

AnyMemory = Hindsight | AsyncHindsight | MemoryBank | AsyncMemoryBank
BankName = str | Callable[[Any, Runtime[Any]], str]
BankFrom = str | Sequence[str]

AUTH = "auth"
SWITCH = "use_memory"  # of a run's configurable or context: False turns memory off for the run
WITHIN = ("context", "config", "state")
UNNAMED: tuple[str, ...] = (
    AUTH,  # first, since the other two are the client's to choose
    "context.bank",
    "context.user_id",
    "config.bank",
    "config.user_id",
)
"""Where the name is looked for if the node was told nothing."""

_PLACES = "Use 'auth', 'context.NAME', 'config.NAME' or 'state.NAME', or several of them."


class BankFinder:
    """Finds the bank of a run, in the face (sync or async) that the run needs.

    Args:
        memory: an engine or a bank, of either face.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it.
        bank_from: with an engine, instead of `bank`: where the run says it, "context.user_id", "config.user_id" (its
            configurable), "state.user_id" or "auth" (whom LangGraph's server authenticated); of several the first that
            is there. None of both: the authenticated user, else `bank` or `user_id` of the context, else of the
            configurable.

    Raises:
        InvalidRequest: `memory` is neither, or names a bank already while the others name another; `bank_from` names
            no place; `bank` is an async function, or no name.
    """

    def __init__(
        self, memory: AnyMemory, bank: BankName | None = None, bank_from: BankFrom | None = None
    ) -> None:
        if not isinstance(memory, AnyMemory):
            raise InvalidRequest(
                "memory",
                f"{type(memory).__name__} is not a memory",
                "Pass Hindsight, AsyncHindsight or one of their banks (an AsyncHindsight's bank must be awaited).",
            )
        named = [field for field, value in (("bank", bank), ("bank_from", bank_from)) if value is not None]
        if named and isinstance(memory, MemoryBank | AsyncMemoryBank):
            raise InvalidRequest(
                named[0], "the memory given is a bank already", f"Leave {named[0]} out, or pass the engine."
            )
        if len(named) > 1:
            raise InvalidRequest("bank_from", "bank= names the bank already", "Leave one of them out.")
        if inspect.iscoroutinefunction(bank):
            raise InvalidRequest("bank", "invoke cannot await an async function", "Pass a plain function.")
        if bank is not None and not callable(bank):
            checked_name(bank)
        self._memory, self._bank = memory, bank
        self._places = UNNAMED if bank_from is None else _checked_places(bank_from)

    @property
    def worker(self) -> WorkerMode:
        """Who does the memory's waiting work without being called."""
        return self._memory.worker

    def name(self, state: object, config: RunnableConfig) -> str:
        """The bank's name.

        Raises:
            InvalidRequest: the run does not say whose memory it needs.
        """
        if isinstance(self._memory, MemoryBank | AsyncMemoryBank):
            return self._memory.name
        runtime = current_runtime()
        if callable(self._bank):
            return checked_name(self._bank(state, runtime), "what the function given as bank= returned")
        if self._bank is not None:
            return checked_name(self._bank)
        found = next(_found(self._places, state, runtime, config), None)
        if found is None:
            _refuse_nameless(self._places, config)
        place, value = found
        return checked_name(value, place)

    def open(self, state: object, config: RunnableConfig) -> MemoryBank:
        """The bank for code that cannot await.

        Raises:
            InvalidRequest: the run does not say whose memory it needs.
            EngineClosed: the engine was closed.
        """
        if isinstance(self._memory, MemoryBank):
            return self._memory
        if isinstance(self._memory, AsyncMemoryBank):
            return MemoryBank.over(self._memory)
        engine = self._memory if isinstance(self._memory, Hindsight) else Hindsight.over(self._memory)
        return engine.bank(self.name(state, config))

    async def aopen(self, state: object, config: RunnableConfig) -> AsyncMemoryBank:
        """The bank for code that awaits.

        Raises:
            InvalidRequest: the run does not say whose memory it needs.
            EngineClosed: the engine was closed.
        """
        if isinstance(self._memory, AsyncMemoryBank):
            return self._memory
        if isinstance(self._memory, MemoryBank):
            return self._memory.asynchronous
        engine = self._memory.asynchronous if isinstance(self._memory, Hindsight) else self._memory
        return await engine.bank(self.name(state, config))


def uses_memory(config: RunnableConfig) -> bool:
    """Whether a run uses memory: `use_memory` of its configurable or context, True by default.

    Raises:
        InvalidRequest: it is neither true nor false.
    """
    sources = (config.get("configurable", {}), current_runtime().context)
    chosen = next((value for source in sources if (value := value_of(source, SWITCH)) is not None), True)
    if not isinstance(chosen, bool):
        raise InvalidRequest(SWITCH, f"{shown(chosen)} is not a boolean", "Use True or False.")
    return chosen


def _checked_places(bank_from: BankFrom) -> tuple[str, ...]:
    places = (bank_from,) if isinstance(bank_from, str) else tuple(bank_from)
    for place in places:
        source, dot, path = place.partition(".") if isinstance(place, str) else ("", "", "")
        if place != AUTH and not (source in WITHIN and dot and all(path.split("."))):
            raise InvalidRequest("bank_from", f"{shown(place)} is not a place of a run", _PLACES)
    if not places:
        raise InvalidRequest("bank_from", "it names no place", _PLACES)
    return places


def _found(
    places: Sequence[str], state: object, runtime: Runtime[Any], config: RunnableConfig
) -> Iterator[tuple[str, object]]:
    """The places where the run has something, with what that is."""
    configurable = config.get("configurable", {})
    sources: dict[str, object] = {"context": runtime.context, "config": configurable, "state": state}
    for place in places:
        source, *path = place.split(".")
        found = _signed_in(runtime, configurable) if source == AUTH else sources[source]
        for key in path:
            found = value_of(found, key)
        if found is not None:
            yield place, found


def _signed_in(runtime: Runtime[Any], configurable: Mapping[str, Any]) -> object:
    """The user whom LangGraph's server authenticated; None if there is none: a server without authentication says ""."""
    user = runtime.server_info.user if runtime.server_info else None
    return (user.identity if user else configurable.get("langgraph_auth_user_id")) or None


def _refuse_nameless(places: Sequence[str], config: RunnableConfig) -> NoReturn:
    """Raise the error of a run that says nowhere whose memory it needs, with the way out."""
    problem = f"the run does not say whose memory it needs (nothing in {', '.join(places)})"
    # LangGraph takes checkpoint_id out of a task's configurable; the metadata keep what the caller gave.
    if config.get("metadata", {}).get("checkpoint_id"):
        raise InvalidRequest(
            "bank",
            problem,
            "It goes on from a checkpoint, and snapshot.config has no user id: merge it in, as in invoke(None, "
            "{'configurable': {**snapshot.config['configurable'], 'user_id': ...}}), or pass context=... again.",
        )
    if places is not UNNAMED:
        raise InvalidRequest(
            "bank", problem, "Set it when the graph is invoked, or let bank_from name another place."
        )
    raise InvalidRequest(
        "bank",
        problem,
        "Invoke with context=... that has user_id (or bank), or config={'configurable': {'user_id': ...}}, "
        "or give the node bank=... or bank_from=...",
    )


def checked_name(found: object, where: str = "") -> str:
    """A bank name from what a run gave; ids that are numbers or UUIDs are written out.

    Raises:
        InvalidRequest: anything else, whose text would be no stable name.
    """
    if isinstance(found, str | int | UUID) and not isinstance(found, bool) and str(found).strip():
        return str(found)
    told = f"{shown(found)} is not a bank name" + (f" ({where})" if where else "")
    raise InvalidRequest("bank", told, "Give a non-empty str, an int or a UUID.")


def value_of(source: object, key: str) -> Any:  # noqa: ANN401 - states and contexts are the user's own types
    """An entry of a dict or an attribute of an object (dataclass, pydantic model); None if there is none."""
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)


def current_runtime() -> Runtime[Any]:
    """The runtime of the run we are in; outside a graph (a node invoked by itself) its defaults stand for it."""
    try:
        get_config()
    except RuntimeError:  # no run of anything
        return Runtime()
    return cast("Runtime[Any] | None", get_runtime()) or Runtime()

"""BankFinder: selects the bank of a run, from the node's arguments or the run's context, config or state."""

# Without `from __future__ import annotations`; see state.py.

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
SWITCH = "use_memory"  # key in the run's configurable or context; False turns memory off for the run
WITHIN = ("context", "config", "state")
UNNAMED: tuple[str, ...] = (
    AUTH,  # first, because clients can set the other values
    "context.bank",
    "context.user_id",
    "config.bank",
    "config.user_id",
)
"""The default places to read the bank's name from, in order."""

_PLACES = "Use 'auth', 'context.NAME', 'config.NAME' or 'state.NAME', or a list of them."


class BankFinder:
    """Finds the bank of a run and opens it as a sync or async object.

    Args:
        memory: a sync or async engine or bank.
        bank: with an engine: the bank's name, or a function of (state, runtime) that returns it.
        bank_from: with an engine, instead of `bank`: where to read the name from, "context.user_id", "config.user_id"
            (the configurable), "state.user_id" or "auth" (the user authenticated by LangGraph's server); from a list,
            the first place that has a value. If neither is given: the authenticated user, else `bank` or `user_id` in
            the context, else in the configurable.

    Raises:
        InvalidRequest: `memory` is neither an engine nor a bank, or is a bank although another argument names one;
            `bank_from` is malformed; `bank` is an async function or an invalid name.
    """

    def __init__(
        self, memory: AnyMemory, bank: BankName | None = None, bank_from: BankFrom | None = None
    ) -> None:
        if not isinstance(memory, AnyMemory):
            raise InvalidRequest(
                "memory",
                f"{type(memory).__name__} is neither an engine nor a bank",
                "Pass Hindsight, AsyncHindsight or one of their banks (an AsyncHindsight's bank must be awaited).",
            )
        named = [field for field, value in (("bank", bank), ("bank_from", bank_from)) if value is not None]
        if named and isinstance(memory, MemoryBank | AsyncMemoryBank):
            raise InvalidRequest(
                named[0], "`memory` is already a bank", f"Omit {named[0]}, or pass the engine."
            )
        if len(named) > 1:
            raise InvalidRequest("bank_from", "cannot be combined with bank=", "Pass only one of them.")
        if inspect.iscoroutinefunction(bank):
            raise InvalidRequest(
                "bank", "must not be an async function, which invoke cannot await", "Pass a plain function."
            )
        if bank is not None and not callable(bank):
            checked_name(bank)
        self._memory, self._bank = memory, bank
        self._places = UNNAMED if bank_from is None else _checked_places(bank_from)

    @property
    def worker(self) -> WorkerMode:
        """The engine's worker mode, which says where queued tasks run."""
        return self._memory.worker

    def name(self, state: object, config: RunnableConfig) -> str:
        """Return the name of the run's bank.

        Raises:
            InvalidRequest: the run does not select a bank.
        """
        if isinstance(self._memory, MemoryBank | AsyncMemoryBank):
            return self._memory.name
        runtime = current_runtime()
        if callable(self._bank):
            return checked_name(self._bank(state, runtime), "returned by the function passed as bank=")
        if self._bank is not None:
            return checked_name(self._bank)
        found = next(_values_at(self._places, state, runtime, config), None)
        if found is None:
            _raise_no_bank(self._places, config)
        place, value = found
        return checked_name(value, place)

    def open(self, state: object, config: RunnableConfig) -> MemoryBank:
        """Open the run's bank for synchronous code.

        Raises:
            InvalidRequest: the run does not select a bank.
            EngineClosed: the engine was closed.
        """
        if isinstance(self._memory, MemoryBank):
            return self._memory
        if isinstance(self._memory, AsyncMemoryBank):
            return MemoryBank.over(self._memory)
        engine = self._memory if isinstance(self._memory, Hindsight) else Hindsight.over(self._memory)
        return engine.bank(self.name(state, config))

    async def aopen(self, state: object, config: RunnableConfig) -> AsyncMemoryBank:
        """Open the run's bank for asynchronous code.

        Raises:
            InvalidRequest: the run does not select a bank.
            EngineClosed: the engine was closed.
        """
        if isinstance(self._memory, AsyncMemoryBank):
            return self._memory
        if isinstance(self._memory, MemoryBank):
            return self._memory.asynchronous
        engine = self._memory.asynchronous if isinstance(self._memory, Hindsight) else self._memory
        return await engine.bank(self.name(state, config))


def uses_memory(config: RunnableConfig) -> bool:
    """Return `use_memory` from the run's configurable or context, True by default.

    Raises:
        InvalidRequest: the value is not a boolean.
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
            raise InvalidRequest("bank_from", f"{shown(place)} is not a valid place", _PLACES)
    if not places:
        raise InvalidRequest("bank_from", "must name at least one place", _PLACES)
    return places


def _values_at(
    places: Sequence[str], state: object, runtime: Runtime[Any], config: RunnableConfig
) -> Iterator[tuple[str, object]]:
    """Yield (place, value) for each place where the run has a value."""
    configurable = config.get("configurable", {})
    sources: dict[str, object] = {"context": runtime.context, "config": configurable, "state": state}
    for place in places:
        source, *path = place.split(".")
        found = _authenticated_user(runtime, configurable) if source == AUTH else sources[source]
        for key in path:
            found = value_of(found, key)
        if found is not None:
            yield place, found


def _authenticated_user(runtime: Runtime[Any], configurable: Mapping[str, Any]) -> object:
    """Return the user authenticated by LangGraph's server, or None; "" if the server does not authenticate users."""
    user = runtime.server_info.user if runtime.server_info else None
    return (user.identity if user else configurable.get("langgraph_auth_user_id")) or None


def _raise_no_bank(places: Sequence[str], config: RunnableConfig) -> NoReturn:
    """Raise the error for a run that does not select a bank, with a remedy that fits the run."""
    problem = f"the run does not select a bank: no value in {', '.join(places)}"
    # LangGraph removes checkpoint_id from a task's configurable, but not from its metadata.
    if config.get("metadata", {}).get("checkpoint_id"):
        raise InvalidRequest(
            "bank",
            problem,
            "The run resumes from a checkpoint, and snapshot.config has no user id. Add it: invoke(None, "
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
    """Check a bank name from a run, and convert integers and UUIDs to strings.

    Raises:
        InvalidRequest: the name has any other type, or is an empty string.
    """
    if isinstance(found, str | int | UUID) and not isinstance(found, bool) and str(found).strip():
        return str(found)
    reason = f"{shown(found)} is not a bank name" + (f" ({where})" if where else "")
    raise InvalidRequest("bank", reason, "Pass a non-empty str, an int or a UUID.")


def value_of(source: object, key: str) -> Any:  # noqa: ANN401 - states and contexts are the user's own types
    """Return a mapping's entry or an object's attribute (dataclass, pydantic model), or None."""
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)


def current_runtime() -> Runtime[Any]:
    """Return the current run's runtime, or a default runtime outside a graph."""
    try:
        get_config()
    except RuntimeError:  # called outside a run
        return Runtime()
    return cast("Runtime[Any] | None", get_runtime()) or Runtime()

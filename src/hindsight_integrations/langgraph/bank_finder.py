"""Whose memory a node works on: from what the node was given, or from the run."""

# No `from __future__ import annotations`: see memories.py.

from collections.abc import Callable, Mapping
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from hindsight_integrations import AsyncHindsight, AsyncMemoryBank, Hindsight, InvalidRequest, MemoryBank

AnyMemory = Hindsight | AsyncHindsight | MemoryBank | AsyncMemoryBank
BankName = str | Callable[[Any, Runtime[Any]], str]

NAME_KEYS = ("bank", "user_id")


class BankFinder:
    """Finds the bank of a run, in the face (sync or async) that the run needs.

    Args:
        memory: an engine or a bank, of either face.
        bank: with an engine: the bank's name, or a function of (state, runtime) that gives it; None takes `bank` or
            `user_id` of the run's context, else of its configurable.

    Raises:
        InvalidRequest: `memory` is neither, or names a bank already while `bank` names another.
    """

    def __init__(self, memory: AnyMemory, bank: BankName | None) -> None:
        if not isinstance(memory, AnyMemory):
            raise InvalidRequest(
                "memory",
                f"{type(memory).__name__} is not a memory",
                "Pass Hindsight, AsyncHindsight or one of their banks (an AsyncHindsight's bank must be awaited).",
            )
        if bank is not None and isinstance(memory, MemoryBank | AsyncMemoryBank):
            raise InvalidRequest(
                "bank", "the memory given is a bank already", "Leave bank out, or pass the engine."
            )
        self._memory, self._bank = memory, bank

    def open(self, state: object, config: RunnableConfig) -> MemoryBank:
        """The bank for code that cannot await.

        Raises:
            InvalidRequest: the run does not say whose memory it needs.
        """
        if isinstance(self._memory, MemoryBank):
            return self._memory
        if isinstance(self._memory, AsyncMemoryBank):
            return MemoryBank.over(self._memory)
        engine = self._memory if isinstance(self._memory, Hindsight) else Hindsight.over(self._memory)
        return engine.bank(self._name(state, config))

    async def aopen(self, state: object, config: RunnableConfig) -> AsyncMemoryBank:
        """The bank for code that awaits.

        Raises:
            InvalidRequest: the run does not say whose memory it needs.
        """
        if isinstance(self._memory, AsyncMemoryBank):
            return self._memory
        if isinstance(self._memory, MemoryBank):
            return self._memory.asynchronous
        engine = self._memory.asynchronous if isinstance(self._memory, Hindsight) else self._memory
        return await engine.bank(self._name(state, config))

    def _name(self, state: object, config: RunnableConfig) -> str:
        # Outside a graph (a node invoked by itself) there is no runtime; its defaults then stand for it.
        runtime: Runtime[Any] = cast("Runtime[Any] | None", get_runtime()) or Runtime()
        if callable(self._bank):
            return checked_name(self._bank(state, runtime))
        if self._bank is not None:
            return checked_name(self._bank)
        for source in (runtime.context, config.get("configurable")):
            for key in NAME_KEYS:
                if (found := value_of(source, key)) is not None:
                    return checked_name(found)
        raise InvalidRequest(
            "bank",
            "the run does not say whose memory it needs",
            "Invoke with context=... that has user_id (or bank), or config={'configurable': {'user_id': ...}}, "
            "or give the node bank=...",
        )


def checked_name(found: object) -> str:
    """A bank name from what a run gave; ids that are numbers or UUIDs are written out.

    Raises:
        InvalidRequest: anything else, whose text would be no stable name.
    """
    if isinstance(found, str | int | UUID) and not isinstance(found, bool) and str(found).strip():
        return str(found)
    raise InvalidRequest("bank", f"{found!r} is not a bank name", "Give a non-empty str, an int or a UUID.")


def value_of(source: object, key: str) -> Any:  # noqa: ANN401 - states and contexts are the user's own types
    """An entry of a dict or an attribute of an object (dataclass, pydantic model); None if there is none."""
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)

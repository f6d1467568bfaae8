"""LangGraph's Agent Server: one engine for a directory in a process, behind a store for each event loop.

In `langgraph.json`:

    "store": {"path": "hindsight_integrations.langgraph.agent_server.make_store"}
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from langgraph.store.base import TTLConfig

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest
from hindsight_integrations.langgraph.store import WHOLE, HindsightStore, Paths

_engines: dict[Path, tuple[Hindsight, dict[str, Any]]] = {}
_opening = Lock()


def server_engine(directory: str | Path | None = None, **options: Any) -> Hindsight:  # noqa: ANN401 - those of `Hindsight.open`
    """The engine of this process for a directory: opened by whoever asks first, and open until the process ends.

    For graphs on Agent Server, whose module is loaded once, and for their store, which is made once an event loop. Where
    nothing else is said a worker does what waits, the erasing of expired items among it. Blocks while it opens.

    Args:
        directory: the data directory; None takes HINDSIGHT_DIRECTORY, or ".hindsight" in the current folder.
        options: of `Hindsight.open`; whoever asks later gives the same or none.

    Raises:
        InvalidRequest: the engine was opened with other options.
        LedgerBusy: another process has the directory open for writing.
    """
    if directory is None:
        directory = HindsightConfig.from_env().storage.server_directory
    path = Path(directory).resolve()
    with _opening:
        engine, given = _engines.get(path, (None, {}))
        if engine is None or engine.asynchronous.closed:
            engine = Hindsight.open(path, **{"worker": True, **options})
            _engines[path] = engine, options
        elif options and options != given:
            raise InvalidRequest(
                "options",
                f"this process has {path} open with others ({', '.join(given) or 'none'})",
                "Give the same to every call, or leave them out after the first.",
            )
        return engine


def store_factory(
    directory: str | Path | None = None,
    *,
    bank: str | None = None,
    index: Paths = (WHOLE,),
    ttl: TTLConfig | None = None,
    **options: Any,  # noqa: ANN401 - those of `Hindsight.open`
) -> Callable[[], AbstractAsyncContextManager[HindsightStore]]:
    """A factory of stores for `langgraph.json` to name, where `make_store` does not do: with a time to live, say.

    Args:
        directory: as in `server_engine`.
        bank: as in `HindsightStore`.
        index: as in `HindsightStore`.
        ttl: as in `HindsightStore`.
        options: as in `server_engine`.
    """

    @asynccontextmanager
    async def make() -> AsyncIterator[HindsightStore]:
        # On a thread: the server calls this on an event loop, and refuses what blocks there.
        engine = await asyncio.to_thread(server_engine, directory, **options)
        yield HindsightStore(engine, bank=bank, index=index, ttl=ttl)

    return make


make_store = store_factory()
"""The store of a server that is set up by its environment alone; called once for each event loop."""


def close_engines() -> None:
    """Close every engine that `server_engine` opened in this process.

    A process may also just end: nothing is lost, and the next open writes what indexes had not written.
    """
    with _opening:
        while _engines:
            _, (engine, _options) = _engines.popitem()
            engine.close()

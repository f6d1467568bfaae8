"""Memory store for LangGraph Agent Server: one engine per directory and process, one store per event loop.

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


def server_engine(directory: str | Path | None = None, **options: Any) -> Hindsight:  # noqa: ANN401 - options of `Hindsight.open`
    """Return this process's engine for a directory; the first call opens it, and it stays open until the process ends.

    Share it between the graphs on an Agent Server and their store. By default it is opened with `worker=True`, which
    runs queued tasks and erases expired items. The first call blocks while the engine opens.

    Args:
        directory: the data directory; None reads HINDSIGHT_DIRECTORY, or uses ".hindsight" in the current directory.
        options: options of `Hindsight.open`; later calls must pass the same ones, or none.

    Raises:
        InvalidRequest: the engine is already open with other options.
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
                f"this process already opened {path} with other options ({', '.join(given) or 'none'})",
                "Pass the same options in every call, or only in the first.",
            )
        return engine


def store_factory(
    directory: str | Path | None = None,
    *,
    bank: str | None = None,
    index: Paths = (WHOLE,),
    ttl: TTLConfig | None = None,
    **options: Any,  # noqa: ANN401 - options of `Hindsight.open`
) -> Callable[[], AbstractAsyncContextManager[HindsightStore]]:
    """Create a store factory for `langgraph.json`. Use it to set options that `make_store` does not, such as a TTL.

    Args:
        directory: as in `server_engine`.
        bank: as in `HindsightStore`.
        index: as in `HindsightStore`.
        ttl: as in `HindsightStore`.
        options: as in `server_engine`.
    """

    @asynccontextmanager
    async def make() -> AsyncIterator[HindsightStore]:
        # On a thread, because the server calls this on its event loop and rejects blocking calls.
        engine = await asyncio.to_thread(server_engine, directory, **options)
        yield HindsightStore(engine, bank=bank, index=index, ttl=ttl)

    return make


make_store = store_factory()
"""Store factory configured by environment variables only; the server calls it once per event loop."""


def close_engines() -> None:
    """Close every engine that `server_engine` opened in this process.

    Calling it is optional: a process may simply exit. Nothing is lost, and the indexes catch up at the next open.
    """
    with _opening:
        while _engines:
            _, (engine, _options) = _engines.popitem()
            engine.close()

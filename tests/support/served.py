"""Engines behind a server on this machine, for tests of clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from hindsight_integrations import Hindsight
from hindsight_integrations.server.access import Tokens
from hindsight_integrations.server.app import create_app, listening_socket
from hindsight_integrations.server.gate import Limits


@contextmanager
def served(engine: Hindsight, *, tokens: Tokens | None = None, limits: Limits | None = None) -> Iterator[str]:
    """Serve an engine in a thread; yield the address. The engine is closed at the end."""
    listener = listening_socket("127.0.0.1", 0)
    app = create_app(engine.asynchronous, tokens=tokens, limits=limits)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])), name="server")
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        engine.close()

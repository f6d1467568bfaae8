"""The app of `hindsight-memory serve`: its routes and errors, and the calls of `Hindsight.connect`."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from hindsight_integrations import AsyncHindsight, AsyncMemoryBank, wire
from hindsight_integrations.engine.remote import (
    CALL_PATH,
    ENGINE_METHODS,
    METHODS,
    named_arguments,
)
from hindsight_integrations.errors import (
    AccessDenied,
    BankForgotten,
    BankLocked,
    BankNotFound,
    EngineClosed,
    HindsightError,
    InvalidRequest,
    LedgerUnreachable,
    ModelError,
    ModelUnavailable,
    RevisionConflict,
    shown,
)
from hindsight_integrations.server.access import Access, Tokens, is_loopback
from hindsight_integrations.server.banks import Banks, GivenAccess, GivenBanks
from hindsight_integrations.server.gate import Gate, Limits, error_body
from hindsight_integrations.server.routes import router

STREAMS = "reflect_stream"
OPEN_PATHS = frozenset({"/health", "/health/live", "/health/ready", "/version"})
"""Paths that need no token and have no limits, for load balancers."""

STATUS: Mapping[type[HindsightError], int] = {
    InvalidRequest: 400,
    AccessDenied: 403,
    BankForgotten: 410,
    BankNotFound: 404,
    RevisionConflict: 409,
    BankLocked: 503,
    EngineClosed: 503,
    LedgerUnreachable: 503,
    ModelUnavailable: 503,
    ModelError: 502,
}
"""Status codes by class of error; the nearest base class counts. All other errors have status 500."""


class Call(BaseModel):
    """One call of a method, as `Hindsight.connect` sends it."""

    method: str = Field(
        description='The method with its namespace: "recall", "profile.get". "info" and "bank" also exist.'
    )
    arguments: dict[str, Any] = Field(
        {}, description="The arguments by name, encoded as in hindsight_integrations.wire."
    )
    bank: str | None = Field(None, description="Name of the bank; null for methods of the engine.")
    generation: int | None = Field(None, description="The bank's generation, as `bank` returned it.")
    answering_as: dict[str, Any] | None = Field(None, description="The profile passed to `with_profile`.")


def create_app(
    engine: AsyncHindsight, *, tokens: Tokens | None = None, limits: Limits | None = None
) -> FastAPI:
    """Create the app that serves an engine. The app closes the engine when it shuts down.

    Args:
        engine: the engine.
        tokens: the tokens; None admits clients on this machine without a token.
        limits: the limits; None uses the defaults.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await engine.close()

    app = FastAPI(title="hindsight-memory", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.banks = Banks(engine)
    app.add_middleware(
        Gate,
        tokens=tokens,
        only_local=tokens is None,
        is_open=OPEN_PATHS.__contains__,
        limits=limits or Limits(),
    )
    app.add_exception_handler(HindsightError, answer_error)
    app.post(CALL_PATH, response_class=Response)(call_method)
    app.include_router(router)
    return app


async def call_method(call: Call, access: GivenAccess, banks: GivenBanks) -> Response:
    """Call a method of the engine, of a bank or of one of its namespaces, for `Hindsight.connect`."""
    arguments = {name: wire.value(value) for name, value in call.arguments.items()}
    if call.bank is None:
        return _result(await _of_engine(call.method, arguments, access, banks))
    access.check(call.bank)
    bank = await banks.of_generation(call.bank, call.generation)
    if call.answering_as is not None:
        bank = bank.with_profile(wire.value(call.answering_as))
    if call.method == STREAMS:
        _check_arguments(call.method, AsyncMemoryBank.reflect_stream, arguments)
        events = bank.reflect_stream(**arguments)
        return StreamingResponse(_lines(events), media_type="application/x-ndjson")
    try:
        return _result(await _method(bank, call.method, arguments)(**arguments))
    except BankForgotten:
        banks.drop(call.bank)
        raise


async def _of_engine(method: str, arguments: dict[str, Any], access: Access, banks: Banks) -> object:
    engine = banks.engine
    if method == "info":
        return {"worker": engine.worker.value, "read_only": engine.read_only}
    if method == "bank":
        _check_arguments(method, AsyncHindsight.bank, arguments)
        name = arguments["name"]
        access.check(str(name))
        bank = await engine.bank(**arguments)
        banks.drop(bank.name)
        return bank.generation
    if method not in ENGINE_METHODS:
        raise _no_method(method)
    _check_arguments(method, getattr(AsyncHindsight, method), arguments)
    if method == "banks":
        return [name for name in await engine.banks() if access.includes(name)]
    if method == "forget_bank":
        access.check(str(arguments["name"]))
        banks.drop(str(arguments["name"]))
    elif method == "copies":
        access.check(str(arguments["bank"]))
    else:
        access.check_everything(method)
    return await getattr(engine, method)(**arguments)


def _method(bank: AsyncMemoryBank, called: str, arguments: dict[str, Any]) -> Callable[..., Any]:
    """Return a method of a bank or of one of its namespaces.

    Raises:
        InvalidRequest: the method does not exist, or cannot be called with these arguments.
    """
    namespace, _, name = called.rpartition(".")
    method = METHODS.get(namespace, {}).get(name)
    if method is None:
        raise _no_method(called)
    _check_arguments(called, method, arguments)
    return getattr(getattr(bank, namespace) if namespace else bank, name)  # type: ignore[no-any-return] # a bound method


def _check_arguments(called: str, method: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        named_arguments(method, (), arguments)
    except TypeError as error:
        raise InvalidRequest(
            called, str(error), "Use the same version of the package on client and server."
        ) from None


def _no_method(called: str) -> InvalidRequest:
    return InvalidRequest(
        "method",
        f"{shown(called)} is not served",
        "Use the same version of the package on client and server.",
    )


async def _lines(events: AsyncIterator[object]) -> AsyncIterator[str]:
    """Write one line per event, and one for the error that ended the events, if any."""
    try:
        async for event in events:
            yield _json({"result": wire.plain(event, "event")}) + "\n"
    except HindsightError as error:
        yield _json(error_body(error)) + "\n"


def _result(result: object) -> Response:
    return Response(_json({"result": wire.plain(result, "result")}), media_type="application/json")


def _json(plain: object) -> str:
    return json.dumps(plain, separators=(",", ":"))


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer a request whose route raised an error of this package."""
    assert isinstance(error, HindsightError)  # noqa: S101 - the handler of this class
    if type(error) is BankNotFound:  # the error's message lists other banks
        error = BankNotFound(error.bank, tuple(filter(request.state.access.includes, error.known)))
    status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
    headers = {}
    if isinstance(error, ModelUnavailable) and error.retry_after is not None:
        headers["Retry-After"] = f"{min(error.retry_after, 3600):.0f}"
    return JSONResponse(error_body(error), status, headers)


def check_host(host: str, tokens: Tokens | None) -> None:
    """Check that a server that other machines can reach has tokens.

    Raises:
        InvalidRequest: it has no tokens.
    """
    if tokens is None and not is_loopback(host):
        reason = f"{host} can be reached from other machines, and the server has no tokens"
        raise InvalidRequest("host", reason, "Pass --tokens FILE, or serve on 127.0.0.1.")


def listening_socket(host: str, port: int) -> socket.socket:
    """Listen on an address. Clients that connect before the server runs wait for it.

    The socket sets its protocol explicitly: otherwise asyncio does not disable Nagle's algorithm, and answers take 40 ms more.

    Raises:
        OSError: the address is not available.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(256)
    return listener


def run_server(
    engine: AsyncHindsight, *, host: str, port: int, tokens: Tokens | None, started: Callable[[str], object]
) -> None:
    """Serve an engine until SIGTERM or Ctrl-C. Then finish running requests and close the engine.

    Args:
        engine: the engine.
        host: the address to listen on.
        port: the port; 0 means that the system chooses one.
        tokens: the tokens; may be None only if other machines cannot reach the host.
        started: called with the server's URL when it listens.

    Raises:
        OSError: the address is not available.
    """
    import uvicorn

    settings = uvicorn.Config(
        create_app(engine, tokens=tokens),
        timeout_keep_alive=30,
        timeout_graceful_shutdown=60,
        server_header=False,
        access_log=False,
        log_level="warning",
        ws="none",
    )
    shown_host = f"[{host}]" if ":" in host else host
    listener = listening_socket(host, port)
    started(f"http://{shown_host}:{listener.getsockname()[1]}")
    # Ignore the signal that uvicorn raises again after a graceful stop, so that the engine is closed.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        asyncio.run(uvicorn.Server(settings).serve([listener]))
    finally:
        signal.signal(signal.SIGTERM, before)

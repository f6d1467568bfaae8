"""An engine that runs in another process and is called over HTTP. `Hindsight.connect` returns it.

Each call of a public method is a POST request with the method's name and arguments (`wire.py`); the server runs the method
with the same name. The classes here are subclasses of the local ones, so integrations accept either.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast, get_type_hints

from hindsight_integrations import wire
from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.bank.archive import AsyncArchive
from hindsight_integrations.bank.context import BankVerbs
from hindsight_integrations.bank.items import AsyncItems, Condition
from hindsight_integrations.config import check_seconds
from hindsight_integrations.engine.engine import ENGINES, Engine
from hindsight_integrations.errors import (
    EngineClosed,
    HindsightError,
    InvalidRequest,
    LedgerUnreachable,
    shown,
)
from hindsight_integrations.model.items import FoundItem, Namespace
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.references import BankReference
from hindsight_integrations.model.reflections import ReflectEvent
from hindsight_integrations.model.tasks import WorkerMode
from hindsight_integrations.validation.arguments import checked_profile
from hindsight_integrations.validation.limits import checked_bank_id, checked_count

if TYPE_CHECKING:
    import httpx

Method = Callable[..., Any]

CALL_PATH = "/hindsight/v1/call"
CONNECTIONS = 32  # maximum concurrent calls; further calls wait
ATTEMPTS = 6
LONGEST_WAIT = 10.0  # maximum seconds between attempts
BUSY = 429
ALL_ITEMS = 100_000  # maximum limit of items.search
ENGINE_METHODS = {
    "banks": True,
    "copies": True,
    "doctor": True,
    "settle": False,
    "forget_bank": False,
    "forget_holder": False,
}
"""Methods of the engine, and whether a call may be sent again."""


class Connection:
    """HTTP connections to a server; usable from any thread and event loop.

    Args:
        url: the server's address, http:// or https://.
        token: a token of the server; None if the server has none.
        timeout_s: maximum seconds to wait for an answer.
    """

    def __init__(self, url: str, token: str | None, timeout_s: float) -> None:
        import httpx

        self.url = checked_url(url)
        check_seconds("timeout_s", timeout_s)
        headers = {"Authorization": f"Bearer {_checked_token(token)}"} if token is not None else {}
        # Shorter than the 30 s after which the server closes idle connections.
        limits = httpx.Limits(max_connections=CONNECTIONS, keepalive_expiry=10)
        timeout = httpx.Timeout(timeout_s, connect=10)
        self._client = httpx.Client(base_url=self.url, headers=headers, limits=limits, timeout=timeout)
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="hindsight-connection")
        self._ended = ""
        try:
            server = self.call_now("info", {})
        except HindsightError:
            self.close()
            raise
        self.worker, self.read_only = WorkerMode(server["worker"]), bool(server["read_only"])

    @property
    def ended(self) -> bool:
        """Whether `close` was called, or this is a forked child."""
        return bool(self._ended)

    def check_open(self) -> None:
        """Raise EngineClosed after `close`, and in a forked child, whose connections belong to the parent."""
        if self._ended:
            raise EngineClosed(self._ended)

    def abandon(self, reason: str) -> None:
        """Reject further calls, without closing connections that the parent process uses."""
        self._ended = reason

    def close(self) -> None:
        """Close all connections. Running calls fail with EngineClosed, but the server completes them."""
        self._ended = self._ended or "it was closed"
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    async def call(
        self,
        method: str,
        arguments: Mapping[str, object],
        where: Mapping[str, object] = MappingProxyType({}),
        *,
        repeatable: bool = True,
    ) -> Any:  # noqa: ANN401 - the method's result
        """Call a method of the server's engine; see `call_now`."""
        return await self._in_thread(partial(self.call_now, method, arguments, where, repeatable=repeatable))

    def call_now(
        self,
        method: str,
        arguments: Mapping[str, object],
        where: Mapping[str, object] = MappingProxyType({}),
        *,
        repeatable: bool = True,
    ) -> Any:  # noqa: ANN401 - the method's result
        """Call a method of the server's engine, and block until it answers.

        Args:
            method: name of the method with its namespace: "recall", "profile.get".
            arguments: the arguments by name.
            where: the bank, its generation and the profile to answer with.
            repeatable: whether the call may be sent again if the connection fails before the answer.

        Raises:
            HindsightError: the error that the method raised on the server.
            LedgerUnreachable: the server cannot be reached or is busy.
            EngineClosed: the connection was closed.
        """
        body = self._body(method, arguments, where)
        for attempt in range(ATTEMPTS):
            try:
                answer = self._post(body, repeatable=repeatable, last=attempt == ATTEMPTS - 1)
            except Again as again:
                time.sleep(again.wait(attempt))
            else:
                return _result(answer.content, answer.status_code, self.url)
        raise AssertionError("the last attempt returns or raises")

    async def stream(
        self, method: str, arguments: Mapping[str, object], where: Mapping[str, object]
    ) -> AsyncIterator[Any]:
        """Call an async generator of the server's engine, and yield its items as they arrive."""
        lines = self._lines(self._body(method, arguments, where))
        try:
            while (line := await self._in_thread(partial(next, lines, None))) is not None:
                yield _result(line, 200, self.url)
        finally:
            with suppress(
                EngineClosed, ValueError
            ):  # ValueError: a thread is still waiting for the next line
                await self._in_thread(lines.close)

    def _lines(self, body: str) -> Generator[str]:
        import httpx

        try:
            with self._client.stream("POST", CALL_PATH, content=body, headers=JSON) as answer:
                if answer.status_code != httpx.codes.OK:
                    _result(answer.read(), answer.status_code, self.url)
                yield from answer.iter_lines()
        except httpx.TransportError as error:
            self.check_open()
            raise LedgerUnreachable(self.url, f"{type(error).__name__}: {error}") from error

    @staticmethod
    def _body(method: str, arguments: Mapping[str, object], where: Mapping[str, object]) -> str:
        sent = {name: wire.plain(value, name) for name, value in arguments.items()}
        place = {name: wire.plain(value, name) for name, value in where.items()}
        return json.dumps({"method": method, "arguments": sent, **place})

    def _post(self, body: str, *, repeatable: bool, last: bool) -> httpx.Response:
        import httpx

        self.check_open()
        try:
            answer = self._client.post(CALL_PATH, content=body, headers=JSON)
        except (
            httpx.TransportError,
            RuntimeError,
        ) as error:  # RuntimeError: the client was closed
            self.check_open()
            unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
            if not last and (unsent or (repeatable and not isinstance(error, httpx.TimeoutException))):
                raise Again from error
            raise LedgerUnreachable(self.url, f"{type(error).__name__}: {error}") from error
        if answer.status_code == BUSY:  # the server did not run the call
            if not last:
                raise Again(answer.headers.get("Retry-After"))
            raise LedgerUnreachable(self.url, "it is at its limit of requests")
        return answer

    async def _in_thread(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401 - the work's result
        self.check_open()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError:  # the threads were shut down after the check
            self.check_open()
            raise


JSON: Final = {"Content-Type": "application/json"}


class Again(Exception):
    """The server did not run the call, which can be sent again. `retry_after` is the value of the Retry-After header."""

    def __init__(self, retry_after: str | None = None) -> None:
        self._retry_after = retry_after

    def wait(self, attempt: int) -> float:
        """Return the seconds to wait before the next attempt, with jitter, so that clients do not all retry together."""
        asked = self._retry_after or ""
        least = float(asked) if asked.isdecimal() else 0.0
        return min(LONGEST_WAIT, least + random.uniform(0, 0.1 * 2**attempt))  # noqa: S311 - no secret


def _result(content: str | bytes, status: int, url: str) -> Any:  # noqa: ANN401 - a method's result
    """Return the result that an answer contains, or raise its error."""
    try:
        answer = wire.read(content)
    except InvalidRequest:
        answer = None
    if isinstance(answer, dict) and isinstance(answer.get("error"), HindsightError):
        raise answer["error"]
    if isinstance(answer, dict) and "result" in answer:
        return answer["result"]
    said = answer.get("detail") if isinstance(answer, dict) else None
    raise LedgerUnreachable(
        url, f"it answered with status {status} ({said or 'not a hindsight-memory server'})"
    )


@dataclass(frozen=True, slots=True)
class RemoteContext:
    """A bank on a server.

    Attributes:
        connection: the connection to the server.
        name: the bank's name.
        generation: the bank's generation. The server rejects calls once the bank is forgotten.
        answering_as: the profile set by `with_profile`; None uses the bank's own.
    """

    connection: Connection
    name: str
    generation: int
    answering_as: BankProfile | None = None

    @property
    def where(self) -> dict[str, object]:
        """The part of a call that selects the bank."""
        return {"bank": self.name, "generation": self.generation, "answering_as": self.answering_as}


def named_arguments(
    method: Method, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a method call by name, without defaults.

    Raises:
        TypeError: the method cannot be called with these arguments. Unknown keys of `**options` are not detected here, but by
            the method, whose error lists the valid ones.
    """
    signature = inspect.signature(method)
    options = bool(inspect.unwrap(method).__code__.co_flags & inspect.CO_VARKEYWORDS)
    known = {name: value for name, value in kwargs.items() if name in signature.parameters or not options}
    bound = signature.bind(None, *args, **known).arguments
    return {**{name: value for name, value in bound.items() if name not in ("self", "options")}, **kwargs}


def _public_coroutines(kind: type) -> Mapping[str, Method]:
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and inspect.iscoroutinefunction(method)
    }


NAMESPACES: Final[Mapping[str, type[BankVerbs]]] = {
    name: kind
    for name, member in inspect.getmembers(AsyncMemoryBank, lambda each: isinstance(each, property))
    if isinstance(kind := get_type_hints(member.fget).get("return"), type) and issubclass(kind, BankVerbs)
}
"""The namespaces of a bank, by attribute name."""

METHODS: Final[Mapping[str, Mapping[str, Method]]] = {
    "": _public_coroutines(AsyncMemoryBank),
    **{name: _public_coroutines(kind) for name, kind in NAMESPACES.items() if kind is not AsyncArchive},
}
"""The methods that a server runs for a client, by namespace (empty for the bank's own methods) and name."""


def _context_of(verbs: BankVerbs) -> RemoteContext:
    return cast("RemoteContext", verbs._context)  # noqa: SLF001 - of the base class


def _sent(namespace: str, name: str, method: Method) -> Method:
    """Return a method that runs the method with the same name on the server."""
    called = f"{namespace}.{name}" if namespace else name
    # reflect may form opinions, and is not repeated
    repeatable = not getattr(method, "writes", False) and name != "reflect"

    @wraps(method)
    async def call(self: BankVerbs, /, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - the method's result
        context = _context_of(self)
        arguments = named_arguments(method, args, kwargs)
        return await context.connection.call(called, arguments, context.where, repeatable=repeatable)

    return call


class RemoteBank(AsyncMemoryBank):
    """A bank on a server."""

    def __init__(self, context: RemoteContext) -> None:
        self._context: Any = context

    def with_profile(self, profile: BankProfile) -> AsyncMemoryBank:  # noqa: D102 - as in the base class
        return RemoteBank(replace(self._context, answering_as=checked_profile(profile)))

    @property
    def name(self) -> str:
        """The bank's name."""
        return _context_of(self).name

    @property
    def generation(self) -> int:
        """The bank's generation."""
        return _context_of(self).generation

    @property
    def reference(self) -> BankReference:
        """A reference from which `bank_at` gets the bank, in any process that is connected to the server."""
        return BankReference(_context_of(self).connection.url, self.name)

    @property
    def worker(self) -> WorkerMode:
        """Where the server's background tasks run."""
        return _context_of(self).connection.worker

    async def reflect_stream(self, query: str, **options: Any) -> AsyncIterator[ReflectEvent]:  # noqa: ANN401, D102
        context = _context_of(self)
        arguments = {"query": query, **options}
        async for event in context.connection.stream("reflect_stream", arguments, context.where):
            yield event


class RemoteItems(AsyncItems):
    """The items of a bank on a server."""

    async def search(  # noqa: D102 - as in the base class
        self,
        prefix: Namespace = (),
        *,
        query: str = "",
        where: Condition | None = None,
        limit: int = 10,
        offset: int = 0,
        refresh: bool = False,
    ) -> list[FoundItem]:
        context = _context_of(self)
        arguments = {"prefix": prefix, "query": query, "limit": limit, "offset": offset, "refresh": refresh}
        if where is not None:  # functions cannot be sent, so the filter runs here
            checked_count(limit, "limit", least=0, most=ALL_ITEMS)
            checked_count(offset, "offset", least=0, most=ALL_ITEMS)
            arguments |= {"limit": ALL_ITEMS, "offset": 0, "refresh": False}
        found = await context.connection.call("items.search", arguments, context.where)
        if where is None:
            return cast("list[FoundItem]", found)
        matching = [each for each in found if where(each.item.value)][offset : offset + limit]
        if refresh and matching:
            await self.get([(each.item.namespace, each.item.key) for each in matching], refresh=True)
        return matching


class RemoteArchive(AsyncArchive):
    """The archive of a bank on a server. Files are written and read only on the server's machine."""

    async def export(self, target: object) -> int:  # noqa: ARG002, D102 - as in the base class
        raise _no_files("archive.export", "export")

    async def load(self, source: object) -> int:  # noqa: ARG002, D102 - as in the base class
        raise _no_files("archive.load", "import")


def _no_files(method: str, command: str) -> InvalidRequest:
    return InvalidRequest(
        method,
        "a server does not read or write files for its clients",
        f"Run hindsight-memory {command} on the server's machine.",
    )


def _add_remote_methods() -> None:
    """Add to `RemoteBank` the methods and namespaces that it does not define itself."""
    own = {"items": RemoteItems, "archive": RemoteArchive}
    for name, method in METHODS[""].items():
        setattr(RemoteBank, name, _sent("", name, method))
    for namespace, kind in NAMESPACES.items():
        base = own.get(namespace, kind)
        senders = {
            name: _sent(namespace, name, method)
            for name, method in METHODS.get(namespace, {}).items()
            if base is kind or name not in vars(base)
        }
        remote = type(base.__name__, (base,), {"__init__": BankVerbs.__init__, **senders})
        setattr(RemoteBank, namespace, _namespace(remote))


def _namespace(remote: type[BankVerbs]) -> property:
    return property(lambda bank: remote(_context_of(bank)))  # type: ignore[arg-type] # a RemoteContext


_add_remote_methods()


class RemoteEngine(Engine):
    """The engine of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        ENGINES.add(self)

    async def bank(self, name: str, *, create: bool = True) -> AsyncMemoryBank:  # noqa: D102 - as in the base class
        arguments = {"name": checked_bank_id(name), "create": create}
        return self._opened(name, await self._connection.call("bank", arguments))

    def bank_now(self, name: str) -> AsyncMemoryBank:  # noqa: D102 - as in the base class
        arguments = {"name": checked_bank_id(name), "create": False}
        return self._opened(name, self._connection.call_now("bank", arguments))

    def _opened(self, name: str, generation: int) -> AsyncMemoryBank:
        return RemoteBank(RemoteContext(self._connection, name, generation))

    @property
    def place(self) -> str:
        """The server's address."""
        return self._connection.url

    @property
    def read_only(self) -> bool:
        """Whether the server's memory is read-only."""
        return self._connection.read_only

    @property
    def worker(self) -> WorkerMode:
        """Where the server's queued tasks run."""
        return self._connection.worker

    @property
    def closed(self) -> bool:
        """Whether the connection is closed, or belongs to the parent of this forked process."""
        return self._connection.ended

    def check_open(self) -> None:
        """Raise EngineClosed if the connection is closed."""
        self._connection.check_open()

    def close_now(self) -> None:
        """Close the connections. The server keeps running."""
        self._connection.close()

    def _abandon(self) -> None:
        self._connection.abandon("it was opened before a fork")


def _sent_by_engine(name: str, method: Method, *, repeatable: bool) -> Method:
    @wraps(method)
    async def call(self: RemoteEngine, /, *args: object, **kwargs: object) -> Any:  # noqa: ANN401 - the method's result
        arguments = named_arguments(method, args, kwargs)
        return await self._connection.call(name, arguments, repeatable=repeatable)

    return call


for _name, _repeatable in ENGINE_METHODS.items():
    setattr(RemoteEngine, _name, _sent_by_engine(_name, getattr(Engine, _name), repeatable=_repeatable))


def checked_url(url: object) -> str:
    """Return the address of a server without a trailing slash.

    Raises:
        InvalidRequest: the value is not an HTTP address.
    """
    import httpx

    with suppress(httpx.InvalidURL, UnicodeEncodeError):
        if isinstance(url, str) and (address := httpx.URL(url)).scheme in ("http", "https") and address.host:
            return url.rstrip("/")
    remedy = 'Pass the "http://HOST:PORT" of a `hindsight-memory serve` process.'
    raise InvalidRequest("url", f"{shown(url)} is not an HTTP address", remedy)


def _checked_token(token: object) -> str:
    if isinstance(token, str) and token.isascii() and token.isprintable() and token.strip() == token != "":
        return token
    raise InvalidRequest(
        "token", "it contains characters other than visible ASCII", "Pass the server's token."
    )

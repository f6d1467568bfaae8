"""Checks before the routes of `serve` and the inspector: origin, token, size and number of requests, and time limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hindsight_integrations import wire
from hindsight_integrations.errors import AccessDenied, HindsightError, InvalidRequest, shown
from hindsight_integrations.server.access import ALL_BANKS, Tokens, is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server.

    Attributes:
        body: maximum size of a request in bytes.
        running: maximum number of concurrent requests; further requests are answered with status 429.
        body_s: maximum seconds until a client has sent its whole request.
        answer_s: maximum seconds until the answer starts; after that the request is cancelled and answered with status 504.
    """

    body: int = 32 * 1024 * 1024
    running: int = 64
    body_s: float = 30.0
    answer_s: float = 300.0


def error_body(error: HindsightError) -> dict[str, Any]:
    """Return the JSON of an error: a readable `detail` with the remedy, and the error itself for `Hindsight.connect`."""
    return {"detail": str(error), "error": wire.plain(error, "error")}


class Refused(Exception):
    """A request that is rejected before it reaches a route.

    Args:
        status: the status code.
        problem: what is wrong and what to do, or an error of this package.
        headers: additional headers.
    """

    def __init__(
        self, status: int, problem: str | HindsightError, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(problem)
        self.status, self.headers = status, headers or {}
        self.body = error_body(problem) if isinstance(problem, HindsightError) else {"detail": problem}


class Gate:
    """ASGI middleware that reads a request within its limits, and passes admitted requests to the app.

    Args:
        app: the app.
        tokens: the tokens; None admits clients without a token.
        only_local: whether to answer only requests that name this machine as their host.
        is_open: whether a path has neither checks nor limits.
        limits: the limits.
    """

    def __init__(
        self,
        app: App,
        *,
        tokens: Tokens | None,
        only_local: bool,
        is_open: Callable[[str], bool],
        limits: Limits,
    ) -> None:
        self._app, self._tokens, self._only_local, self._is_open = app, tokens, only_local, is_open
        self._limits, self._running = limits, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or self._is_open(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            await self._admitted(scope, receive, send)
        except Refused as refused:
            await _answer(send, refused)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        _check_origin(headers, only_local=self._only_local)
        try:
            access = self._tokens.access(headers.get("authorization")) if self._tokens else ALL_BANKS
        except AccessDenied as error:
            raise Refused(401, error, {"WWW-Authenticate": "Bearer"}) from None
        scope.setdefault("state", {})["access"] = access
        if self._running >= self._limits.running:
            problem = f"{self._running} requests are running, which is this server's limit. Send the request again later."
            raise Refused(429, problem, {"Retry-After": "1"})
        self._running += 1
        try:
            await self._answered(scope, await self._body(headers, receive), receive, send)
        finally:
            self._running -= 1

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """Read the whole request body."""
        most, parts, size = self._limits.body, [], 0
        problem = InvalidRequest("request", f"it has more than {most:,} bytes", "Send it in parts.")
        too_large = Refused(413, problem, {"Connection": "close"})
        if (length := headers.get("content-length", "0")).isdecimal() and int(length) > most:
            raise too_large
        try:
            async with asyncio.timeout(self._limits.body_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the client closed the connection.")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            late = f"the request was not complete after {self._limits.body_s:g} s. Send it again."
            raise Refused(408, late, {"Connection": "close"}) from None

    async def _answered(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        read = began = False

        async def replayed() -> MutableMapping[str, Any]:
            nonlocal read
            if read:
                return await receive()  # later messages, such as a disconnect
            read = True
            return {"type": "http.request", "body": body, "more_body": False}

        try:
            async with asyncio.timeout(self._limits.answer_s) as limit:

                async def sent(message: MutableMapping[str, Any]) -> None:
                    nonlocal began
                    if not began:
                        began = True
                        limit.reschedule(None)  # the time limit does not apply to the rest of a stream
                    await send(message)

                await self._app(scope, replayed, sent)
        except TimeoutError:
            if began:
                raise
            problem = f"the call took longer than {self._limits.answer_s:g} s and was cancelled. Request less in one call."
            raise Refused(504, problem) from None


def _check_origin(headers: dict[str, str], *, only_local: bool) -> None:
    """Reject requests that a page of another site sends through the user's browser."""
    host = headers.get("host", "")
    try:
        origin, name = (
            urlsplit(headers.get("origin", f"//{host}")).netloc,
            urlsplit(f"//{host}").hostname or "",
        )
    except ValueError:  # for example, an IPv6 address without a closing bracket
        raise Refused(400, "the Host or Origin header is not a valid address.") from None
    if origin != host or headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise Refused(403, "requests from pages of other sites are refused.")
    if only_local and not is_loopback(name):
        problem = f"only requests to localhost are answered, not to {shown(host)}. Use localhost, or serve with --tokens."
        raise Refused(403, problem)


async def _answer(send: Send, refused: Refused) -> None:
    body = json.dumps(refused.body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **refused.headers}
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})

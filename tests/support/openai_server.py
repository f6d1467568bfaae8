"""A local server that speaks OpenAI's chat-completions protocol and answers what a test wrote.

with OpenAIServer([{"facts": []}, Status(429, retry_after=1), Hang()]) as server:
    model = ChatOpenAI(model="any", base_url=server.url, api_key="test", max_retries=0)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias

from openai_replies import (
    TOKENS_IN,
    TOKENS_OUT,
    Answer,
    Drip,
    Dropped,
    Finish,
    Hang,
    Raw,
    Response,
    Said,
    ServerReply,
    Status,
    response_to,
)

__all__ = [
    "TOKENS_IN",
    "TOKENS_OUT",
    "Answer",
    "Drip",
    "Dropped",
    "Feature",
    "Finish",
    "Hang",
    "OpenAIServer",
    "Raw",
    "RecordedRequest",
    "Said",
    "ServerReply",
    "Status",
]


@dataclass(slots=True)
class RecordedRequest:
    """A recorded request: its path, its JSON body and its headers (names in lower case)."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


Script: TypeAlias = "Sequence[ServerReply] | Callable[[RecordedRequest], ServerReply]"


class Feature(StrEnum):
    """Features that some servers lack, by the field of a request that uses them."""

    JSON_SCHEMA = "response_format"
    TOOLS = "tools"
    MAX_TOKENS = "max_completion_tokens"
    TEMPERATURE = "temperature"


class OpenAIServer:
    """Serves a script on 127.0.0.1; one reply a request, the last one again and again.

    A dict or a pydantic object is the structured answer, a string the answer's raw text: as content, or as the arguments
    of a tool call if the request gives tools; in one piece, or as server-sent events if it asks for a stream. Connections
    are kept alive, as the real service does.

    Args:
        replies: the script, at least one reply; or a function from a request to its reply.
        without: features it does not have: a request that asks for one is answered 400, and costs no reply.

    Attributes:
        requests: what was asked, in order of arrival.
        left: how many clients were gone before their answer ended.
    """

    def __init__(self, replies: Script, *, without: Collection[Feature] = ()) -> None:
        self.requests: list[RecordedRequest] = []
        self.left = 0
        self._script = replies
        self._without = without
        self._taken = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"scripted": self}))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base address to give a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def take(self, request: RecordedRequest) -> ServerReply:
        """Record a request and return its reply."""
        with self._lock:
            self.requests.append(request)
            missing = [feature for feature in self._without if request.body.get(feature) is not None]
            if missing:
                return Status(400, f"{missing[0]} is not supported by this server")
            if callable(self._script):
                return self._script(request)
            self._taken += 1
            return self._script[min(self._taken, len(self._script)) - 1]


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection from its server's script."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    disable_nagle_algorithm = True
    scripted: OpenAIServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Print nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.scripted.take(RecordedRequest(self.path, body, headers))
        try:
            self._answer(reply, response_to(body, reply))
        except ConnectionError:  # the client gave up waiting
            self.scripted.left += 1
            self.close_connection = True

    def _answer(self, reply: ServerReply, response: Response) -> None:
        if isinstance(reply, Hang):
            self.scripted.closing.wait(reply.seconds)
            self.close_connection = True
            return
        content = response.body.encode()
        self._begin(response, len(content))
        if isinstance(reply, Dropped):
            self.wfile.write(content[: int(reply.share * len(content))])
            self.close_connection = True
        elif isinstance(reply, Drip):
            self._drip(content, reply.seconds)
        else:
            self.wfile.write(content)

    def _begin(self, response: Response, length: int) -> None:
        self.send_response(response.status)
        self.send_header("content-type", "text/event-stream" if response.stream else "application/json")
        self.send_header("content-length", str(length))
        for name, value in (response.headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _drip(self, content: bytes, seconds: float) -> None:
        for at in range(len(content)):
            if self.scripted.closing.wait(seconds / len(content)):
                self.close_connection = True
                return
            self.wfile.write(content[at : at + 1])

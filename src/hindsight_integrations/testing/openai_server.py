"""A local server that speaks OpenAI's chat-completions protocol and answers what a test wrote.

with OpenAIServer([{"facts": []}, Status(429), Hang()]) as server:
    model = ChatOpenAI(model="any", base_url=server.url, api_key="test", max_retries=0)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with this HTTP status and an error body."""

    code: int
    message: str = "scripted failure"


@dataclass(frozen=True, slots=True)
class Hang:
    """Keep the request open until the server is closed, or for so many seconds, then drop the connection."""

    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer 200 with this body, which need not be JSON."""

    body: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Answer with this text and finish reason ("length": cut short)."""

    text: str
    reason: str


ServerReply: TypeAlias = "dict[str, Any] | BaseModel | str | Status | Hang | Raw | Finish"

TOKENS_IN, TOKENS_OUT = 11, 7
"""The usage every completion reports."""


@dataclass(slots=True)
class RecordedRequest:
    """One request as it arrived: its path, its JSON body and its headers (names in lower case)."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)


class OpenAIServer:
    """Serves a script on 127.0.0.1; one reply a request, the last one again and again.

    A dict or a pydantic object is the structured answer, a string the answer's raw text. Connections are kept alive,
    as the real service does.

    Args:
        replies: the script; at least one.
    """

    def __init__(self, replies: Sequence[ServerReply]) -> None:
        self.requests: list[RecordedRequest] = []
        self._replies = list(replies)
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
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
        """Record a request and give the reply it gets."""
        with self._lock:
            self.requests.append(request)
            return self._replies[min(len(self.requests), len(self._replies)) - 1]


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    """A request handler class bound to one server, as http.server wants it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
            """Say nothing on stderr."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.take(RecordedRequest(self.path, body, headers))
            if isinstance(reply, Hang):
                server.closing.wait(reply.seconds)
                self.close_connection = True
                return
            self._send(*rendered(reply, str(body.get("model", ""))))

        def _send(self, status: int, text: str) -> None:
            content = text.encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def rendered(reply: ServerReply, model: str) -> tuple[int, str]:
    """A reply as HTTP status and body."""
    match reply:
        case Status(code, message):
            return code, json.dumps({"error": {"message": message, "type": "scripted", "code": None}})
        case Raw(body):
            return 200, body
        case Finish(text, reason):
            return 200, completion(text, model, reason)
        case BaseModel():
            return 200, completion(reply.model_dump_json(), model)
        case str():
            return 200, completion(reply, model)
        case _:
            return 200, completion(json.dumps(reply, default=str), model)


def completion(text: str, model: str, reason: str = "stop") -> str:
    """A chat completion object with one choice, as JSON."""
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [{"index": 0, "finish_reason": reason, "message": message}],
            "usage": {
                "prompt_tokens": TOKENS_IN,
                "completion_tokens": TOKENS_OUT,
                "total_tokens": TOKENS_IN + TOKENS_OUT,
            },
        }
    )

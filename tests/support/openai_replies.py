"""Replies of a scripted OpenAI server, and their form in the protocol. Pure.

A structured answer is placed as the request asks: in the content (response_format, or nothing), or in the
arguments of a tool call (tools); whole, or in pieces (stream).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import BaseModel

TOKENS_IN, TOKENS_OUT = 11, 7
"""The usage every completion reports."""

PIECE = 16  # characters of a streamed event

Answer: TypeAlias = "dict[str, Any] | BaseModel | str"


@dataclass(frozen=True, slots=True)
class Status:
    """Answer with this HTTP status and an error body; `retry_after` is the header of that name, in seconds."""

    code: int
    message: str = "scripted failure"
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Hang:
    """Keep the request open until the server is closed, or for a number of seconds, then drop the connection."""

    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Drip:
    """Answer byte by byte for a number of seconds: no pause is long, but the whole answer is."""

    answer: Answer
    seconds: float


@dataclass(frozen=True, slots=True)
class Dropped:
    """Break the connection after a share of the answer."""

    answer: Answer
    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Raw:
    """Answer 200 with this body, which may be invalid JSON."""

    body: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Answer with this text and finish reason ("length": truncated)."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Said:
    """Answer with this text as content, even if a tool call was asked for."""

    text: str


ServerReply: TypeAlias = "Answer | Status | Hang | Drip | Dropped | Raw | Finish | Said"


@dataclass(frozen=True, slots=True)
class Response:
    """A reply as sent.

    Attributes:
        body: the whole body.
        status: HTTP status.
        headers: in addition to content-type and content-length.
        stream: whether the body is a stream of server-sent events.
    """

    body: str
    status: int = 200
    headers: Mapping[str, str] | None = None
    stream: bool = False


def response_to(request: Mapping[str, Any], reply: ServerReply) -> Response:
    """A reply in the form that a request's body asks for."""
    match reply:
        case Status(code, message, retry_after):
            headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
            return Response(error_body(message), code, headers)
        case Raw(body):
            return Response(body)
        case Hang():
            return Response("")
    text, reason = _text_of(reply), reply.reason if isinstance(reply, Finish) else "stop"
    tool = None if isinstance(reply, Said) else _tool_of(request)
    model = str(request.get("model", ""))
    if request.get("stream"):
        usage = bool((request.get("stream_options") or {}).get("include_usage"))
        events = "".join(_events(text, tool, model, reason=reason, usage=usage))
        return Response(events, stream=True)
    return Response(completion(text, model, reason, tool=tool))


def error_body(message: str) -> str:
    """The body of an error."""
    return json.dumps({"error": {"message": message, "type": "scripted", "code": None}})


def _text_of(reply: ServerReply) -> str:
    match reply:
        case Finish(text, _) | Said(text):
            return text
        case Drip(answer, _) | Dropped(answer, _):
            return _text_of(answer)
        case BaseModel():
            return reply.model_dump_json()
        case str():
            return reply
        case _:
            return json.dumps(reply, default=str)


def _tool_of(request: Mapping[str, Any]) -> str | None:
    """The tool that a request requires, the first of its tools; None if it has none."""
    tools = request.get("tools") or ()
    return str(tools[0]["function"]["name"]) if tools else None


def completion(text: str, model: str, reason: str = "stop", *, tool: str | None = None) -> str:
    """A chat completion object with one choice, as JSON; with a tool the text is the arguments of a call."""
    message: dict[str, Any] = {"role": "assistant", "content": None if tool else text}
    if tool:
        message["tool_calls"] = [_call(tool, text)]
        reason = "tool_calls" if reason == "stop" else reason
    choice = {"index": 0, "finish_reason": reason, "message": message}
    return json.dumps({**_head("chat.completion", model), "choices": [choice], "usage": _USAGE})


def _call(tool: str, arguments: str) -> dict[str, Any]:
    return {"id": "call-1", "type": "function", "function": {"name": tool, "arguments": arguments}}


def _events(text: str, tool: str | None, model: str, *, reason: str, usage: bool) -> Iterator[str]:
    """The server-sent events of a streamed completion."""
    head = _head("chat.completion.chunk", model)
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if tool else ""}]
    if tool:
        deltas.append({"tool_calls": [{"index": 0, **_call(tool, "")}]})
    for at in range(0, len(text), PIECE):
        piece = text[at : at + PIECE]
        called = {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
        deltas.append(called if tool else {"content": piece})
    for delta in deltas:
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    end = "tool_calls" if tool and reason == "stop" else reason
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
    if usage:
        yield _event({**head, "choices": [], "usage": _USAGE})
    yield "data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _head(kind: str, model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 1, "model": model}


_USAGE = {
    "prompt_tokens": TOKENS_IN,
    "completion_tokens": TOKENS_OUT,
    "total_tokens": TOKENS_IN + TOKENS_OUT,
}

"""A vendor's exception, known by its shape and converted once: no vendor package is imported to recognise its errors.

Used as `with converting("name"): call()`; what it does not recognise passes through unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from types import TracebackType

from hindsight_integrations.errors import (
    FeatureUnsupported,
    MalformedOutput,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PromptTooLong,
)


class Trouble(Enum):
    """What a vendor's exception means to the caller."""

    UNAVAILABLE = auto()
    REFUSED = auto()
    CUT_SHORT = auto()
    TOO_LONG = auto()
    UNSUPPORTED = auto()
    OTHER = auto()


# Class names by the vendor's top-level package, checked along the whole inheritance line (openai 3.54, anthropic and
# httpx share most of theirs; httpx2 and httpcore are what newer clients pull in).
_CLASSES: dict[Trouble, dict[str, frozenset[str]]] = {
    Trouble.UNAVAILABLE: {
        "openai": frozenset({"APIConnectionError", "RateLimitError", "InternalServerError"}),
        "anthropic": frozenset({"APIConnectionError", "RateLimitError", "InternalServerError"}),
        "httpx": frozenset({"TransportError"}),
        "httpx2": frozenset({"TransportError"}),
        "httpcore": frozenset({"NetworkError", "TimeoutException", "ProtocolError"}),
        "requests": frozenset({"ConnectionError", "Timeout"}),
        "google": frozenset({"ResourceExhausted", "ServiceUnavailable", "DeadlineExceeded"}),
        "torch": frozenset({"OutOfMemoryError"}),
    },
    Trouble.REFUSED: {
        "openai": frozenset({"AuthenticationError", "PermissionDeniedError"}),
        "anthropic": frozenset({"AuthenticationError", "PermissionDeniedError"}),
        "google": frozenset({"Unauthenticated", "PermissionDenied"}),
    },
    Trouble.CUT_SHORT: {"openai": frozenset({"LengthFinishReasonError", "ContentFilterFinishReasonError"})},
}
_REFUSED_STATUS = frozenset({401, 403})
_TRANSIENT_STATUS = frozenset({408, 425, 429})  # RFC 9110, RFC 8470, RFC 6585; and every 5xx


_BAD_REQUEST = frozenset({400, 404, 413, 422, 501})
# What services of OpenAI's protocol answer to a prompt over their context (llama.cpp, vLLM, OpenAI, LM Studio), and to a
# field that they or the model behind them lack (Ollama, vLLM, Groq, DeepSeek, LM Studio; llama.cpp without --jinja: a 500).
_TOO_LONG = re.compile(
    r"context[ _](size|length|window)|maximum context|prompt is too long|too many (input )?tokens",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"response[_ ]format|json[_ ]schema|structured output|grammar|\btools?\b|tool[_ ]choice|function.?call"
    r"|max_completion_tokens|\btemperature\b",
    re.IGNORECASE,
)
_NO_TEMPLATE = re.compile(r"requires --jinja", re.IGNORECASE)


def trouble(error: BaseException) -> Trouble:
    """What this exception means, by its class names, its place in the builtin tree, its HTTP status and its words."""
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Trouble.UNAVAILABLE
    if (refused := _refused_request(_status(error), str(error))) is not None:
        return refused
    named = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(error).__mro__}
    for kind, vendors in _CLASSES.items():
        if any(name in vendors.get(package, ()) for package, name in named):
            return kind
    return _by_status(_status(error))


def _status(error: BaseException) -> int | None:
    """The HTTP status an exception carries, on itself or on its response."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _refused_request(status: int | None, message: str) -> Trouble | None:
    """Whether the service refuses this very request, for its length or for what it asks for; None if it does not."""
    if status == 500 and _NO_TEMPLATE.search(message):
        return Trouble.UNSUPPORTED
    if status not in _BAD_REQUEST:
        return None
    if _TOO_LONG.search(message):
        return Trouble.TOO_LONG
    return Trouble.UNSUPPORTED if _UNSUPPORTED.search(message) else None


def _retry_after(error: BaseException) -> float | None:
    """Seconds after which the service wants to be asked again, as its header of that name says; None if it does not."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if isinstance(headers, Mapping) else None
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass  # a date, by RFC 9110
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


def _by_status(status: int | None) -> Trouble:
    if status is None:
        return Trouble.OTHER
    if status in _REFUSED_STATUS:
        return Trouble.REFUSED
    transient = status in _TRANSIENT_STATUS or 500 <= status < 600
    return Trouble.UNAVAILABLE if transient else Trouble.OTHER


def converted(model: str, error: BaseException) -> ModelError | None:
    """This package's error for a vendor's exception; None if it is not one to convert."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    match trouble(error):
        case Trouble.UNAVAILABLE:
            return ModelUnavailable(model, reason, _retry_after(error))
        case Trouble.REFUSED:
            return ModelRefused(model, reason)
        case Trouble.TOO_LONG:
            return PromptTooLong(model, reason)
        case Trouble.UNSUPPORTED:
            return FeatureUnsupported(model, reason)
        case Trouble.CUT_SHORT:
            usage = getattr(getattr(error, "completion", None), "usage", None)
            return MalformedOutput(
                model,
                _partial_text(error),
                reason,
                tokens_in=getattr(usage, "prompt_tokens", 0),
                tokens_out=getattr(usage, "completion_tokens", 0),
                cut_off=True,
            )
        case Trouble.OTHER:
            return None


def _partial_text(error: BaseException) -> str:
    """The unfinished text a cut-short answer carries, empty if it carries none."""
    choices = getattr(getattr(error, "completion", None), "choices", None) or ()
    return "".join(str(choice.message.content or "") for choice in choices)


class converting:  # noqa: N801 - a context manager, used like a function
    """Converts a vendor's exception raised inside the block; others pass unchanged. Reusable.

    A class rather than a generator, because leaving through `__exit__` needs no broad `except`.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and (ours := converted(self._model, error)) is not None:
            raise ours from error


_NO_NAME = "unknown"  # what LlamaIndex's embedding models are called that were given no name


def described(client: object) -> str:
    """A vendor's object's name: its class, and its model where it names one ("ChatOpenAI/gpt-5-mini")."""
    for attribute in ("model_name", "model", "model_id", "deployment_name"):
        value = getattr(client, attribute, None)
        if isinstance(value, str) and value and value != _NO_NAME:
            return f"{type(client).__name__}/{value}"
    return type(client).__name__

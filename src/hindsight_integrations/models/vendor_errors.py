"""Detect vendors' classes and convert their exceptions without importing vendor packages; and limit the time of calls.

Exceptions are converted by `with converting("name"): call()`; unknown ones pass unchanged.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum, StrEnum, auto
from types import TracebackType
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.errors import (
    FeatureUnsupported,
    InvalidRequest,
    MalformedOutput,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PromptTooLong,
    shown,
)
from hindsight_integrations.models.protocols import (
    Completion,
    Prompt,
    StreamingLanguageModel,
    TextPrompt,
)


class Vendor(StrEnum):
    """The vendor of a class."""

    LANGCHAIN = "langchain_core"
    LLAMAINDEX = "llama_index.core"
    OURS = "hindsight_integrations"  # a class that implements the methods of our protocol


MODELS = (
    "Pass a LlamaIndex LLM, a LangChain chat model, '<provider>:<name>', or an object with the methods of "
    "hindsight_integrations.models.protocols.LanguageModel."
)
EMBEDDERS = (
    "Pass a LlamaIndex BaseEmbedding, a LangChain Embeddings, an object with the methods of "
    "hindsight_integrations.models.protocols.Embedder, or None for the local one."
)


def vendor_of_model(model: object) -> Vendor:
    """Return the vendor of a language model.

    Raises:
        InvalidRequest: the object is not a language model, but for example a class, a function or an embedder.
    """
    bases = _bases(model, "model", MODELS)
    if (Vendor.LLAMAINDEX, "BaseLLM") in bases:
        return Vendor.LLAMAINDEX
    if callable(getattr(model, "complete", None)):
        return Vendor.OURS
    # A Runnable may forward `with_structured_output` (fallbacks, bound arguments); completion models only raise.
    wrapped = (Vendor.LANGCHAIN, "Runnable") in bases and (Vendor.LANGCHAIN, "BaseLanguageModel") not in bases
    if (Vendor.LANGCHAIN, "BaseChatModel") in bases or (wrapped and hasattr(model, "with_structured_output")):
        return Vendor.LANGCHAIN
    raise InvalidRequest("model", f"{_described_in_error(model)} is not a chat model", MODELS)


def vendor_of_embeddings(embeddings: object) -> Vendor:
    """Return the vendor of an embedder.

    Raises:
        InvalidRequest: the object is not an embedder, but for example a class, a function, a name or a language model.
    """
    bases = _bases(embeddings, "embeddings", EMBEDDERS)
    if (Vendor.LLAMAINDEX, "BaseEmbedding") in bases:
        return Vendor.LLAMAINDEX
    # Not hasattr, because an `identity` property may call the model, for which `open` must not wait.
    if inspect.getattr_static(embeddings, "identity", None) is not None:
        return Vendor.OURS
    if (Vendor.LANGCHAIN, "Embeddings") in bases:
        return Vendor.LANGCHAIN
    if hasattr(embeddings, "identity"):  # the object may forward attributes
        return Vendor.OURS
    raise InvalidRequest("embeddings", f"{_described_in_error(embeddings)} is not an embedder", EMBEDDERS)


def _bases(client: object, field: str, accepted: str) -> set[tuple[Vendor, str]]:
    """Return the vendors' classes that an object inherits from.

    Raises:
        InvalidRequest: the object is a class itself.
    """
    if isinstance(client, type):
        raise InvalidRequest(field, f"{client.__name__} is a class, not an instance", accepted)
    return {
        (vendor, cls.__name__)
        for cls in type(client).__mro__
        for vendor in Vendor
        if f"{cls.__module__}.".startswith(f"{vendor}.")
    }


def _described_in_error(client: object) -> str:
    """Describe an object in an error: a string by its value, a function by its name, anything else by its class."""
    if isinstance(client, str):
        return shown(client)
    if inspect.isroutine(client):
        return f"the function {client.__name__}"
    return f"an object of {type(client).__module__}.{type(client).__qualname__}"


class Failure(Enum):
    """The kinds of failure that vendors' exceptions are mapped to."""

    UNAVAILABLE = auto()
    REFUSED = auto()
    CUT_SHORT = auto()
    TOO_LONG = auto()
    UNSUPPORTED = auto()
    OTHER = auto()


# Class names by the vendor's top-level package, checked along the whole inheritance chain.
_CLASSES: dict[Failure, dict[str, frozenset[str]]] = {
    Failure.UNAVAILABLE: {
        "openai": frozenset({"APIConnectionError", "RateLimitError", "InternalServerError"}),
        "anthropic": frozenset({"APIConnectionError", "RateLimitError", "InternalServerError"}),
        "httpx": frozenset({"TransportError"}),
        "httpx2": frozenset({"TransportError"}),
        "httpcore": frozenset({"NetworkError", "TimeoutException", "ProtocolError"}),
        "requests": frozenset({"ConnectionError", "Timeout"}),
        "google": frozenset({"ResourceExhausted", "ServiceUnavailable", "DeadlineExceeded"}),
        "torch": frozenset({"OutOfMemoryError"}),
    },
    Failure.REFUSED: {
        "openai": frozenset({"AuthenticationError", "PermissionDeniedError"}),
        "anthropic": frozenset({"AuthenticationError", "PermissionDeniedError"}),
        "google": frozenset({"Unauthenticated", "PermissionDenied"}),
    },
    Failure.CUT_SHORT: {"openai": frozenset({"LengthFinishReasonError", "ContentFilterFinishReasonError"})},
}
_REFUSED_STATUS = frozenset({401, 403})
_TRANSIENT_STATUS = frozenset({408, 425, 429})  # RFC 9110, RFC 8470, RFC 6585; in addition to every 5xx


_BAD_REQUEST = frozenset({400, 404, 413, 422, 501})
# Messages of OpenAI-compatible services about a prompt that is too long, or about an unsupported field.
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


def classify(error: BaseException) -> Failure:
    """Classify an exception by class names, builtin base, HTTP status and message."""
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Failure.UNAVAILABLE
    if (failure := _refused_request(_status(error), str(error))) is not None:
        return failure
    named = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(error).__mro__}
    for kind, vendors in _CLASSES.items():
        if any(name in vendors.get(package, ()) for package, name in named):
            return kind
    return _by_status(_status(error))


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of an exception or of its response."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _refused_request(status: int | None, message: str) -> Failure | None:
    """Return the failure if a request was rejected for its length or its fields, else None."""
    if status == 500 and _NO_TEMPLATE.search(message):
        return Failure.UNSUPPORTED
    if status not in _BAD_REQUEST:
        return None
    if _TOO_LONG.search(message):
        return Failure.TOO_LONG
    return Failure.UNSUPPORTED if _UNSUPPORTED.search(message) else None


def _retry_after(error: BaseException) -> float | None:
    """Return the seconds in a Retry-After header; None if there is no such header."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    value = headers.get("retry-after") if isinstance(headers, Mapping) else None
    if not value:
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass  # the header may be an HTTP date (RFC 9110)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


def _by_status(status: int | None) -> Failure:
    if status is None:
        return Failure.OTHER
    if status in _REFUSED_STATUS:
        return Failure.REFUSED
    transient = status in _TRANSIENT_STATUS or 500 <= status < 600
    return Failure.UNAVAILABLE if transient else Failure.OTHER


def converted(model: str, error: BaseException) -> ModelError | None:
    """Convert a vendor's exception to this package's; None if it is not recognised."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    match classify(error):
        case Failure.UNAVAILABLE:
            return ModelUnavailable(model, reason, _retry_after(error))
        case Failure.REFUSED:
            return ModelRefused(model, reason)
        case Failure.TOO_LONG:
            return PromptTooLong(model, reason)
        case Failure.UNSUPPORTED:
            return FeatureUnsupported(model, reason)
        case Failure.CUT_SHORT:
            usage = getattr(getattr(error, "completion", None), "usage", None)
            return MalformedOutput(
                model,
                _partial_text(error),
                reason,
                tokens_in=getattr(usage, "prompt_tokens", 0),
                tokens_out=getattr(usage, "completion_tokens", 0),
                cut_off=True,
            )
        case Failure.OTHER:
            return None


def _partial_text(error: BaseException) -> str:
    """Return the text of a truncated answer, if any."""
    choices = getattr(getattr(error, "completion", None), "choices", None) or ()
    return "".join(str(choice.message.content or "") for choice in choices)


class converting:  # noqa: N801 - a context manager, used like a function
    """A reusable context manager that converts a vendor's exception raised inside the block; others pass unchanged.

    A class rather than a generator, because `__exit__` needs no broad `except`.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and (ours := converted(self._model, error)) is not None:
            raise ours from error


_NO_NAME = "unknown"  # the default model name of LlamaIndex's embeddings


def described(client: object) -> str:
    """Return the name of a vendor's object: its class, and its model if known ("ChatOpenAI/gpt-5-mini")."""
    for attribute in ("model_name", "model", "model_id", "deployment_name"):
        value = getattr(client, attribute, None)
        if isinstance(value, str) and value and value != _NO_NAME:
            return f"{type(client).__name__}/{value}"
    return type(client).__name__


T = TypeVar("T", bound=BaseModel)

# Seconds before the second attempt; doubled for each further one, unless the service sends Retry-After.
FIRST_PAUSE_S = 0.5


class TimedModel:
    """Limits the time of a model's calls, including retries and pauses.

    If a service sends Retry-After, the call is retried after that time, provided that this is within the limit;
    otherwise the call fails immediately, with the time in the error.

    Args:
        model: the model.
        timeout_s: seconds per call.
        tries: maximum number of attempts; 1 if the model's own client retries.
    """

    def __init__(self, model: StreamingLanguageModel, *, timeout_s: float, tries: int = 1) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._tries = tries

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Call the model.

        Raises:
            ModelUnavailable: it did not answer within the limit, or is still unavailable after all attempts.
            ModelError: as raised by the model.
        """
        end = asyncio.get_running_loop().time() + self._timeout_s
        try:
            async with asyncio.timeout_at(end) as limit:
                return await self._tried(prompt, end)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise self._too_slow() from error

    async def stream(self, prompt: TextPrompt) -> AsyncGenerator[str, None]:
        """Stream the model's answer; no retry after the first piece.

        Time that the caller spends between pieces does not count towards the limit.

        Raises:
            ModelUnavailable: it did not finish within the limit, or is still unavailable after all attempts.
            ModelError: as raised by the model.
        """
        clock, left = asyncio.get_running_loop().time, self._timeout_s
        for tries in range(1, self._tries + 1):
            begun = False
            try:
                async with aclosing(self._model.stream(prompt)) as pieces:
                    while True:
                        asked = clock()
                        piece = await self._next(pieces, left)
                        left -= clock() - asked
                        if piece is None:
                            return
                        begun = True
                        yield piece
            except ModelUnavailable as error:
                pause = _pause(tries, error)
                if begun or tries == self._tries or pause >= left:
                    raise
                await asyncio.sleep(pause)
                left -= pause

    async def _next(self, pieces: AsyncGenerator[str, None], left: float) -> str | None:
        """Return the next piece; None after the last."""
        try:
            async with asyncio.timeout(max(left, 0.0)) as limit:
                return await anext(pieces, None)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise self._too_slow() from error

    def _too_slow(self) -> ModelUnavailable:
        reason = f"it did not answer within {self._timeout_s:g} s (HindsightConfig.model_timeout_s)"
        return ModelUnavailable(self.name, reason)

    async def _tried(self, prompt: Prompt[T], end: float) -> Completion[T]:
        loop = asyncio.get_running_loop()
        for tries in range(1, self._tries):
            try:
                return await self._model.complete(prompt)
            except ModelUnavailable as error:
                pause = _pause(tries, error)
                if loop.time() + pause >= end:
                    raise
                await asyncio.sleep(pause)
        return await self._model.complete(prompt)


def _pause(tries: int, error: ModelUnavailable) -> float:
    """Return the seconds before the next attempt."""
    return FIRST_PAUSE_S * 2 ** (tries - 1) if error.retry_after is None else error.retry_after

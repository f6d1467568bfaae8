"""A vendor's exception, known by its shape and converted once: no vendor package is imported to recognise its errors.

Used as `with converting("name"): call()`; what it does not recognise passes through unchanged.
"""

from __future__ import annotations

from enum import Enum, auto
from types import TracebackType

from hindsight_integrations.errors import MalformedOutput, ModelError, ModelRefused, ModelUnavailable


class Trouble(Enum):
    """What a vendor's exception means to the caller."""

    UNAVAILABLE = auto()
    REFUSED = auto()
    CUT_SHORT = auto()
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


def trouble(error: BaseException) -> Trouble:
    """What this exception means, by its class names, its place in the builtin tree and its HTTP status."""
    if isinstance(error, (ConnectionError, TimeoutError)):
        return Trouble.UNAVAILABLE
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
            return ModelUnavailable(model, reason)
        case Trouble.REFUSED:
            return ModelRefused(model, reason)
        case Trouble.CUT_SHORT:
            return MalformedOutput(model, _partial_text(error), reason)
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


def described(client: object) -> str:
    """A LangChain object's name: its class, and its model where it names one ("ChatOpenAI/gpt-5-mini")."""
    for attribute in ("model_name", "model", "model_id", "deployment_name"):
        value = getattr(client, attribute, None)
        if isinstance(value, str) and value:
            return f"{type(client).__name__}/{value}"
    return type(client).__name__

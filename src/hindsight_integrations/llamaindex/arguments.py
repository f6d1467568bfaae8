"""Arguments of LlamaIndex's components that are checked before anything is built."""

from __future__ import annotations

from uuid import uuid4

from hindsight_integrations import InvalidRequest
from hindsight_integrations.errors import shown


def checked_tokens(given: object, field: str, *, least: int, most: int | None = None) -> int:
    """A number of tokens in its range.

    Raises:
        InvalidRequest: it is none, or out of range.
    """
    whole = isinstance(given, int) and not isinstance(given, bool)
    if not whole or given < least or (most is not None and given > most):  # type: ignore[operator]
        bounds = f"at least {least}" if most is None else f"{least} to {most:,}"
        raise InvalidRequest(
            field, f"{shown(given)} is no number of tokens", f"Pass a whole number, {bounds}."
        )
    return given  # type: ignore[return-value]


def checked_session(given: object) -> str:
    """The id of a chat; a new one for None.

    Raises:
        InvalidRequest: it is no text, or blank.
    """
    if given is None:
        return uuid4().hex
    if not isinstance(given, str) or not given.strip():
        raise InvalidRequest(
            "session_id", f"{shown(given)} names no chat", "Pass a text, or None for a new chat."
        )
    return given


def checked_insert_method(given: object) -> str:
    """Where memories are put: "user" or "system"; LlamaIndex's InsertMethod names them too.

    Raises:
        InvalidRequest: it is neither.
    """
    named = getattr(given, "value", given)
    if named not in ("user", "system"):
        raise InvalidRequest("insert_method", f"{shown(given)} is not known", "Use 'user' or 'system'.")
    return str(named)

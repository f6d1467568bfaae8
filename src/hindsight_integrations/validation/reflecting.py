"""Options of reflect alone: the schema of a typed answer, and the caller's tools."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel

from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.validation.limits import checked_list

MAX_OPERATION = 512  # characters of the key of a reflection


def checked_schema(given: object) -> type[BaseModel] | None:
    """The pydantic model of a typed answer; None stays None.

    Raises:
        InvalidRequest: it is no pydantic model class.
    """
    if given is None:
        return None
    if not isinstance(given, type) or not issubclass(given, BaseModel):
        raise InvalidRequest(
            "response_schema", f"{shown(given)} is not a pydantic model", "Pass a subclass of BaseModel."
        )
    return given


def checked_tools(given: object) -> tuple[Callable[..., object], ...]:
    """The caller's tools; None means none.

    Raises:
        InvalidRequest: it is not a list, or one of them cannot be called.
    """
    found = [] if given is None else checked_list(given, "tools")
    for each in found:
        if not callable(each) and not callable(getattr(each, "ainvoke", None)):  # LangChain's tools
            reason = f"{shown(each)} cannot be called"
            raise InvalidRequest("tools", reason, "Pass functions or LangChain tools.")
    return tuple(found)

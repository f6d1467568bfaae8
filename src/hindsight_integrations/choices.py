"""Closed sets as callers write them: the member itself or its plain string."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from hindsight_integrations.errors import InvalidRequest, shown

Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], value: Choice | str, field: str) -> Choice:
    """The member of a closed set that a value names.

    Args:
        kind: the set.
        value: a member, or its string.
        field: the argument or setting at fault, for the message.

    Raises:
        InvalidRequest: it names none; the error lists them.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidRequest(
            field, f"{shown(value)} is not a known choice", f"Use one of: {known}."
        ) from None


def as_choices(settings: object, **kinds: type[StrEnum]) -> None:
    """Plain strings in these fields become the choices they name; unknown ones are refused."""
    for name, kind in kinds.items():
        object.__setattr__(settings, name, choice(kind, getattr(settings, name), name))

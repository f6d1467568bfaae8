"""Arguments with a fixed set of values, given as an enum member or its string."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from hindsight_integrations.errors import InvalidRequest, shown

Choice = TypeVar("Choice", bound=StrEnum)


def choice(kind: type[Choice], value: Choice | str, field: str) -> Choice:
    """Convert a value to an enum member.

    Args:
        kind: the enum.
        value: a member or its string.
        field: the argument's or setting's name, for the error.

    Raises:
        InvalidRequest: the value is unknown; the error lists the members.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidRequest(
            field, f"{shown(value)} is not a known choice", f"Use one of: {known}."
        ) from None


def as_choices(settings: object, **kinds: type[StrEnum]) -> None:
    """Convert string fields of a settings object to enum members; unknown values raise InvalidRequest."""
    for name, kind in kinds.items():
        object.__setattr__(settings, name, choice(kind, getattr(settings, name), name))

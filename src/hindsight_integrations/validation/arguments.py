"""Options that several verbs share: choices, networks, moments and windows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import TypeAlias, TypeVar

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import Interval, as_utc
from hindsight_integrations.model.units import FactType
from hindsight_integrations.validation.limits import (
    checked_moment,
)

Choice = TypeVar("Choice", bound=StrEnum)
Moment: TypeAlias = datetime | str | float | None


def as_types(values: Iterable[FactType | str]) -> tuple[FactType, ...]:
    """The networks asked for; a single name stands for itself.

    Raises:
        InvalidRequest: there is none, or one is not known.
    """
    kinds = [values] if isinstance(values, str) else list(values)
    if not kinds:
        raise InvalidRequest("types", "it is empty", "Name at least one network, or leave it out.")
    return tuple(as_choice(FactType, kind, "types") for kind in kinds)


def as_choice(kind: type[Choice], value: Choice | str, field: str) -> Choice:
    """The member of a closed set that a value names.

    Raises:
        InvalidRequest: it names none; the error lists them.
    """
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(kind)
        raise InvalidRequest(field, f"{value!r} is not a known choice", f"Use one of: {known}.") from None


def as_state(moment: datetime | str | None, zone: tzinfo) -> datetime | None:
    """The moment of an `as_of` in UTC; naive ones are read in `zone`; None means now.

    Raises:
        InvalidRequest: it cannot be read.
    """
    state = checked_moment(moment, "as_of")
    return as_utc(state, zone) if state else None


def as_window(bounds: tuple[datetime | str, datetime | str] | None, zone: tzinfo) -> Interval | None:
    """The caller's (start, end) as an interval; naive times are read in `zone`.

    Raises:
        InvalidRequest: a bound is missing or unreadable, or it ends before it starts.
    """
    if bounds is None:
        return None
    start, end = (checked_moment(bound, "window") for bound in bounds)
    if start is None or end is None:
        raise InvalidRequest("window", "a bound is missing", "Pass (start, end).")
    return Interval(as_utc(start, zone), as_utc(end, zone))

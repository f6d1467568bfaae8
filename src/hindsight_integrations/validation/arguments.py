"""Options that several verbs share: networks, moments and windows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import TypeAlias

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import Interval, as_utc
from hindsight_integrations.model.units import FactType
from hindsight_integrations.validation.limits import checked_moment

Moment: TypeAlias = datetime | str | float | None
Window: TypeAlias = tuple[datetime | str, datetime | str] | None


def checked_types(types: Iterable[FactType | str]) -> tuple[FactType, ...]:
    """The networks to search; a single name stands for itself.

    Raises:
        InvalidRequest: there is none, or one is not known.
    """
    kinds = [types] if isinstance(types, str) else list(types)
    if not kinds:
        raise InvalidRequest("types", "it is empty", "Name at least one network, or leave it out.")
    return tuple(choice(FactType, kind, "types") for kind in kinds)


def checked_as_of(moment: datetime | str | None, zone: tzinfo) -> datetime | None:
    """The moment of an `as_of` in UTC; naive ones are read in `zone`; None means now.

    Raises:
        InvalidRequest: it cannot be read.
    """
    given = checked_moment(moment, "as_of")
    return as_utc(given, zone) if given else None


def checked_window(bounds: Window, zone: tzinfo) -> Interval | None:
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

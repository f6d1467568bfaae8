"""Options that several verbs share: networks, moments and windows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import Interval, LocalDates, as_utc
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


def checked_instant(moment: object, field: str, dates: LocalDates) -> datetime | None:
    """A moment as the caller wrote it, in UTC; None stays None.

    Args:
        moment: a datetime, a timestamp or a Unix time in seconds.
        field: its name, for the error.
        dates: how it is read.

    Raises:
        InvalidRequest: it cannot be read.
    """
    given = checked_moment(moment, field, date_order=dates.order)
    return as_utc(given, dates.zone) if given else None


def checked_window(bounds: Window, dates: LocalDates) -> Interval | None:
    """The caller's (start, end) as an interval.

    Raises:
        InvalidRequest: a bound is missing or unreadable, or it ends before it starts.
    """
    if bounds is None:
        return None
    start, end = (checked_instant(bound, "window", dates) for bound in bounds)
    if start is None or end is None:
        raise InvalidRequest("window", "a bound is missing", "Pass (start, end).")
    return Interval(start, end)

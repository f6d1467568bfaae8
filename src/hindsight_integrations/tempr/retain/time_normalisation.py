"""Time normalisation: the dates extraction wrote, as half-open intervals (paper section 4.1.2). Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.time import Granule, Interval, as_utc, granule_after

_ISO = re.compile(
    r"^\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?)?\s*$"
)
_GRANULES = (Granule.YEAR, Granule.MONTH, Granule.DAY, Granule.HOUR, Granule.MINUTE, Granule.SECOND)


def parse_moment(text: str) -> tuple[datetime, Granule] | None:
    """Start of an ISO date of any coarseness and its granule: "2023" is a year, "2023-05" a month.

    Naive unless the text has an offset; None if it is no date, or an impossible one.
    """
    match = _ISO.match(text)
    if not match:
        return None
    given = [int(part) for part in match.groups()[:6] if part is not None]
    offset = match.group(7)
    defaults = (1, 1, 1, 0, 0, 0)
    try:
        moment = datetime(*given, *defaults[len(given) :], tzinfo=_offset(offset))  # type: ignore[misc,arg-type]
    except ValueError:
        return None
    return moment, _GRANULES[len(given) - 1]


def _offset(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    return UTC if text == "Z" else datetime.strptime(text.replace(":", ""), "%z").tzinfo


def occurrence(start: str | None, end: str | None, zone: tzinfo) -> Interval | None:
    """The half-open interval from the start of `start` to the end of the granule of `end`.

    A null end is the start's granule, never "until now". An end that cannot be read, or lies before
    the start, is treated as null. None if the start cannot be read.

    Args:
        start: ISO date of any coarseness.
        end: ISO date of the last day (month, year) included.
        zone: in which dates without an offset are read.
    """
    first = parse_moment(start) if start else None
    if first is None:
        return None
    last = parse_moment(end) if end else None
    try:
        begins = as_utc(first[0], zone)
    except InvalidRequest:  # the first day of the year 1, east of Greenwich
        return None
    ends = _after(last, zone) if last else _after(first, zone)
    if ends <= begins:
        ends = _after(first, zone)
    return Interval(begins, ends) if ends > begins else None


def _after(moment: tuple[datetime, Granule], zone: tzinfo) -> datetime:
    """The first instant after a granule; the last instant there is, at the end of year 9999."""
    start, granule = moment
    try:
        return as_utc(granule_after(start, granule), zone)
    except (OverflowError, ValueError):
        return datetime.max.replace(tzinfo=UTC)

"""Dates and times in the languages that are known: the time a text speaks of, and timestamps as chat exports write them.

Timestamps are "1:56 pm on 8 May, 2023", "08.05.23, 13:56", "2023/05/30 (Tue) 21:48" and the like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hindsight_integrations.language.language import Language
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.times.calendar import TimeWindow
from hindsight_integrations.language.times.finding import find_event_time, find_window
from hindsight_integrations.language.times.written import (
    FIGURES,
    date_in_words,
    date_of_figures,
    find_written_date,
)
from hindsight_integrations.model.time import DateOrder, Granule, Interval, LocalDates


def question_time(
    question: str, reference: datetime, dates: LocalDates, languages: Sequence[Language]
) -> TimeWindow | None:
    """The time window a question asks about; None if it names none.

    Args:
        question: its words.
        reference: when it is put (aware).
        dates: the zone of days, the order of dates in figures, and on which day weeks begin.
        languages: it may be in, the likeliest first.
    """
    return _first_found(find_window, question, reference, dates, languages)


def event_time(
    statement: str, reference: datetime, dates: LocalDates, languages: Sequence[Language]
) -> Interval | None:
    """When what a statement tells of happened or will happen; None if it does not say.

    Args:
        statement: its words.
        reference: when it was made (aware).
        dates: the zone of days, the order of dates in figures, and on which day weeks begin.
        languages: it may be in, the likeliest first.
    """
    window = _first_found(find_event_time, statement, reference, dates, languages)
    return window.interval if window else None


def _first_found(
    find: Callable[..., TimeWindow | None],
    text: str,
    reference: datetime,
    dates: LocalDates,
    languages: Sequence[Language],
) -> TimeWindow | None:
    """What the first grammar finds that finds anything, else a date that `dateparser` reads in the other languages."""
    for rules in (language.times for language in languages if language.times):
        if window := find(text, reference, dates.zone, rules=rules, week_starts=dates.week_starts):
            return window
    codes = [language.code for language in languages if language.times is None]
    return find_written_date(text, dates.zone, codes=codes, date_order=dates.order) if codes else None


_LONGEST = 80  # characters; what is longer is a text that holds a date, no timestamp
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")  # exports set directions in front of figures
_ZONE_IN_WORDS = re.compile(r"\s*\([^()\d]*\)\s*$")  # "(Central European Standard Time)", as JavaScript ends
_WEEKDAY_IN_BRACKETS = re.compile(r"\([^\W\d_]+\.?\)")
_CLOCK = re.compile(
    r"(?:(?<=[\d)\]])T|\bat |\bum |\ba las? |\bkl\.? |\bà )?(?<![\d:.,/-])"
    r"(?P<hour>[0-2]?[0-9])(?:(?P<mark>[:h])|\.(?=[0-9]{2}(?![0-9.])))(?P<minute>[0-5][0-9])"
    r"(?:[:.](?P<second>[0-5][0-9])(?:[.,](?P<fraction>[0-9]{1,6}))?)?"
    r"\s*(?:(?P<half>[ap])\.?\s?m\b\.?)?(?:\s*\b(?:Uhr|hrs?|h)\b)?"
    r"\s*(?P<zone>Z\b|(?:UTC|GMT)?\s*[+-][0-9]{1,2}:?(?:[0-9]{2})?\b|UTC\b|GMT\b)?",
    re.IGNORECASE,
)
_WHOLE_HOUR = re.compile(r"(?<![\d:.,/-])(1[0-2]|0?[1-9])\s*([ap])\.?\s?m\b\.?", re.IGNORECASE)  # "3pm"
_ZONE_BY_NAME = re.compile(
    r"\[?\b(?:(?P<place>[A-Z][a-zA-Z]+(?:/[A-Z][a-zA-Z_]+)+)|(?P<short>[A-Z]{2,5}))\b\]?"
)
_OFFSETS = {
    "UTC": 0,
    "GMT": 0,
    "WET": 0,
    "CET": 1,
    "CEST": 2,
    "EST": -5,
    "EDT": -4,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
}
_WEEKDAYS = frozenset({"MON", "TUE", "TUES", "WED", "THU", "THUR", "THURS", "FRI", "SAT", "SUN"})
_EDGES = " \t\r\n,;-[]()\u2013\u2014"
_JOINTS = re.compile(r"^(?:on|am|el|le)\s+|\s+(?:at|um|a las?|à|on)$", re.IGNORECASE)
_YEAR = re.compile(r"(?<![0-9])(?:1[89]|20|21)[0-9]{2}(?![0-9])")
_CODES = tuple(LANGUAGES)  # of the languages whose names of months are read
_LETTERS = re.compile(r"[^\W\d_]{3}")


def parse_timestamp(text: str, *, date_order: DateOrder | None = None) -> datetime | None:
    """The moment a timestamp names.

    ISO 8601 goes first, then figures, then names of months, which `dateparser` reads.

    Args:
        text: the timestamp and nothing else; brackets, a weekday and marks of direction around it do not matter.
        date_order: of the dates in figures. None reads those that only one order makes a date of: "12/31/23" and
            "31/12/2023", but neither "05/06/2023" nor "31/12/23", which begins with a year in some countries.

    Returns:
        The moment, naive if no zone is given, at midnight if no time of day is; None if it cannot be read for certain, as where
        its zone is an abbreviation of several zones (CST, IST).
    """
    plain = text.strip()
    if len(plain) > _LONGEST:
        return None
    try:
        return datetime.fromisoformat(plain)
    except ValueError:
        pass
    plain = _ZONE_IN_WORDS.sub("", plain)
    plain = " ".join(_WEEKDAY_IN_BRACKETS.sub(" ", _MARKS.sub("", plain)).split()).strip(_EDGES)
    plain = _WHOLE_HOUR.sub(r"\1:00 \2m", plain)
    clock = _CLOCK.search(plain)
    rest = plain.replace(clock[0], " ", 1) if clock else plain
    named = _ZONE_BY_NAME.search(rest) if clock else None
    if named and (named["short"] or "") not in _WEEKDAYS:
        rest = rest.replace(named[0], " ", 1)
    else:
        named = None
    rest = _JOINTS.sub("", rest.strip(_EDGES)).strip(_EDGES)
    day = _day(rest, date_order)
    try:
        if day is None:
            return None
        moment = datetime.combine(day, _time(clock))
        return moment if named is None or moment.tzinfo else moment.replace(tzinfo=_zone_named(named))
    except ValueError:
        return None


def is_ambiguous(text: str) -> bool:
    """Whether a timestamp can be read once the order of day, month and year is known."""
    if parse_timestamp(text, date_order=None):
        return False
    return any(parse_timestamp(text, date_order=order) for order in DateOrder)


def _day(text: str, order: DateOrder | None) -> date | None:
    figures = FIGURES.search(text)
    if figures:
        around = (text[: figures.start()] + text[figures.end() :]).strip(_EDGES + ".")
        more = any(map(str.isdigit, around)) or len(around.split()) > 1
        return None if more else date_of_figures(figures, order)
    if not (_YEAR.search(text) and _LETTERS.search(text)):
        return None
    found = date_in_words(text, _CODES)
    return found[0] if found and found[1] is Granule.DAY else None


def _time(clock: re.Match[str] | None) -> time:
    """The time of day of a match.

    Raises:
        ValueError: there is no such time.
    """
    if clock is None:
        return time()
    hour, half = int(clock["hour"]), (clock["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"no hour {hour} {half}m")
        hour = hour % 12 + (12 if half == "p" else 0)
    fraction = (clock["fraction"] or "").ljust(6, "0")
    return time(
        hour, int(clock["minute"]), int(clock["second"] or 0), int(fraction), tzinfo=_zone(clock["zone"])
    )


def _zone_named(name: re.Match[str]) -> tzinfo:
    """The zone of a name: a place, or an abbreviation of RFC 2822 or Central Europe.

    Raises:
        ValueError: it has another name, which may stand for several zones.
    """
    if name["place"]:
        try:
            return ZoneInfo(name["place"])
        except ZoneInfoNotFoundError as error:
            raise ValueError(f"no zone {name['place']}") from error
    if name["short"] not in _OFFSETS:
        raise ValueError(f"no certain zone {name['short']}")
    return timezone(timedelta(hours=_OFFSETS[name["short"]]))


def _zone(text: str | None) -> tzinfo | None:
    if not text:
        return None
    figures = re.search(r"(?P<sign>[+-])(?P<hours>[0-9]{1,2}):?(?P<minutes>[0-9]{2})?", text)
    if not figures:
        return UTC
    offset = timedelta(hours=int(figures["hours"]), minutes=int(figures["minutes"] or 0))
    return timezone(-offset if figures["sign"] == "-" else offset)

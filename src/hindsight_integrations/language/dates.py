"""Find the time that a question or statement refers to, and parse timestamps of chat exports.

Timestamps look like "1:56 pm on 8 May, 2023", "08.05.23, 13:56", "2023/05/30 (Tue) 21:48" and the like.
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
    """Return the time window that a question asks about, or None.

    Args:
        question: the question's text.
        reference: when the question was asked (aware).
        dates: time zone, order of numeric dates, and first day of the week.
        languages: its possible languages, the likeliest first.
    """
    return _first_found(find_window, question, reference, dates, languages)


def event_time(
    statement: str, reference: datetime, dates: LocalDates, languages: Sequence[Language]
) -> Interval | None:
    """Return when the event in a statement happened or will happen, or None if the statement does not say.

    The arguments are those of `question_time`.
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
    """Return the first match of a grammar, or else of `dateparser` for the languages without a grammar."""
    for rules in (language.times for language in languages if language.times):
        if window := find(text, reference, dates.zone, rules=rules, week_starts=dates.week_starts):
            return window
    codes = [language.code for language in languages if language.times is None]
    return find_written_date(text, dates.zone, codes=codes, date_order=dates.order) if codes else None


_LONGEST = 80  # maximum number of characters of a timestamp
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")  # direction marks that exports insert before digits
_ZONE_IN_WORDS = re.compile(
    r"\s*\([^()\d]*\)\s*$"
)  # a zone's full name, appended by JavaScript: "(Central European Standard Time)"
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
_CODES = tuple(LANGUAGES)  # languages with known month names
_LETTERS = re.compile(r"[^\W\d_]{3}")


def parse_timestamp(text: str, *, date_order: DateOrder | None = None) -> datetime | None:
    """Parse a timestamp: ISO 8601, then numeric dates, then month names via `dateparser`.

    Args:
        text: the timestamp only; surrounding brackets, a weekday and direction marks are ignored.
        date_order: the order of numeric dates. None accepts only dates that are valid in a single order: "12/31/23" and
            "31/12/2023", but neither "05/06/2023" nor "31/12/23", which some countries read as starting with the year.

    Returns:
        The datetime: naive if there is no zone, at midnight if there is no time of day; None if it cannot be parsed unambiguously, for
        example because its zone is an ambiguous abbreviation (CST, IST).
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
    """Return whether a timestamp can be parsed only if the order of day, month and year is known."""
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
    """Return the time of day of a match.

    Raises:
        ValueError: the time is invalid.
    """
    if clock is None:
        return time()
    hour, half = int(clock["hour"]), (clock["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"invalid hour {hour} {half}m")
        hour = hour % 12 + (12 if half == "p" else 0)
    fraction = (clock["fraction"] or "").ljust(6, "0")
    return time(
        hour, int(clock["minute"]), int(clock["second"] or 0), int(fraction), tzinfo=_zone(clock["zone"])
    )


def _zone_named(name: re.Match[str]) -> tzinfo:
    """Return the time zone of an IANA name, or of an abbreviation of RFC 2822 or Central Europe.

    Raises:
        ValueError: the name is unknown or ambiguous.
    """
    if name["place"]:
        try:
            return ZoneInfo(name["place"])
        except ZoneInfoNotFoundError as error:
            raise ValueError(f"unknown time zone {name['place']}") from error
    if name["short"] not in _OFFSETS:
        raise ValueError(f"ambiguous time zone {name['short']}")
    return timezone(timedelta(hours=_OFFSETS[name["short"]]))


def _zone(text: str | None) -> tzinfo | None:
    if not text:
        return None
    figures = re.search(r"(?P<sign>[+-])(?P<hours>[0-9]{1,2}):?(?P<minutes>[0-9]{2})?", text)
    if not figures:
        return UTC
    offset = timedelta(hours=int(figures["hours"]), minutes=int(figures["minutes"] or 0))
    return timezone(-offset if figures["sign"] == "-" else offset)

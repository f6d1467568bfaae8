"""Absolute dates in languages without a time grammar, parsed by `dateparser` ("le 8 mai 2023"), and numeric dates.

Only dates with a four-digit year and a month are recognised, not relative times, ranges or bare years, whose context
("depuis", "il y a") is unknown here. `dateparser` is imported on first use, only in this module, and used under one lock,
because its lazily filled language tables are not thread-safe.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, date, tzinfo
from functools import cache
from typing import Any

from hindsight_integrations.language.times.calendar import (
    GRANULE_OF,
    Span,
    TimeWindow,
    Unit,
    as_interval,
    day_span,
    month_span,
)
from hindsight_integrations.language.times.grammar import READ_CHARACTERS
from hindsight_integrations.model.time import DateOrder, Granule

FIGURES = re.compile(
    r"(?<![\w./-])(?P<a>[0-9]{1,4})\s?(?P<mark>[-/.])\s?(?P<b>[0-9]{1,2})\s?(?P=mark)\s?(?P<c>[0-9]{1,4})"
    r"(?![\w/-])(?!\.[0-9])"
)
"""Three numbers with the same separator."""
_CENTURY_TURN = 69  # "69" is 1969, "68" is 2068 (as in POSIX strptime %y)


def date_of_figures(figures: re.Match[str], order: DateOrder | None = None) -> date | None:
    """Return the date that three numbers denote.

    Args:
        figures: a match of `FIGURES`.
        order: the order of day, month and year; None if unknown.

    Returns:
        The date in that order; if it is invalid or unknown, the only date that any order gives, else None.
    """
    parts = figures["a"], figures["b"], figures["c"]
    if order and (given := list(_in_order(parts, order))):
        return given[0]
    days = {day for one in DateOrder for day in _in_order(parts, one)}
    return days.pop() if len(days) == 1 else None


def _in_order(parts: tuple[str, str, str], order: DateOrder) -> Iterator[date]:
    """Yield the date of three numbers in an order, if it is valid."""
    placed = dict(zip(order.value, parts, strict=True))
    if len(placed["y"]) not in {2, 4} or len(placed["d"]) > 2:
        return
    year = int(placed["y"])
    if len(placed["y"]) == 2:
        year += 2000 if year < _CENTURY_TURN else 1900
    try:
        yield date(year, int(placed["m"]), int(placed["d"]))
    except ValueError:
        return


_SETTINGS = {
    "PARSERS": ["absolute-time"],
    "REQUIRE_PARTS": ["year", "month"],
    "PREFER_DAY_OF_MONTH": "first",
    "RETURN_AS_TIMEZONE_AWARE": False,
}
_LOCK = threading.Lock()
_CODE = re.compile(r"[a-z]{2}")
_TOKEN = re.compile(r"[\w.\u00ba\u00aa]+")  # an apostrophe separates words: "l'8 maggio"
_YEAR = re.compile(r"(?:1[5-9]|20|21)[0-9]{2}")
_LONG = re.compile(r"[0-9]{4}")  # without a four-digit year, a date may be a version number
_LETTERS = re.compile(r"[^\W\d_]{2}")
_GLUED = re.compile(
    r"(?<![0-9])(?P<y>(?:1[5-9]|20|21)[0-9]{2})[\u5e74\ub144]\s?(?P<m>[0-9]{1,2})[\u6708\uc6d4]"
    r"(?:\s?(?P<d>[0-9]{1,2})[\u65e5\u53f7\uc77c])?"
)
"""A date in Chinese, Japanese or Korean, which have no spaces between words."""
_DAY = re.compile(r"[0-9]{1,2}\.?")  # a number that would be the day if it were valid
_MOST_TOKENS = 5  # "8 de maio de 2023"
_MOST_YEARS = 8  # maximum years tried in a text, to limit the run time


@cache
def is_foreign_language(code: str) -> bool:
    """Return whether `dateparser` supports a language.

    Args:
        code: ISO 639-1 code in lower case.
    """
    if not _CODE.fullmatch(code):
        return False
    try:
        date_in_words("2000", (code,))
    except ValueError:
        return False
    return True


def date_in_words(text: str, codes: Sequence[str]) -> tuple[date, Granule] | None:
    """Parse a phrase that is a date with a year and a month.

    Args:
        text: the phrase only.
        codes: ISO 639-1 codes of the languages to try.

    Returns:
        The day, or the first day of the month, and its granule; None if it is not such a date.

    Raises:
        ValueError: `dateparser` does not know a language.
    """
    with _LOCK:
        found = _parser(tuple(codes)).get_date_data(text)
    parts = set(found.parts)
    if found.date_obj is None or not {"year", "month"} <= parts:
        return None
    return found.date_obj.date(), Granule.DAY if "day" in parts else Granule.MONTH


@cache
def _parser(codes: tuple[str, ...]) -> Any:  # noqa: ANN401 # dateparser carries no types
    """Create a parser for some languages; call it under the lock."""
    from dateparser import DateDataParser  # here, because the import takes 0.3 s

    return DateDataParser(languages=list(codes), settings=_SETTINGS)


def find_written_date(
    text: str, zone: tzinfo = UTC, *, codes: Sequence[str], date_order: DateOrder | None = None
) -> TimeWindow | None:
    """Find a fully written day or month in a text; with several dates, the window from the first to the last.

    Args:
        text: a question or a message; its first 3,000 characters are read.
        zone: the time zone of days.
        codes: codes of the languages to try; unsupported ones are ignored.
        date_order: the order of numeric dates; None accepts only dates that are valid in a single order.

    Returns:
        The window, or None. Arbitrary text never raises.
    """
    read, codes = text[:READ_CHARACTERS], [code for code in codes if is_foreign_language(code)]
    spans = [*_in_words(read, codes), *_in_figures(read, date_order)] if codes else []
    if not spans:
        return None
    found = [span for span, _, _ in spans]
    unit = Unit.DAY if any(span.unit is Unit.DAY for span in found) else Unit.MONTH
    whole = Span(min(span.start for span in found), max(span.end for span in found), unit)
    interval = as_interval(whole, zone)
    if interval is None:
        return None
    start, end = min(span[1] for span in spans), max(span[2] for span in spans)
    return TimeWindow(interval, GRANULE_OF[whole.unit], text[start:end], (start, end))


def _in_figures(text: str, order: DateOrder | None) -> Iterator[tuple[Span, int, int]]:
    """Yield numeric dates with their offsets."""
    for match in _GLUED.finditer(text):
        span = _numbered(match)
        if span:
            yield span, *match.span()
    for match in FIGURES.finditer(text):
        day = date_of_figures(match, order) if _LONG.search(match[0]) else None
        if day:
            yield day_span(day.year, day.month, day.day), *match.span()


def _in_words(text: str, codes: Sequence[str]) -> Iterator[tuple[Span, int, int]]:
    """Yield dates with a month name and their offsets."""
    tokens = list(_TOKEN.finditer(FIGURES.sub(lambda date: " " * len(date[0]), text)))
    years = [index for index, token in enumerate(tokens) if _YEAR.fullmatch(token[0].rstrip("."))]
    for index in years[:_MOST_YEARS]:
        for first, last in _around(index, len(tokens)):
            start, end = tokens[first].start(), tokens[last].end()
            span = _dated(text[start:end], codes)
            if span and not (span.unit is Unit.MONTH and first and _DAY.fullmatch(tokens[first - 1][0])):
                yield span, start, end
            if span:
                break


def _around(index: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last token of phrases to try: those that end with the year, then those that start with it."""
    for length in range(_MOST_TOKENS, 1, -1):
        if index - length + 1 >= 0:
            yield index - length + 1, index
    for length in range(_MOST_TOKENS, 1, -1):
        if index + length <= count:
            yield index, index + length - 1


def _dated(phrase: str, codes: Sequence[str]) -> Span | None:
    """Parse a phrase that contains a month name; in numbers alone, the order of day and month would be a guess."""
    if not _LETTERS.search(phrase):
        return None
    found = date_in_words(phrase, codes)
    if found is None:
        return None
    day, granule = found
    if granule is Granule.DAY:
        return day_span(day.year, day.month, day.day)
    return month_span(day.year, day.month)


def _numbered(match: re.Match[str]) -> Span | None:
    year, month = int(match["y"]), int(match["m"])
    try:
        return day_span(year, month, int(match["d"])) if match["d"] else month_span(year, month)
    except ValueError:
        return None

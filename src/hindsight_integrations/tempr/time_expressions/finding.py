"""Finding the time a text speaks of: one window, or none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from hindsight_integrations.model.time import as_utc
from hindsight_integrations.tempr.time_expressions import english
from hindsight_integrations.tempr.time_expressions.grammar import (
    Direction,
    Grammar,
    Level,
    Reading,
    Scope,
)
from hindsight_integrations.tempr.time_expressions.patterns import folded
from hindsight_integrations.tempr.time_expressions.rules import (
    calendar_units,
    day_parts,
    days,
    holidays,
    months,
    offsets,
    parts,
    ranges,
    seasons,
    years,
)
from hindsight_integrations.tempr.time_expressions.window import TimeWindow, as_interval, granule_of

_FILES = (days, months, years, offsets, calendar_units, seasons, holidays, parts, day_parts, ranges)
ENGLISH = Grammar(
    tuple(rule for file in _FILES for rule in file.RULES),
    (*day_parts.CONTINUATIONS, *ranges.CONTINUATIONS),
)

_SENTENCE = re.compile(r"(?:[^.!?\n]|[.!?](?!\s))+[.!?\n]*\s*")
_FUTURE = re.compile(english.FUTURE, re.IGNORECASE)
_NOT_AFTER = re.compile(english.NOT_AFTER, re.IGNORECASE)
_BEFORE_PHRASE = 40  # characters looked back for "every" and the like
_PADDING = " \t\r\n?!.,;:\"'()"


def find_window(text: str, reference: datetime, zone: tzinfo = UTC) -> TimeWindow | None:
    """The time window a question asks about.

    Times without a year lie in the past: "in May" is the latest May begun, "on Friday" the last one. Of several
    times the narrowest is taken, then one told in figures, then the first.

    Args:
        text: the question.
        reference: when it is asked; naive times are read in `zone`.
        zone: the time zone of days and hours.

    Returns:
        The window, or None if the text names no (possible) time. Arbitrary text never raises.
    """
    scope = _scope(text, reference, zone, Direction.PAST)
    found = (_window(text, reading, zone) for reading in _readings(scope, 0, len(text)))
    windows = [window for window in found if window]
    if not windows:
        return _whole_text(text, scope, zone)
    return min(windows, key=_vagueness)


def find_event_time(text: str, reference: datetime, zone: tzinfo = UTC) -> TimeWindow | None:
    """When the event a statement tells of happened or will happen.

    The first time named counts; open ends ("since 2020", "until Friday") date no event, and in a sentence that
    announces ("we're going camping in July") a time without a year lies ahead.

    Args:
        text: the statement.
        reference: when it was said; naive times are read in `zone`.
        zone: the time zone of days and hours.

    Returns:
        The window, or None. Arbitrary text never raises.
    """
    scope = _scope(text, reference, zone, Direction.PAST)
    ahead = _scope(text, reference, zone, Direction.FUTURE)
    for sentence in _SENTENCE.finditer(scope.text):
        announced = _FUTURE.search(sentence[0])
        for reading in _readings(ahead if announced else scope, *sentence.span()):
            window = None if reading.open_ended else _window(text, reading, zone)
            if window:
                return window
    return None


def _vagueness(window: TimeWindow) -> tuple[timedelta, bool]:
    """How little a window tells: its length, and whether its words hold no figure."""
    return window.interval.end - window.interval.start, not any(map(str.isdigit, window.phrase))


def _scope(text: str, reference: datetime, zone: tzinfo, direction: Direction) -> Scope:
    now = as_utc(reference, zone).astimezone(zone).replace(tzinfo=None)
    return Scope(folded(text), now, ENGLISH, direction)


def _readings(scope: Scope, start: int, end: int) -> Iterator[Reading]:
    for reading in scope.readings(start, end):
        before = scope.text[max(0, reading.start - _BEFORE_PHRASE) : reading.start]
        if not _NOT_AFTER.search(before):
            yield reading


def _whole_text(text: str, scope: Scope, zone: tzinfo) -> TimeWindow | None:
    """A bare "March" or "2023" is a time if the question is nothing else."""
    start = len(text) - len(text.lstrip(_PADDING))
    reading = scope.read(start, Level.PART)
    whole = reading is not None and reading.end >= len(text.rstrip(_PADDING))
    return _window(text, reading, zone) if reading and whole else None


def _window(text: str, reading: Reading, zone: tzinfo) -> TimeWindow | None:
    if reading.span is None:
        return None
    interval = as_interval(reading.span, zone)
    if interval is None:
        return None
    phrase = text[reading.start : reading.end]
    return TimeWindow(interval, granule_of(reading.span), phrase, (reading.start, reading.end))

"""Questions that records answer exactly: what is wanted, of which records, of which time. Pure (decision 135).

A question is recognised where every word of it is understood: a cue of what is wanted, a time, one thing that the bank has
records of, or a filler that changes nothing. Anything else ("without", "Anna", "should", "more than last month") declines it,
since a wrong number is worse than none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from hindsight_integrations.model.record_answers import RecordOperation, RecordQuestion
from hindsight_integrations.model.records import RecordCategory
from hindsight_integrations.model.time import Granule, Interval, LocalDates, Weekday
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.record_asked import Asked
from hindsight_integrations.text.record_cues import read_question
from hindsight_integrations.text.record_operations import VALUED
from hindsight_integrations.text.record_subjects import KnownThings
from hindsight_integrations.text.time_expressions import TimeWindow

_OF_A_TIME = frozenset({RecordOperation.TOTAL, RecordOperation.COUNT, RecordOperation.PERIODS})


def record_question(
    text: str,
    moment: datetime,
    *,
    dates: LocalDates,
    languages: Sequence[Language],
    categories: Sequence[RecordCategory],
    first_weekday: Weekday = Weekday.MONDAY,
) -> RecordQuestion | None:
    """What a question wants of the bank's records; None where it is not recognised for sure.

    Args:
        text: the question.
        moment: when it is put (aware).
        dates: the zone of days.
        languages: it may be in, the likeliest first.
        categories: those of the bank, with their units (`records.categories`).
        first_weekday: on which weeks begin.
    """
    known = KnownThings(categories, languages)
    for language in languages:
        read = read_question(text, moment, dates, language)
        asked = (
            None
            if read is None
            else Asked(read.pieces, known, language.code, read.terse, read.window is not None)
        )
        question = None if asked is None else asked.question()
        if read is None or question is None:
            continue
        if read.window is None:
            if read.terse:
                return None
            usual = read.habitual and question.operation in _OF_A_TIME and question.kind in VALUED
            return None if usual else question
        if (
            question.operation == RecordOperation.AVERAGE
            and read.window.granule == Granule.DAY
            and _is_a_day(read.window)
        ):
            return None  # "on an average Monday" is no Monday
        window = _in_days(read.window, moment, dates.zone, first_weekday)
        return None if window is None else replace(question, window=window)
    return None


def _is_a_day(window: TimeWindow) -> bool:
    return window.interval.end - window.interval.start <= timedelta(days=1, hours=1)


def _in_days(window: TimeWindow, moment: datetime, zone: tzinfo, first: Weekday) -> Interval | None:
    """The window where it is of whole days, as records are; a week as the bank's weeks begin."""
    interval = window.interval
    if window.granule == Granule.WEEK and not any(map(str.isdigit, window.phrase)):
        interval = _week(interval, moment, zone, first)
    bounds = (interval.start.astimezone(zone), interval.end.astimezone(zone))
    midnights = [bound.hour == bound.minute == bound.second == 0 for bound in bounds]
    return interval if all(midnights) and interval.start <= moment else None


def _week(week: Interval, moment: datetime, zone: tzinfo, first: Weekday) -> Interval:
    """A week that the grammar began on Monday, as it lies to the moment where weeks begin on another day."""
    start = week.start.astimezone(zone)
    if start.weekday() != 0 or (week.end.astimezone(zone).date() - start.date()).days % 7:
        return week
    today = moment.astimezone(zone).weekday()
    ahead = today - (today - first.number) % 7
    shift = timedelta(days=ahead)
    ends = [
        (bound.astimezone(zone).replace(tzinfo=None) + shift).replace(tzinfo=zone)
        for bound in (week.start, week.end)
    ]
    return Interval(*(end.astimezone(week.start.tzinfo) for end in ends))

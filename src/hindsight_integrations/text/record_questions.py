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
from hindsight_integrations.model.time import Granule, Interval, LocalDates
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
) -> RecordQuestion | None:
    """What a question wants of the bank's records; None where it is not recognised for sure.

    Args:
        text: the question.
        moment: when it is put (aware).
        dates: the zone of days, and on which of them weeks begin.
        languages: it may be in, the likeliest first.
        categories: those of the bank, with their units (`records.categories`).
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
        window = _in_days(read.window.interval, moment, dates.zone)
        return None if window is None else replace(question, window=window)
    return None


def _is_a_day(window: TimeWindow) -> bool:
    return window.interval.end - window.interval.start <= timedelta(days=1, hours=1)


def _in_days(interval: Interval, moment: datetime, zone: tzinfo) -> Interval | None:
    """The window where it is of whole days, as records are, and has begun."""
    bounds = (interval.start.astimezone(zone), interval.end.astimezone(zone))
    midnights = [bound.hour == bound.minute == bound.second == 0 for bound in bounds]
    return interval if all(midnights) and interval.start <= moment else None

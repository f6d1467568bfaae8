"""The time a text speaks of, in whichever of several languages: our grammars in turn, then dates written in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from hindsight_integrations.model.time import Interval, LocalDates
from hindsight_integrations.text.foreign_dates import find_written_date
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.time_expressions import TimeWindow, find_event_time, find_window


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

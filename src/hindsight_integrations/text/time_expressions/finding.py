"""Finding the time a text speaks of: one window, or none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain

from hindsight_integrations.model.time import Weekday, as_utc
from hindsight_integrations.text.time_expressions.calendar import Unit
from hindsight_integrations.text.time_expressions.decoys import is_decoy
from hindsight_integrations.text.time_expressions.grammar import (
    Direction,
    Level,
    Reading,
    Scope,
    TimeRules,
    grammar_of,
)
from hindsight_integrations.text.time_expressions.inside_titles import is_in_quoted_title, outside_titles
from hindsight_integrations.text.time_expressions.patterns import folded, regex
from hindsight_integrations.text.time_expressions.window import TimeWindow, as_interval, granule_of
from hindsight_integrations.text.time_expressions.words import Words

# A full stop in front of a small letter or a figure, or behind a day ("3. Mai"), ends no sentence.
_SENTENCE = re.compile(
    r"(?:[^.!?\n]|[.!?](?!\s)|\.(?=\s+[a-z\u00df-\u00f6\u00f8-\u00ff0-9])|(?<=\b[0-9])\.|(?<=\b[0-9]{2})\.)+[.!?\n]*\s*"
)
_PADDING = " \t\r\n?!.,;:\"'()\u00bf\u00a1\u00ab\u00bb\u201e\u201c\u201d"

_DATE = re.compile(
    r"[0-9]{4}|[0-9]\s?[-./:'][0-9]|[0-9][^\W\d]|[^\W\d][0-9]"
)  # figures that are no small number
# Of money: without a verb it may have been spent or be due.
_AMOUNT = re.compile(r"[$\u20ac\u00a3]|[0-9][.,][0-9]{2}(?![0-9])")
_TOKEN = re.compile(r"[^\W\d_]+")
_TELLING = 4  # letters of a name that tells a time inside a longer word too ("Freitagabend")

# Where a text is read for its time: what decides comes early, and words of time strung together by the page cost
# more than their length (14,000 characters of "mon to mon to ...": 2 s).
READ_CHARACTERS = 3_000


def find_window(
    text: str,
    reference: datetime,
    zone: tzinfo = UTC,
    *,
    rules: TimeRules,
    week_starts: Weekday = Weekday.MONDAY,
) -> TimeWindow | None:
    """The time window a question asks about.

    Times without a year lie in the past - "in May" is the latest May begun, "on Friday" the last one - unless their
    sentence asks of the future ("what will I do on Friday?"). Of several times the narrowest is taken, then one written
    in figures, then the first.

    Args:
        text: the question.
        reference: when the question is put; naive times are read in `zone`.
        zone: the time zone of days and hours.
        rules: of the language whose words are read.
        week_starts: on which day weeks begin; those of ISO 8601 ("2024-W23") begin on Monday.

    Returns:
        The window, or None if the first 3,000 characters name no (possible) time. Arbitrary text never raises.
    """
    past = _scope(text, reference, zone, rules, week_starts)
    windows = []
    for sentence in _SENTENCE.finditer(past.text):
        for scope, start, end in _clauses(past, sentence):
            found = _readings(scope, sentence[0], start, end)
            windows += [window for reading in found if (window := _window(text, reading, scope, zone))]
    windows = outside_titles(text[:READ_CHARACTERS], windows, past.words)
    if not windows:
        return _whole_text(text, past, zone)
    return min(windows, key=_vagueness)


def find_event_time(
    text: str,
    reference: datetime,
    zone: tzinfo = UTC,
    *,
    rules: TimeRules,
    week_starts: Weekday = Weekday.MONDAY,
) -> TimeWindow | None:
    """When the event a statement tells of happened or will happen.

    The first time named counts; open ends ("since 2020", "until Friday") date no event. A time without a year lies in the
    past behind a verb of the past ("we went to Rome in December"), else ahead ("dentist on December 3"); where a verb of the
    past leaves it open ("I bought a dress for the wedding on Friday"), it dates nothing.

    Args:
        text: the statement.
        reference: when the statement was made; naive times are read in `zone`.
        zone: the time zone of days and hours.
        rules: of the language whose words are read.
        week_starts: on which day weeks begin; those of ISO 8601 ("2024-W23") begin on Monday.

    Returns:
        The window, or None. Arbitrary text never raises.
    """
    past = replace(_scope(text, reference, zone, rules, week_starts), telling=True)
    for sentence in _SENTENCE.finditer(past.text):
        for scope, start, end in _clauses(past, sentence):
            for reading in _readings(scope, sentence[0], start, end):
                told = _told(reading, scope, sentence)
                window = None if told is None or told.open_ended else _window(text, told, scope, zone)
                if window and not is_in_quoted_title(text[:READ_CHARACTERS], window):
                    return window
    return None


def _told(reading: Reading, scope: Scope, sentence: re.Match[str]) -> Reading | None:
    """A time of a statement on the side of now where its verb puts it; None where that is open.

    Args:
        reading: of the time.
        scope: in which it was read.
        sentence: it stands in.
    """
    coming = replace(scope, direction=Direction.FUTURE)
    ahead = coming.read(reading.start)
    if scope.direction is Direction.FUTURE or ahead is None or ahead.span == reading.span:
        return reading  # the tense was found, or the time has a year or counts from now
    words, text = scope.words, scope.spelled
    whole = text[sentence.start() : sentence.end()]
    if regex(words.decoys.habits).search(whole):
        return None  # "I get paid on the 25th"
    first = max(
        (end.end() for end in regex(words.clause).finditer(text, sentence.start(), reading.start)),
        default=sentence.start(),
    )
    next_end = regex(words.clause).search(text, reading.end, sentence.end())
    own = text[first : next_end.start() if next_end else sentence.end()]
    past = regex(words.past)
    present = regex(words.present)
    if not past.search(own) and (present.search(own) or not past.search(whole)):
        return None if _AMOUNT.search(whole) and not present.search(whole) else ahead
    before = list(past.finditer(text, sentence.start(), reading.start))
    if before:
        aimed = regex(words.aim).search(text, before[-1].end(), reading.start)
    else:  # "einen Tisch für Freitag reserviert"
        aimed = regex(rf"{words.aim}\W+(?:\w+\W+)?$").search(text[first : reading.start])
    return None if aimed else reading


def _vagueness(window: TimeWindow) -> tuple[timedelta, bool]:
    """How little a window tells: its length, and whether its words hold no figure."""
    return window.interval.end - window.interval.start, not any(map(str.isdigit, window.phrase))


def _scope(text: str, reference: datetime, zone: tzinfo, rules: TimeRules, week_starts: Weekday) -> Scope:
    now = as_utc(reference, zone).astimezone(zone).replace(tzinfo=None)
    spelled = folded(text[:READ_CHARACTERS])
    folding = rules.words.folding
    return Scope(spelled.translate(folding), spelled, now, grammar_of(rules), week_starts=week_starts)


def _clauses(past: Scope, sentence: re.Match[str]) -> Iterator[tuple[Scope, int, int]]:
    """A sentence in clauses with where their times lie: "We're going to meet on Sunday, where was that?"."""
    words, (start, end) = past.words, sentence.span()
    coming, spelled = replace(past, direction=Direction.FUTURE), past.spelled[start:end]
    if _is_ahead(spelled, past):
        yield coming, start, end
        return
    announced = regex(words.announces).search(spelled)
    if announced is None:
        yield past, start, end
        return
    first, last = (start + offset for offset in announced.span())
    yield from ((past, start, first), (coming, first, last), (past, last, end))


def _is_ahead(sentence: str, scope: Scope) -> bool:
    """Whether all of a sentence speaks of the future."""
    words = scope.words
    if scope.telling:
        return regex(words.future).search(sentence) is not None
    asks = regex(words.asks_ahead, exact=True).search(sentence)
    return asks is not None and not regex(words.asks_back).search(sentence)


def _readings(scope: Scope, sentence: str, start: int, end: int) -> Iterator[Reading]:
    for reading in scope.readings(start, end):
        if not is_decoy(reading, scope, sentence):
            yield reading


def _whole_text(text: str, scope: Scope, zone: tzinfo) -> TimeWindow | None:
    """A bare "March" or "2023" is a time if the question is nothing else."""
    start = len(text) - len(text.lstrip(_PADDING))
    reading = scope.read(start, Level.PART)
    whole = reading is not None and reading.end >= len(text.rstrip(_PADDING))
    return _window(text, reading, scope, zone) if reading and whole else None


def _window(text: str, reading: Reading, scope: Scope, zone: tzinfo) -> TimeWindow | None:
    if reading.span is None:
        return None
    interval = as_interval(reading.span, zone)
    if interval is None:
        return None
    phrase = text[reading.start : reading.end]
    span, counted = (
        (reading.start, reading.end),
        _is_from_now(scope.text[reading.start : reading.end], scope.words),
    )
    return TimeWindow(interval, granule_of(reading.span), phrase, span, counted)


def _is_from_now(phrase: str, words: Words) -> bool:
    """Whether a phrase names no time of the calendar: no date, month, weekday, weekend, season, feast, part of a day."""
    if _DATE.search(phrase):
        return False
    weekends = [name for name, unit in words.units.items() if unit is Unit.WEEKEND]
    tables = (words.months, words.weekdays, words.seasons, words.holidays, words.day_parts, words.part_names)
    return not any(
        name == token or (len(name) >= _TELLING and name in token)
        for token in _TOKEN.findall(phrase.lower())
        for name in chain(weekends, *tables)
    )

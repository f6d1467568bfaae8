"""Meanings of time expressions: functions that the rules in the language files refer to by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import wraps

from hindsight_integrations.language.times.calendar import (
    EARLIEST,
    LATEST,
    SATURDAY,
    SUNDAY,
    THURSDAY,
    Span,
    Unit,
    containing,
    day_span,
    days_span,
    easter,
    midnight,
    month_span,
    nth_weekday,
    portion,
    shift,
    weekday_after,
    weekday_before,
    weekday_in,
    weekend_near,
    years_span,
)
from hindsight_integrations.language.times.grammar import (
    Build,
    Direction,
    Level,
    Reading,
    Scope,
    Which,
    Words,
    YearlyTime,
    needs,
    of_tail,
    regex,
    relative,
    short_year,
    unspecified,
    word,
    year_of_tail,
)

_MONTHS_IN_YEAR = 12
_MONTHS_SEARCHED = 28  # number of months searched; a Friday the 13th is at most 14 months away


@needs("near")
def near_day(match: re.Match[str], scope: Scope) -> Span:
    """Read "yesterday", "the day after tomorrow"."""
    return containing(Unit.DAY, shift(scope.now, Unit.DAY, scope.words.near[word(match["near"])]))


@needs("unit", "number", "near")
def near_day_ago(match: re.Match[str], scope: Scope) -> Span:
    """Read "a year ago today": the same date then, not the whole year."""
    unit, words = scope.words.units[word(match["unit"])], scope.words
    count = words.numbers.get(word(match["number"])) or int(match["number"].replace(words.thousands, ""))
    count *= words.multiples.get(word(match["unit"]), 1)
    moment = shift(scope.now, Unit.DAY, words.near[word(match["near"])] if match["near"] else 0)
    return containing(Unit.DAY, shift(moment, unit, -count))


def which_of(match: re.Match[str], scope: Scope) -> Which:
    """Return whether a match names the last, this or the next one."""
    return scope.words.which[word(match["which"])]


def weekday_of(match: re.Match[str], scope: Scope) -> int:
    """Return the weekday of a match, Monday is 0."""
    name = "weekday" if "weekday" in match.re.groupindex else "clear_weekday"
    return scope.words.weekdays[word(match[name])]


@needs("weekday|clear_weekday")
def plain_weekday(match: re.Match[str], scope: Scope) -> Span:
    """Read "on Friday": the latest Friday before today, or in a text about the future the next one after today.

    Raises:
        ValueError: a neighbouring phrase sets the year, which has many such weekdays.
    """
    if scope.year is not None:
        raise ValueError("a year has more than one of each weekday")
    towards = weekday_before if scope.direction is Direction.PAST else weekday_after
    return replace(towards(scope.now, weekday_of(match, scope)), floating=True)


@needs("weekday|clear_weekday")
def named_weekday(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "on Sunday"; None if the weekday is part of a capitalised name or title ("Sunday Times")."""
    goes_on = regex(scope.words.name_goes_on, exact=True).match(scope.text, match.end())
    return None if goes_on else plain_weekday(match, scope)


@needs("weekday", "weekday2")
def two_weekdays(match: re.Match[str], scope: Scope) -> Span:
    """Read "Mon through Wed": from the latest Monday before today, or the next one in a text about the future, to Wednesday."""
    first = plain_weekday(match, scope)
    last = weekday_after(first.start, scope.words.weekdays[word(match["weekday2"])])
    return Span(first.start, last.end, Unit.DAY, floating=True)


@needs("weekday|clear_weekday", "which")
def which_weekday(match: re.Match[str], scope: Scope) -> Span:
    """Read "last Friday", "this Friday", "next Friday"."""
    weekday, which = weekday_of(match, scope), which_of(match, scope)
    if which is Which.LAST:
        return weekday_before(scope.now, weekday)
    if which is Which.NEXT:
        return weekday_after(scope.now, weekday)
    return weekday_in(scope.unit_around(Unit.WEEK, scope.now), weekday)


@needs("weekday|clear_weekday")
def last_weekday(match: re.Match[str], scope: Scope) -> Span:
    """Read "Friday just gone"."""
    return weekday_before(scope.now, weekday_of(match, scope))


@needs("weekday|clear_weekday")
def weekday_before_last(match: re.Match[str], scope: Scope) -> Span:
    """Read "the Friday before last"."""
    return weekday_before(last_weekday(match, scope).start, weekday_of(match, scope))


@needs("weekday|clear_weekday", "which")
def weekday_of_week(match: re.Match[str], scope: Scope) -> Span:
    """Read "Friday of last week"."""
    week = scope.unit_around(Unit.WEEK, shift(scope.now, Unit.WEEK, which_of(match, scope)))
    return weekday_in(week, weekday_of(match, scope))


@needs("weekday|clear_weekday", "weekday2", "which")
def weekdays_of_week(match: re.Match[str], scope: Scope) -> Span:
    """Read "Mon to Wed last week"."""
    first = weekday_of_week(match, scope)
    last = weekday_after(first.start, scope.words.weekdays[word(match["weekday2"])])
    return Span(first.start, last.end, Unit.DAY)


@needs("weekday|clear_weekday")
def weekday_behind_week(week: Reading, match: re.Match[str], scope: Scope) -> Span | None:
    """Read "last week on Friday"."""
    span = week.span
    if span is None or span.unit is not Unit.WEEK or span != scope.unit_around(Unit.WEEK, span.start):
        return None
    return weekday_in(span, weekday_of(match, scope))


@needs("year", "m", "d")
def iso_day(match: re.Match[str], _scope: Scope) -> Span:
    """Read "2023-05-08"."""
    return day_span(int(match["year"]), int(match["m"]), int(match["d"]))


@needs("year", "m")
def iso_month(match: re.Match[str], _scope: Scope) -> Span | None:
    """Read "2023-05"."""
    month = int(match["m"])
    return month_span(int(match["year"]), month) if 1 <= month <= _MONTHS_IN_YEAR else None


@needs("d", "m", "y?")
def day_first(match: re.Match[str], scope: Scope) -> Span:
    """Read a European numeric date: "8.5.2023", "8.5."."""
    return _dated(match, scope, int(match["m"]), int(match["d"]))


@needs("d", "m", "y?")
def in_figures(match: re.Match[str], scope: Scope) -> Span:
    """Read a numeric date in the rule's order, swapped if its month can only be a day."""
    day, month = int(match["d"]), int(match["m"])
    return _dated(match, scope, *((month, day) if month <= _MONTHS_IN_YEAR else (day, month)))


def _dated(match: re.Match[str], scope: Scope, month: int, day: int) -> Span:
    if "y" not in match.re.groupindex:
        return unspecified(scope, lambda year: day_span(year, month, day))
    year = match["y"]
    return day_span(int(year) if len(year) == 4 else short_year(int(year), scope), month, day)


def day_number(text: str, scope: Scope) -> int:
    """Return the day of "5", "5th" or "fifth"."""
    plain = word(text)
    return scope.words.day_numbers.get(plain) or int("".join(filter(str.isdigit, plain)))


@needs("day", "weekday?")
def day_of_month(match: re.Match[str], scope: Scope) -> Span:
    """Read "on the 5th": the latest, or the next in a text about the future. "Friday the 13th" is the nearest 13th on a Friday."""
    day = day_number(match["day"], scope)
    weekday = weekday_of(match, scope) if "weekday" in match.re.groupindex else None
    past = scope.direction is Direction.PAST
    for month in _months(scope.now, -1 if past else 1):
        try:
            span = day_span(month.year, month.month, day)
        except ValueError:
            continue
        begun = span.start <= scope.now if past else span.end > scope.now
        if begun and weekday in (None, span.start.weekday()):
            return span
    raise ValueError(f"no month near the reference time has a matching day {day}")


def _months(moment: datetime, step: int) -> Iterator[datetime]:
    first = containing(Unit.MONTH, moment).start
    return (shift(first, Unit.MONTH, step * count) for count in range(_MONTHS_SEARCHED))


@needs("which", "day")
def day_of_which_month(match: re.Match[str], scope: Scope) -> Span:
    """Read a day of a relative month: "the 5th of last month"."""
    offset = which_of(match, scope)
    month = shift(containing(Unit.MONTH, scope.now).start, Unit.MONTH, offset)
    return day_span(month.year, month.month, day_number(match["day"], scope))


@needs("day")
def day_behind_month(month: Reading, match: re.Match[str], scope: Scope) -> Span | None:
    """Read "last month on the 5th"."""
    span = month.span
    if span is None or span != containing(Unit.MONTH, span.start):
        return None
    return day_span(span.start.year, span.start.month, day_number(match["day"], scope))


@needs("tail")
def this_day_then(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "on this day last year", "on this day in 2019"."""
    year = year_of_tail(scope, match["tail"])
    return None if year is None else day_span(year, scope.now.month, scope.now.day)


@needs("tail")
def this_time_then(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "this time last year": the same month then."""
    year = year_of_tail(scope, match["tail"])
    return None if year is None else month_span(year, scope.now.month)


def _yearly(match: re.Match[str], scope: Scope) -> YearlyTime:
    """Return the holiday, season, day or month that a match names."""
    groups = match.re.groupindex
    if "holiday" in groups:
        return scope.words.holidays[word(match["holiday"])]
    if "season" in groups:
        first = scope.words.seasons[word(match["season"])]
        return lambda year: month_span(year, first, 3, Unit.QUARTER)
    month = scope.words.months[word(match["month" if "month" in groups else "clear_month"])]
    if "day" not in groups:
        return lambda year: month_span(year, month)
    day = day_number(match["day"], scope)
    return lambda year: day_span(year, month, day)


@needs("month|season|holiday", "which")
def which_yearly(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "last May", "el pasado 3 de mayo", "last spring", "last Christmas"."""
    if "holiday" in match.re.groupindex and _is_thing(match, scope):
        return None
    return relative(scope, _yearly(match, scope), which_of(match, scope))


@needs("season|holiday")
def yearly_before_last(match: re.Match[str], scope: Scope) -> Span:
    """Read "the summer before last"."""
    yearly = _yearly(match, scope)
    return yearly(relative(scope, yearly, Which.LAST).start.year - 1)


def _is_name(match: re.Match[str], scope: Scope) -> bool:
    """Return whether a month without a year is probably a person: "in April's group", "before August left"."""
    if word(match["month"]) not in scope.words.name_months or match["tail"]:
        return False
    return regex(scope.words.person_after).match(scope.text, match.end()) is not None


@needs("month", "tail")
def month(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "May", "May 2023".

    Raises:
        ValueError: the digits after the month are not a year.
    """
    if _is_name(match, scope):
        return None
    impossible = None if match["tail"] else regex(scope.words.no_year).match(scope.text, match.end())
    if impossible and not regex(scope.words.quantity_after).match(scope.text, impossible.end()):
        raise ValueError("no such year")
    return of_tail(scope, _yearly(match, scope), match["tail"])


@needs("intro", "the", "month", "tail")
def introduced_month(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "in May"; "for April" and "from June" may name people, and "in the march" does not mean the month."""
    name, intro = match["month"], word(match["intro"])
    bare = not match["tail"]
    if bare and word(name) in scope.words.name_months and intro not in scope.words.month_introducers:
        return None
    if bare and match["the"] and name.islower() and word(name) in scope.words.verb_months:
        return None
    return month(match, scope)


@needs("month", "tail")
def month_of_year(match: re.Match[str], scope: Scope) -> Span | None:
    """Read a month followed by a year; no preposition is needed. In lower-case "may last year", "may" is a verb."""
    name, tail = match["month"], match["tail"]
    if not tail or (
        name.islower() and word(name) in scope.words.verb_months and not re.search("[0-9]", tail)
    ):
        return None
    return of_tail(scope, _yearly(match, scope), tail)


@needs("clear_month")
def clear_month(match: re.Match[str], scope: Scope) -> Span:
    """Read "September", an unambiguous name."""
    return of_tail(scope, _yearly(match, scope), "")


@needs("month", "day", "tail")
def month_then_day(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "May 5, 2023"; "may second" without a year is a verb.

    Raises:
        ValueError: the day does not exist, or the digits after it are not a year.
    """
    name, tail = match["month"], match["tail"]
    if (
        not tail
        and name.islower()
        and word(name) in scope.words.verb_months
        and not re.search("[0-9]", match[0])
    ):
        return None
    return month_and_day(match, scope)


@needs("month", "day", "tail")
def month_and_day(match: re.Match[str], scope: Scope) -> Span:
    """Read "the 5th of May 2023".

    Raises:
        ValueError: the day does not exist, or the digits after it are not a year.
    """
    tail = match["tail"]
    if not tail and regex(scope.words.no_year).match(scope.text, match.end()):
        raise ValueError("no such year")
    return of_tail(scope, _yearly(match, scope), tail)


@needs("month", "y", "day?")
def short_dated(match: re.Match[str], scope: Scope) -> Span:
    """Read months and days with a two-digit year: "3 Aug 96", "Aug 96"."""
    return _yearly(match, scope)(short_year(int(match["y"]), scope))


@needs("month", "day", "day2", "tail")
def month_and_days(match: re.Match[str], scope: Scope) -> Span:
    """Read two days of one month: "May 5-7, 2023"."""
    number = scope.words.months[word(match["month"])]
    first, last = day_number(match["day"], scope), day_number(match["day2"], scope)
    if last < first:
        raise ValueError("the first day is after the last day")

    def days(year: int) -> Span:
        return Span(day_span(year, number, first).start, day_span(year, number, last).end, Unit.DAY)

    return of_tail(scope, days, match["tail"])


@needs("month", "month2", "tail")
def two_months(match: re.Match[str], scope: Scope) -> Span:
    """Read two months: "March-May 2024"; "November to February 2024" started the year before."""
    first, last = (scope.words.months[word(match[name])] for name in ("month", "month2"))

    def months(year: int) -> Span:
        start = year if first <= last else year - 1
        return Span(month_span(start, first).start, month_span(year, last).end, Unit.MONTH)

    return of_tail(scope, months, match["tail"])


def _thanksgiving(year: int) -> Span:
    return nth_weekday(month_span(year, 11), THURSDAY, 4)


def _last_advent(year: int) -> Span:
    """Return the fourth Sunday of Advent, the last before Christmas Day."""
    return weekday_before(day_span(year, 12, 25).start, SUNDAY)


def _holy_week(year: int) -> Span:
    """Return the week from Monday to Easter Sunday."""
    end = easter(year).end
    return Span(end - _WEEK, end, Unit.WEEK)


_FEASTS: dict[str, YearlyTime] = {
    "easter": easter,
    "thanksgiving": _thanksgiving,
    "last advent": _last_advent,
    "holy week": _holy_week,
}
_ORDINALS = ("first", "second", "third", "fourth")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DATE = re.compile(r"(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})")
_NTH = re.compile(r"(?P<nth>[a-z]+) (?P<weekday>[a-z]+day) of (?P<month>[a-z]+)")
_MOVED = re.compile(r"(?P<feast>[a-z ]+?) (?P<sign>[+-]) (?P<days>[0-9]{1,2})")


def yearly_time(rule: str) -> YearlyTime:
    """Parse a holiday rule: "12-25", "second sunday of may", "easter - 47", "thanksgiving", "last advent", "holy week".

    Raises:
        ValueError: it is not a valid rule.
    """
    if rule in _FEASTS:
        return _FEASTS[rule]
    if date := _DATE.fullmatch(rule):
        month, day = int(date["month"]), int(date["day"])
        return lambda year: day_span(year, month, day)
    if nth := _NTH.fullmatch(rule):
        month, weekday = _MONTHS.index(nth["month"]) + 1, _WEEKDAYS.index(nth["weekday"])
        number = _ORDINALS.index(nth["nth"]) + 1 if nth["nth"] != "last" else -1
        return lambda year: nth_weekday(month_span(year, month), weekday, number)
    moved = _MOVED.fullmatch(rule)
    if moved is None or moved["feast"] not in _FEASTS:
        raise ValueError(f"{rule!r} is not a valid holiday rule")
    feast, days = _FEASTS[moved["feast"]], int(moved["sign"] + moved["days"])
    return lambda year: containing(Unit.DAY, feast(year).start + timedelta(days=days))


def _is_thing(match: re.Match[str], scope: Scope) -> bool:
    """Return whether a holiday word names a thing, such as a Christmas tree."""
    return regex(scope.words.holiday_things).match(scope.text, match.end()) is not None


@needs("holiday", "tail")
def holiday(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "Christmas", "at Easter 2024"."""
    return None if _is_thing(match, scope) else of_tail(scope, _yearly(match, scope), match["tail"])


@needs("holiday", "unit", "tail")
def holiday_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "Christmas week", "Labor Day weekend 2023"."""
    unit = scope.words.units[word(match["unit"])]
    if unit not in {Unit.WEEK, Unit.WEEKEND}:
        return None
    day = of_tail(scope, _yearly(match, scope), match["tail"])
    return weekend_near(day.start) if unit is Unit.WEEKEND else scope.unit_around(unit, day.start)


_ONE_DAY = timedelta(days=1)


def _hours(day: Span, part: str, scope: Scope) -> Span:
    first, last = scope.words.day_parts[word(part)]
    return Span(day.start + timedelta(hours=first), day.start + timedelta(hours=last), Unit.HOUR)


def _day(scope: Scope, days: int) -> Span:
    start = midnight(scope.now) + timedelta(days=days)
    return Span(start, start + _ONE_DAY, Unit.DAY)


@needs("near_part", "day_part")
def near_part(match: re.Match[str], scope: Scope) -> Span:
    """Read "this morning", "yesterday evening", "last night"."""
    days = scope.words.near_parts[word(match["near_part"])]
    return _hours(_day(scope, days), match["day_part"], scope)


@needs("near", "day_part")
def part_of_near(match: re.Match[str], scope: Scope) -> Span:
    """Read "noon today", "in the evening yesterday"."""
    return _hours(_day(scope, scope.words.near[word(match["near"])]), match["day_part"], scope)


@needs("day_part")
def part_before_last(match: re.Match[str], scope: Scope) -> Span:
    """Read "the night before last"."""
    return _hours(_day(scope, -2), match["day_part"], scope)


@needs("part_name")
def named_part(match: re.Match[str], scope: Scope) -> Span:
    """Read "tonight", one word for the day and its part."""
    days, first, last = scope.words.part_names[word(match["part_name"])]
    start = _day(scope, days).start
    return Span(start + timedelta(hours=first), start + timedelta(hours=last), Unit.HOUR)


@needs("weekday|clear_weekday", "day_part", "which?")
def weekday_part(match: re.Match[str], scope: Scope) -> Span:
    """Read "Dienstagnachmittag", one word for the weekday and its part."""
    day = which_weekday(match, scope) if "which" in match.re.groupindex else plain_weekday(match, scope)
    return _hours(day, match["day_part"], scope)


@needs("day_part", "side")
def part_of_day(match: re.Match[str], scope: Scope) -> Reading | None:
    """Read "the morning of June 3"; "the night before Christmas" is on the day before."""
    day = scope.time_at(match.end(), Level.ATOM)
    if day is None or day.span is None or not _single(day):
        return None
    side = word(match["side"] or "")
    away = -1 if side in scope.words.before else 1 if side in scope.words.behind else 0
    start = day.span.start + timedelta(days=away)
    return Reading(
        match.start(), day.end, _hours(Span(start, start + _ONE_DAY, Unit.DAY), match["day_part"], scope)
    )


@needs("day_part")
def part_behind_day(day: Reading, match: re.Match[str], scope: Scope) -> Span | None:
    """Read a part of the day that follows a day: "Tuesday" + "night"."""
    return _hours(day.span, match["day_part"], scope) if _single(day) and day.span else None


def _single(day: Reading) -> bool:
    span = day.span
    return span is not None and span.unit is Unit.DAY and span.end - span.start <= _ONE_DAY


_COUNTED = {
    Unit.WEEK,
    Unit.WEEKEND,
    Unit.MONTH,
    Unit.QUARTER,
    Unit.HALF,
    Unit.YEAR,
    Unit.DECADE,
    Unit.CENTURY,
}
_QUARTERS, _HALVES = 4, 2


def _offset(scope: Scope, unit: Unit, count: int) -> Span:
    return scope.unit_around(unit, shift(scope.now, unit, count))


def _unit(match: re.Match[str], scope: Scope) -> Unit | None:
    """Return the unit that a match names, if it is a calendar unit in the singular."""
    name = word(match["unit"])
    unit = scope.words.units[name]
    return unit if unit in _COUNTED and name not in scope.words.plurals else None


@needs("unit", "which")
def which_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "last week", "next year"; a fortnight, which is not a calendar unit, ends or starts today."""
    unit, name = _unit(match, scope), word(match["which"])
    which = scope.words.which[name]
    if unit is None:
        return None
    if multiple := scope.words.multiples.get(word(match["unit"])):
        first, last = sorted((scope.now, shift(scope.now, unit, which * multiple)))
        return days_span(first, last) if which else None
    if unit is Unit.WEEKEND and name in scope.words.coming:
        which = Which.THIS
    return _offset(scope, unit, which)


@needs("unit")
def unit_before_last(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "the week before last"."""
    unit = _unit(match, scope)
    return _offset(scope, unit, -2) if unit else None


@needs("unit")
def unit_after_next(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "the month after next"."""
    unit = _unit(match, scope)
    return _offset(scope, unit, 2) if unit else None


@needs()
def the_weekend(_match: re.Match[str], scope: Scope) -> Span:
    """Return the current or coming weekend in an announcement, else the latest that has begun."""
    running = _offset(scope, Unit.WEEKEND, 0)
    begun = running.start <= scope.now or scope.direction is Direction.FUTURE
    return replace(running if begun else _offset(scope, Unit.WEEKEND, -1), floating=True)


@needs("unit")
def the_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "the year", in "since the start of the year"."""
    unit = _unit(match, scope)
    if unit is Unit.WEEKEND:
        return the_weekend(match, scope)
    return _offset(scope, unit, 0) if unit else None


@needs("unit", "tail")
def same_unit(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "this month last year", "the same day in 2019"."""
    year = year_of_tail(scope, match["tail"])
    unit = scope.words.units[word(match["unit"])]
    if year is None or word(match["unit"]) in scope.words.plurals:
        return None
    return scope.unit_around(unit, shift(scope.now, Unit.YEAR, year - scope.now.year))


@needs("ordinal|number", "tail|year")
def quarter(match: re.Match[str], scope: Scope) -> Span | None:
    """Read a numbered quarter: "Q2 2024", "2024 Q2", "in the third quarter"."""
    number = _number(match, scope)
    if not 1 <= number <= _QUARTERS:
        raise ValueError(f"no quarter {number}")
    tail = _tail(match)
    if "ordinal" in match.re.groupindex and not tail and regex(scope.words.decoys.games).search(scope.text):
        return None

    def yearly(year: int) -> Span:
        return replace(portion(years_span(year), number - 1, number, _QUARTERS), unit=Unit.QUARTER)

    return of_tail(scope, yearly, tail)


def _number(match: re.Match[str], scope: Scope) -> int:
    if "ordinal" in match.re.groupindex:
        return scope.words.ordinals[word(match["ordinal"])]
    return int(match["number"])


def _tail(match: re.Match[str]) -> str:
    """Return the year of a match, as a tail or by itself."""
    return match["tail" if "tail" in match.re.groupindex else "year"]


@needs("ordinal|number", "tail|year")
def half(match: re.Match[str], scope: Scope) -> Span:
    """Read "H1 2023"."""
    number = _number(match, scope)
    if not 1 <= number <= _HALVES:
        raise ValueError(f"no half {number}")
    return of_tail(scope, lambda year: portion(years_span(year), number - 1, number, _HALVES), _tail(match))


@needs("number", "tail|year")
def iso_week(match: re.Match[str], scope: Scope) -> Span:
    """Read "2024-W23", "week 23 of 2024": Monday to Sunday, ISO 8601."""
    number = int(match["number"])

    def yearly(year: int) -> Span:
        return containing(Unit.WEEK, datetime.fromisocalendar(year, number, 1))

    return of_tail(scope, yearly, _tail(match))


def _to_date(unit: Unit) -> Build:
    """Read "year to date", "YTD": from the start of the current unit to the end of today."""

    @needs()
    def so_much(_match: re.Match[str], scope: Scope) -> Span:
        return _until_today(scope.unit_around(unit, scope.now), scope)

    return so_much


year_to_date, quarter_to_date, month_to_date, week_to_date = map(
    _to_date, (Unit.YEAR, Unit.QUARTER, Unit.MONTH, Unit.WEEK)
)


@needs()
def running_year(_match: re.Match[str], scope: Scope) -> Span:
    """Read "heuer", one word for the current year."""
    return scope.unit_around(Unit.YEAR, scope.now)


@needs()
def so_far(whole: Reading, _match: re.Match[str], scope: Scope) -> Span | None:
    """Read "this week so far"."""
    if whole.span is None or whole.open_ended or not whole.span.start <= scope.now < whole.span.end:
        return None
    return _until_today(whole.span, scope)


def _until_today(whole: Span, scope: Scope) -> Span:
    return replace(whole, end=containing(Unit.DAY, scope.now).start + timedelta(days=1))


_CLOCK = {Unit.MINUTE, Unit.HOUR}
# A vague count of these gives whole units; of others, whole days.
_WHOLE = {Unit.MINUTE, Unit.HOUR, Unit.WEEKEND}
_HALF_OF = {
    Unit.HOUR: (Unit.MINUTE, 30),
    Unit.DAY: (Unit.HOUR, 12),
    Unit.MONTH: (Unit.DAY, 15),
    Unit.YEAR: (Unit.MONTH, 6),
    Unit.DECADE: (Unit.YEAR, 5),
}


def counted(amount: str, unit: str, words: Words) -> tuple[int, int]:
    """Return the minimum and maximum of an amount in words: ("a couple of", "weeks") is (1, 3)."""
    plain = word(amount).replace("-", " ")
    vague = next((reach for name, reach in words.vague.items() if name in plain), None)
    if vague:
        return vague
    number = words.numbers.get(plain) or int(plain.replace(words.thousands, ""))
    number *= words.multiples.get(word(unit), 1)
    return number, number


def unit_of(match: re.Match[str], scope: Scope) -> Unit:
    """Return the unit of a match, spelled out or attached to its digits."""
    if "short_unit" in match.re.groupindex:
        return scope.words.short_units[word(match["short_unit"])]
    return scope.words.units[word(match["unit"])]


def _counted(match: re.Match[str], scope: Scope) -> tuple[int, int]:
    unit = match["unit"] if "unit" in match.re.groupindex else match["short_unit"]
    return counted(match["amount"], unit, scope.words)


def around(scope: Scope, moment: Span, unit: Unit, least: int, most: int) -> Span:
    """Return the span `least` to `most` units away (same sign): whole units if the count is exact, else days."""
    near, far = sorted((shift(moment.start, unit, least), shift(moment.start, unit, most)))
    if least == most or unit in _WHOLE:
        return Span(scope.unit_around(unit, near).start, scope.unit_around(unit, far).end, unit)
    return days_span(near, far, unit)


def _now(scope: Scope) -> Span:
    return Span(scope.now, scope.now, Unit.DAY)


@needs("amount", "unit|short_unit")
def ago(match: re.Match[str], scope: Scope) -> Span:
    """Read "two weeks ago": the whole calendar week."""
    least, most = _counted(match, scope)
    return around(scope, _now(scope), unit_of(match, scope), -least, -most)


@needs("amount", "amount2", "unit")
def between_ago(match: re.Match[str], scope: Scope) -> Span:
    """Read "two or three weeks ago"."""
    first = counted(match["amount"], match["unit"], scope.words)[0]
    second = counted(match["amount2"], match["unit"], scope.words)[1]
    return around(scope, _now(scope), unit_of(match, scope), -min(first, second), -max(first, second))


@needs("unit|short_unit")
def one_or_two_ago(match: re.Match[str], scope: Scope) -> Span:
    """Read "a week or two ago"."""
    return around(scope, _now(scope), unit_of(match, scope), -1, -2)


@needs("amount", "unit|short_unit", "weekday|clear_weekday")
def weekday_of_week_ago(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "two weeks ago on Monday"."""
    least, most = _counted(match, scope)
    if unit_of(match, scope) is not Unit.WEEK or least != most:
        return None
    week = scope.unit_around(Unit.WEEK, shift(scope.now, Unit.WEEK, -least))
    return weekday_in(week, weekday_of(match, scope))


@needs("number", "weekday|clear_weekday")
def weekdays_ago(match: re.Match[str], scope: Scope) -> Span:
    """Read "two Fridays ago"."""
    last = weekday_before(scope.now, weekday_of(match, scope))
    count = counted(match["number"], "", scope.words)[0]
    return containing(Unit.DAY, shift(last.start, Unit.WEEK, 1 - count))


@needs("number", "holiday|season")
def occurrences_ago(match: re.Match[str], scope: Scope) -> Span:
    """Read "two summers ago", "three Christmases ago"."""
    yearly = _yearly(match, scope)
    count = counted(match["number"], "", scope.words)[0]
    return yearly(relative(scope, yearly, Which.LAST).start.year + 1 - count)


@needs("amount", "unit|short_unit")
def ahead(match: re.Match[str], scope: Scope) -> Span:
    """Read "two weeks from now"."""
    least, most = _counted(match, scope)
    return around(scope, _now(scope), unit_of(match, scope), least, most)


@needs("number", "unit")
def half_ago(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "half a year ago", "two years and a half ago", in the finer unit."""
    unit = unit_of(match, scope)
    if unit not in _HALF_OF:
        return None
    finer, count = _HALF_OF[unit]
    amount = match["number"]
    whole = counted(amount, match["unit"], scope.words)[0] if amount else 0
    return scope.unit_around(finer, shift(shift(scope.now, unit, -whole), finer, -count))


@needs("amount", "unit|short_unit")
def expected(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "in two weeks": a date in a text about the future, else a duration."""
    return ahead(match, scope) if scope.direction is Direction.FUTURE else None


@needs("amount", "unit|short_unit")
def announced(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "in two weeks": a date in an announcement, a duration in a question."""
    return ahead(match, scope) if scope.telling and scope.direction is Direction.FUTURE else None


def stretch(scope: Scope, unit: Unit, count: int) -> Span:
    """Return the span of `count` units that ends now (or, if negative, starts now), in whole days, hours or minutes."""
    other = shift(scope.now, unit, -count)
    first, last = sorted((other, scope.now))
    if unit not in _CLOCK:
        return days_span(first, last, unit)
    return Span(containing(unit, first).start, containing(unit, last).end, unit)


@needs("intro", "last", "amount", "unit|short_unit")
def past(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "the last three days"; without an article "last" may be a verb."""
    before = scope.text[max(0, match.start() - 200) : match.start()]
    if not match["intro"] and match["last"] and regex(scope.words.verbal_last).search(before):
        return None
    return stretch(scope, unit_of(match, scope), _counted(match, scope)[1])


@needs("amount", "unit|short_unit")
def coming(match: re.Match[str], scope: Scope) -> Span:
    """Read "the next three days"."""
    return stretch(scope, unit_of(match, scope), -_counted(match, scope)[1])


@needs("unit")
def past_one(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "the past week", "in the last week", which end now; "last week" is handled by another rule."""
    unit, name = unit_of(match, scope), word(match["unit"])
    if unit is Unit.WEEKEND or name in scope.words.plurals:
        return None
    return stretch(scope, unit, scope.words.multiples.get(name, 1))


@needs()
def other_day(_match: re.Match[str], scope: Scope) -> Span:
    """Read "the other day": within the last week, not today."""
    return days_span(shift(scope.now, Unit.DAY, -7), shift(scope.now, Unit.DAY, -1), Unit.WEEK)


@needs("season", "tail")
def season(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "in spring"; "in Spring Boot" and "in the fall of Rome" are not seasons."""
    if not match["tail"]:
        goes_on = regex(scope.words.name_goes_on, exact=True).match(scope.text, match.end())
        if match["season"].istitle() and goes_on:
            return None
        if regex(scope.words.season_things).match(scope.text, match.end()):
            return None
    return of_tail(scope, _yearly(match, scope), match["tail"])


@needs("season", "tail")
def dated_season(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "spring 2023"; with a year it needs no preposition."""
    return season(match, scope) if match["tail"] else None


@needs("season", "year|y")
def split_winter(match: re.Match[str], scope: Scope) -> Span:
    """Read "winter 2022/23": the first year is the one in which it starts."""
    year = match["year"] if "year" in match.re.groupindex else match["y"]
    return _yearly(match, scope)(int(year) if len(year) > 2 else short_year(int(year), scope))


# A lone number is a year only within this many years before and after the reference.
_BACK, _AHEAD = 130, 30
_LAST_CENTURY = 1800  # "the 1800s" are a century; "the 1900s" and "2000s" are decades
_ROUND_YEAR = 2000  # other multiples of 100 before a noun are probably counts
_LOOK_BACK = 40  # number of characters read before a number


def _near(year: int, scope: Scope) -> bool:
    return scope.now.year - _BACK <= year <= scope.now.year + _AHEAD


def _is_quantity(match: re.Match[str], scope: Scope) -> bool:
    return regex(scope.words.quantity_after).match(scope.text, match.end()) is not None


def _is_numbered(match: re.Match[str], scope: Scope) -> bool:
    """Return whether a number is not a year, as after "room" or "page"."""
    before = scope.text[max(0, match.start() - _LOOK_BACK) : match.start()]
    return regex(scope.words.numbered_before).search(before) is not None


@needs("year")
def year(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "2023" after a preposition or inside a composite."""
    number = int(match["year"])
    return years_span(number) if _near(number, scope) and not _is_quantity(match, scope) else None


@needs("year")
def year_of_thing(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "the 2022 reorg", but not "the 2019 laptop", "the 1600 block" or "the 2048 game"."""
    number = int(match["year"])
    if number > scope.now.year + 1 or (number % 100 == 0 and number != _ROUND_YEAR):
        return None
    counted = regex(scope.words.things_of_year).match(scope.text, match.end())
    return None if counted else year(match, scope)


@needs("year")
def any_year(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "in 1066": after "in", a year may be in the distant past or future."""
    return None if _is_quantity(match, scope) else years_span(int(match["year"]))


@needs("year")
def final_year(match: re.Match[str], scope: Scope) -> Span | None:
    """Read a year at the end of a question: "who coached the colts 2012"."""
    number, before = int(match["year"]), scope.text[max(0, match.start() - _LOOK_BACK) : match.start()]
    plain = regex(scope.words.year_after, exact=True).search(before)
    if not (_near(number, scope) and number <= scope.now.year + 1 and plain):
        return None
    return None if _is_numbered(match, scope) or _is_quantity(match, scope) else years_span(number)


@needs("year")
def named_year(match: re.Match[str], _scope: Scope) -> Span:
    """Read "the year 1702"."""
    return years_span(int(match["year"]))


@needs("year", "year2")
def two_years(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "2019-2021", "from 1834 to 1840"."""
    first, last = int(match["year"]), int(match["year2"])
    if first > last or _is_quantity(match, scope):
        return None
    return None if _is_numbered(match, scope) else years_span(first, last - first + 1)


@needs("year", "year2")
def bare_two_years(match: re.Match[str], scope: Scope) -> Span | None:
    """Read a range of years without a preposition, only near the reference."""
    near = _near(int(match["year"]), scope) and _near(int(match["year2"]), scope)
    return two_years(match, scope) if near else None


@needs("year", "y")
def split_year(match: re.Match[str], _scope: Scope) -> Span | None:
    """Read "1998-99": a year and the one after it."""
    year = int(match["year"])
    return years_span(year, 2) if int(match["y"]) == (year + 1) % 100 else None


@needs("y")
def two_digit_year(match: re.Match[str], scope: Scope) -> Span:
    """Read "'23"."""
    return years_span(short_year(int(match["y"]), scope))


@needs("decade")
def decade(match: re.Match[str], _scope: Scope) -> Span:
    """Read "the 1990s"; "the 1700s" are a century, "the 2000s" are a decade."""
    first = int(match["decade"])
    if first % 100 == 0 and first <= _LAST_CENTURY:
        return years_span(first, 100, Unit.CENTURY)
    return years_span(first, 10, Unit.DECADE)


@needs("y")
def short_decade(match: re.Match[str], scope: Scope) -> Span:
    """Read "the '90s"."""
    return years_span(short_year(int(match["y"]), scope), 10, Unit.DECADE)


@needs("decade_word")
def word_decade(match: re.Match[str], scope: Scope) -> Span:
    """Read "the nineties"."""
    return years_span(scope.words.decades[word(match["decade_word"])], 10, Unit.DECADE)


@needs("century|day")
def century(match: re.Match[str], scope: Scope) -> Span:
    """Read "the 19th century", "the nineteenth century"."""
    if "century" in match.re.groupindex:
        number = scope.words.centuries[word(match["century"])]
    else:
        number = day_number(match["day"], scope)
    return years_span(max(100 * (number - 1), 1), 100 if number > 1 else 99, Unit.CENTURY)


_WEEK = timedelta(days=7)
_PARTED = timedelta(days=2)  # minimum length of a time that has parts


PartOf = Callable[[re.Match[str], Scope, Span], Span | None]


def of_anchor(at_least: timedelta = timedelta()) -> Callable[[PartOf], Build]:
    """Decorate a function that reads a time starting where a match ends, and returns a part of it or a time next to it.

    The decorator reads this time and passes it to the function. The result ends where this time ends, and has a year if
    this time has one.

    Args:
        at_least: the minimum length of the time.
    """

    def read(meaning: PartOf) -> Build:
        @wraps(meaning)
        def built(match: re.Match[str], scope: Scope) -> Reading | None:
            anchor = scope.time_at(match.end(), Level.ATOM)
            if anchor is None or anchor.span is None or anchor.span.end - anchor.span.start < at_least:
                return None
            span = meaning(match, scope, anchor.span)
            if span is None:
                return None
            return Reading(match.start(), anchor.end, replace(span, floating=anchor.span.floating))

        return built

    return read


@needs("portion")
@of_anchor(_PARTED)
def some_part(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """Read "early 2023", "the end of May"."""
    return _portion(match, scope, whole, of_year=whole.unit is Unit.YEAR)


@needs("ordinal", "piece")
@of_anchor(_PARTED)
def piece(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """Read "the first half of 2023", "the last quarter of 2024"."""
    span = _piece(match, scope, whole)
    return replace(span, unit=Unit.QUARTER) if scope.words.pieces[word(match["piece"])] == _QUARTERS else span


@needs("ordinal", "unit", "amount")
@of_anchor(_PARTED)
def nth_unit(match: re.Match[str], scope: Scope, whole: Span) -> Span | None:
    """Read "the first week of June" (its first seven days), "the last three days of May"."""
    unit, number = unit_of(match, scope), scope.words.ordinals[word(match["ordinal"])]
    if unit is Unit.WEEKEND:
        return containing(unit, nth_weekday(whole, SATURDAY, number).start)
    count = counted(match["amount"], match["unit"], scope.words)[1] if match["amount"] else 1
    return _slice(whole, unit, -1 if number < 0 else (number - 1) * count, count)


def _slice(whole: Span, unit: Unit, index: int, count: int) -> Span | None:
    """Return `count` units of `whole`; None if they are not inside it ("last year in May" is not part of May)."""
    if index < 0:
        start, end = shift(whole.end, unit, -count), whole.end
    else:
        start = shift(whole.start, unit, index)
        end = min(shift(start, unit, count), whole.end)
    return Span(start, end, unit) if whole.start <= start < end else None


def _piece(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """Return the half, third or quarter of `whole` that a match names.

    Raises:
        ValueError: `whole` does not have that many of them.
    """
    of, number = scope.words.pieces[word(match["piece"])], scope.words.ordinals[word(match["ordinal"])]
    first = of - 1 if number < 0 else number - 1
    if first >= of:
        raise ValueError(f"there is no part {number} of {of}")
    return portion(whole, first, first + 1, of)


def _portion(match: re.Match[str], scope: Scope, whole: Span, *, of_year: bool) -> Span:
    """Return the share of `whole` that a match names; "early" and "late" mean a smaller share of a year."""
    name = word(match["portion"])
    shares = scope.words.year_portions.get(name) if of_year else None
    return portion(whole, *(shares or scope.words.portions[name]))


@needs("ordinal", "clear_month", "unit", "tail")
def unit_of_month(match: re.Match[str], scope: Scope) -> Span | None:
    """Read "in der ersten Juniwoche", a unit of a month in one word."""
    unit, number = unit_of(match, scope), scope.words.ordinals[word(match["ordinal"])]
    month = of_tail(scope, _yearly(match, scope), match["tail"])
    if unit is Unit.WEEKEND:
        return containing(unit, nth_weekday(month, SATURDAY, number).start)
    return _slice(month, unit, -1 if number < 0 else number - 1, 1)


@needs("ordinal", "clear_month", "piece", "tail")
def piece_of_month(match: re.Match[str], scope: Scope) -> Span:
    """Read "in der ersten Junihälfte"."""
    return _piece(match, scope, of_tail(scope, _yearly(match, scope), match["tail"]))


@needs("portion", "unit", "tail")
def part_of_unit(match: re.Match[str], scope: Scope) -> Span:
    """Read "Jahresbeginn", "zum Monatsende": a part of the current unit, or of the year that follows."""
    unit = unit_of(match, scope)
    year = year_of_tail(scope, match["tail"]) if unit is Unit.YEAR else None
    whole = scope.unit_around(unit, scope.now) if year is None else years_span(year)
    return _portion(match, scope, whole, of_year=unit is Unit.YEAR)


@needs("ordinal", "weekday|clear_weekday")
@of_anchor(_PARTED)
def nth_day(match: re.Match[str], scope: Scope, whole: Span) -> Span:
    """Read "the last Friday of March"."""
    number = scope.words.ordinals[word(match["ordinal"])]
    return nth_weekday(whole, weekday_of(match, scope), number)


@needs("unit|short_unit")
@of_anchor()
def unit_of_day(match: re.Match[str], scope: Scope, day: Span) -> Span | None:
    """Read "the weekend of June 3", "the week of 5 May"."""
    if day.unit is not Unit.DAY:
        return None
    unit = unit_of(match, scope)
    return weekend_near(day.start) if unit is Unit.WEEKEND else scope.unit_around(unit, day.start)


@needs()
@of_anchor()
def week_from(_match: re.Match[str], _scope: Scope, day: Span) -> Span | None:
    """Read "the week starting 5 June": seven days."""
    return Span(day.start, day.start + _WEEK, Unit.WEEK) if day.unit is Unit.DAY else None


@needs()
@of_anchor()
def week_to(_match: re.Match[str], _scope: Scope, day: Span) -> Span | None:
    """Read "the week ending 11 June": seven days."""
    return Span(day.end - _WEEK, day.end, Unit.WEEK) if day.unit is Unit.DAY else None


@needs("side")
@of_anchor()
def rest(match: re.Match[str], scope: Scope, whole: Span) -> Span | None:
    """Read "earlier this week", which ends now, and "later this year", which starts now."""
    if not whole.start <= scope.now < whole.end:
        return None
    if word(match["side"]) in scope.words.earlier:
        return replace(whole, end=containing(Unit.DAY, scope.now).end)
    return replace(whole, start=midnight(scope.now))


_CALENDAR = {Unit.MONTH, Unit.QUARTER, Unit.HALF, Unit.YEAR, Unit.DECADE, Unit.CENTURY}


def _looks_back(match: re.Match[str], scope: Scope) -> bool:
    return word(match["side"]) in scope.words.before


@needs("side", "amount", "unit")
@of_anchor()
def counted_from(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """Read "two weeks before Christmas 2023": the whole calendar week, as for "two weeks ago"."""
    back = _looks_back(match, scope)
    edge = anchor.start if back else max(anchor.start, anchor.end - _ONE_DAY)
    least, most = (
        count * (-1 if back else 1) for count in counted(match["amount"], match["unit"], scope.words)
    )
    return around(scope, Span(edge, edge, anchor.unit), unit_of(match, scope), least, most)


@needs("side", "amount", "unit")
@of_anchor()
def stretch_beside(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """Read "the two weeks before Christmas": the fourteen days before it."""
    count = counted(match["amount"], match["unit"], scope.words)[1]
    edge, sign = (anchor.start, -1) if _looks_back(match, scope) else (anchor.end, 1)
    first, last = sorted((edge, shift(edge, unit_of(match, scope), sign * count)))
    return Span(first, last, unit_of(match, scope))


@needs("side", "unit")
@of_anchor()
def unit_beside(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """Read "the week before Christmas", which ends where Christmas starts; "the month before" is the calendar month."""
    unit, back = unit_of(match, scope), _looks_back(match, scope)
    edge = anchor.start if back else anchor.end
    # the last weekend that ends before the edge, or the first that does not start before it
    if unit is Unit.WEEKEND:
        towards = weekday_before if back else weekday_after
        return containing(Unit.WEEKEND, towards(edge - _ONE_DAY, SATURDAY).start)
    if unit in _CALENDAR:
        moment = anchor.start if back else anchor.end - timedelta(microseconds=1)
        return scope.unit_around(unit, shift(scope.unit_around(unit, moment).start, unit, -1 if back else 1))
    count = scope.words.multiples.get(word(match["unit"]), 1)
    first, last = sorted((edge, shift(edge, unit, -count if back else count)))
    return Span(first, last, unit)


@needs()
@of_anchor()
def eve_of(_match: re.Match[str], _scope: Scope, anchor: Span) -> Span:
    """Read "the eve of 3 May": the day before."""
    return containing(Unit.DAY, anchor.start - _ONE_DAY)


@needs("side", "weekday|clear_weekday")
@of_anchor()
def weekday_beside(match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """Read "the Sunday before October 25"."""
    if _looks_back(match, scope):
        return weekday_before(anchor.start, weekday_of(match, scope))
    return weekday_after(anchor.end - _ONE_DAY, weekday_of(match, scope))


def _open_ended(meaning: Callable[[re.Match[str], Scope, Span], Span | None]) -> Build:
    """Decorate a function that returns the time before or after the one that starts where a match ends."""

    @wraps(meaning)
    def built(match: re.Match[str], scope: Scope) -> Reading | None:
        anchor = scope.time_at(match.end(), Level.PART)
        span = meaning(match, scope, anchor.span) if anchor and anchor.span else None
        if anchor is None or span is None or span.start >= span.end:
            return None
        return Reading(match.start(), anchor.end, span, open_ended=True)

    return built


@needs(level=Level.RANGE)
@_open_ended
def since(_match: re.Match[str], scope: Scope, anchor: Span) -> Span:
    """Return the span from the start of the anchor to the end of today."""
    return Span(anchor.start, containing(Unit.DAY, scope.now).end, anchor.unit)


@needs(level=Level.RANGE)
def onwards(first: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """Read "from 2019 onwards", the same as "since 2019"."""
    today = containing(Unit.DAY, scope.now)
    if first.span is None or first.open_ended or first.span.start >= today.end:
        return None
    return Reading(first.start, match.end(), replace(first.span, end=today.end), open_ended=True)


@needs(level=Level.RANGE)
@_open_ended
def after(match: re.Match[str], scope: Scope, anchor: Span) -> Span | None:
    """Return the span from the end of the anchor on."""
    return None if _is_phrasal(match, scope) else Span(anchor.end, LATEST, anchor.unit)


@needs(level=Level.RANGE)
@_open_ended
def before(_match: re.Match[str], _scope: Scope, anchor: Span) -> Span:
    """Return the span up to the start of the anchor."""
    return Span(EARLIEST, anchor.start, anchor.unit)


@needs(level=Level.RANGE)
@_open_ended
def until(match: re.Match[str], scope: Scope, anchor: Span) -> Span | None:
    """Return the span up to the end of the anchor: "until June" includes June."""
    return None if _is_phrasal(match, scope) else Span(EARLIEST, anchor.end, anchor.unit)


def _is_phrasal(match: re.Match[str], scope: Scope) -> bool:
    """Return whether the preposition belongs to a verb: "what we got up to last weekend", "who stopped by on Friday"."""
    context = scope.text[max(0, match.start() - _LOOK_BACK) : match.end()]
    return regex(scope.words.phrasal).search(context) is not None


@needs(level=Level.RANGE)
def between(match: re.Match[str], scope: Scope) -> Reading | None:
    """Read "between X and Y", "from X to Y"."""
    first = scope.time_at(match.end(), Level.PART)
    connector = first and regex(scope.words.connector).match(scope.text, first.end)
    return _joined(first, connector, scope, match.start()) if first and connector else None


@needs(level=Level.RANGE)
def joined(first: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """Read "X to Y"."""
    return None if first.open_ended else _joined(first, match, scope, first.start)


def _joined(first: Reading, connector: re.Match[str], scope: Scope, start: int) -> Reading | None:
    """Return the span of a range, both ends included; an end without a year gets the year of the other."""
    if present := regex(scope.words.now).match(scope.text, connector.end()):
        kept = onwards(replace(first, start=start), present, scope)
        return replace(kept, open_ended=False) if kept else None
    second = scope.time_at(connector.end(), Level.PART)
    if second is None or second.span is None or first.span is None:
        return None
    one, two = first.span, second.span
    weekdays = [_is_weekday(end, scope) for end in (first, second)]
    if one.floating and not all(weekdays):
        one = _earlier(first, scope, two) or one
    elif two.floating or two.end <= one.start:
        second = scope.after(one.start).time_at(connector.end(), Level.PART) or second
        two = second.span or two
    if two.end <= one.start:
        return None
    return Reading(start, second.end, Span(one.start, two.end, min(one.unit, two.unit, key=list(Unit).index)))


def _is_weekday(reading: Reading, scope: Scope) -> bool:
    """Return whether an end of a range is only a weekday; its week is then that of the other end."""
    last = word(scope.text[reading.start : reading.end]).split()[-1]
    return last in scope.words.weekdays and reading.span is not None and reading.span.floating


def _earlier(first: Reading, scope: Scope, other: Span) -> Span | None:
    """Read the first end of a range again: in the second's year, in the year before, or in the week before its end."""
    year = other.start.year
    for narrowed in (scope.in_year(year), scope.in_year(year - 1), scope.before(other.start)):
        again = narrowed.read(first.start, Level.PART)
        if again and again.span and again.span.start < other.end:
            return again.span
    return None


@needs()
def in_year(year: Reading, match: re.Match[str], scope: Scope) -> Reading | None:
    """Read "last year in May", "in 2023, during the summer", "last year's summer"."""
    if year.span is None or year.span.unit is not Unit.YEAR or year.span.end.year - year.span.start.year != 1:
        return None
    part = scope.in_year(year.span.start.year).time_at(match.end(), Level.ATOM)
    if part is None or part.span is None or not part.span.floating:
        return None
    return Reading(year.start, part.end, replace(part.span, floating=False))

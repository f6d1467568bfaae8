"""What a language must tell the grammar: its words of time, as tables, and the contexts in which they are none.

A table missing from a small language is empty: the phrases that need it are then simply not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from hindsight_integrations.text.time_expressions.calendar import Span, Unit

YearlyTime = Callable[[int], Span]
Shares = tuple[int, int, int]  # parts first to last (from 0, last excluded) of how many
NEVER = r"(?!)"  # a pattern that matches nothing


class Which(IntEnum):
    """Which of several: the last one, this one, the next one."""

    LAST = -1
    THIS = 0
    NEXT = 1


@dataclass(frozen=True, slots=True)
class Decoys:
    """Where a phrase of time is none, as patterns matched ignoring case unless they say otherwise.

    Attributes:
        before: in front of any phrase: a habit, a greeting, an age.
        around: the words in front of a phrase and the phrase, a NUL between them: streets, models of a year.
        after: behind any phrase: habits in the plural, titles that go on.
        before_bare: in front of a bare name of a time: an article, a form of address.
        before_which: in front of "last week" and the like: whose last week it is.
        before_decade: in front of a decade: an age or a reading on a scale.
        things_before: in front of a bare name: what is called so, as "the film".
        title_before: in front of words in capitals: who sings, stars in, is called so.
        title_after: behind words in capitals: who made the work.
        numbered_titles: in front of figures, minding capitals: a work's name.
        copies: in front of "of 1984": what one has of a work.
        named_people: in front of a bare weekday, minding capitals: whom one met then.
        after_bare: behind a bare name: what makes it a thing or a habit.
        things_after: behind a bare name: what makes it the name of a work.
        habits: anywhere in the sentence, for times without a year.
        yearly_habits: anywhere in a sentence in the present, for months, seasons and feasts without a year.
        range_habits: anywhere in a sentence in the present, for "Monday to Friday".
        title_words: inside a phrase, in capitals and not beginning a sentence.
        owner_before: whose weekday it is.
        plural_after: what is done on it, as a habit.
        games: anywhere in the sentence, for quarters and halves without a year.
        article: in front of a bare name, no part of it.
        name_before: pattern that ends in a name, its group `name`, minding capitals; in front of a bare name of a time
            in capitals it makes that a name too ("Ruby Tuesday").
        name_after: what goes on behind a bare name of a time in capitals and makes it a name, minding capitals.
        capital: how a phrase in capitals begins, minding capitals.
        plain_end: at the end of a phrase in capitals, makes it a time all the same ("Monday's").
        show_before: an article in front of a name in capitals that goes on ("The Tonight Show"), minding capitals.
        of_figures: the phrase "of 1984", of which `copies` tells whether it is a work.
        decade: how a phrase that is a decade ends.
        question: how a question begins, behind a colon that heads no title then.
    """

    before: str = NEVER
    around: str = NEVER
    after: str = NEVER
    before_bare: str = NEVER
    before_which: str = NEVER
    before_decade: str = NEVER
    things_before: str = NEVER
    title_before: str = NEVER
    title_after: str = NEVER
    numbered_titles: str = NEVER
    copies: str = NEVER
    named_people: str = NEVER
    after_bare: str = NEVER
    things_after: str = NEVER
    habits: str = NEVER
    yearly_habits: str = NEVER
    range_habits: str = NEVER
    title_words: str = NEVER
    owner_before: str = NEVER
    plural_after: str = NEVER
    games: str = NEVER
    article: str = NEVER
    name_before: str = NEVER
    name_after: str = NEVER
    capital: str = NEVER
    plain_end: str = NEVER
    show_before: str = NEVER
    of_figures: str = NEVER
    decade: str = NEVER
    question: str = NEVER


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of one language, in small letters, one blank between parts.

    Attributes:
        months: names to 1-12.
        clear_months: those that are no other word and no person; they need no preposition.
        name_months: those that are also people.
        verb_months: those that are also other words; in small letters they need a year or a preposition.
        weekdays: names to 0-6, Monday first.
        clear_weekdays: those that are no other word.
        units: names to units.
        plurals: the unit names that speak of several.
        multiples: unit names that stand for more than one unit.
        short_units: abbreviations glued to figures ("24h").
        numbers: numerals to values.
        vague: inexact amounts to their least and most.
        ordinals: to 1 and up, -1 for the last.
        day_numbers: ordinals of days written out, to 1-31.
        day_suffix: pattern of what is glued to the figures of a day.
        seasons: to their first month.
        decades: to their first year.
        portions: of a time, to their shares.
        year_portions: the same where a year's shares differ.
        day_parts: to their first hour and the hour after the last, which may be of the next day.
        which: to which of several.
        near: days by their distance from today, in days.
        near_parts: words before a part of the day, to that day's distance in days.
        before: the words of `side` that look back.
        behind: those that look ahead.
        earlier: the words of `side` from the start of a time to now; others run from now to its end.
        pieces: half, third and quarter, to how many there are.
        holidays: to their day in a year.
        amount: pattern of the vague amounts.
        tail: pattern of what names the year behind a month, day, season or holiday.
        tail_years: such words to their distance from this year.
        years_ago: pattern of a tail that counts years back, its first group the count.
        coming: words of `which` that mean the running or coming weekend.
        connector: pattern of what joins two ends of a range, up to the second.
        now: pattern of what ends a range at present.
        future: marks a statement as speaking of the future. This and the next three are matched before `folding`.
        asks_ahead: marks a question as speaking of the future, minding capitals.
        asks_back: marks a question as speaking of the past all the same.
        announces: a clause that announces, whatever the rest of its sentence asks.
        past: a verb of the past in a statement, matched before `folding`.
        present: a verb of the present in one, likewise: a time without a year behind it lies ahead.
        aim: what stands between a verb of the past and a time that it does not tell ("bought a dress for the wedding on Friday").
        clause: where a clause of a statement ends.
        verbal_last: in front of "last three days" without an article, makes "last" a verb.
        phrasal: a verb with the preposition it ends in, which opens no range then.
        things_of_year: behind a year, what has a model year or is counted.
        month_introducers: prepositions in front of months that are people too.
        person_after: behind a month's name, makes it a person's.
        no_year: behind a month, figures that are no year and make it impossible ("june 0000").
        holiday_things: behind a holiday, makes it a thing.
        season_things: behind a season, makes it a thing.
        quantity_after: behind a number, makes it a quantity and no year.
        numbered_before: in front of a number at the end of a question, makes it another number than a year.
        year_after: in front of a year at the end of a question, minding capitals: a word that lets it be one.
        name_goes_on: behind a weekday or a season in capitals, minding capitals: makes it a part of a name.
        part_names: single words for a part of a day near today, to that day's distance in days, the part's first hour
            and the hour after its last.
        centuries: names of centuries to their number, where they are no `day_numbers`.
        thousands: what parts thousands in figures.
        whatever: words that ask for whatever is of a time ("What happened last week?"), beside those that say nothing.
        folding: letters read as others, one for one ("\u00e1" as "a"); the tables and patterns hold the latter alone.
        decoys: where a phrase is none.
    """

    months: Mapping[str, int] = field(default_factory=dict)
    clear_months: frozenset[str] = frozenset()
    name_months: frozenset[str] = frozenset()
    verb_months: frozenset[str] = frozenset()
    weekdays: Mapping[str, int] = field(default_factory=dict)
    clear_weekdays: frozenset[str] = frozenset()
    units: Mapping[str, Unit] = field(default_factory=dict)
    plurals: frozenset[str] = frozenset()
    multiples: Mapping[str, int] = field(default_factory=dict)
    short_units: Mapping[str, Unit] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    vague: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    ordinals: Mapping[str, int] = field(default_factory=dict)
    day_numbers: Mapping[str, int] = field(default_factory=dict)
    day_suffix: str = NEVER
    seasons: Mapping[str, int] = field(default_factory=dict)
    decades: Mapping[str, int] = field(default_factory=dict)
    portions: Mapping[str, Shares] = field(default_factory=dict)
    year_portions: Mapping[str, Shares] = field(default_factory=dict)
    day_parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    which: Mapping[str, Which] = field(default_factory=dict)
    near: Mapping[str, int] = field(default_factory=dict)
    near_parts: Mapping[str, int] = field(default_factory=dict)
    before: frozenset[str] = frozenset()
    behind: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()
    pieces: Mapping[str, int] = field(default_factory=dict)
    holidays: Mapping[str, YearlyTime] = field(default_factory=dict)
    amount: str = NEVER
    tail: str = ""
    tail_years: Mapping[str, int] = field(default_factory=dict)
    years_ago: str = NEVER
    coming: frozenset[str] = frozenset()
    now: str = NEVER
    connector: str = NEVER
    future: str = NEVER
    asks_ahead: str = NEVER
    asks_back: str = NEVER
    announces: str = NEVER
    past: str = NEVER
    present: str = NEVER
    aim: str = NEVER
    clause: str = r"[,;:]"
    verbal_last: str = NEVER
    phrasal: str = NEVER
    things_of_year: str = NEVER
    month_introducers: frozenset[str] = frozenset()
    person_after: str = NEVER
    no_year: str = NEVER
    holiday_things: str = NEVER
    season_things: str = NEVER
    quantity_after: str = NEVER
    numbered_before: str = NEVER
    year_after: str = NEVER
    name_goes_on: str = NEVER
    part_names: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    centuries: Mapping[str, int] = field(default_factory=dict)
    thousands: str = ","
    whatever: frozenset[str] = frozenset()
    folding: Mapping[int, int | str] = field(default_factory=dict)
    decoys: Decoys = field(default_factory=Decoys)

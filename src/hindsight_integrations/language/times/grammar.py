"""The grammar of times: a language's words and rules, tried at each word of a text; the longest reading wins.

A rule is a small pattern and a meaning: a function from its match to a span. Rules have levels, so that a composite rule
reads only simpler phrases and recursion ends: "since | early | last month" is RANGE, PART, ATOM.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum, StrEnum
from functools import cache, cached_property, lru_cache
from importlib import import_module
from typing import Any, TypeVar

from hindsight_integrations.language.times.calendar import Span, Unit, containing
from hindsight_integrations.model.time import Weekday

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
    folding: Mapping[int, int | str] = field(default_factory=dict)
    decoys: Decoys = field(default_factory=Decoys)


YEAR = "(?:1[5-9]|20|21)[0-9]{2}"
_DOT = r"(?:\.(?= ?['0-9]|,))?"  # of an abbreviation, not of a sentence


def any_of(words: Iterable[str]) -> str:
    """A pattern of several words, the longest first."""
    found = sorted(words, key=lambda name: (-len(name), name))
    return "|".join(map(re.escape, found)).replace(r"\ ", " ").replace(r"\-", "-") if found else NEVER


def fragments(words: Words) -> dict[str, str]:
    """The named fragments that a language's patterns are made of."""
    number = rf"[0-9]{{1,3}}(?:[{words.thousands}][0-9]{{3}})+|[0-9]{{1,6}}|{any_of(words.numbers)}"
    day = rf"[0-9]{{1,2}}(?:{words.day_suffix})?|{any_of(words.day_numbers)}"
    return {
        "month": rf"(?:{any_of(words.months)})(?![^\W0-9_]){_DOT}",
        "clear_month": any_of(words.clear_months),
        "weekday": rf"(?:{any_of(words.weekdays)})\b{_DOT}",
        "clear_weekday": any_of(words.clear_weekdays),
        "unit": rf"(?:{any_of(words.units)})\b{_DOT}",
        "short_unit": any_of(words.short_units),
        "number": number,
        "amount": rf"{words.amount}|{number}",
        "which": any_of(words.which),
        "season": any_of(words.seasons),
        "ordinal": any_of(words.ordinals),
        "portion": any_of(words.portions),
        "day_part": any_of(words.day_parts),
        "decade_word": any_of(words.decades),
        "near": any_of(words.near),
        "near_part": any_of(words.near_parts),
        "part_name": any_of(words.part_names),
        "century": any_of(words.centuries),
        "piece": any_of(words.pieces),
        "holiday": any_of(words.holidays),
        "year": YEAR,
        "day": day,
        "tail": f"(?:{words.tail})?",
    }


_PLACEHOLDER = re.compile(r"\{([a-z_]+)(2?)\}")
_AFTER = r"(?!\w|%|[.,:/-][0-9])"  # a number that goes on is another number
TIME = "{time}"


def compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """The regular expression of a rule's pattern.

    `{name}` is a captured fragment (`{name2}` a second one), a blank any white space, and `{time}` at the end says
    that another time phrase must begin there; the rule reads it itself.

    Raises:
        KeyError: if a placeholder names no fragment.
    """
    after = "(?=[\\w'])" if pattern.endswith(TIME) else _AFTER
    filled = _PLACEHOLDER.sub(
        lambda found: f"(?P<{found[1]}{found[2]}>{parts[found[1]]})", pattern.removesuffix(TIME)
    )
    flexible = re.sub(r" ([?*])", r"\\s\1", filled).replace(" ", r"\s+")
    return re.compile(f"(?:{flexible}){after}", re.IGNORECASE)


@cache
def regex(pattern: str, *, exact: bool = False) -> re.Pattern[str]:
    """A pattern of a language's tables, compiled once; `exact` minds capitals."""
    return re.compile(pattern, 0 if exact else re.IGNORECASE)


def word(text: str) -> str:
    """A matched word as the tables spell it: small, one blank between parts, no full stop."""
    return " ".join(text.lower().split()).rstrip(".")


_FOLDED = str.maketrans(
    "\u2019\u2018\u02bc\u2013\u2014\u2212\u2011\u2010\u017f\u212a\u0130\u0131\u00a0", "'''-----skii "
)


def folded(text: str) -> str:
    """The text with typographic quotes, dashes and look-alike letters made plain; offsets stay the same."""
    return text.translate(_FOLDED)


Meaning = TypeVar("Meaning", bound=Callable[..., object])


class Level(IntEnum):
    """What a phrase may be part of."""

    ATOM = 0  # "last May", "two weeks ago"
    PART = 1  # "early last May", "two weeks before Christmas"
    RANGE = 2  # "since early last May"


_NEEDS: dict[Callable[..., object], tuple[str, ...]] = {}
_LEVELS: dict[Callable[..., object], Level] = {}
_GROUP = re.compile(r"\{([a-z_]+2?)\}|\(\?P<([a-z_]+2?)>")
_SPELLED_OUT = re.compile(r"\(\?P<(?P<group>[a-z_]+?)2?>(?P<words>[^\W_](?:[\w' |-]|\(\?-i:)*)\)")
_FRAGMENTS = {f"{name}{second}" for name in (*fragments(Words()), "time") for second in ("", "2")}
_TABLES: Mapping[str, str] = {
    "month": "months",
    "clear_month": "months",
    "weekday": "weekdays",
    "clear_weekday": "weekdays",
    "unit": "units",
    "short_unit": "short_units",
    "which": "which",
    "season": "seasons",
    "ordinal": "ordinals",
    "portion": "portions",
    "day_part": "day_parts",
    "part_name": "part_names",
    "decade_word": "decades",
    "near": "near",
    "near_part": "near_parts",
    "piece": "pieces",
    "century": "centuries",
    "holiday": "holidays",
}
_SUBSETS = (
    ("clear_months", "months"),
    ("name_months", "months"),
    ("verb_months", "months"),
    ("clear_weekdays", "weekdays"),
    ("plurals", "units"),
    ("multiples", "units"),
    ("coming", "which"),
    ("year_portions", "portions"),
)


class InvalidRule(ValueError):
    """A rule or a table of a language that its grammar cannot use.

    Attributes:
        language: ISO 639-1.
        pattern: of the rule; the table's name where a table is at fault.
        fault: what is wrong with it.
    """

    def __init__(self, language: str, pattern: str, fault: str) -> None:
        super().__init__(f"language {language!r}, {pattern!r}: {fault}")
        self.language, self.pattern, self.fault = language, pattern, fault


def needs(*groups: str, level: Level | None = None) -> Callable[[Meaning], Meaning]:
    """Declares the groups a meaning reads.

    Args:
        groups: names of groups; "a|b" is either of two, "a?" one that is read if it is there.
        level: of the phrases it is the meaning of; None for ATOM, or PART where it reads another time behind them.
    """

    def declared(meaning: Meaning) -> Meaning:
        _NEEDS[meaning] = groups
        if level is not None:
            _LEVELS[meaning] = level
        return meaning

    return declared


def level_of(meaning: Callable[..., object], least: Level) -> Level:
    """The level of phrases with a meaning, at least the one given."""
    return _LEVELS.get(meaning, least)


def check_rule(language: str, pattern: str, meaning: Callable[..., object], words: Words) -> None:
    """Refuses a rule that lacks a group its meaning reads, or spells out a word its table lacks.

    Args:
        language: ISO 639-1, for the error.
        pattern: as written, with `{fragment}` placeholders.
        meaning: what the rule builds.
        words: the language's tables.

    Raises:
        InvalidRule: the rule cannot be used.
    """
    called = getattr(meaning, "__qualname__", repr(meaning)).replace(".<locals>", "")
    if meaning not in _NEEDS:
        raise InvalidRule(language, pattern, f"its meaning {called} does not declare the groups it needs")
    unknown = {found[1] for found in _GROUP.finditer(pattern) if found[1]} - _FRAGMENTS
    if unknown:
        raise InvalidRule(language, pattern, f"{{{min(unknown)}}} is not a fragment")
    present = {found[1] or found[2] for found in _GROUP.finditer(pattern)}
    for group in _NEEDS[meaning]:
        if not group.endswith("?") and present.isdisjoint(group.split("|")):
            wanted = group.replace("|", " or ")
            raise InvalidRule(language, pattern, f"its meaning {called} needs the group {wanted}")
    for group, missing in _unknown_words(pattern, words):
        raise InvalidRule(
            language, pattern, f"{missing!r} of its group {group} is not in the table {_TABLES[group]}"
        )


def _unknown_words(pattern: str, words: Words) -> Iterator[tuple[str, str]]:
    """Words spelled out in a group, as in "(?P<unit>week|weekend)", that the group's table lacks."""
    for found in _SPELLED_OUT.finditer(pattern):
        table = getattr(words, _TABLES.get(found["group"], ""), None)
        if table is not None:
            yield from ((found["group"], name) for name in found["words"].split("|") if name not in table)


def check_words(language: str, words: Words) -> None:
    """Refuses tables that speak of words which their table of values lacks.

    Raises:
        InvalidRule: a word has no value.
    """
    for table in (*_TABLES.values(), "numbers", "day_numbers", "tail_years"):
        for name in getattr(words, table):
            if word(name.translate(words.folding)) != name:
                raise InvalidRule(
                    language, table, f"{name!r} is not as texts are read: {word(name)!r}, folded"
                )
    for part, whole in _SUBSETS:
        missing = set(getattr(words, part)) - set(getattr(words, whole))
        if missing:
            raise InvalidRule(language, part, f"{min(missing)!r} is not in the table {whole}")


class Direction(StrEnum):
    """Where a time without a year lies: questions ask of the past, announcements speak of the future."""

    PAST = "past"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Reading:
    """A phrase and what it means.

    Attributes:
        start: offset of its first character.
        end: offset after its last.
        span: the local time it stands for; None for an impossible time, whose words mean nothing else either.
        open_ended: one end was clipped ("since 2020"), so it dates no event.
    """

    start: int
    end: int
    span: Span | None
    open_ended: bool = False


Build = Callable[[re.Match[str], "Scope"], "Span | Reading | None"]
Continue = Callable[[Reading, re.Match[str], "Scope"], "Span | Reading | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One sort of phrase.

    Attributes:
        pattern: what starts or makes up the phrase, with `{fragment}` placeholders (see `patterns`).
        build: its meaning; None if it is not such a phrase after all; raises ValueError or OverflowError if it is
            one but names no possible time.
        level: what it may be part of.
        weak: it is a time only behind a preposition or inside a composite ("May", "2023").
    """

    pattern: str
    build: Build
    level: Level = Level.ATOM
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Continuation:
    """What may follow a phrase and change its meaning: "yesterday" + "evening", "1 May" + "to 5 May"."""

    pattern: str
    build: Continue
    level: Level


@dataclass(frozen=True, slots=True, eq=False)
class TimeRules:
    """All the grammar knows of the times of one language.

    Attributes:
        code: ISO 639-1.
        words: its tables.
        rules: its phrases.
        continuations: what may follow them.
    """

    code: str
    words: Words
    rules: tuple[Rule, ...]
    continuations: tuple[Continuation, ...]

    def __post_init__(self) -> None:
        """A rule that lacks what its meaning needs is refused here, when the language is loaded.

        Raises:
            InvalidRule: naming the language, the rule, its meaning and what it lacks.
        """
        check_words(self.code, self.words)
        for rule in self.rules:
            check_rule(self.code, rule.pattern, rule.build, self.words)
        for then in self.continuations:
            check_rule(self.code, then.pattern, then.build, self.words)


_REMEMBERED = 20_000  # words of texts whose rules are remembered
_MOST_STATES = 5_000  # first words of a rule; one with more is tried at every word
_MOST_REPEATS = 6
_FRAGMENT_LETTERS = 0xF0000  # private use
_FIRST_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"\d")


class _State(IntEnum):
    """What is known of the first word of what a pattern matches."""

    OPEN = 0  # it begins so, and the pattern goes on
    CLOSED = 1  # it is this word
    WILD = 2  # it begins so


_States = frozenset[tuple[str, _State]]
_START: _States = frozenset({("", _State.OPEN)})
_ANYTHING: _States = frozenset({("", _State.WILD)})


class _Beginnings:
    """With which first words the patterns of rules can match; words are as `first_word` gives them.

    Where Python has no such parser of patterns, a rule may begin with any word.
    """

    def __init__(self, parts: Mapping[str, str]) -> None:
        try:
            self._parser: Any = import_module("re._parser")
        except ImportError:
            self._parser = None
        # In a parsed pattern a fragment is a letter of its own, so that it is parsed once.
        self._letters = {name: chr(_FRAGMENT_LETTERS + place) for place, name in enumerate(parts)}
        self._fragments: dict[int, _States] = {}
        if self._parser:
            for name, letter in self._letters.items():
                self._fragments[ord(letter)] = self._parsed(parts[name])

    def of(self, pattern: str) -> _States:
        """The first words of a rule's pattern, CLOSED or WILD."""
        if self._parser is None:
            return _ANYTHING
        last = _State.WILD if pattern.endswith(TIME) else _State.CLOSED
        plain = _PLACEHOLDER.sub(lambda found: self._letters[found[1]], pattern.removesuffix(TIME))
        return frozenset((word, state or last) for word, state in self._parsed(plain))

    def _parsed(self, pattern: str) -> _States:
        return self._sequence(self._parser.parse(pattern), _START)

    def _sequence(self, items: Iterable[tuple[object, Any]], states: _States) -> _States:
        for kind, value in items:
            begun = [word for word, state in states if state is _State.OPEN]
            if not begun:
                break
            ended = {(word, state) for word, state in states if state is not _State.OPEN}
            states = frozenset(ended.union(*(self._item(str(kind), value, word) for word in begun)))
            if len(states) > _MOST_STATES:
                return _ANYTHING
        return states

    def _item(self, kind: str, value: Any, word: str) -> _States:  # noqa: ANN401 # of Python's parser
        """The states that a part of a pattern leads to from a word that has begun."""
        begun = frozenset({(word, _State.OPEN)})
        if kind == "LITERAL":
            return self._letter(value, word)
        if kind == "IN":
            return frozenset().union(*(self._in_class(str(sort), one, word) for sort, one in value))
        if kind == "BRANCH":
            return frozenset().union(*(self._sequence(branch, begun) for branch in value[1]))
        if kind == "SUBPATTERN":
            return self._sequence(value[-1], begun)
        if kind in {"MAX_REPEAT", "MIN_REPEAT"}:
            least, most, repeated = value
            return self._repeated(least, most, repeated, begun)
        if kind in {"AT", "ASSERT", "ASSERT_NOT"}:
            return begun
        return frozenset({(word, _State.WILD)})

    def _letter(self, code: int, word: str) -> _States:
        if code in self._fragments:
            return frozenset({(word, _State.WILD)}) if word else self._fragments[code]
        letter = _FIGURE.sub("0", chr(code).lower())
        if _FIRST_WORD.fullmatch(letter):
            return frozenset({(word + letter, _State.OPEN)})
        return frozenset({(word, _State.CLOSED)})

    def _in_class(self, kind: str, value: Any, word: str) -> _States:  # noqa: ANN401 # of Python's parser
        if kind == "LITERAL":
            return self._letter(value, word)
        if kind == "RANGE" and (chr(value[0]), chr(value[1])) <= ("9", "9"):
            return (
                frozenset({(word + "0", _State.OPEN)})
                if value[0] >= ord("0")
                else frozenset({(word, _State.WILD)})
            )
        if kind == "CATEGORY" and str(value) == "CATEGORY_SPACE":
            return frozenset({(word, _State.CLOSED)})
        return frozenset({(word, _State.WILD)})

    def _repeated(self, least: int, most: int, items: Any, states: _States) -> _States:  # noqa: ANN401
        found: set[tuple[str, _State]] = set() if least else set(states)
        for count in range(1, min(int(most), _MOST_REPEATS) + 1):
            states = self._sequence(items, frozenset(each for each in states if each[1] is _State.OPEN))
            found |= states if count >= least else {each for each in states if each[1] is not _State.OPEN}
        if int(most) > _MOST_REPEATS:
            found |= {(word, _State.WILD) for word, state in states if state is _State.OPEN}
        return frozenset(found)


class _CompiledRule:
    """A rule; its pattern is compiled when a text first has a word that it may begin with."""

    def __init__(self, rule: Rule, parts: Mapping[str, str]) -> None:
        self.rule, self.level, self.weak = rule, rule.level, rule.weak
        self._parts = parts

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression."""
        return compiled(self.rule.pattern, self._parts)


class Grammar:
    """A language's rules by the words they may begin with: at most words of a text no rule, or few, can match."""

    def __init__(self, language: TimeRules) -> None:
        parts = fragments(language.words)
        self.words = language.words
        self.rules = tuple(_CompiledRule(rule, parts) for rule in language.rules)
        self.continuations = tuple((compiled(then.pattern, parts), then) for then in language.continuations)
        self._whole: dict[str, set[int]] = {}
        self._begun: dict[str, set[int]] = {}
        beginnings = _Beginnings(parts)
        for place, rule in enumerate(language.rules):
            for word, state in beginnings.of(rule.pattern):
                (self._whole if state is _State.CLOSED else self._begun).setdefault(word, set()).add(place)
        self.beginning_with = lru_cache(maxsize=_REMEMBERED)(self._beginning_with)

    def _beginning_with(self, word: str) -> tuple[_CompiledRule, ...]:
        """The rules that may match where a word begins, in their order.

        Args:
            word: as `first_word` gives it.
        """
        places = set(self._whole.get(word, ()))
        for end in range(len(word) + 1):
            places |= self._begun.get(word[:end], set())
        return tuple(self.rules[place] for place in sorted(places))


@cache
def grammar_of(language: TimeRules) -> Grammar:
    """The grammar of a language; costs some 20 ms the first time."""
    return Grammar(language)


def first_word(text: str, at: int) -> str:
    """The word that begins at an offset, in small letters and with 0 for every figure; empty where none begins."""
    found = _FIRST_WORD.match(text, at)
    return _FIGURE.sub("0", found[0].lower()) if found else ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a phrase is read against.

    Attributes:
        text: the folded text, as the patterns expect it.
        spelled: the same with the letters of its language: accents tell tenses apart.
        now: the reference instant as local time, naive.
        grammar: the rules and words.
        direction: where times without a year lie.
        year: the year a neighbouring phrase gives.
        telling: the text is a statement, no question.
        week_starts: on which day weeks begin.
    """

    text: str
    spelled: str
    now: datetime
    grammar: Grammar
    direction: Direction = Direction.PAST
    year: int | None = None
    telling: bool = False
    week_starts: Weekday = Weekday.MONDAY

    @property
    def words(self) -> Words:
        """The tables of the language."""
        return self.grammar.words

    def read(self, at: int, below: Level = Level.RANGE, *, weak: bool = True) -> Reading | None:
        """The longest phrase of a level up to and including `below` that starts at `at`."""
        found = [
            reading
            for rule in self.grammar.beginning_with(first_word(self.text, at))
            if rule.level <= below
            and (weak or not rule.weak)
            and (match := rule.pattern.match(self.text, at))
            and (reading := self._built(match, rule.rule))
        ]
        if not found:
            return None
        longest = max(found, key=lambda reading: (reading.end, reading.span is not None))
        return self._continued(longest, below)

    def time_at(self, at: int, below: Level) -> Reading | None:
        """Like `read`, but an impossible time is nothing."""
        reading = self.read(at, below)
        return reading if reading and reading.span else None

    def readings(self, start: int, end: int) -> Iterator[Reading]:
        """All phrases between two offsets, left to right, impossible times left out."""
        position = start
        for token in _TOKEN.finditer(self.text, start, end):
            if token.start() < position:
                continue
            reading = self.read(token.start(), weak=False)
            if reading:
                position = reading.end
                if reading.span:
                    yield reading

    def in_year(self, year: int) -> Scope:
        """The same, with a year for phrases that lack one."""
        return replace(self, year=year)

    def unit_around(self, unit: Unit, moment: datetime) -> Span:
        """The calendar unit around a moment, a week as weeks begin here."""
        return containing(unit, moment, self.week_starts)

    def after(self, moment: datetime) -> Scope:
        """The same, looking forward from `moment`."""
        return replace(self, now=moment, direction=Direction.FUTURE)

    def before(self, moment: datetime) -> Scope:
        """The same, looking back from `moment`."""
        return replace(self, now=moment, direction=Direction.PAST)

    def _built(self, match: re.Match[str], rule: Rule) -> Reading | None:
        try:
            meaning = rule.build(match, self)
        except (ValueError, OverflowError):
            return Reading(match.start(), self._end(match, rule), None)
        return Reading(match.start(), match.end(), meaning) if isinstance(meaning, Span) else meaning

    def _end(self, match: re.Match[str], rule: Rule) -> int:
        """Where an impossible phrase ends: "the fifth Monday of May 2023" takes its month with it."""
        inner = self.read(match.end(), Level.ATOM) if rule.pattern.endswith(TIME) else None
        return inner.end if inner else match.end()

    def _continued(self, reading: Reading, below: Level) -> Reading:
        for pattern, continuation in self.grammar.continuations:
            if continuation.level > below or reading.span is None:
                continue
            match = pattern.match(self.text, reading.end)
            if match:
                reading = self._extended(reading, match, continuation) or reading
        return reading

    def _extended(self, reading: Reading, match: re.Match[str], continuation: Continuation) -> Reading | None:
        try:
            meaning = continuation.build(reading, match, self)
        except (ValueError, OverflowError):
            return None
        return replace(reading, end=match.end(), span=meaning) if isinstance(meaning, Span) else meaning


# A phrase starts at a word; digits glued to other numbers, amounts, tags and addresses start none.
_TOKEN = re.compile(r"(?<![\w@#$\u20ac\u00a3'-])(?:[^\W\d_]|(?<![.:/,])[0-9])|(?<!\w)'(?=[0-9]0[^\W\d_]*\b)")


_REACH = 9  # years searched each way: 29 February is at most eight years off
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_SHORT_YEAR = re.compile(r"(?<![0-9])[0-9]{2}(?![0-9])")


def _around(scope: Scope, make: YearlyTime) -> list[Span]:
    """Its occurrences of the years around now, early ones first; years without one (29 February) are left out."""
    spans = []
    for year in range(scope.now.year - _REACH, scope.now.year + _REACH + 1):
        try:
            spans.append(make(year))
        except (ValueError, OverflowError):
            continue
    return spans


def unspecified(scope: Scope, make: YearlyTime) -> Span:
    """The occurrence of the neighbour's year, else the latest begun; looking ahead, the first not yet over.

    Raises:
        ValueError: if there is none.
    """
    if scope.year is not None:
        return replace(make(scope.year), floating=True)
    spans = _around(scope, make)
    if scope.direction is Direction.FUTURE:
        found = next((span for span in spans if span.end > scope.now), None)
    else:
        found = next((span for span in reversed(spans) if span.start <= scope.now), None)
    if found is None:
        raise ValueError("no such time near the reference")
    return replace(found, floating=True)


def relative(scope: Scope, make: YearlyTime, which: Which) -> Span:
    """The last one over, the one of this year, or the next to begin.

    Raises:
        ValueError: if there is none.
    """
    spans = _around(scope, make)
    if which is Which.LAST:
        found = next((span for span in reversed(spans) if span.end <= scope.now), None)
    elif which is Which.NEXT:
        found = next((span for span in spans if span.start > scope.now), None)
    else:
        found = next((span for span in spans if span.start <= scope.now < span.end), make(scope.now.year))
    if found is None:
        raise ValueError("no such time near the reference")
    return found


def of_tail(scope: Scope, make: YearlyTime, tail: str) -> Span:
    """The occurrence that the words behind it name ("2023", "'23", "of last year"), else `unspecified`."""
    year = year_of_tail(scope, tail)
    return unspecified(scope, make) if year is None else make(year)


def year_of_tail(scope: Scope, tail: str) -> int | None:
    """The year that the words behind a month, season or holiday name; None if there are no such words."""
    plain = word(tail or "").lstrip(",- ")
    if not plain:
        return None
    if long := _YEAR.search(plain):
        return int(long[0])
    count = _years_ago(plain, scope.words)
    if count is not None:
        return scope.now.year - count
    if short := _SHORT_YEAR.search(plain):
        return short_year(int(short[0]), scope)
    named = regex(rf"\b(?:{any_of(scope.words.tail_years)})$").search(plain)
    return scope.now.year + scope.words.tail_years[named[0]] if named else None


def _years_ago(plain: str, words: Words) -> int | None:
    """The count in "two years ago", "3 years ago"."""
    found = regex(words.years_ago).search(plain)
    if not found:
        return None
    return words.numbers.get(found[1]) or int(found[1])


def short_year(digits: int, scope: Scope) -> int:
    """The year of "'23": the latest begun."""
    return scope.now.year - (scope.now.year - digits) % 100


# Where a text is read for its time: what decides comes early, and words of time strung together by the page cost
# more than their length (14,000 characters of "mon to mon to ...": 2 s).
READ_CHARACTERS = 3_000

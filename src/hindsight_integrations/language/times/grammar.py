"""Time grammar: a language's rules are tried at each word of a text, and the longest match wins.

A rule consists of a small pattern and a meaning, a function that maps a match to a span. A composite rule reads only
phrases of a lower level, so recursion ends: "since | early | last month" is RANGE, PART, ATOM.
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
# (first part, last part, number of parts); parts count from 0, and the last one is excluded
Shares = tuple[int, int, int]
NEVER = r"(?!)"  # a pattern without matches


class Which(IntEnum):
    """The meaning of a word such as "last", "this" or "next"."""

    LAST = -1
    THIS = 0
    NEXT = 1


@dataclass(frozen=True, slots=True)
class Decoys:
    """Patterns of time words that are not times. Case is ignored unless marked "case-sensitive".

    Attributes:
        before: before any phrase: a habit, a greeting, an age.
        around: the preceding words, a NUL and the phrase: streets, model years.
        after: after any phrase: plural habits, longer titles.
        before_bare: before a bare time word: an article, a form of address.
        before_which: before "last week" and the like: whose week it is.
        before_decade: before a decade: an age or a value on a scale.
        things_before: before a bare time word: the kind of thing with that name, such as "the film".
        title_before: before a capitalised phrase: who sings, stars in, is called.
        title_after: after a capitalised phrase: the work's author.
        numbered_titles: before digits: a work's name; case-sensitive.
        copies: before "of 1984": a copy of a work.
        named_people: before a bare weekday: a person met on it; case-sensitive.
        after_bare: after a bare time word: makes it a thing or a habit.
        things_after: after a bare time word: makes it the name of a work.
        habits: anywhere in the sentence; applies to times without a year.
        yearly_habits: anywhere in a present-tense sentence; applies to months, seasons and holidays without a year.
        range_habits: anywhere in a present-tense sentence; applies to "Monday to Friday".
        title_words: inside a capitalised phrase that does not start a sentence.
        owner_before: before a weekday: its owner.
        plural_after: after an owned weekday: a habitual activity.
        games: anywhere in the sentence; applies to quarters and halves without a year.
        article: article before a bare time word.
        name_before: ends in a name (group `name`) that makes the following capitalised time word part of it ("Ruby
            Tuesday"); case-sensitive.
        name_after: what follows a capitalised time word that is part of a name; case-sensitive.
        capital: start of a capitalised phrase; case-sensitive.
        plain_end: end of a capitalised phrase that is a time nevertheless ("Monday's").
        show_before: article before a longer capitalised name ("The Tonight Show"); case-sensitive.
        of_figures: the phrase "of 1984"; `copies` decides whether it is a work.
        decade: end of a decade phrase.
        question: start of a question after a colon, which then does not introduce a title.
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
    """Time words of one language, in lower case with single spaces.

    Attributes:
        months: month names to 1-12.
        clear_months: unambiguous month names, which need no preposition.
        name_months: month names that are also names of people.
        verb_months: month names that are also other words; in lower case they need a year or a preposition.
        weekdays: weekday names to 0-6, Monday first.
        clear_weekdays: unambiguous weekday names.
        units: unit names to units.
        plurals: plural unit names.
        multiples: unit names to how many units they comprise.
        short_units: abbreviations attached to digits ("24h").
        numbers: numerals to values.
        vague: vague amounts to (minimum, maximum).
        ordinals: ordinals to 1 and up, -1 for the last.
        day_numbers: spelled-out ordinals of days to 1-31.
        day_suffix: pattern of the suffix of a day in digits.
        seasons: season names to their first month.
        decades: decade names to their first year.
        portions: words for a portion of a time to their shares.
        year_portions: the same for years, where the shares differ.
        day_parts: parts of the day to (first hour, hour after the last), which may be on the next day.
        which: words to last, this or next.
        near: words for days near today to their distance in days.
        near_parts: words before a part of the day to the day's distance in days.
        before: words of `side` that look back.
        behind: words of `side` that look ahead.
        earlier: words of `side` for the time from a start to now; others run from now to an end.
        pieces: half, third and quarter to 2, 3 and 4.
        holidays: holiday names to a function of the year.
        amount: pattern of the vague amounts.
        tail: pattern of the year after a month, day, season or holiday.
        tail_years: such words to their distance from this year.
        years_ago: pattern of a tail that counts years back; group 1 is the count.
        coming: words of `which` that mean the current or coming weekend.
        connector: pattern that connects the two ends of a range.
        now: pattern of a range's end in the present.
        future: marks a statement about the future. This and the next three are matched before `folding`.
        asks_ahead: marks a question about the future; case-sensitive.
        asks_back: marks a question about the past nevertheless.
        announces: a clause with an announcement inside a question.
        past: a past-tense verb in a statement, matched before `folding`.
        present: a present-tense verb in a statement, matched before `folding`; a following time without a year is in the
            future.
        aim: what separates a past-tense verb from a time that it does not date ("bought a dress for the wedding on
            Friday").
        clause: end of a clause in a statement.
        verbal_last: before "last three days" without an article: makes "last" a verb.
        phrasal: a phrasal verb, whose preposition does not open a range.
        things_of_year: after a year: a thing with a model year, or a counted thing.
        month_introducers: prepositions before months that are also names of people.
        person_after: after a month name: makes it a person's name.
        no_year: after a month: digits that are not a year and make it impossible ("june 0000").
        holiday_things: after a holiday: makes it a thing.
        season_things: after a season: makes it a thing.
        quantity_after: after a number: makes it a quantity instead of a year.
        numbered_before: before a number at the end of a question: makes it another number than a year.
        year_after: before a year at the end of a question: a word that allows a year; case-sensitive.
        name_goes_on: after a capitalised weekday or season: makes it part of a name; case-sensitive.
        part_names: single words for a part of a day near today to (distance in days, first hour, hour after the last).
        centuries: century names to their number, unless in `day_numbers`.
        thousands: thousands separator.
        folding: letters replaced one for one before matching ("\u00e1" by "a"); tables and patterns use the replacement.
        decoys: patterns of time words that are not times.
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
_DOT = r"(?:\.(?= ?['0-9]|,))?"  # full stop of an abbreviation


def any_of(words: Iterable[str]) -> str:
    """Build a pattern that matches any of the words, longest first."""
    found = sorted(words, key=lambda name: (-len(name), name))
    return "|".join(map(re.escape, found)).replace(r"\ ", " ").replace(r"\-", "-") if found else NEVER


def fragments(words: Words) -> dict[str, str]:
    """Return the named fragments available to a language's patterns."""
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
_AFTER = r"(?!\w|%|[.,:/-][0-9])"  # a matched number must be complete
TIME = "{time}"


def compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Compile a rule's pattern.

    `{name}` is a captured fragment (`{name2}` a second one), a space matches any white space, and a final `{time}` means
    that another time phrase must start there, which the rule reads itself.

    Raises:
        KeyError: a placeholder is unknown.
    """
    after = "(?=[\\w'])" if pattern.endswith(TIME) else _AFTER
    filled = _PLACEHOLDER.sub(
        lambda found: f"(?P<{found[1]}{found[2]}>{parts[found[1]]})", pattern.removesuffix(TIME)
    )
    flexible = re.sub(r" ([?*])", r"\\s\1", filled).replace(" ", r"\s+")
    return re.compile(f"(?:{flexible}){after}", re.IGNORECASE)


@cache
def regex(pattern: str, *, exact: bool = False) -> re.Pattern[str]:
    """Compile a pattern of a language's tables, cached; `exact` makes it case-sensitive."""
    return re.compile(pattern, 0 if exact else re.IGNORECASE)


def word(text: str) -> str:
    """Normalise a matched word as in the tables: lower case, single spaces, no full stop."""
    return " ".join(text.lower().split()).rstrip(".")


_FOLDED = str.maketrans(
    "\u2019\u2018\u02bc\u2013\u2014\u2212\u2011\u2010\u017f\u212a\u0130\u0131\u00a0", "'''-----skii "
)


def folded(text: str) -> str:
    """Replace typographic quotes, dashes and look-alike letters of a text by plain ones; offsets stay the same."""
    return text.translate(_FOLDED)


Meaning = TypeVar("Meaning", bound=Callable[..., object])


class Level(IntEnum):
    """Level of a phrase: composite rules read only lower levels."""

    ATOM = 0  # "last May", "two weeks ago"
    PART = 1  # "early last May", "two weeks before Christmas"
    RANGE = 2  # "since early last May"


_NEEDS: dict[Callable[..., object], tuple[str, ...]] = {}
_LEVELS: dict[Callable[..., object], Level] = {}
_GROUP = re.compile(r"\{([a-z_]+2?)\}|\(\?P<([a-z_]+2?)>")
_SPELLED_OUT = re.compile(r"\(\?P<(?P<group>[a-z_]+?)2?>(?P<words>[^\W_](?:[\w' |-]|\(\?-i:)*)\)")
FRAGMENTS = {f"{name}{second}" for name in (*fragments(Words()), "time") for second in ("", "2")}
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
    """A rule or table of a language is invalid.

    Attributes:
        language: ISO 639-1 code.
        pattern: the rule's pattern, or the table's name.
        fault: what is wrong.
    """

    def __init__(self, language: str, pattern: str, fault: str) -> None:
        super().__init__(f"language {language!r}, {pattern!r}: {fault}")
        self.language, self.pattern, self.fault = language, pattern, fault


def needs(*groups: str, level: Level | None = None) -> Callable[[Meaning], Meaning]:
    """Declare the groups of the match that a meaning reads.

    Args:
        groups: group names; "a|b" means either of two, "a?" an optional group.
        level: level of its phrases; None means ATOM, or PART if the rule ends in `{time}`.
    """

    def declared(meaning: Meaning) -> Meaning:
        _NEEDS[meaning] = groups
        if level is not None:
            _LEVELS[meaning] = level
        return meaning

    return declared


def level_of(meaning: Callable[..., object], least: Level) -> Level:
    """Return the declared level of a meaning's phrases, else `least`."""
    return _LEVELS.get(meaning, least)


def check_rule(language: str, pattern: str, meaning: Callable[..., object], words: Words) -> None:
    """Validate a rule: it must be a regular expression, have the groups that its meaning reads, and use only words of the tables.

    Args:
        language: ISO 639-1 code, for the error.
        pattern: the pattern with `{fragment}` placeholders.
        meaning: the rule's meaning.
        words: the language's tables.

    Raises:
        InvalidRule: the rule is invalid.
    """
    called = getattr(meaning, "__qualname__", repr(meaning)).replace(".<locals>", "")
    if meaning not in _NEEDS:
        raise InvalidRule(language, pattern, f"its meaning {called} does not declare the groups it needs")
    unknown = {found[1] for found in _GROUP.finditer(pattern) if found[1]} - FRAGMENTS
    if unknown:
        raise InvalidRule(language, pattern, f"{{{min(unknown)}}} is not a fragment")
    try:
        re.compile(_PLACEHOLDER.sub(r"(?P<\1\2>)", pattern.removesuffix(TIME)))
    except re.error as error:
        raise InvalidRule(language, pattern, str(error)) from error
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
    """Yield words spelled out in a group, as in "(?P<unit>week|weekend)", that are missing from the group's table."""
    for found in _SPELLED_OUT.finditer(pattern):
        table = getattr(words, _TABLES.get(found["group"], ""), None)
        if table is not None:
            yield from ((found["group"], name) for name in found["words"].split("|") if name not in table)


def check_words(language: str, words: Words) -> None:
    """Validate the tables: words must be folded, and subsets must be part of their table.

    Raises:
        InvalidRule: a word is not folded or has no value.
    """
    for table in (*_TABLES.values(), "numbers", "day_numbers", "tail_years"):
        for name in getattr(words, table):
            if word(name.translate(words.folding)) != name:
                raise InvalidRule(
                    language, table, f"{name!r} must be written as texts are matched: {word(name)!r}, folded"
                )
    for part, whole in _SUBSETS:
        missing = set(getattr(words, part)) - set(getattr(words, whole))
        if missing:
            raise InvalidRule(language, part, f"{min(missing)!r} is not in the table {whole}")


class Direction(StrEnum):
    """The direction in which a time without a year is resolved: the past for questions, the future for announcements."""

    PAST = "past"
    FUTURE = "future"


@dataclass(frozen=True, slots=True)
class Reading:
    """A phrase and its meaning.

    Attributes:
        start: offset of its first character.
        end: offset after its last.
        span: its local time; None for an impossible time, whose words are skipped.
        open_ended: whether one end of the span is open ("since 2020"), so that the phrase dates no event.
    """

    start: int
    end: int
    span: Span | None
    open_ended: bool = False


Build = Callable[[re.Match[str], "Scope"], "Span | Reading | None"]
Continue = Callable[[Reading, re.Match[str], "Scope"], "Span | Reading | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for one kind of phrase.

    Attributes:
        pattern: pattern of the phrase or its start, with `{fragment}` placeholders (see `compiled`).
        build: the function that interprets a match; it returns None if the match is not such a phrase, and raises
            ValueError or OverflowError for an impossible time.
        level: the phrase's level.
        weak: whether a match is a time only after a preposition or inside a composite ("May", "2023").
    """

    pattern: str
    build: Build
    level: Level = Level.ATOM
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Continuation:
    """A rule for what may follow a phrase and change its meaning: "yesterday" + "evening", "1 May" + "to 5 May"."""

    pattern: str
    build: Continue
    level: Level


@dataclass(frozen=True, slots=True, eq=False)
class TimeRules:
    """Time words and rules of one language.

    Attributes:
        code: ISO 639-1 code.
        words: the word tables.
        rules: the phrases.
        continuations: what may follow the phrases.
    """

    code: str
    words: Words
    rules: tuple[Rule, ...]
    continuations: tuple[Continuation, ...]

    def __post_init__(self) -> None:
        """Validate words and rules when the language is loaded.

        Raises:
            InvalidRule: names the language, the rule or table, and what is wrong.
        """
        check_words(self.code, self.words)
        for rule in self.rules:
            check_rule(self.code, rule.pattern, rule.build, self.words)
        for then in self.continuations:
            check_rule(self.code, then.pattern, then.build, self.words)


_REMEMBERED = 20_000  # number of cached first words
_MOST_STATES = 5_000  # maximum number of first words of a rule; rules with more are tried at every word
_MOST_REPEATS = 6
_FRAGMENT_LETTERS = 0xF0000  # first code point of a private use area
_FIRST_WORD = re.compile(r"\w+")
_FIGURE = re.compile(r"\d")


class _State(IntEnum):
    """What is known about the first word of a pattern's matches."""

    OPEN = 0  # a prefix; the pattern continues
    CLOSED = 1  # the whole word
    WILD = 2  # a prefix of the word


_States = frozenset[tuple[str, _State]]
_START: _States = frozenset({("", _State.OPEN)})
_ANYTHING: _States = frozenset({("", _State.WILD)})


class _Beginnings:
    """Computes the first words that rule patterns can match, in the form of `first_word`.

    If Python's internal regex parser is unavailable, every rule may start with any word.
    """

    def __init__(self, parts: Mapping[str, str]) -> None:
        try:
            self._parser: Any = import_module("re._parser")
        except ImportError:
            self._parser = None
        # Each fragment becomes a private-use letter, and is parsed once.
        self._letters = {name: chr(_FRAGMENT_LETTERS + place) for place, name in enumerate(parts)}
        self._fragments: dict[int, _States] = {}
        if self._parser:
            for name, letter in self._letters.items():
                self._fragments[ord(letter)] = self._parsed(parts[name])

    def of(self, pattern: str) -> _States:
        """Return how a match of a rule's pattern can begin: with whole words (CLOSED) or with beginnings of words (WILD)."""
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
        """Return the states after one more item of a pattern, given the word's letters so far."""
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
    """A rule whose pattern is compiled on first use."""

    def __init__(self, rule: Rule, parts: Mapping[str, str]) -> None:
        self.rule, self.level, self.weak = rule, rule.level, rule.weak
        self._parts = parts

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return compiled(self.rule.pattern, self._parts)


class Grammar:
    """A language's rules, indexed by the first words they can match, so that few are tried at each word."""

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
        """Return the rules that may match at a word, in order.

        Args:
            word: in the form of `first_word`.
        """
        places = set(self._whole.get(word, ()))
        for end in range(len(word) + 1):
            places |= self._begun.get(word[:end], set())
        return tuple(self.rules[place] for place in sorted(places))


@cache
def grammar_of(language: TimeRules) -> Grammar:
    """Return the cached grammar of a language; building it takes about 20 ms."""
    return Grammar(language)


def first_word(text: str, at: int) -> str:
    """Return the word at an offset in lower case, with 0 for every digit; empty if there is none."""
    found = _FIRST_WORD.match(text, at)
    return _FIGURE.sub("0", found[0].lower()) if found else ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The context in which phrases are read.

    Attributes:
        text: the folded text that patterns are matched against.
        spelled: the text with its accents, which distinguish tenses.
        now: the reference time, local and naive.
        grammar: rules and words.
        direction: where times without a year lie.
        year: the year of a neighbouring phrase.
        telling: whether the text is a statement.
        week_starts: first day of the week.
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
        """Return the longest phrase at an offset whose level is `below` or lower."""
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
        """Return the same as `read`, but None for an impossible time."""
        reading = self.read(at, below)
        return reading if reading and reading.span else None

    def readings(self, start: int, end: int) -> Iterator[Reading]:
        """Yield all phrases between two offsets, left to right, without impossible times."""
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
        """Return a copy in which phrases without a year are in this year."""
        return replace(self, year=year)

    def unit_around(self, unit: Unit, moment: datetime) -> Span:
        """Return the calendar unit that contains a moment; weeks start on `week_starts`."""
        return containing(unit, moment, self.week_starts)

    def after(self, moment: datetime) -> Scope:
        """Return a copy that looks forward from `moment`."""
        return replace(self, now=moment, direction=Direction.FUTURE)

    def before(self, moment: datetime) -> Scope:
        """Return a copy that looks back from `moment`."""
        return replace(self, now=moment, direction=Direction.PAST)

    def _built(self, match: re.Match[str], rule: Rule) -> Reading | None:
        try:
            meaning = rule.build(match, self)
        except (ValueError, OverflowError):
            return Reading(match.start(), self._end(match, rule), None)
        return Reading(match.start(), match.end(), meaning) if isinstance(meaning, Span) else meaning

    def _end(self, match: re.Match[str], rule: Rule) -> int:
        """Return the end of an impossible phrase: "the fifth Monday of May 2023" includes the month."""
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


# The start of a word, but not digits within numbers, amounts, tags and addresses.
_TOKEN = re.compile(r"(?<![\w@#$\u20ac\u00a3'-])(?:[^\W\d_]|(?<![.:/,])[0-9])|(?<!\w)'(?=[0-9]0[^\W\d_]*\b)")


_REACH = 9  # number of years searched in each direction; 29 February is at most eight years away
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_SHORT_YEAR = re.compile(r"(?<![0-9])[0-9]{2}(?![0-9])")


def _around(scope: Scope, make: YearlyTime) -> list[Span]:
    """Return a yearly time in each year around now, in order; years without it (29 February) are skipped."""
    spans = []
    for year in range(scope.now.year - _REACH, scope.now.year + _REACH + 1):
        try:
            spans.append(make(year))
        except (ValueError, OverflowError):
            continue
    return spans


def unspecified(scope: Scope, make: YearlyTime) -> Span:
    """Return a yearly time in the neighbouring phrase's year, else the latest begun or, ahead, the first not over.

    Raises:
        ValueError: there is none.
    """
    if scope.year is not None:
        return replace(make(scope.year), floating=True)
    spans = _around(scope, make)
    if scope.direction is Direction.FUTURE:
        found = next((span for span in spans if span.end > scope.now), None)
    else:
        found = next((span for span in reversed(spans) if span.start <= scope.now), None)
    if found is None:
        raise ValueError("the expression names no time near the reference time")
    return replace(found, floating=True)


def relative(scope: Scope, make: YearlyTime, which: Which) -> Span:
    """Return the last occurrence of a yearly time that is over, the current or this year's one, or the next to start.

    Raises:
        ValueError: there is none.
    """
    spans = _around(scope, make)
    if which is Which.LAST:
        found = next((span for span in reversed(spans) if span.end <= scope.now), None)
    elif which is Which.NEXT:
        found = next((span for span in spans if span.start > scope.now), None)
    else:
        found = next((span for span in spans if span.start <= scope.now < span.end), make(scope.now.year))
    if found is None:
        raise ValueError("the expression names no time near the reference time")
    return found


def of_tail(scope: Scope, make: YearlyTime, tail: str) -> Span:
    """Return a date that recurs every year, in the year that the following words name ("2023", "'23", "of last year"), else `unspecified`."""
    year = year_of_tail(scope, tail)
    return unspecified(scope, make) if year is None else make(year)


def year_of_tail(scope: Scope, tail: str) -> int | None:
    """Return the year that follows a month, season or holiday, or None."""
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
    """Return the count in "two years ago", "3 years ago"."""
    found = regex(words.years_ago).search(plain)
    if not found:
        return None
    return words.numbers.get(found[1]) or int(found[1])


def short_year(digits: int, scope: Scope) -> int:
    """Return the year of "'23": the latest such year that has begun."""
    return scope.now.year - (scope.now.year - digits) % 100


# Maximum characters searched for a time, because long runs of time words take superlinear time.
READ_CHARACTERS = 3_000

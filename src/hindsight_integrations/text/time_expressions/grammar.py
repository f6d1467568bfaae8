"""The engine: rules tried at each word, the longest reading wins, and readings never overlap.

A rule is a small pattern and a function from its match to a span. Rules have levels, so that a composite rule reads
only simpler phrases and recursion ends: "since | early | last month" is RANGE, PART, ATOM.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum, StrEnum
from functools import cache

from hindsight_integrations.model.time import Weekday
from hindsight_integrations.text.time_expressions.calendar import Span, Unit, containing
from hindsight_integrations.text.time_expressions.needs import check_rule, check_words
from hindsight_integrations.text.time_expressions.patterns import TIME, compiled, fragments
from hindsight_integrations.text.time_expressions.words import Words


class Level(IntEnum):
    """What a phrase may be part of."""

    ATOM = 0  # "last May", "two weeks ago"
    PART = 1  # "early last May", "two weeks before Christmas"
    RANGE = 2  # "since early last May"


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


@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """A language with its patterns compiled."""

    words: Words
    rules: tuple[tuple[re.Pattern[str], Rule], ...]
    continuations: tuple[tuple[re.Pattern[str], Continuation], ...]


@cache
def grammar_of(language: TimeRules) -> Grammar:
    """The compiled grammar of a language; costs some 50 ms the first time."""
    parts = fragments(language.words)
    return Grammar(
        language.words,
        tuple((compiled(rule.pattern, parts), rule) for rule in language.rules),
        tuple((compiled(then.pattern, parts), then) for then in language.continuations),
    )


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
            for pattern, rule in self.grammar.rules
            if rule.level <= below
            and (weak or not rule.weak)
            and (match := pattern.match(self.text, at))
            and (reading := self._built(match, rule))
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

"""What the words of a question over records say, one by one: cues, numbers, a time, and what is left. Pure (decision 135)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache

from hindsight_integrations.model.time import Granule, LocalDates
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.record_words import NEVER, Cue, RecordWords
from hindsight_integrations.text.time_expressions import TimeWindow, find_window
from hindsight_integrations.text.time_expressions.grammar import TimeRules
from hindsight_integrations.text.vocabulary.amounts import read_number

LONGEST = 300  # characters of such a question; what is longer tells a story
_WORD = re.compile(r"[^\W_]+(?:['.&+-][^\W_]+)*|[$€£]")
_NUMBER = re.compile(
    r"(?P<sign>[$€£]\s?)?(?P<digits>\d+(?:[.,]\d+)*)(?P<scale>k)?\s?(?P<after>[$€£])?(?![\w.,-]*\w)"
)
_SENTENCES = re.compile(r"[?!;](?=\s+\S)|(?<=[^\W\d]{3})\.(?=\s+\S)")
_ABOUT_PERIODS = frozenset({Cue.WHICH_PERIOD, Cue.HOW_MANY_PERIODS, Cue.PER_PERIOD})
_DOTTED = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A phrase of a question.

    Attributes:
        words: as written, in small letters.
        cue: what it says; None for what the language has no cue for.
        period: of a cue that speaks of one.
        number: of a number.
        sign: of money, written at the number.
    """

    words: str
    cue: Cue | None = None
    period: Granule | None = None
    number: Decimal | None = None
    sign: str = ""


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question, read word by word.

    Attributes:
        pieces: its phrases, without what says nothing; words without a cue that stand together are one.
        window: the time it names; None if it names none.
        terse: it is no sentence: "coffee total October".
        habitual: it asks for what is usually so, unless it names a time.
    """

    pieces: tuple[Piece, ...]
    window: TimeWindow | None
    terse: bool
    habitual: bool


def read_question(text: str, moment: datetime, dates: LocalDates, language: Language) -> ReadQuestion | None:
    """A question word by word; None where it is no single question, or begins as none over records does.

    Args:
        text: the question.
        moment: when it is put (aware).
        dates: the zone of days, and on which of them weeks begin.
        language: whose words are looked for.
    """
    words = language.records
    if len(text) > LONGEST or words.opening.pattern == r"(?!)":
        return None
    spelled = words.rewritten(" ".join(text.replace("\u2019", "'").split()).strip(" ?!.\u00bf\u00a1"))
    lowered = spelled.lower()
    if _SENTENCES.search(spelled) or len(lowered) != len(spelled):
        return None
    about_periods = _blanked(spelled, _periods(lowered, words))
    window = _time_in(about_periods, moment, dates, language.times) if language.times else None
    cut = [] if window is None else [window.span]
    opened = words.opening.match(_blanked(lowered, cut).lstrip(" ,")) is not None
    if not opened and words.sentence.search(lowered):
        return None
    pieces = _pieces(_blanked(lowered, cut), language)
    if window is None and language.times:
        pieces, window = _bare_time(pieces, moment, dates, language.times)
    return ReadQuestion(pieces, window, not opened, words.habit.search(lowered) is not None)


def _bare_time(
    pieces: tuple[Piece, ...], moment: datetime, dates: LocalDates, rules: TimeRules
) -> tuple[tuple[Piece, ...], TimeWindow | None]:
    """The pieces without a bare month or the like behind all else, and that time: "coffee total October"."""
    if not pieces or pieces[-1].cue or pieces[-1].number is not None:
        return pieces, None
    before, _, last = pieces[-1].words.rpartition(" ")
    window = _time_in(last.title(), moment, dates, rules)
    if window is None or window.phrase != last.title():
        return pieces, None
    return (*pieces[:-1], *([Piece(before)] if before else [])), window


def _time_in(text: str, moment: datetime, dates: LocalDates, rules: TimeRules) -> TimeWindow | None:
    return find_window(text, moment, dates.zone, rules=rules, week_starts=dates.week_starts)


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    for start, end in spans:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _periods(lowered: str, words: RecordWords) -> list[tuple[int, int]]:
    """Where a question speaks of days, weeks or months in general, which the grammar of times must not read."""
    found = []
    for token in _WORD.finditer(lowered):
        match, cue = _longest(lowered, token.start(), words)
        if match and cue in _ABOUT_PERIODS:
            found.append(match.span())
    return found


def _pieces(text: str, language: Language) -> tuple[Piece, ...]:
    words, pieces = language.records, list[Piece]()
    at, rest_end = 0, -1
    while token := _WORD.search(text, at):
        start = token.start()
        match, cue = _longest(text, start, words)
        if match and cue:
            pieces.append(Piece(match[0], cue, _period(match[0], cue, words)))
            at = match.end()
        elif number := _number(text, start, decimal_comma=language.decimal_comma):
            pieces.append(number[0])
            at = number[1]
        else:
            named = _named_things(words).match(text, start)
            at = named.end() if named else token.end()
            if not named and token[0] in words.filler:
                continue
            if rest_end >= 0 and text[rest_end:start] == " ":
                pieces[-1] = Piece(f"{pieces[-1].words} {text[start:at]}")
            else:
                pieces.append(Piece(text[start:at]))
            rest_end = at
    return tuple(pieces)


def _period(said: str, cue: Cue, words: RecordWords) -> Granule | None:
    if cue not in _ABOUT_PERIODS:
        return None
    return next((words.periods[word] for word in said.split() if word in words.periods), None)


def _number(text: str, at: int, *, decimal_comma: bool) -> tuple[Piece, int] | None:
    """A number and where it ends; "1.200" and "1,200" as the language writes thousands."""
    found = _NUMBER.match(text, at)
    if found is None:
        return None
    digits = found["digits"]
    if decimal_comma and _DOTTED.fullmatch(digits):
        digits = digits.replace(".", "")
    number = read_number(digits)
    if number is None:
        return None
    sign = (found["sign"] or found["after"] or "").strip()
    return Piece(found[0], number=number * 1000 if found["scale"] else number, sign=sign), found.end()


def _longest(text: str, at: int, words: RecordWords) -> tuple[re.Match[str] | None, Cue | None]:
    """The longest cue that begins there; of several as long, the first of the language's table."""
    best: tuple[re.Match[str] | None, Cue | None] = (None, None)
    for cue, pattern in _compiled(words):
        match = pattern.match(text, at)
        if match and (best[0] is None or match.end() > best[0].end()):
            best = (match, cue)
    return best


@cache
def _named_things(words: RecordWords) -> re.Pattern[str]:
    """Things called by several words, fillers among them: "cups of coffee"."""
    names = sorted((name for name in words.things if " " in name), key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, names))})(?![\w'])") if names else NEVER


@cache
def _compiled(words: RecordWords) -> tuple[tuple[Cue, re.Pattern[str]], ...]:
    return tuple((cue, re.compile(rf"(?:{pattern})(?![\w'])")) for cue, pattern in words.cues.items())

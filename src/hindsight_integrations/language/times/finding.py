"""Finding the time that a question asks about or a statement refers to, ignoring titles, names and habits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import chain

from hindsight_integrations.language.times.calendar import GRANULE_OF, TimeWindow, Unit, as_interval
from hindsight_integrations.language.times.grammar import (
    READ_CHARACTERS,
    Decoys,
    Direction,
    Level,
    Reading,
    Scope,
    TimeRules,
    Words,
    any_of,
    folded,
    grammar_of,
    regex,
    word,
)
from hindsight_integrations.model.time import Weekday, as_utc

_PAIRS = (
    '""',
    "\u201c\u201d",
    "\u201e\u201c",
    "\u201e\u201d",
    "\u00ab\u00bb",
    "\u00bb\u00ab",
    "''",
    "\u2018\u2019",
    "\u201a\u2018",
)


# Times inside titles are ignored: quotations, and headings after a colon.
def _quotation(pair: str) -> str:
    first, last = pair[0], pair[1]
    inside = rf"[^{pair}\n]*(?:(?<=\w)'(?=\w)[^{pair}\n]*)*"
    return rf"(?<![\w{first}]){first}(?=\S)(?!'?[0-9]{{2}}\b){inside}(?<=\S){last}(?!\w)"


_QUOTED = re.compile("|".join(map(_quotation, _PAIRS)))
"""A quotation with its marks; apostrophes inside words and before years ("'23") are not quotation marks."""
_HEADED = re.compile(r":\s+(?P<title>[^\s?!][^\n?!]*?)(?=[?!\n]|\.\s|\.?\s*$)")
"""The text after a colon, up to the end of the sentence."""
_TITLE_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
# Minimum letters of a word that is capitalised in titles; "of", "the", "del", "für" are shorter.
_SHORTEST = 4
_GOES_ON = re.compile(rf"(?:\s+(?=[^\W\d_]{{{_SHORTEST}}})[^\W\d_][\w'\u2019-]+){{3}}")
"""Three longer words after a time; `_has_capitals` checks their capitals."""
_NUMBERED = re.compile(r"\b[A-Z]\w*(?<=[0-9])|\b[A-Z][a-z]+ [0-9]{4}$")
"""A capitalised time with a number ("Q3", "Summer 2023"); three capitalised words after "on Monday" are a person's name."""
_MARKS = " \t\r\n?!.,;:\u00bf\u00a1"


def outside_titles(text: str, windows: Sequence[TimeWindow], words: Words) -> list[TimeWindow]:
    """Return the time windows of a question that are not inside a title.

    A quotation is a title unless it is the whole question or only a lower-case time. Text after a colon is a title if its
    longer words are capitalised and it is more than a time with one word before it: "Write notes for: Q3 Patient Campaign
    Review", but not "Expenses: food in Q3". Without a colon, a capitalised time with a number inside a sentence starts a
    title if three longer capitalised words follow: "notes for Q3 Patient Education Campaign Review".

    Args:
        text: the question.
        windows: the windows found in the question.
        words: the time words of the language.
    """
    titles = [*_quotations(text, windows, words), *_headed(text, windows, words)]
    return [
        window
        for window in windows
        if not any(_within(window, title) for title in titles) and not _title_goes_on(text, window)
    ]


def is_in_quoted_title(text: str, window: TimeWindow) -> bool:
    """Return whether a statement's time is inside a quotation with title capitals; other quotations may date an event."""
    return any(
        _within(window, found.span()) and _has_capitals(found[0])
        for found in _QUOTED.finditer(text)
        if found[0][1:-1] != window.phrase
    )


def _quotations(text: str, windows: Sequence[TimeWindow], words: Words) -> Iterator[tuple[int, int]]:
    for found in _QUOTED.finditer(text):
        start, end = found.span()
        said = found[0][1:-1]
        whole = not (text[:start] + text[end:]).strip(_MARKS)
        time_alone = any(window.phrase == said for window in windows)
        if not whole and not (time_alone and not regex(words.decoys.capital, exact=True).match(said)):
            yield start, end


def _headed(text: str, windows: Sequence[TimeWindow], words: Words) -> Iterator[tuple[int, int]]:
    for found in _HEADED.finditer(text):
        title, span = found["title"], found.span("title")
        if not _has_capitals(title) or regex(words.decoys.question).match(title):
            continue
        inside = [window.span for window in windows if _within(window, span)]
        names = [
            place.start() + span[0]
            for place in _TITLE_WORD.finditer(title)
            if len(place[0]) >= _SHORTEST
            and not any(start <= place.start() + span[0] < end for start, end in inside)
        ]
        last = max((start for start, _ in inside), default=0)
        if len(names) > 1 or any(place > last for place in names):
            yield span


def _title_goes_on(text: str, window: TimeWindow) -> bool:
    start, end = window.span
    behind = _GOES_ON.match(text, end)
    numbered = text[:start].strip(_MARKS) != "" and _NUMBERED.search(window.phrase) is not None
    return numbered and behind is not None and _has_capitals(behind[0])


def _within(window: TimeWindow, title: tuple[int, int]) -> bool:
    return title[0] <= window.span[0] and window.span[1] <= title[1]


def _has_capitals(title: str) -> bool:
    """Return whether every longer word of a text is capitalised."""
    return all(name[0][0].isupper() for name in _TITLE_WORD.finditer(title) if len(name[0]) >= _SHORTEST)


_LOOK_BACK, _LOOK_AHEAD = 60, 40  # number of characters read before and after a time phrase
_SENTENCE_START = re.compile(r"(?:^|[.!?:\n]\s*)[\"'(\u00bf\u00a1]*$")
_ONE_CAPITAL = re.compile(r"[A-Z][a-z]+")
_WORD = re.compile(r"[^\W\d_]+")


def is_decoy(reading: Reading, scope: Scope, sentence: str) -> bool:
    """Return whether a time phrase is not a time in its context, but a habit, a name, a title or a thing."""
    decoys, text = scope.words.decoys, scope.text
    before = text[max(0, reading.start - _LOOK_BACK) : reading.start]
    phrase, after = text[reading.start : reading.end], text[reading.end : reading.end + _LOOK_AHEAD]
    if (
        regex(decoys.before).search(before)
        or regex(decoys.around).search(f"{before}\0{phrase}")
        or regex(decoys.after).match(after)
        or _is_titled(phrase, before, decoys)
        or _is_work(phrase, before, after, decoys)
        or _belongs_to_someone(phrase, before, scope.words)
        or (reading.span and reading.span.floating and regex(decoys.habits).search(sentence))
        or _is_yearly(reading, phrase, sentence, scope)
        or _is_habit(phrase, before, after, scope.words)
        or _is_weekly(phrase, sentence, scope)
    ):
        return True
    article = regex(decoys.article).match(phrase)
    bare = phrase[article.end() :] if article else phrase
    return _is_bare(bare, scope.words) and _is_thing(bare, before, after, decoys)


def _is_titled(phrase: str, before: str, decoys: Decoys) -> bool:
    """Return whether a phrase is a title: "Who stars in 2001", "The Day After Tomorrow"."""
    plain = regex(decoys.plain_end).search(phrase)  # "Who wrote Monday's report, the 2014 paper?"
    if _is_capital(phrase, decoys) and not plain and regex(decoys.title_before).search(before):
        return True
    inside = regex(decoys.title_words, exact=True).search(phrase)
    return inside is not None and not _SENTENCE_START.search(before + phrase[: inside.start()])


def _is_work(phrase: str, before: str, after: str, decoys: Decoys) -> bool:
    """Return whether a phrase names a work: "The Tonight Show", "Is Last Christmas by Wham?", "my copy of 1984"."""
    shown = regex(decoys.show_before, exact=True).search(before)
    if shown and _ONE_CAPITAL.fullmatch(phrase) and _goes_on(after, decoys):
        return True
    if _is_capital(phrase, decoys) and regex(decoys.title_after).search(f"{before}\0{after}"):
        return True
    if regex(decoys.of_figures).fullmatch(phrase):
        return regex(decoys.copies).search(before) is not None
    return phrase.isdigit() and regex(decoys.numbered_titles, exact=True).search(before) is not None


def _belongs_to_someone(phrase: str, before: str, words: Words) -> bool:
    """Return whether a phrase is an age ("in her early 40s") or a personal year ("in my last year")."""
    if regex(words.decoys.decade).search(phrase) and regex(words.decoys.before_decade).search(before):
        return True
    which = regex(rf"(?:{any_of(words.which)})\b").match(phrase)
    return which is not None and regex(words.decoys.before_which).search(before) is not None


def _is_bare(phrase: str, words: Words) -> bool:
    plain = word(phrase)
    tables = (words.months, words.weekdays, words.seasons, words.holidays, words.near)
    return any(plain in table for table in tables) or plain.isdigit()


def _is_habit(phrase: str, before: str, after: str, words: Words) -> bool:
    """Return whether a weekday is a habit: "my Sunday rides"."""
    owned = word(phrase) in words.weekdays and regex(words.decoys.owner_before).search(before)
    return bool(owned and regex(words.decoys.plural_after).match(after))


def _is_yearly(reading: Reading, phrase: str, sentence: str, scope: Scope) -> bool:
    """Return whether a phrase is a yearly habit in the present tense: "¿Adónde voy en verano?"."""
    if reading.span is None or not reading.span.floating or scope.direction is Direction.FUTURE:
        return False
    words = scope.words
    if regex(words.asks_back).search(scope.spelled) or not regex(words.decoys.yearly_habits).search(sentence):
        return False
    plain = phrase.lower()
    return not any(map(str.isdigit, plain)) and not any(
        name in words.weekdays for name in _WORD.findall(plain)
    )


def _is_weekly(phrase: str, sentence: str, scope: Scope) -> bool:
    """Return whether a phrase is a range of weekdays that recurs every week: "open Monday to Friday"."""
    words = scope.words
    names = [name for name in _WORD.findall(phrase.lower()) if name in words.weekdays]
    if len(names) <= 1 or regex(words.asks_back).search(scope.spelled):
        return False
    return regex(words.decoys.range_habits).search(sentence) is not None


def _is_thing(phrase: str, before: str, after: str, decoys: Decoys) -> bool:
    """Return whether a bare time word names a person, an animal, a work or a kind of thing."""
    around = ((decoys.before_bare, before), (decoys.things_before, before))
    if any(regex(pattern).search(text) for pattern, text in around):
        return True
    if any(regex(pattern).search(after) for pattern in (decoys.after_bare, decoys.things_after)):
        return True
    named = _is_named(before, decoys) and not regex(decoys.named_people, exact=True).search(before)
    return phrase[0].isupper() and (named or _goes_on(after, decoys))


def _goes_on(after: str, decoys: Decoys) -> bool:
    return regex(decoys.name_after, exact=True).match(after) is not None


def _is_capital(phrase: str, decoys: Decoys) -> bool:
    return regex(decoys.capital, exact=True).match(phrase) is not None


def _is_named(before: str, decoys: Decoys) -> bool:
    """Return whether a name precedes the time word ("Ruby Tuesday"); a word that starts a sentence does not count."""
    name = regex(decoys.name_before, exact=True).search(before)
    return name is not None and not _SENTENCE_START.search(before[: name.start()])


# A full stop before a lower-case letter or digit, or after a day ("3. Mai"), ends no sentence.
_SENTENCE = re.compile(
    r"(?:[^.!?\n]|[.!?](?!\s)|\.(?=\s+[a-z\u00df-\u00f6\u00f8-\u00ff0-9])|(?<=\b[0-9])\.|(?<=\b[0-9]{2})\.)+[.!?\n]*\s*"
)
_PADDING = " \t\r\n?!.,;:\"'()\u00bf\u00a1\u00ab\u00bb\u201e\u201c\u201d"

_DATE = re.compile(
    r"[0-9]{4}|[0-9]\s?[-./:'][0-9]|[0-9][^\W\d]|[^\W\d][0-9]"
)  # numbers that are not small counts
# Amounts of money, which without a verb may have been spent or be due.
_AMOUNT = re.compile(r"[$\u20ac\u00a3]|[0-9][.,][0-9]{2}(?![0-9])")
_TOKEN = re.compile(r"[^\W\d_]+")
_TELLING = 4  # minimum letters of a time word inside a compound ("Freitagabend")


def find_window(
    text: str,
    reference: datetime,
    zone: tzinfo = UTC,
    *,
    rules: TimeRules,
    week_starts: Weekday = Weekday.MONDAY,
) -> TimeWindow | None:
    """Find the time window that a question asks about.

    Times without a year are in the past ("in May" is the latest May that has begun, "on Friday" the last Friday) unless
    their sentence asks about the future ("what will I do on Friday?"). Of several times, the shortest is returned; of
    equally long ones, one with digits, or else the first.

    Args:
        text: the question.
        reference: when the question was asked; naive times are in `zone`.
        zone: the time zone of days and hours.
        rules: the time rules of the language.
        week_starts: first day of the week; ISO 8601 weeks ("2024-W23") always start on Monday.

    Returns:
        The window, or None if the first 3,000 characters name no possible time. Arbitrary text never raises.
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
    """Find when the event in a statement happened or will happen.

    The first time counts; open-ended times ("since 2020", "until Friday") date no event. A time without a year is in the
    past with a past-tense verb ("we went to Rome in December"), else in the future ("dentist on December 3"). An ambiguous
    time is ignored ("I bought a dress for the wedding on Friday"). The arguments are those of `find_window`.
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
    """Resolve a statement's time to the past or the future by the statement's verb; return None if that is ambiguous.

    Args:
        reading: the time's reading.
        scope: the scope in which it was read.
        sentence: the match of its sentence.
    """
    coming = replace(scope, direction=Direction.FUTURE)
    ahead = coming.read(reading.start)
    if scope.direction is Direction.FUTURE or ahead is None or ahead.span == reading.span:
        return reading  # the tense is known, or the time has a year or is relative to now
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
    """Return the sort key of a window's vagueness: its length, and whether its phrase has no digits."""
    return window.interval.end - window.interval.start, not any(map(str.isdigit, window.phrase))


def _scope(text: str, reference: datetime, zone: tzinfo, rules: TimeRules, week_starts: Weekday) -> Scope:
    now = as_utc(reference, zone).astimezone(zone).replace(tzinfo=None)
    spelled = folded(text[:READ_CHARACTERS])
    folding = rules.words.folding
    return Scope(spelled.translate(folding), spelled, now, grammar_of(rules), week_starts=week_starts)


def _clauses(past: Scope, sentence: re.Match[str]) -> Iterator[tuple[Scope, int, int]]:
    """Split a sentence into clauses about the past and the future: "We're going to meet on Sunday, where was that?"."""
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
    """Return whether a whole sentence is about the future."""
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
    """Read a question that is only a time, such as "March" or "2023"; inside a question these need more evidence."""
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
    start, end = reading.start, reading.end
    from_now = _is_from_now(scope.text[start:end], scope.words)
    return TimeWindow(interval, GRANULE_OF[reading.span.unit], text[start:end], (start, end), from_now)


def _is_from_now(phrase: str, words: Words) -> bool:
    """Return whether a phrase has no date, month, weekday, weekend, season, holiday or part of a day."""
    if _DATE.search(phrase):
        return False
    weekends = [name for name, unit in words.units.items() if unit is Unit.WEEKEND]
    tables = (words.months, words.weekdays, words.seasons, words.holidays, words.day_parts, words.part_names)
    return not any(
        name == token or (len(name) >= _TELLING and name in token)
        for token in _TOKEN.findall(phrase.lower())
        for name in chain(weekends, *tables)
    )

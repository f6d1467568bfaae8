"""Times that are part of a title and so none: of a quotation, or of what is named behind a colon. Pure (decision 163)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hindsight_integrations.text.time_expressions.patterns import regex
from hindsight_integrations.text.time_expressions.window import TimeWindow
from hindsight_integrations.text.time_expressions.words import Words

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


def _quotation(pair: str) -> str:
    first, last = pair[0], pair[1]
    inside = rf"[^{pair}\n]*(?:(?<=\w)'(?=\w)[^{pair}\n]*)*"
    return rf"(?<![\w{first}]){first}(?=\S)(?!'?[0-9]{{2}}\b){inside}(?<=\S){last}(?!\w)"


_QUOTED = re.compile("|".join(map(_quotation, _PAIRS)))
"""A quotation with its marks; an apostrophe inside a word ends none, and the one of a year ("'23") begins none."""
_HEADED = re.compile(r":\s+(?P<title>[^\s?!][^\n?!]*?)(?=[?!\n]|\.\s|\.?\s*$)")
"""What stands behind a colon, to the end of its sentence."""
_WORD = re.compile(r"[^\W\d_][\w'\u2019-]*")
_SHORTEST = (
    4  # letters of a word that a title writes with a capital: "of", "the", "del", "f\u00fcr" may be small
)
_GOES_ON = re.compile(rf"(?:\s+(?=[^\W\d_]{{{_SHORTEST}}})[^\W\d_][\w'\u2019-]+){{3}}")
"""Three longer words behind a time."""
_NUMBERED = re.compile(r"\b[A-Z]\w*(?<=[0-9])|\b[A-Z][a-z]+ [0-9]{4}$")
"""A time with a capital and a figure: "Q3", "Summer 2023"; behind "on Monday" three words in capitals are somebody's name."""
_MARKS = " \t\r\n?!.,;:\u00bf\u00a1"


def outside_titles(text: str, windows: Sequence[TimeWindow], words: Words) -> list[TimeWindow]:
    """The windows of a question but for those that stand in a title.

    A quotation is a title, unless it is the whole question, or a time in small letters and nothing else. So is what a
    colon heads, if its longer words have capitals and it is more than a time and one word in front of it: "Write notes
    for: Q3 Patient Campaign Review", but not "Expenses: food in Q3". Without a colon a time with a capital and a figure
    is one inside a sentence, with three longer words in capitals behind it: "notes for Q3 Patient Education Campaign Review".

    Args:
        text: the question.
        windows: what was found in it.
        words: of the language in which it was found.
    """
    titles = [*_quotations(text, windows, words), *_headed(text, windows, words)]
    return [
        window
        for window in windows
        if not any(_within(window, title) for title in titles) and not _goes_on(text, window)
    ]


def is_in_quoted_title(text: str, window: TimeWindow) -> bool:
    """Whether a window of a statement stands in a quotation that is written as a title: what was said may date an event."""
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
            for place in _WORD.finditer(title)
            if len(place[0]) >= _SHORTEST
            and not any(start <= place.start() + span[0] < end for start, end in inside)
        ]
        last = max((start for start, _ in inside), default=0)
        if len(names) > 1 or any(place > last for place in names):
            yield span


def _goes_on(text: str, window: TimeWindow) -> bool:
    start, end = window.span
    behind = _GOES_ON.match(text, end)
    numbered = text[:start].strip(_MARKS) != "" and _NUMBERED.search(window.phrase) is not None
    return numbered and behind is not None and _has_capitals(behind[0])


def _within(window: TimeWindow, title: tuple[int, int]) -> bool:
    return title[0] <= window.span[0] and window.span[1] <= title[1]


def _has_capitals(title: str) -> bool:
    """Whether every longer word begins with a capital."""
    return all(name[0][0].isupper() for name in _WORD.finditer(title) if len(name[0]) >= _SHORTEST)

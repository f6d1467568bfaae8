"""The time a question asks about, and what is searched for once that time is known (paper section 4.2.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.model.time import Interval
from hindsight_integrations.search.channels.selection import Selection
from hindsight_integrations.search.temporal import matches
from hindsight_integrations.tempr.recall.context import Asked, timed
from hindsight_integrations.text.dates import question_time
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.times.calendar import TimeWindow

# Printed by hindsight-evals bench asked_times: of LoCoMo conv-26, 41, 43 time searched earns 0.8, 1.2, 0.4 and 0.2 points of evidence where
# 50, 65, 80 and 90 % of the turns are of the time added to a question; where 89 % to all are, it costs 1.4.
SAYS_NOTHING = 0.9
"""Share of the memories that may be returned from which on a window tells none of them from the others."""
LONG = timedelta(days=31)
"""The longest window whose words the dates beside the memories' texts repeat: "in May 2023"."""

_PARSER_FAILURES = (HindsightError, ValueError, LookupError, RuntimeError, OSError)  # see ports/time_parser
_EDGES = " \t\r\n,;:-"
_BEFORE_MARK = re.compile(r"\s+(?=[?!.,;:])")


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time of a question, and what it leaves to be searched for.

    Attributes:
        window: the question's time, given or found in the text; None for a timeless question.
        searched: the same where it tells some memories from others, so that time is searched.
        words: what is searched for by words.
        meaning: what is searched for by meaning.
        selected: which memories may be found: those of the time alone where the question is nothing but a time.
        alone: whether it is nothing but a time: whatever is of it answers, however little its words are like the question.
    """

    window: Interval | None
    searched: Interval | None
    words: str
    meaning: str
    selected: Selection
    alone: bool = False


def asked_time(asked: Asked, selected: Selection) -> AskedTime:
    """The window of a query, else that of its words in the configured languages, in turn, else the parser's.

    Once time is searched, the words of a time disturb: "this week" stands beside no purchase. They are cut out of the
    text that is searched for (never of what the reranker reads), as far as that was measured to help:

    - of a window longer than a month, and of one that tells nothing, wherever the text is searched for;
    - of one counted from now ("yesterday") where words are searched for;
    - of a date, never: the vectors hold the memories' dates;
    - of a window that holds nothing, never: its words are all there is to go by.

    Args:
        asked: the question; its reference time is aware.
        selected: which memories may be returned.
    """
    query, tools = asked.query, asked.tools
    with timed(asked.trace, "time"):
        found = None
        if query.window is None:
            found = question_time(query.text, query.query_timestamp, tools.dates, tools.languages)
        window = query.window or (found.interval if found else _parsed(asked))
        if window is None:
            return AskedTime(None, None, query.text, query.text, selected)
        then = _of(window, asked, selected)
        rest = _without(query.text, found) if found and then.count else query.text
        if found and not all(_says_more(rest, language) for language in tools.languages):
            return AskedTime(window, window, query.text, query.text, then, alone=True)
        searched = window if _tells(then, selected, asked.trace.notes) else None
        everywhere = searched is None or window.end - window.start > LONG
        words = rest if everywhere or (found and found.from_now) else query.text
        return AskedTime(window, searched, words, rest if everywhere else query.text, selected)


def _parsed(asked: Asked) -> Interval | None:
    """What the caller's own parser reads; a parser that fails is noted in the trace."""
    query, tools = asked.query, asked.tools
    if tools.time_parser is None:
        return None
    try:
        return tools.time_parser(query.text, query.query_timestamp, tools.dates.zone)
    except _PARSER_FAILURES as error:
        asked.trace.notes.append(f"time_parser: failed, no window ({type(error).__name__}: {error})")
        return None


def _of(window: Interval, asked: Asked, selected: Selection) -> Selection:
    """Those of the memories selected that are of a window."""
    columns = asked.view.columns
    mask = matches(columns.starts, columns.ends, columns.mentioned, window) & selected.mask
    return Selection(mask, int(np.count_nonzero(mask)))


def _tells(then: Selection, selected: Selection, notes: list[str]) -> bool:
    """Whether a time tells some of the memories selected from others; the notes say where it does not."""
    share = then.count / max(selected.count, 1)
    if share < SAYS_NOTHING:
        return True
    notes.append(f"time: {share:.0%} of the memories are of that time, so it is not searched")
    return False


def _without(text: str, found: TimeWindow) -> str:
    """A question without the words of its time."""
    start, end = found.span
    return _BEFORE_MARK.sub("", " ".join(f"{text[:start]} {text[end:]}".split())).strip(_EDGES)


def _says_more(rest: str, language: Language) -> bool:
    """Whether what is left of a question asks for anything but whatever is of its time ("What happened?")."""
    whatever = {language.stem(word) for word in language.asking.whatever}
    return bool(content_stems(rest, language) - whatever)

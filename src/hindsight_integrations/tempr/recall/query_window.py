"""The time a question asks about: given with it, read from its words, or told by the caller's own parser."""

from __future__ import annotations

from hindsight_integrations.errors import HindsightError
from hindsight_integrations.model.requests import RecallQuery
from hindsight_integrations.model.time import Interval
from hindsight_integrations.tempr.recall.tools import RecallTools
from hindsight_integrations.text.times import question_time

_FAILURES = (HindsightError, ValueError, LookupError, RuntimeError, OSError)  # see ports/time_parser


def query_window(query: RecallQuery, tools: RecallTools, notes: list[str]) -> Interval | None:
    """The window of a query, else that of its words in the configured languages, in turn, else the parser's.

    Args:
        query: checked; its reference time is aware.
        tools: with the languages, how dates are read and perhaps a parser.
        notes: of the trace; a parser that fails is noted there.
    """
    if query.window:
        return query.window
    found = question_time(query.text, query.query_timestamp, tools.dates, tools.languages)
    return found or _parsed(query, tools, notes)


def _parsed(query: RecallQuery, tools: RecallTools, notes: list[str]) -> Interval | None:
    if tools.time_parser is None:
        return None
    try:
        return tools.time_parser(query.text, query.query_timestamp, tools.dates.zone)
    except _FAILURES as error:
        notes.append(f"time_parser: failed, no window ({type(error).__name__}: {error})")
        return None

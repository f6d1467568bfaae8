"""The words in which one language asks about records, and is answered (decision 135)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule

NEVER = re.compile(r"(?!)")
ANYTHING = re.compile("")


class Cue(StrEnum):
    """What a phrase of a question says of what is wanted."""

    HOW_MUCH = "how much"
    HOW_MANY = "how many"
    HOW_OFTEN = "how often"
    HOW_FAR = "how far"
    HOW_LONG = "how long"
    WHEN = "when"
    WHAT = "what"
    WHETHER = "whether"
    """The verb of a question that is answered with yes or no."""
    HOW_DOING = "how am I doing"
    TOTAL = "total"
    NUMBER = "number of"
    AVERAGE = "average"
    LAST = "last"
    LIST = "list"
    MOST = "most"
    LEAST = "least"
    FARTHEST = "farthest"
    DEAREST = "dearest"
    WHICH_PERIOD = "which day"
    HOW_MANY_PERIODS = "how many days"
    PER_PERIOD = "per day"
    PER_RECORD = "per purchase"
    GOAL = "goal"
    MET = "meet"
    MISSED = "miss"
    OVER = "over"
    UNDER = "under"
    AT_LEAST = "at least"
    MORE = "more than"
    AT_MOST = "at most"
    LESS = "less than"
    SPEND = "spend"
    COST = "cost"
    BUY = "buy"
    EARN = "earn"
    SPENDING = "spending"
    PURCHASES = "purchases"
    INCOME = "income"
    TASKS = "tasks"
    EVENTS = "events"
    PREFERENCES = "preferences"
    GOALS = "goals"


def _as_it_is(text: str) -> str:
    return text


def words_of(text: str) -> frozenset[str]:
    """The words of a text, each once; blanks part them."""
    return frozenset(text.split())


def by_form(things: Mapping[str, str]) -> dict[str, str]:
    """Each form of a word with the thing it means; forms are parted by commas, and the thing's own name is one.

    Raises:
        ValueError: a form means two things.
    """
    found: dict[str, str] = {}
    for thing, forms in things.items():
        for form in dict.fromkeys((thing, *filter(None, forms.split(", ")))):
            if found.setdefault(form, thing) != thing:
                raise ValueError(f"{form!r} means {found[form]!r} and {thing!r}")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class AnswerWords:
    """How an answer is worded; what stands in braces is put in.

    Attributes:
        records: how many records entered, singular and plural.
        kinds: what all records of a kind are called, by the kind's value.
        whenever: where no time was asked about.
        day: a time of one day.
        days: a time of several.
        list: an enumeration.
        total: a sum.
        count: a number of records.
        average: a mean over records.
        average_period: a mean over periods that have records.
        latest: the last record.
        goal: a goal against what was reached.
        goal_average: the same, of several periods.
        most: the period with the most.
        least: the period with the least.
        counted: how many periods of those with records.
        units: of periods: singular and plural of day, week and month.
        per: what a mean is per, by period.
        standing: what became of a goal: "met", "missed", "over", "under"; of a limit "kept", "broken"; "... so far".
        bounds: a target in words.
        none: where nothing is recorded.
        and_: between the last two of several.
    """

    records: tuple[str, str] = ("", "")
    kinds: Mapping[str, str] = field(default_factory=dict)
    whenever: str = ""
    day: str = ""
    days: str = ""
    list: str = ""
    total: str = ""
    count: str = ""
    average: str = ""
    average_period: str = ""
    latest: str = ""
    goal: str = ""
    goal_average: str = ""
    most: str = ""
    least: str = ""
    counted: str = ""
    units: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    per: Mapping[str, str] = field(default_factory=dict)
    standing: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, str] = field(default_factory=dict)
    none: str = ""
    and_: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ListingWords:
    """How a language asks for all records of a kind, beside what is answered exactly (decision 162).

    Attributes:
        asking: how such a question begins.
        kinds: what speaks of a kind, beside the cues of `RecordWords`.
        idle: words that do not say of which records.
    """

    asking: re.Pattern[str] = NEVER
    kinds: Mapping[RecordKind, re.Pattern[str]] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class RecordWords:
    """How a language asks about records. Patterns read small letters, at the beginning and end of words.

    Attributes:
        opening: how such a question begins; what begins otherwise is none.
        sentence: words that what is no question at its beginning, and yet is one, does not have: "coffee total October".
        cues: patterns by what they say. Where several match, the longest counts.
        periods: words for a day, a week, a month in cues that speak of them .
        filler: words that say nothing of what is asked for.
        things: what records may be of, in any form, by what it is called everywhere (English).
        rewritten: what is put in simple words before anything is read.
        habit: what asks for what is usually so, unless a time is named.
        at_most: in the memory of a goal, that it is a limit.
        at_least: that it is to be reached.
        done: in the text of a task, that it is done or gone.
        answers: the words of answers.
        listing: how all records of a kind are asked for.
    """

    opening: re.Pattern[str] = NEVER
    sentence: re.Pattern[str] = ANYTHING
    cues: Mapping[Cue, str] = field(default_factory=dict)
    periods: Mapping[str, Granule] = field(default_factory=dict)
    filler: frozenset[str] = frozenset()
    things: Mapping[str, str] = field(default_factory=dict)
    rewritten: Callable[[str], str] = _as_it_is
    habit: re.Pattern[str] = NEVER
    at_most: re.Pattern[str] = NEVER
    at_least: re.Pattern[str] = NEVER
    done: re.Pattern[str] = NEVER
    answers: AnswerWords = field(default_factory=AnswerWords)
    listing: ListingWords = field(default_factory=ListingWords)

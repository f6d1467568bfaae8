"""RecordWords: what a language says of records, for the record digest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule

NEVER = re.compile(r"(?!)")


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
class RecordWords:
    """Words in which a language speaks of records. Patterns are searched for in small letters.

    Attributes:
        figures: asks for a number ("how much", "on average", "the dearest").
        otherwise: asks for something else ("where", "who", "which coffee"), unless a word of `figures` stands beside it.
        advice: asks what should be, or why: never for what was recorded.
        lists: asks for all of something ("list", "which", "what's on").
        yes_or_no: begins a question that is answered with yes or no.
        which: words that, right in front of a thing, ask which one ("what coffee").
        goals: asks how a value stands to its goal.
        kinds: names a kind of record ("spent", "tasks").
        tail: what a compound may end in behind a thing ("Kaffeebudget"); matches nothing in languages without compounds.
        idle: words that name nothing, beside the stop words.
        things: what records may be of, in any form, by what it is called everywhere (English).
        periods: words for a day, a week, a month in the unit of a goal.
        at_most: says in the memory of a goal that it is a limit.
        at_least: says that it is to be reached.
        done: says in the text of a task that it is done or gone.
    """

    figures: re.Pattern[str] = NEVER
    otherwise: re.Pattern[str] = NEVER
    advice: re.Pattern[str] = NEVER
    lists: re.Pattern[str] = NEVER
    yes_or_no: re.Pattern[str] = NEVER
    which: frozenset[str] = frozenset()
    goals: re.Pattern[str] = NEVER
    kinds: Mapping[RecordKind, re.Pattern[str]] = field(default_factory=dict)
    tail: re.Pattern[str] = NEVER
    idle: frozenset[str] = frozenset()
    things: Mapping[str, str] = field(default_factory=dict)
    periods: Mapping[str, Granule] = field(default_factory=dict)
    at_most: re.Pattern[str] = NEVER
    at_least: re.Pattern[str] = NEVER
    done: re.Pattern[str] = NEVER

"""Facts of the short prompt as extraction's own: line numbers become ids, a date its words, a name an entity. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.model.facts import (
    ExtractedChange,
    ExtractedEntity,
    ExtractedFact,
    ExtractedRecord,
    MemoryChange,
)
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.requests import Message
from hindsight_integrations.model.time import Granule
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import FactType
from hindsight_integrations.prompts.answered_facts import AnsweredFact, AnsweredItem
from hindsight_integrations.prompts.concise_facts import MOST_CHARACTERS, ConciseFact
from hindsight_integrations.tempr.retain.time_normalisation import parse_moment
from hindsight_integrations.validation.roles import role_of

_WORD = re.compile(r"\w+")
_COUNTED = frozenset({RecordKind.EXPENSE, RecordKind.INCOME, RecordKind.QUANTITY, RecordKind.GOAL})
_ENDS = frozenset(".!?\"')”。")
_ROLES = frozenset({"the", "user", "assistant"})  # who talks; no names

_WORDED = {Granule.YEAR: "%Y", Granule.MONTH: "%B %Y"}  # a date of a day or finer: with the day of the week


def extracted(
    answered: Sequence[AnsweredItem[ConciseFact]], messages: Sequence[Message]
) -> list[AnsweredFact]:
    """Each item of the answer as the long prompt would have it, with why any part of it was left out.

    Args:
        answered: the model's list.
        messages: of the passage, whose numbers count from 1.
    """
    return [
        AnsweredItem(
            _fact(item.fact, messages) if item.fact and not _is_cut(item.fact.fact) else None,
            item.excerpt,
            (*item.problems, *problems),
        )
        for item, problems in ((item, _problems(item.fact, messages)) for item in answered)
    ]


def _fact(fact: ConciseFact, messages: Sequence[Message]) -> ExtractedFact:
    said = [messages[number - 1] for number in _known(fact.lines, len(messages))]
    start, _, end = fact.date.partition("/")
    moment = parse_moment(start)
    # Not by the lines, which small models mistake: what is told as the assistant's own is no fact about the people.
    own = fact.by_assistant and any(role_of(message) is Role.ASSISTANT for message in messages)
    return ExtractedFact(
        what=fact.fact,
        when=f"{moment[0]:{_WORDED.get(moment[1], '%A, %B %d, %Y')}}" if moment else "",
        fact_type=FactType.EXPERIENCE if own else FactType.WORLD,
        occurred_start=start.strip() if moment else None,
        occurred_end=end.strip() if moment and parse_moment(end) else None,
        entities=[
            ExtractedEntity(text=name) for name in dict.fromkeys(fact.names) if _named(name, fact.fact)
        ],
        sources=[message.id or "" for message in said],
        changes=[
            ExtractedChange(memory=number, change=MemoryChange.ENDS) for number in fact.ends if number > 0
        ],
        records=[record for record in fact.records if _has_its_number(record)],
    )


def _known(numbers: Sequence[int], count: int) -> list[int]:
    return sorted({number for number in numbers if 1 <= number <= count})


def _is_cut(text: str) -> bool:
    """Whether a text ends at the bound of its schema, where a grammar cuts it; longer ones are of servers without one."""
    return MOST_CHARACTERS - 2 <= len(text) <= MOST_CHARACTERS and text[-1:] not in _ENDS


def _has_its_number(record: ExtractedRecord) -> bool:
    """Whether a record of what is counted has a number: small models write an expense for all that might cost something."""
    return record.kind not in _COUNTED or any(letter.isdigit() for letter in str(record.value))


def _named(name: str, text: str) -> bool:
    """Whether a fact names somebody: small models list everybody of the passage with each of its facts, and roles as names."""
    words = set(_WORD.findall(text.casefold()))
    own = [word for word in _WORD.findall(name.casefold()) if len(word) > 1 and word not in _ROLES]
    return any(word in words for word in own)


def _problems(fact: ConciseFact | None, messages: Sequence[Message]) -> list[str]:
    if fact is None:
        return []
    if _is_cut(fact.fact):
        return [f"fact: it reached {MOST_CHARACTERS} characters, and its end is not there"]
    problems = []
    if unknown := set(fact.lines) - set(_known(fact.lines, len(messages))):
        problems.append(f"lines: it names message {min(unknown)}, and there are {len(messages)}")
    if fact.date and not parse_moment(fact.date.partition("/")[0]):
        problems.append(f"date: {fact.date[:24]!r} is not an ISO date")
    if numberless := [record for record in fact.records if not _has_its_number(record)]:
        problems.append(f"records: {str(numberless[0].value)[:24]!r} is not a number")
    return problems

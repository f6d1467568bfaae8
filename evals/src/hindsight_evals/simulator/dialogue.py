"""Conversations of sessions: an opening, exploration, the statement of a memory, a closing (Memora 3.3, B.2, B.3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from hindsight_evals.simulator.memories import Change, Operation
from hindsight_evals.simulator.seeds import Exchange, Family, Neutral

TURNS = 16  # approximate number in a session (Memora, Table 2: 15.6 to 16.1)
SPEAKERS = ("assistant", "user")

T = TypeVar("T")

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Line:
    """One turn.

    Attributes:
        speaker: "user" or "assistant".
        text: the text.
        tells: index of the session's change that it states; None if it states none.
    """

    speaker: str
    text: str
    tells: int | None = None


@dataclass(frozen=True, slots=True)
class Telling:
    """A change and its phrasing.

    Attributes:
        change: the change.
        family: the kind of phrasing.
        values: the values in its wording, by placeholder.
    """

    change: Change
    family: Family
    values: Mapping[str, str] = field(default_factory=dict)


def telling(change: Change, families: Sequence[Family], random: Random) -> Telling:
    """Choose a phrasing for a change.

    Raises:
        LookupError: no family fits it.
    """
    values = placeholders(change)
    fitting = [
        family
        for family in families
        if family.memory is change.kind and family.operation is change.operation and family.fits(values)
    ]
    if not fitting:
        raise LookupError(f"no family tells the {change.operation} of {change.kind} {dict(values)}")
    return Telling(change, random.choice(fitting), values)


def placeholders(change: Change) -> dict[str, str]:
    """Return the placeholder values of a change: the new ones, and the previous ones as `old_...`; for a deletion, the deleted ones."""
    if change.operation is Operation.UPDATE and change.before and change.after:
        old = {f"old_{name}": value for name, value in change.before.values.items()}
        return old | dict(change.after.values)
    return dict(change.entry.values)


def rendered(wording: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders of a wording.

    Raises:
        KeyError: the change has no value for a placeholder.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], wording)


class Conversations:
    """Generates a persona's conversations; the least used wordings come first, to avoid repetition.

    Args:
        neutral: wordings that state no memory.
        random: the source of random choices.
    """

    def __init__(self, neutral: Neutral, random: Random) -> None:
        self._neutral, self._random = neutral, random
        self._said: Counter[str] = Counter()

    def conversation(self, tellings: Sequence[Telling]) -> list[Line]:
        """Return the lines of a session that states these changes; a memory-neutral one if there are none."""
        opening = self._least_said(self._neutral.openings)
        closing = self._least_said(self._neutral.closings)
        told = [line for place, one in enumerate(tellings) for line in self._told(place, one)]
        lines = [*_lines(opening), *self._exploration(TURNS - 4 - len(told)), *told]
        return [*lines, *_lines(closing)]

    def _told(self, place: int, one: Telling) -> list[Line]:
        family, values = one.family, one.values
        lead_in = [rendered(wording, values) for wording in family.lead_in]
        before = [Line(SPEAKERS[(len(lead_in) - 1 - at) % 2], text) for at, text in enumerate(lead_in)]
        telling_turn = rendered(self._least_said(family.user), values)
        reply = rendered(self._least_said(family.reply), values)
        return [*before, Line("user", telling_turn, place), Line("assistant", reply, place)]

    def _exploration(self, wanted: int) -> list[Line]:
        """Return exchanges of about `wanted` turns; at least half a topic."""
        lines: list[Line] = []
        while len(lines) < max(wanted, 2):
            exchange: Exchange = self._least_said(self._neutral.exchange)
            lines += _lines(exchange.lines[: max(2, (wanted - len(lines) + 1) // 2 * 2)])
        return lines

    def _least_said(self, choices: Sequence[T]) -> T:
        fewest = min(self._said[repr(choice)] for choice in choices)
        chosen = self._random.choice([choice for choice in choices if self._said[repr(choice)] == fewest])
        self._said[repr(chosen)] += 1
        return chosen


def _lines(texts: Sequence[str]) -> list[Line]:
    return [Line(SPEAKERS[place % 2], text) for place, text in enumerate(texts)]

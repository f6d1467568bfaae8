"""What a person has one of at a time, and words by the group they belong to: what languages describe people with. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """Something of which a person has one at a time: where they were born, what they are called.

    Attributes:
        name: what it is called here, the same in each language.
        pattern: a statement of it in the first person, with the group `value`, and perhaps `key` where there is one for
            each of several things (a favourite colour, a favourite song).
        several: whether a person may have another one beside it where they say "also".
    """

    name: str
    pattern: re.Pattern[str]
    several: bool = False

    @classmethod
    def of(cls, name: str, pattern: str, *, several: bool = False) -> Self:
        """One whose pattern is read without regard to case."""
        return cls(name, re.compile(pattern, re.IGNORECASE), several)


def by_word(groups: Mapping[str, str]) -> dict[str, str]:
    """Each word with the name of its group; words of a group are parted by blanks."""
    return {word: name for name, words in groups.items() for word in words.split()}

"""Directives: rules that whoever runs a bank gives its agent. They are never made from memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Directive:
    """A rule that every answer keeps.

    Attributes:
        id: its own for good.
        text: the rule.
        tags: it holds for questions that name one of these; without any it holds for all.
        created_at: when it was given (aware UTC).
    """

    id: str
    text: str
    tags: tuple[str, ...]
    created_at: datetime


def in_force(directives: Iterable[Directive], tags: Sequence[str]) -> tuple[Directive, ...]:
    """The directives that hold for a question with these tags, in the order they were given."""
    wanted = set(tags)
    return tuple(each for each in directives if not each.tags or wanted & set(each.tags))

"""Metadata of memories with its types, and conditions on it with LlamaIndex's operators. Pure."""

from __future__ import annotations

import math
import operator as operators
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

MetadataScalar: TypeAlias = str | int | float | bool
MetadataValue: TypeAlias = MetadataScalar | Sequence[MetadataScalar]
"""What a key stands for: text, a finite number, a truth value, or a list of these."""

Metadata: TypeAlias = Mapping[str, MetadataValue]
"""The caller's own values, kept on every memory made from what they came with."""

_IN_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    ">": operators.gt,
    "<": operators.lt,
    ">=": operators.ge,
    "<=": operators.le,
}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MOST_DIGITS = 300  # what a float can hold; longer digits are a name


def shared_metadata(given: Sequence[Metadata]) -> dict[str, MetadataValue]:
    """What several memories have in common: keys that all have, with values of the same type that are equal."""
    first, *others = given
    return {
        key: value
        for key, value in first.items()
        if all(repr(other.get(key)) == repr(value) for other in others)
    }


class MetadataOperator(StrEnum):
    """How a value is compared; LlamaIndex's `FilterOperator`."""

    EQ = "=="
    NE = "!="
    GT = ">"
    LT = "<"
    GTE = ">="
    LTE = "<="
    IN = "in"
    NIN = "nin"
    CONTAINS = "contains"
    ANY = "any"
    ALL = "all"
    TEXT_MATCH = "text_match"
    TEXT_MATCH_INSENSITIVE = "text_match_insensitive"
    IS_EMPTY = "is_empty"


class MetadataCondition(StrEnum):
    """How the filters of a group are put together; `not` is where none of them holds."""

    AND = "and"
    OR = "or"
    NOT = "not"


ORDERED = frozenset(map(MetadataOperator, _IN_ORDER))
"""Operators that take one number or text."""
OF_LISTS = frozenset({MetadataOperator.IN, MetadataOperator.NIN, MetadataOperator.ANY, MetadataOperator.ALL})
"""Operators that take a list."""
OF_TEXT = frozenset({MetadataOperator.TEXT_MATCH, MetadataOperator.TEXT_MATCH_INSENSITIVE})
"""Operators that take text."""
PASSED_WITHOUT_KEY = frozenset({MetadataOperator.NE, MetadataOperator.NIN, MetadataOperator.IS_EMPTY})


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """Memories whose value of one key compares so with this one.

    Attributes:
        key: the key.
        value: what its value is compared with; a list for in, nin, any and all; nothing for is_empty.
        operator: ==, !=, >, <, >=, <=; in and nin a list; contains, any and all of a list that is the memory's value;
            text_match and text_match_insensitive for a part of its text; is_empty where it is missing or has nothing in it.
            Memories without the key pass !=, nin and is_empty alone.
    """

    key: str
    value: MetadataValue | None = None
    operator: MetadataOperator | str = MetadataOperator.EQ


@dataclass(frozen=True, slots=True)
class MetadataGroup:
    """Filters put together; without any it lets everything through.

    Attributes:
        filters: filters, and groups of them.
        condition: and: all must hold; or: one; not: none.
    """

    filters: Sequence[MetadataFilter | MetadataGroup]
    condition: MetadataCondition | str = MetadataCondition.AND


MetadataTest: TypeAlias = MetadataFilter | MetadataGroup
"""A condition on a memory's metadata."""

GivenMetadata: TypeAlias = (
    MetadataTest | Mapping[str, Any] | Sequence[MetadataTest | Mapping[str, Any]] | None
)
"""The same as a caller may write it: {"channel": "mail"} where all must be equal, {"key": ..., "value": ..., "operator":
...}, {"filters": [...], "condition": ...}, or a list of these, all of which must hold."""


def said(condition: MetadataTest) -> str:
    """A condition in words, for people: `year >= 2020 and not (channel == mail)`."""
    if isinstance(condition, MetadataFilter):
        value = "" if condition.value is None else f" {condition.value}"
        return f"{condition.key} {condition.operator}{value}"
    parts = [
        f"({said(part)})" if isinstance(part, MetadataGroup) else said(part) for part in condition.filters
    ]
    if condition.condition == MetadataCondition.NOT:
        return f"not ({' or '.join(parts)})"
    return f" {condition.condition} ".join(parts)


def value_test(wanted: MetadataFilter) -> Callable[[MetadataValue | None], bool]:
    """Whether a filter lets a value through, as a function; None is a key the memory does not have.

    Numbers and text are equal, and ordered, as numbers where the text is one; two texts are equal letter by letter, and
    ordered as numbers where both are. A truth value is no number. What cannot be ordered does not pass.
    """
    operator, value = MetadataOperator(wanted.operator), wanted.value
    if operator is MetadataOperator.IS_EMPTY:
        return lambda own: own is None or own == "" or (_is_list(own) and not own)
    passes = _passes(operator, value)
    without_key = operator in PASSED_WITHOUT_KEY
    return lambda own: without_key if own is None else passes(own)


def _passes(operator: MetadataOperator, value: Any) -> Callable[[Any], bool]:  # noqa: ANN401 - checked per operator
    """The test of a value that is there."""
    if operator in _IN_ORDER:
        return lambda own: _ordered(_IN_ORDER[operator], own, value)
    match operator:
        case MetadataOperator.NE | MetadataOperator.NIN:
            among = _one_of([value] if operator is MetadataOperator.NE else value)
            return lambda own: not among(own)
        case MetadataOperator.TEXT_MATCH:
            return lambda own: isinstance(own, str) and value in own
        case MetadataOperator.TEXT_MATCH_INSENSITIVE:
            return lambda own: isinstance(own, str) and value.lower() in own.lower()
        case MetadataOperator.CONTAINS | MetadataOperator.ANY | MetadataOperator.ALL:
            return _holds([value] if operator is MetadataOperator.CONTAINS else value, operator)
    return _one_of([value] if operator is MetadataOperator.EQ else value)


def number_of(value: object) -> int | float | None:
    """The number a value is, or its text says in ASCII digits; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if (
        not isinstance(value, str)
        or len(value) > _MOST_DIGITS
        or not _NUMBER.fullmatch(text := value.strip())
    ):
        return None
    number = int(text) if text.lstrip("+-").isdigit() else float(text)
    return number if math.isfinite(number) else None


def _one_of(values: Sequence[Any]) -> Callable[[Any], bool]:
    """Whether a value equals one of these, at the cost of a look-up."""
    lists = [list(value) for value in values if _is_list(value)]
    texts = {value for value in values if isinstance(value, str)}
    truths = {value for value in values if isinstance(value, bool)}
    numbers = {value for value in values if isinstance(value, int | float) and not isinstance(value, bool)}
    said = {number for text in texts if (number := number_of(text)) is not None}

    def among(own: Any) -> bool:  # noqa: ANN401 - any value of metadata
        if isinstance(own, bool):
            return own in truths
        if isinstance(own, str):
            return own in texts or (bool(numbers) and number_of(own) in numbers)
        if _is_list(own):
            return any(_same_list(own, each) for each in lists)
        return own in numbers or own in said

    return among


def _same_list(own: Sequence[MetadataScalar], other: Sequence[MetadataScalar]) -> bool:
    return len(own) == len(other) and all(_one_of([b])(a) for a, b in zip(own, other, strict=True))


def _holds(values: Sequence[Any], operator: MetadataOperator) -> Callable[[Any], bool]:
    """Whether a list has these among its values, or a text has them as parts: all of them, or any."""
    parts = [(value, _one_of([value])) for value in values]
    combine = any if operator is MetadataOperator.ANY else all

    def inside(own: Any) -> bool:  # noqa: ANN401 - any value of metadata
        if isinstance(own, str):
            return combine(isinstance(value, str) and value in own for value, _ in parts)
        if not _is_list(own):
            return combine is all and not parts  # a number holds all of nothing, as in LlamaIndex
        return combine(any(map(equal, own)) for _, equal in parts)

    return inside


def _ordered(in_order: Callable[[Any, Any], bool], own: object, value: object) -> bool:
    """Whether two values are in this order: numbers, or two texts; false for what has none."""
    left, right = number_of(own), number_of(value)
    if left is not None and right is not None:
        return in_order(left, right)
    return isinstance(own, str) and isinstance(value, str) and in_order(own, value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)

"""Typed metadata of memories, and metadata filters with LlamaIndex's operators."""

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
"""A metadata value: text, a finite number, a boolean, or a list of these."""

Metadata: TypeAlias = Mapping[str, MetadataValue]
"""The caller's metadata, stored with every memory made from the input."""

_IN_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    ">": operators.gt,
    "<": operators.lt,
    ">=": operators.ge,
    "<=": operators.le,
}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MOST_DIGITS = 300  # longer digit strings would overflow a float, and are compared as text


def shared_metadata(values: Sequence[Metadata]) -> dict[str, MetadataValue]:
    """Return the metadata common to several memories: keys in all of them with equal values of the same type."""
    first, *others = values
    return {
        key: value
        for key, value in first.items()
        if all(repr(other.get(key)) == repr(value) for other in others)
    }


class MetadataOperator(StrEnum):
    """The comparison of a filter, with the values of LlamaIndex's `FilterOperator`."""

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
    """The combination of a group's filters; with `not`, none may match."""

    AND = "and"
    OR = "or"
    NOT = "not"


ORDERED = frozenset(map(MetadataOperator, _IN_ORDER))
"""The operators whose value is one number or text."""
OF_LISTS = frozenset({MetadataOperator.IN, MetadataOperator.NIN, MetadataOperator.ANY, MetadataOperator.ALL})
"""The operators whose value is a list."""
OF_TEXT = frozenset({MetadataOperator.TEXT_MATCH, MetadataOperator.TEXT_MATCH_INSENSITIVE})
"""The operators whose value is text."""
PASSED_WITHOUT_KEY = frozenset({MetadataOperator.NE, MetadataOperator.NIN, MetadataOperator.IS_EMPTY})


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A condition on the value of one metadata key.

    Attributes:
        key: the key.
        value: the value to compare with; a list for in, nin, any and all; None for is_empty.
        operator: ==, !=, >, <, >= or <=; in and nin test membership in a list; contains, any and all test the list in
            a memory; text_match and text_match_insensitive test for a substring; is_empty tests for a missing or empty
            value. A memory without the key matches only !=, nin and is_empty.
    """

    key: str
    value: MetadataValue | None = None
    operator: MetadataOperator | str = MetadataOperator.EQ


@dataclass(frozen=True, slots=True)
class MetadataGroup:
    """Combined filters; an empty group matches everything.

    Attributes:
        filters: the filters and nested groups.
        condition: "and" if all must match, "or" if one must match, "not" if none may match.
    """

    filters: Sequence[MetadataFilter | MetadataGroup]
    condition: MetadataCondition | str = MetadataCondition.AND


MetadataTest: TypeAlias = MetadataFilter | MetadataGroup
"""A condition on a memory's metadata."""

GivenMetadata: TypeAlias = (
    MetadataTest | Mapping[str, Any] | Sequence[MetadataTest | Mapping[str, Any]] | None
)
"""Metadata conditions as accepted from callers: {"channel": "mail"} (all values must be equal), {"key": ..., "value":
..., "operator": ...}, {"filters": [...], "condition": ...}, or a list of these, all of which must match.
"""


def condition_text(condition: MetadataTest) -> str:
    """Format a condition as readable text: `year >= 2020 and not (channel == mail)`."""
    if isinstance(condition, MetadataFilter):
        value = "" if condition.value is None else f" {condition.value}"
        return f"{condition.key} {condition.operator}{value}"
    parts = [
        f"({condition_text(part)})" if isinstance(part, MetadataGroup) else condition_text(part)
        for part in condition.filters
    ]
    if condition.condition == MetadataCondition.NOT:
        return f"not ({' or '.join(parts)})"
    return f" {condition.condition} ".join(parts)


def value_test(wanted: MetadataFilter) -> Callable[[MetadataValue | None], bool]:
    """Build a filter's test of one value, which is None for a missing key.

    A number and a numeric text are compared as numbers. Two texts are equal if their characters are equal, and are ordered as
    numbers if both are numeric. Booleans are not numbers. Values that cannot be ordered do not match.
    """
    operator, value = MetadataOperator(wanted.operator), wanted.value
    if operator is MetadataOperator.IS_EMPTY:
        return lambda own: own is None or own == "" or (_is_list(own) and not own)
    passes = _passes(operator, value)
    without_key = operator in PASSED_WITHOUT_KEY
    return lambda own: without_key if own is None else passes(own)


def _passes(operator: MetadataOperator, value: Any) -> Callable[[Any], bool]:  # noqa: ANN401 - checked per operator
    """Build the test for a value that is not missing."""
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
    """Return a number, or the number that a text consists of in ASCII digits; None for other values."""
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
    """Build a test for equality with one of these values; its cost does not depend on their number."""
    lists = [list(value) for value in values if _is_list(value)]
    texts = {value for value in values if isinstance(value, str)}
    truths = {value for value in values if isinstance(value, bool)}
    numbers = {value for value in values if isinstance(value, int | float) and not isinstance(value, bool)}
    numeric_texts = {number for text in texts if (number := number_of(text)) is not None}

    def among(own: Any) -> bool:  # noqa: ANN401 - any value of metadata
        if isinstance(own, bool):
            return own in truths
        if isinstance(own, str):
            return own in texts or (bool(numbers) and number_of(own) in numbers)
        if _is_list(own):
            return any(
                len(own) == len(other) and all(_one_of([b])(a) for a, b in zip(own, other, strict=True))
                for other in lists
            )
        return own in numbers or own in numeric_texts

    return among


def _holds(values: Sequence[Any], operator: MetadataOperator) -> Callable[[Any], bool]:
    """Build a test that a list contains all (or any) of the values, or that a text contains them as substrings."""
    parts = [(value, _one_of([value])) for value in values]
    combine = any if operator is MetadataOperator.ANY else all

    def inside(own: Any) -> bool:  # noqa: ANN401 - any value of metadata
        if isinstance(own, str):
            return combine(isinstance(value, str) and value in own for value, _ in parts)
        if not _is_list(own):
            # An empty list for `all` matches everything, even a number, as in LlamaIndex.
            return combine is all and not parts
        return combine(any(map(equal, own)) for _, equal in parts)

    return inside


def _ordered(in_order: Callable[[Any, Any], bool], own: object, value: object) -> bool:
    """Compare two numbers or two texts; False for values without an order."""
    left, right = number_of(own), number_of(value)
    if left is not None and right is not None:
        return in_order(left, right)
    return isinstance(own, str) and isinstance(value, str) and in_order(own, value)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)

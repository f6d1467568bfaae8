"""Stored metadata, and filters on them."""

from __future__ import annotations

import itertools
from enum import Enum, IntEnum
from typing import Any

import numpy as np
import pytest
from plain_metadata import selects
from table import every_row

from hindsight_integrations import InvalidRequest, MetadataFilter, MetadataGroup
from hindsight_integrations.model.metadata import MetadataCondition, MetadataOperator, number_of
from hindsight_integrations.validation.metadata import MAX_FILTERS, checked_metadata, checked_metadata_filter


class Colour(str, Enum):  # noqa: UP042 - whose str() is its name
    RED = "red"


class Level(IntEnum):
    HIGH = 3


@every_row(
    ("given", "kept"),
    [
        ("text\x00 ", "text"),
        (10, 10),
        (10**30, 10**30),
        (2.5, 2.5),
        (True, True),
        (["a", 1, None, True], ["a", 1, True]),
        (("a",), ["a"]),
        ({"b", "a"}, ["a", "b"]),
        ([], []),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (np.int64(4), 4),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (float("nan"), "nan"),
        ({"a": 1}, "{'a': 1}"),
        ([{"a": 1}], ["{'a': 1}"]),
        (b"x", "b'x'"),
    ],
)
def test_values_keep_their_type(given: object, kept: object) -> None:
    stored = checked_metadata({"key": given, "none": None})
    assert stored == {"key": kept}
    assert type(stored["key"]) is type(kept)


@every_row("given", [["a"], "a", {"a": "x" * 20_000}, {"a": ["x" * 9_000] * 2}, {"a": 10**5000}])
def test_what_is_no_metadata_is_refused(given: object) -> None:
    with pytest.raises(InvalidRequest, match="metadata"):
        checked_metadata(given)


MISSING = object()

CASES: list[tuple[object, str, object, bool]] = [
    ("mail", "==", "mail", True),
    ("mail", "==", "Mail", False),
    ("mail", "!=", "chat", True),
    (MISSING, "==", "mail", False),
    (MISSING, "!=", "mail", True),
    (MISSING, "nin", ["mail"], True),
    (MISSING, ">", 1, False),
    (MISSING, "contains", "a", False),
    (MISSING, "is_empty", None, True),
    ("", "is_empty", None, True),
    ([], "is_empty", None, True),
    (0, "is_empty", None, False),
    (False, "is_empty", "ignored", False),
    (10, ">", 9, True),
    (10, ">=", 10.0, True),
    ("10", ">", 9, True),
    ("10", ">", "9", True),
    ("10", "<", "9", False),
    (10, "<=", "10", True),
    ("ten", ">", 9, False),
    ("ten", "<", 9, False),
    ("2024-02-01", ">", "2024-01-31", True),
    ("b", ">", "a", True),
    ("10", "==", 10, True),
    (10, "==", "10.0", True),
    (10, "!=", "10", False),
    ("010", "==", "10", False),
    ("nan", "<", 1, False),
    ("1_0", "==", 10, False),
    ("9" * 5000, ">", 1, False),
    (True, "==", 1, False),
    (1, "==", True, False),
    (True, "==", True, True),
    (True, "!=", 1, True),
    (True, ">", 0, False),
    (2, ">", True, False),
    (True, "in", [1, "True"], False),
    (True, "in", [False, True], True),
    ("a", "in", ["a", "b"], True),
    ("5", "in", [5], True),
    (5, "in", ["5"], True),
    ("a", "in", [], False),
    ("a", "nin", ["b"], True),
    (["a", "b"], "in", ["a"], False),
    (["a", 1], "==", ["a", 1.0], True),
    (["a", "b"], "==", ["b", "a"], False),
    (["a", "b"], "==", "a", False),
    (["a", "b"], ">", "a", False),
    (["a", "b"], "contains", "b", True),
    (["5", True], "contains", 5, True),
    ([True], "contains", 1, False),
    ("abc", "contains", "b", True),
    ("5", "contains", 5, False),
    (5, "contains", 5, False),
    (["a", "b"], "any", ["z", "b"], True),
    (["a", "b"], "any", [], False),
    (["a", "b"], "all", ["b", "a"], True),
    (["a", "b"], "all", ["a", "z"], False),
    ([], "all", [], True),
    ("abc", "all", ["a", "c"], True),
    ("abc", "any", [1, "c"], True),
    (5, "all", [], True),
    ("a long text", "text_match", "long", True),
    ("a long text", "text_match", "Long", False),
    ("a long text", "text_match_insensitive", "LONG", True),
    (["long"], "text_match", "long", False),
    (5, "text_match_insensitive", "5", False),
]


@every_row(("own", "operator", "value", "passes"), CASES)
def test_operators(own: Any, operator: str, value: Any, passes: bool) -> None:
    condition = checked_metadata_filter({"key": "k", "operator": operator, "value": value})
    assert condition is not None
    assert selects(condition, {} if own is MISSING else {"k": own, "other": 1}) is passes


def test_groups() -> None:
    a, b, c = (MetadataFilter(key, 1) for key in "abc")
    own = {"a": 1, "b": 1, "c": 2}
    verdicts = {
        condition: [selects(MetadataGroup(parts, condition), own) for parts in ((a, b), (a, c), (c,), ())]
        for condition in MetadataCondition
    }
    assert verdicts == {
        MetadataCondition.AND: [True, False, False, True],
        MetadataCondition.OR: [True, True, False, True],
        MetadataCondition.NOT: [False, False, True, True],
    }
    nested = MetadataGroup((a, MetadataGroup((b, c), "not"), MetadataGroup((c, b), "or")), "or")
    assert selects(nested, own)
    assert not selects(MetadataGroup((nested,), "not"), own)


@every_row(
    ("given", "read"),
    [
        (None, None),
        ({}, None),
        ([], None),
        (MetadataGroup(()), None),
        ({"a": 1}, MetadataFilter("a", 1)),
        ({"key": "a"}, MetadataFilter("key", "a")),
        ({"key": "a", "value": 1}, MetadataFilter("a", 1)),
        ({"key": "a", "value": [1], "operator": "in"}, MetadataFilter("a", (1,), MetadataOperator.IN)),
        ({"key": "a", "operator": "is_empty"}, MetadataFilter("a", None, MetadataOperator.IS_EMPTY)),
        ({"key": " a ", "value": np.int64(2), "operator": ">"}, MetadataFilter("a", 2, MetadataOperator.GT)),
        ({"filters": "x"}, MetadataFilter("filters", "x")),
        ({"a": 1, "b": True}, MetadataGroup((MetadataFilter("a", 1), MetadataFilter("b", True)))),
        (
            {"filters": [{"a": "x"}, MetadataFilter("b", 2)], "condition": "or"},
            MetadataGroup((MetadataFilter("a", "x"), MetadataFilter("b", 2)), MetadataCondition.OR),
        ),
        ([{"a": "x"}], MetadataGroup((MetadataFilter("a", "x"),))),
    ],
)
def test_what_callers_write(given: Any, read: object) -> None:
    assert checked_metadata_filter(given) == read


@every_row(
    ("given", "said"),
    [
        ("mail", "metadata: 'mail' is not a condition"),
        (5, "is not a condition on metadata"),
        ([5], r"metadata\[0\]: 5 is not a condition"),
        (MetadataFilter("a", 1, "like"), "== *, *!=.* is_empty"),
        (MetadataGroup((MetadataFilter("a", 1),), "xor"), "and, or, not"),
        (MetadataGroup(MetadataFilter("a", 1)), "not a list of filters"),  # type: ignore[arg-type]
        (MetadataGroup(itertools.repeat(MetadataFilter("a", 1))), "not a list of filters"),  # type: ignore[arg-type]
        (MetadataFilter("", 1), "is not a key"),
        ({5: 1}, "is not a key"),
        ({"a": None}, "is_empty"),
        ({"a": {"$gt": 5}}, "Pass text, a number or a boolean"),
        ({"a": float("nan")}, "is not valid for the operator =="),
        (MetadataFilter("a", "abc", "in"), "Pass a list"),
        (MetadataFilter("a", "abc", "any"), "Pass a list"),
        ({"key": "a", "value": [None], "operator": "in"}, "is None"),
        (MetadataFilter("a", [1], ">"), "Pass a number or text"),
        (MetadataFilter("a", 1, "text_match"), "Pass text"),
        (MetadataFilter("a", ["x"], "contains"), "is not valid for the operator contains"),
        ([{"a": 1}] * (MAX_FILTERS + 1), "over the limit of 64"),
        (MetadataFilter("a", ["x"] * 10_001, "in"), "over the limit of 10,000"),
    ],
)
def test_what_is_no_condition_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        checked_metadata_filter(given)


def test_conditions_nested_too_deep_are_refused() -> None:
    given: Any = {"a": 1}
    for _ in range(8):
        given = [given]
    with pytest.raises(InvalidRequest, match="Flatten it"):
        checked_metadata_filter(given)
    assert checked_metadata_filter(given[0]) is not None


@every_row(
    ("text", "number"),
    [
        ("7", 7),
        (" -7 ", -7),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1e999", None),
        ("inf", None),
        ("٣", None),
    ],
)
def test_numbers_in_text(text: str, number: float | None) -> None:
    assert number_of(text) == number

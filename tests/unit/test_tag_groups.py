"""Tag conditions: every mode, combined with and / or / not, and invalid ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations import InvalidRequest, TagAnd, TagLeaf, TagNot, TagOr, TagsMatch
from hindsight_integrations.indexes.columns import (
    Columns,
    empty_columns,
    group_selects,
    in_groups,
    tagged,
    updated,
)
from hindsight_integrations.ledger.values import UnitColumns
from hindsight_integrations.model.arrays import NEVER, UNDATED, IntArray
from hindsight_integrations.model.requests import TagGroup
from hindsight_integrations.validation.tag_groups import checked_tag_groups

A, B = TagLeaf(("a",)), TagLeaf(("b",))
OWN = {"untagged": "", "one of two": "a", "both": "ab", "both and more": "abc", "another": "c"}


def units(*tags: str) -> Columns:
    """Build a snapshot of units from strings; each letter is a tag."""
    size = len(tags)

    def column(value: int) -> IntArray:
        return np.full(size, value, np.int64)

    ids = np.arange(1, size + 1, dtype=np.int64)
    numbers = (
        column(0),
        column(UNDATED),
        column(UNDATED),
        column(0),
        column(NEVER),
        column(1),
        column(1),
        column(0),
        column(0),
    )
    rows = UnitColumns(
        ids, *numbers, tags=[tuple(own) for own in tags], turns=[("", "")] * size, metadata=[""] * size
    )
    return updated(empty_columns(), rows, np.empty(0, np.int64))


@every_row(
    ("match", "passing"),
    [
        (TagsMatch.ANY, {"untagged", "one of two", "both", "both and more"}),
        (TagsMatch.ALL, {"untagged", "both", "both and more"}),
        (TagsMatch.ANY_STRICT, {"one of two", "both", "both and more"}),
        (TagsMatch.ALL_STRICT, {"both", "both and more"}),
        (TagsMatch.EXACT, {"both"}),
    ],
)
def test_a_leaf_selects_as_its_mode_says(match: TagsMatch, passing: set[str]) -> None:
    """Every mode selects the right units, and `not` selects exactly the others."""
    leaf = TagLeaf(("a", "b"), match)
    assert {name for name, own in OWN.items() if group_selects(frozenset(own), leaf)} == passing
    assert {name for name, own in OWN.items() if group_selects(frozenset(own), TagNot(leaf))} == (
        OWN.keys() - passing
    )


@every_row(
    ("group", "passing"),
    [
        (TagAnd((A, B)), {"ab", "abc"}),
        (TagOr((A, B)), {"a", "b", "ab", "abc"}),
        (TagNot(A), {"", "b", "c"}),
        (TagAnd((A, TagNot(B))), {"a"}),
        (TagOr((TagNot(A), TagAnd((A, B)))), {"", "b", "c", "ab", "abc"}),
        (TagNot(TagNot(A)), {"a", "ab", "abc"}),
        (TagNot(TagOr((A, B))), {"", "c"}),
        (TagLeaf((), TagsMatch.EXACT), {""}),
        (TagAnd((TagLeaf(("a",), TagsMatch.ANY), TagNot(TagLeaf((), TagsMatch.EXACT)))), {"a", "ab", "abc"}),
    ],
)
def test_groups_combine_as_logic_says(group: TagGroup, passing: set[str]) -> None:
    """and, or and not over leaves give the rows of their truth table, as a mask over the columns too."""
    every = ["", "a", "b", "c", "ab", "abc"]
    assert {own for own in every if group_selects(frozenset(own), group)} == passing
    mask = in_groups(units(*every), [group])
    assert {own for own, kept in zip(every, mask.tolist(), strict=True) if kept} == passing


def test_a_list_of_groups_must_all_hold() -> None:
    """Two groups in a list are combined by `and`; no group selects everything, and an empty bank gives an empty mask."""
    bank = units("", "a", "b", "ab")
    assert in_groups(bank, [A, B]).tolist() == [False, False, False, True]
    assert in_groups(bank, []).tolist() == [True] * 4
    assert in_groups(empty_columns(), [A]).tolist() == []


tag_lists = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)
leaves = st.builds(
    lambda tags, match: {"tags": tags, "match": match}, tag_lists, st.sampled_from([*TagsMatch])
)
nested = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).flatmap(
            lambda parts: st.sampled_from([{"and": parts}, {"or": parts}])
        )
        | inner.map(lambda part: {"not": part})
    ),
    max_leaves=5,
).filter(lambda group: depth(group) <= 8)


def depth(group: Any) -> int:
    if "tags" in group:
        return 1
    parts = [group["not"]] if "not" in group else group.get("and", group.get("or"))
    return 1 + max(map(depth, parts))


def truth(own: frozenset[str], group: Any) -> bool:
    """A direct evaluation of the JSON form."""
    if "tags" in group:
        return bool(tagged(units("".join(own)), group["tags"], group["match"])[0])
    if "not" in group:
        return not truth(own, group["not"])
    if "and" in group:
        return all(truth(own, part) for part in group["and"])
    return any(truth(own, part) for part in group["or"])


@given(nested, st.frozensets(st.sampled_from("abc")))
def test_the_json_form_means_what_it_says(group: Any, own: frozenset[str]) -> None:
    """A validated nested condition selects what its JSON form says, and typed values stay unchanged."""
    (checked,) = checked_tag_groups([group])
    assert group_selects(own, checked) == truth(own, group)
    assert checked_tag_groups([checked]) == checked_tag_groups(checked) == (checked,)


def test_a_leaf_is_strict_unless_it_says_otherwise() -> None:
    """Without a mode a leaf is any_strict, as in the Hindsight server; tags are cleaned and sorted."""
    assert checked_tag_groups({"tags": ["b ", "a", "b"]}) == (TagLeaf(("a", "b"), TagsMatch.ANY_STRICT),)
    assert checked_tag_groups([]) == ()


def buried(levels: int) -> Any:
    return {"not": buried(levels - 1)} if levels > 1 else {"tags": ["a"]}


@every_row(
    ("groups", "message"),
    [
        ("a", r"tag_groups: 'a' is not a list of conditions"),
        (["a"], r"tag_groups\[0\]: 'a' is not a condition on tags"),
        ([{}], r"tag_groups\[0\]: {} is not a condition"),
        ([{"xor": []}], r"tag_groups\[0\]: .* is not a condition"),
        ([{"and": [A], "or": [B]}], r"tag_groups\[0\]: .* is not a condition"),
        ([{"and": [A], "match": "any"}], r"tag_groups\[0\]: .* is not a condition"),
        ([{"and": []}], r"tag_groups\[0\].and: \[\] is not a list of conditions"),
        ([{"or": {"tags": ["a"]}}], r"tag_groups\[0\].or: .* is not a list of conditions"),
        ([A, {"not": [A]}], r"tag_groups\[1\].not: .* is not a condition"),
        ([{"tags": "a"}], r"tag_groups\[0\].tags: 'a' is not a list of tags"),
        ([{"tags": []}], r"tag_groups\[0\].tags: it is empty. Pass at least one tag"),
        ([{"tags": ["a"], "match": "some"}], r"tag_groups\[0\].match: 'some' is not a known choice"),
        ([buried(9)], "it is nested deeper than 8 levels"),
        ([{"or": [A] * 40}, {"or": [A] * 40}], "it has 80 tag lists, over the limit of 64"),
        ([A] * 65, "it has 65 conditions, over the limit of 64"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_stands(groups: Any, message: str) -> None:
    """The error names the place, the problem and the valid forms."""
    with pytest.raises(InvalidRequest, match=message):
        checked_tag_groups(groups)


def test_the_limits_themselves_are_allowed() -> None:
    """Eight levels and 64 leaves are allowed."""
    assert checked_tag_groups([buried(8)])
    assert len(checked_tag_groups([A] * 64)) == 64

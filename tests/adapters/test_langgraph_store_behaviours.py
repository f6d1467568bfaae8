"""What a user of LangGraph's store interface expects of HindsightStore, written without knowledge of the code."""

from __future__ import annotations

import asyncio
from collections import UserDict
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchItem
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest
from hindsight_integrations.langgraph import HindsightStore, identity_of, namespace_label
from hindsight_integrations.testing.doubles import FrozenClock

BOTH_FACES = pytest.mark.parametrize("face", ["sync", "async"])
ANN, BEN = ("memories", "ann"), ("memories", "ben")
KAYAK = {"text": "Ann owns a green kayak."}
OVEN = {"text": "Ben bakes bread in an oven."}


class Door:
    """The same calls in either API, each async call in a separate loop."""

    def __init__(self, store: BaseStore, face: str) -> None:
        self._store, self._face = store, face

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if self._face == "sync":
            return getattr(self._store, verb)  # type: ignore[no-any-return]

        async def call(*args: Any, **options: Any) -> Any:
            return await getattr(self._store, f"a{verb}")(*args, **options)

        return lambda *args, **options: asyncio.run(call(*args, **options))


@pytest.fixture
def store(light: Hindsight) -> HindsightStore:
    return HindsightStore(light)


@pytest.fixture(params=["sync", "async"])
def door(light: Hindsight, request: pytest.FixtureRequest) -> Door:
    return Door(HindsightStore(light), request.param)


def keys(found: list[SearchItem]) -> list[str]:
    return [item.key for item in found]


def test_what_is_not_there_is_none_and_deleting_it_is_no_error(door: Door) -> None:
    assert door.get(ANN, "kayak") is None
    door.delete(ANN, "kayak")
    assert door.search(ANN) == []
    assert door.search(ANN, query="kayak") == []
    assert door.list_namespaces() == []


def test_put_get_overwrite_delete(door: Door, clock: FrozenClock) -> None:
    born = clock.now()
    door.put(ANN, "kayak", KAYAK)
    later = clock.advance(timedelta(hours=1))
    door.put(ANN, "kayak", {"text": "Ann sold it."})
    item = door.get(ANN, "kayak")
    assert item.value == {"text": "Ann sold it."}
    assert (item.created_at, item.updated_at) == (born, later)
    assert (item.namespace, item.key) == (ANN, "kayak")
    door.delete(ANN, "kayak")
    assert door.get(ANN, "kayak") is None
    assert door.list_namespaces() == []
    clock.advance(timedelta(hours=1))
    door.put(ANN, "kayak", KAYAK)
    assert door.get(ANN, "kayak").created_at == clock.now()  # a new item under an old key


def test_a_value_is_read_again_each_time(store: HindsightStore) -> None:
    """The value that was passed in and the returned one are copies of the stored value."""
    given: dict[str, Any] = {"tags": ["a"], "text": "x"}
    store.put(ANN, "k", given)
    given["tags"].append("b")
    item = store.get(ANN, "k")
    assert item is not None
    assert item.value["tags"] == ["a"]
    item.value["tags"].append("c")
    again = store.get(ANN, "k")
    assert again is not None
    assert again.value["tags"] == ["a"]


@every_row(
    "value",
    [
        pytest.param({}, id="empty"),
        pytest.param({"": ""}, id="empty key and text"),
        pytest.param({"a": None, "b": [], "c": {}, "d": False, "e": 0, "f": 0.5, "g": -0.0}, id="leaves"),
        pytest.param({"n": 10**40, "m": -(2**63) - 1}, id="large integers"),
        pytest.param({"text": "Zoë läuft — 東京 🛶 \u202e back \u0000 nul"}, id="unicode"),
        pytest.param({"text": "w " * 200_000}, id="huge text"),
        pytest.param({"rows": [{"i": i, "s": f"row {i}"} for i in range(3_000)]}, id="many leaves"),
        pytest.param({"$eq": 1, "a.b": {"c[0]": 2}}, id="keys that look like operators and paths"),
    ],
)
def test_values_come_back_exactly(store: HindsightStore, value: dict[str, Any]) -> None:
    store.put(ANN, "k", value)
    item = store.get(ANN, "k")
    assert item is not None
    assert item.value == value
    assert [found.value for found in store.search(ANN)] == [value]
    assert [found.value for found in store.search(ANN, query="anything")] == [value]


@every_row("key", [" ", "a.b", "a/b", "ключ 🔑", "x" * 1_000, "\n", "%", "_", "NULL", "'"])
def test_any_text_is_a_key(store: HindsightStore, key: str) -> None:
    store.put(ANN, key, KAYAK)
    item = store.get(ANN, key)
    assert item is not None
    assert item.key == key
    assert store.get(ANN, key + "x") is None
    store.delete(ANN, key)
    assert store.search(ANN) == []


@every_row("key", ["", "x" * 5_000, "a\0b", "\ud800", 3, None], ids=str)
def test_what_is_no_key_is_refused(door: Door, key: Any) -> None:
    with pytest.raises(InvalidRequest, match="key"):
        door.batch([PutOp(ANN, key, KAYAK)])
    assert door.search(()) == []


@pytest.mark.parametrize("wrap", [MappingProxyType, UserDict], ids=["proxy", "UserDict"])
def test_a_mapping_that_is_no_dict_is_stored(
    store: HindsightStore, wrap: Callable[[Any], Mapping[str, Any]]
) -> None:
    store.put(ANN, "k", wrap(KAYAK))
    item = store.get(ANN, "k")
    assert item is not None
    assert item.value == KAYAK


@every_row(
    ("value", "path"),
    [
        pytest.param({"a": {"b": {1, 2}}}, "a", id="set"),
        pytest.param({"a": object()}, "a", id="object"),
        pytest.param({"a": [1, b"x"]}, "a", id="bytes"),
        pytest.param({"a": float("nan")}, "a", id="nan"),
        pytest.param({"a": float("inf")}, "a", id="inf"),
        pytest.param({"a": {1: "x"}}, "a", id="key that is no text"),
        pytest.param("text", "", id="text"),
        pytest.param(["a"], "", id="list"),
    ],
)
@BOTH_FACES
def test_a_value_that_is_not_json_is_refused_and_nothing_is_stored(
    store: HindsightStore, face: str, value: Any, path: str
) -> None:
    """The error names the place; nothing of the batch is stored."""
    door = Door(store, face)
    with pytest.raises(InvalidRequest, match=path or "value"):
        door.put(ANN, "k", value)
    with pytest.raises(InvalidRequest):
        door.batch([PutOp(ANN, "good", KAYAK), PutOp(ANN, "k", value)])
    assert store.search(()) == []


def test_a_prefix_is_of_labels_not_of_letters(door: Door) -> None:
    for namespace in [
        ("a",),
        ("ab",),
        ("a", "b"),
        ("a", "bc"),
        ("A",),
        ("a ",),
        ("a", "b", "c"),
        ("%",),
        ("_",),
    ]:
        door.put(namespace, "k", {"text": "one kayak"})
    assert sorted(item.namespace for item in door.search(("a",))) == [
        ("a",),
        ("a", "b"),
        ("a", "b", "c"),
        ("a", "bc"),
    ]
    for query in (None, "kayak"):
        assert [item.namespace for item in door.search(("ab",), query=query)] == [("ab",)]
        assert [item.namespace for item in door.search(("_",), query=query)] == [("_",)]
        assert len(door.search((), query=query, limit=50)) == 9
        assert door.search(("b",), query=query) == []
    door.delete(("a",), "k")
    assert len(door.search((), limit=50)) == 8


def test_one_users_items_are_never_anothers(door: Door) -> None:
    for number in range(30):
        door.put(ANN, f"a{number}", {"text": f"the kayak of Ann, trip {number}"})
    door.put(BEN, "b", {"text": "an oven"})
    assert keys(door.search(BEN, query="kayak of Ann", limit=100)) == ["b"]
    assert door.get(BEN, "a1") is None


@every_row(
    "identity",
    [
        "ann@example.com",
        "a.b.c",
        ".",
        "..",
        "",
        "\0",
        "a\0b",
        "_",
        "%2E",
        "ann",
        "ÄÖ.ß",
        "a" * 300,
        "~",
        "\\.",
    ],
)
def test_identities_with_dots_are_users_of_their_own(store: HindsightStore, identity: str) -> None:
    label = namespace_label(identity)
    assert identity_of(label) == identity
    store.put(("memories", label), "k", KAYAK)
    store.put(("memories", namespace_label(identity + ".com")), "k", OVEN)
    item = store.get(("memories", label), "k")
    assert item is not None
    assert item.value == KAYAK
    assert len(store.search(("memories", label), query="kayak")) == 1


@every_row(
    "namespace",
    [("a.b",), ("",), ("a", ""), ("a\0b",), (1,), (), "ann", ("a", None), None],
    ids=repr,
)
@BOTH_FACES
def test_a_namespace_langgraph_does_not_allow_is_refused(
    store: HindsightStore, face: str, namespace: Any
) -> None:
    door = Door(store, face)
    with pytest.raises(ValueError, match=r"[Nn]amespace|label"):
        door.put(namespace, "k", KAYAK)
    with pytest.raises(ValueError, match=r"[Nn]amespace|label"):
        door.batch([PutOp(ANN, "good", KAYAK), PutOp(namespace, "k", KAYAK)])
    assert store.search(()) == []


def test_two_hundred_labels(door: Door) -> None:
    deep = tuple(f"label{number}" for number in range(200))
    door.put(deep, "k", KAYAK)
    assert door.get(deep, "k").namespace == deep
    assert keys(door.search(deep[:150], query="kayak")) == ["k"]
    assert door.search((*deep[:150], "other"), query="kayak") == []
    assert door.list_namespaces(max_depth=3) == [deep[:3]]


def test_namespaces_are_listed(door: Door) -> None:
    for namespace in [("a", "x", "1"), ("a", "y", "1"), ("b", "x", "2"), ("ab", "x", "1")]:
        door.put(namespace, "k", KAYAK)
        door.put(namespace, "l", KAYAK)
    assert door.list_namespaces(prefix=("a",)) == [("a", "x", "1"), ("a", "y", "1")]
    assert door.list_namespaces(suffix=("1",)) == [("a", "x", "1"), ("a", "y", "1"), ("ab", "x", "1")]
    assert door.list_namespaces(prefix=("*", "x")) == [("a", "x", "1"), ("ab", "x", "1"), ("b", "x", "2")]
    assert door.list_namespaces(max_depth=1) == [("a",), ("ab",), ("b",)]
    assert door.list_namespaces(limit=1, offset=1) == [("a", "y", "1")]
    assert door.list_namespaces(prefix=("a",), suffix=("2",)) == []


FILTERS: list[Any] = [
    # filter, keys of matching items
    ({"kind": "boat"}, "ab"),
    ({"kind": {"$eq": "boat"}}, "ab"),
    ({"kind": {"$ne": "boat"}}, "cd"),
    ({"size": {"$gt": 2}}, "bc"),
    ({"size": {"$gte": 2, "$lt": 9}}, "ab"),
    ({"size": {"$lte": 2}}, "a"),
    ({"kind": "boat", "size": 2}, "a"),
    ({"$and": [{"kind": "boat"}, {"size": {"$gt": 2}}]}, "b"),
    ({"$or": [{"kind": "oven"}, {"size": 2}]}, "ac"),
    ({"$not": {"kind": "boat"}}, "cd"),
    ({"$and": {"kind": "boat"}}, "ab"),
    ({"$and": [{"$or": [{"size": 2}, {"size": 3}]}, {"kind": "boat"}]}, "ab"),
    ({"missing": "x"}, ""),
    ({"missing": {"$gt": 1}}, ""),
    ({"missing": {"$ne": 1}}, "abcd"),
    ({"kind": {"$gt": 1}}, ""),
    ({"size": {"$lt": "text"}}, ""),
    ({"size": {"$gt": None}}, ""),
    ({"owner": {"name": "Ann"}}, "a"),
    ({"owner": {"age": {"$gte": 40}}}, "a"),
    ({"tags": ["x", "y"]}, "c"),
    ({"size": "2"}, ""),
    ({}, "abcd"),
    (None, "abcd"),
]


@every_row(("wanted", "passing"), FILTERS, ids=[str(wanted) for wanted, _ in FILTERS])
@every_row("query", [None, "thing"])
def test_filters(store: HindsightStore, wanted: Any, passing: str, query: str | None) -> None:
    store.put(ANN, "a", {"kind": "boat", "size": 2, "owner": {"name": "Ann", "age": 40}, "text": "thing a"})
    store.put(ANN, "b", {"kind": "boat", "size": 3, "owner": {"name": "Ben", "age": 30}, "text": "thing b"})
    store.put(ANN, "c", {"kind": "oven", "size": 9, "tags": ["x", "y"], "text": "thing c"})
    store.put(ANN, "d", {"text": "thing d"})
    assert "".join(sorted(keys(store.search(ANN, filter=wanted, query=query)))) == passing


@every_row(
    "wanted",
    [
        {"size": {"$near": 2}},
        {"$xor": [{"size": 2}]},
        {"$or": "size"},
        {"$and": [2]},
        ["size"],
        "size",
    ],
    ids=str,
)
@BOTH_FACES
@every_row("filled", [False, True])
def test_a_filter_that_says_nothing_known_is_refused_on_an_empty_store_too(
    store: HindsightStore, face: str, filled: bool, wanted: Any
) -> None:
    if filled:
        store.put(ANN, "a", {"size": 2})
    with pytest.raises(ValueError, match="filter"):
        Door(store, face).search(ANN, filter=wanted)


def test_a_filter_is_applied_before_the_limit(door: Door) -> None:
    """A hundred items nearer to the query do not displace the matching one from the results."""
    door.batch([PutOp(ANN, f"n{i}", {"text": "a green kayak", "i": i}) for i in range(100)])
    door.put(ANN, "far", {"text": "something green", "i": 1_000})
    assert keys(door.search(ANN, query="green kayak", filter={"i": {"$gte": 1_000}}, limit=1)) == ["far"]


def test_pages_of_a_search_are_whole_and_disjoint(door: Door) -> None:
    door.batch([PutOp(ANN, f"k{i:02}", {"text": f"kayak trip {i}"}) for i in range(25)])
    for query in (None, "kayak trip 7"):
        pages = [door.search(ANN, query=query, limit=10, offset=at) for at in (0, 10, 20, 30)]
        assert [len(page) for page in pages] == [10, 10, 5, 0]
        assert len({item.key for page in pages for item in page}) == 25
    assert len(door.search(ANN)) == 10
    best = door.search(ANN, query="kayak trip 7", limit=25)
    assert best[0].key == "k07"
    scores = [item.score for item in best]
    assert scores == sorted(scores, reverse=True)
    assert all(item.score is None for item in door.search(ANN))


def test_what_is_no_operation_is_refused_and_any_truth_says_to_refresh(door: Door) -> None:
    door.put(ANN, "k", KAYAK)
    with pytest.raises(InvalidRequest, match="ops"):
        door.batch([PutOp(ANN, "new", KAYAK), "get"])
    assert door.get(ANN, "new") is None
    read: Any = GetOp(ANN, "k", refresh_ttl=None)  # type: ignore[arg-type]
    assert door.batch([read])[0].value == KAYAK


@every_row("options", [{"limit": -1}, {"offset": -1}, {"max_depth": -1}, {"prefix": "ann"}], ids=str)
def test_a_listing_of_namespaces_that_is_none_is_refused(door: Door, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=next(iter(options)).replace("prefix", "path")):
        door.list_namespaces(**options)


@every_row("options", [{"limit": -1}, {"offset": -1}, {"limit": 2.5}, {"limit": "x"}], ids=str)
def test_a_limit_that_is_none_is_refused(door: Door, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"limit|offset"):
        door.search(ANN, **options)

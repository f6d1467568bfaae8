"""HindsightStore: LangGraph's store interface over a bank."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank
from hindsight_integrations.langgraph import HindsightStore, identity_of, namespace_label
from hindsight_integrations.testing.doubles import FrozenClock

ALICE, BOB = ("memories", "alice"), ("memories", "bob")


@pytest.fixture
def store(light: Hindsight) -> HindsightStore:
    return HindsightStore(light)


def test_what_was_put_is_got_searched_and_listed(store: HindsightStore) -> None:
    """The whole interface, sync."""
    store.put(ALICE, "food", {"text": "Alice likes red apples.", "n": 1})
    store.put(BOB, "car", {"text": "Bob drives a blue car.", "n": 2})
    item = store.get(ALICE, "food")
    assert item is not None
    assert (item.value, item.namespace, item.key) == (
        {"text": "Alice likes red apples.", "n": 1},
        ALICE,
        "food",
    )
    assert [each.key for each in store.search(("memories",), query="blue car")] == ["car", "food"]
    assert [each.key for each in store.search(ALICE, query="blue car")] == ["food"]
    assert [each.key for each in store.search((), filter={"n": {"$gt": 1}})] == ["car"]
    assert store.list_namespaces(prefix=("memories",)) == [ALICE, BOB]
    store.delete(ALICE, "food")
    assert store.get(ALICE, "food") is None
    assert store.list_namespaces(max_depth=1) == [("memories",)]


async def _tour(store: HindsightStore) -> list[Any]:
    await store.aput(ALICE, "food", {"text": "Alice likes red apples."})
    await store.aput(BOB, "car", {"text": "Bob drives a blue car."})
    found = await store.asearch(("memories",), query="blue car")
    got, names = await store.aget(ALICE, "food"), await store.alist_namespaces(suffix=("bob",))
    await store.adelete(BOB, "car")
    return [[each.key for each in found], got and got.value, names, await store.aget(BOB, "car")]


def test_async_does_the_same_from_several_loops(light: Hindsight) -> None:
    """One store is used in four event loops in four threads, with separate banks and with a common one."""
    expected = [["car", "food"], {"text": "Alice likes red apples."}, [BOB], None]
    stores = [HindsightStore(light, bank=f"s{n}") for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda store: asyncio.run(_tour(store)), stores)) == [expected] * 4
    shared = HindsightStore(light)

    async def write(loop: int) -> None:
        await asyncio.gather(
            *(shared.aput(("l", str(loop)), str(n), {"text": f"{loop} {n}"}) for n in range(10))
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda loop: asyncio.run(write(loop)), range(4)))
    assert len(shared.search(("l",), limit=100)) == 40


def test_a_batch_reads_before_it_writes(store: HindsightStore) -> None:
    """Reads see the state before the batch, the last put of a key counts, and results are in the order of the operations."""
    store.put(ALICE, "k", {"v": 0})
    results = store.batch(
        [
            PutOp(ALICE, "k", {"v": 1}),
            GetOp(ALICE, "k"),
            PutOp(ALICE, "k", {"v": 2}),
            SearchOp(("memories",)),
            ListNamespacesOp(match_conditions=(MatchCondition("prefix", ("memories", "*")),)),
            GetOp(BOB, "k"),
        ]
    )
    assert [results[0], results[1].value, results[2]] == [None, {"v": 0}, None]  # type: ignore[union-attr]
    assert [[each.value for each in results[3]], results[4], results[5]] == [[{"v": 0}], [ALICE], None]  # type: ignore[union-attr]
    after = store.get(ALICE, "k")
    assert after is not None
    assert after.value == {"v": 2}


@every_row(
    ("wanted", "keys"),
    [
        ({"colour": "red"}, "ac"),
        ({"colour": {"$ne": "red"}}, "bd"),
        ({"price": {"$gt": 3, "$lte": 10}}, "bc"),
        ({"price": {"$gte": 10}}, "ac"[1:]),
        ({"$and": [{"colour": "red"}, {"price": {"$gt": 5}}]}, "c"),
        ({"$or": [{"colour": "blue"}, {"price": 10}]}, "bc"),
        ({"$not": {"colour": "red"}}, "bd"),
        ({"owner": {"name": "Ann"}}, "a"),
        ({"owner.name": "Ann"}, "a"),
        ({"missing": None}, ""),
        ({"missing": {"$gt": 1}}, ""),
        ({"colour": {"$gt": 1}}, ""),
        ({"colour": {"$in": ["blue", "green"]}}, "b"),
        ({"colour": {"$exists": False}}, "d"),
        ({"sold": True}, "a"),
        ({"sold": 1}, ""),
        ({}, "abcd"),
    ],
)
def test_filters(store: HindsightStore, wanted: dict[str, Any], keys: str) -> None:
    """The results are the same with and without a query."""
    store.put(("f",), "a", {"colour": "red", "price": 2, "owner": {"name": "Ann"}, "sold": True})
    store.put(("f",), "b", {"colour": "blue", "price": "9.5"})
    store.put(("f",), "c", {"colour": "red", "price": 10})
    store.put(("f",), "d", {"price": [1]})
    assert {each.key for each in store.search(("f",), filter=wanted)} == set(keys)
    assert {each.key for each in store.search(("f",), filter=wanted, query="red")} == set(keys)


@every_row(
    "wanted",
    [{"a": {"$like": 1}}, {"$nor": []}, {"$and": [1]}, {"a": {"$in": 3}}, [1], {"a": {"b": {"$x": 1}}}],
)
def test_a_filter_that_is_none_is_refused(store: HindsightStore, wanted: Any) -> None:
    """An unknown operator is an error that names the known ones, instead of an empty result."""
    store.put(("f",), "a", {"a": 1})
    with pytest.raises(ValueError, match="filter"):
        store.search(("f",), filter=wanted)


def test_what_index_says_is_what_is_found(light: Hindsight) -> None:
    """Only texts at its paths are indexed, those that a put names, or none: then the item is listed last, without a score."""
    store = HindsightStore(light, index=["title"])
    store.put(("i",), "a", {"title": "red kayak", "body": "zeppelin"})
    store.put(("i",), "b", {"title": "green tent", "body": "xylophone"}, index=["body"])
    store.put(("i",), "c", {"title": "red kayak"}, index=False)
    found = store.search(("i",), query="xylophone")
    assert [each.key for each in found] == ["b", "a", "c"]
    assert found[-1].score is None
    best = store.search(("i",), query="zeppelin")[0]
    assert best.score is not None
    assert best.score < 0.9


def test_items_live_as_long_as_they_are_read(light: Hindsight, clock: FrozenClock) -> None:
    """`default_ttl` is in minutes, restarted by reads with refresh, and overridden by a put; expired items are swept."""
    store = HindsightStore(light, ttl={"default_ttl": 1, "refresh_on_read": True})
    store.put(("t",), "a", {"n": 1})
    store.put(("t",), "b", {"n": 2}, ttl=None)
    store.put(("t",), "c", {"n": 3}, ttl=0.5)
    clock.advance(timedelta(seconds=40))
    assert store.get(("t",), "a") is not None
    assert store.get(("t",), "c") is None
    clock.advance(timedelta(seconds=40))
    assert [each.key for each in store.search(("t",), refresh_ttl=False)] == ["a", "b"]
    clock.advance(timedelta(seconds=30))
    assert [each.key for each in store.search(("t",))] == ["b"]
    assert store.sweep_ttl() == 2
    assert store.list_namespaces() == [("t",)]


@every_row("ttl", [0, -1, float("nan"), float("inf"), 1e12])
def test_a_time_to_live_must_be_one(store: HindsightStore, ttl: float) -> None:
    """Zero and negative times to live are rejected."""
    with pytest.raises(InvalidRequest, match="ttl"):
        store.put(("t",), "a", {"n": 1}, ttl=ttl)


@every_row("namespace", [("a.b",), ("",), ("a", ""), ()])
def test_labels_langgraph_does_not_allow(store: HindsightStore, namespace: tuple[str, ...]) -> None:
    """Dots and empty labels raise LangGraph's error, and nothing is written."""
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"n": 1})
    assert store.search(()) == []


def test_a_namespace_of_two_hundred_labels(store: HindsightStore) -> None:
    """Two hundred labels are stored; over a thousand are rejected."""
    deep = tuple(f"l{n}" for n in range(200))
    store.put(deep, "k", {"text": "deep"})
    assert [each.namespace for each in store.search(deep[:150], query="deep")] == [deep]
    assert store.list_namespaces(suffix=("l199",)) == [deep]
    with pytest.raises(InvalidRequest, match="namespace"):
        store.put(deep * 6, "k", {"n": 1})


@every_row("value", [{"a": {1}}, {"a": b"x"}, {"a": float("nan")}, {1: "x"}, {"a": object()}])
def test_a_value_that_is_no_json(store: HindsightStore, value: Any) -> None:
    """It is rejected, and nothing of its batch is written."""
    with pytest.raises(InvalidRequest, match="value"):
        store.batch([PutOp(("v",), "good", {"n": 1}), PutOp(("v",), "bad", value)])
    assert store.search(("v",)) == []


def test_it_survives_a_restart(opener: Callable[..., Hindsight], tmp_path: Path) -> None:
    """With Chroma and Lucene on disk: items, times and the ranking survive."""
    engine = opener(tmp_path / "m")
    store = HindsightStore(engine)
    for number in range(20):
        store.put(ALICE, f"k{number}", {"text": f"kayak number {number}"}, ttl=5 if number % 2 else None)
    before = [each.dict() for each in store.search(ALICE, query="kayak number 7", limit=20)]
    engine.close()
    again = HindsightStore(opener(tmp_path / "m"))
    assert [each.dict() for each in again.search(ALICE, query="kayak number 7", limit=20)] == before


def test_forget_takes_everything_under_a_prefix(store: HindsightStore) -> None:
    """Nothing outside the prefix is erased."""
    for namespace in (ALICE, BOB, ("memories", "alicent"), (*ALICE, "deep")):
        store.put(namespace, "k", {"text": "x"})
    assert store.forget(ALICE) == 2
    assert store.list_namespaces() == [("memories", "alicent"), BOB]
    assert asyncio.run(store.aforget(BOB, "k")) == 1


def test_either_api_of_an_engine_or_bank(light: Hindsight) -> None:
    """All see the same items; a bank together with another bank's name, and invalid memory objects, are rejected."""
    bank = light.bank("store")
    for memory in (light, light.asynchronous, bank, bank.asynchronous):
        store = HindsightStore(memory)
        store.put(("a",), "k", {"n": 1})
        assert [each.key for each in store.search(())] == ["k"]
        assert bool(store)
    with pytest.raises(InvalidRequest, match="bank"):
        HindsightStore(bank, bank="other")
    with pytest.raises(InvalidRequest, match="memory"):
        HindsightStore({})  # type: ignore[arg-type]
    assert isinstance(bank, MemoryBank)


@given(st.text())
def test_an_identity_comes_back_from_its_label(identity: str) -> None:
    """The encoding is reversible for any identity, and LangGraph allows the label at the root."""
    label = namespace_label(identity)
    assert identity_of(label) == identity
    assert label not in {"", "langgraph"}
    assert not {".", "\0"} & set(label)


def test_an_index_config_of_langgraph_is_told_where_its_embedder_goes(light: Hindsight) -> None:
    """A config for InMemoryStore(index={...}) is rejected instead of silently using another embedder."""
    with pytest.raises(InvalidRequest, match="embeddings="):
        HindsightStore(light, index={"dims": 64, "embed": None, "fields": ["text"]})  # type: ignore[arg-type]


@pytest.mark.promise("Every error says what to do.")
def test_an_address_as_label_is_refused_with_the_way_out(store: HindsightStore) -> None:
    """Sync and async; with `namespace_label` it is accepted."""
    label = "ann@example.com"
    with pytest.raises(InvalidNamespaceError, match=r"namespace_label\(\.\.\.\)"):
        store.put(("memories", label), "k", {"text": "x"})
    with pytest.raises(InvalidNamespaceError, match="namespace_label"):
        asyncio.run(store.aput(("memories", label), "k", {"text": "x"}))
    store.put(("memories", namespace_label(label)), "k", {"text": "x"})
    assert store.get(("memories", namespace_label(label)), "k") is not None

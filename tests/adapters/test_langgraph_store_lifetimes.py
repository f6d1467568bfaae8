"""HindsightStore over time: batches, loops and threads, restarts, times to live, and erasure."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, Op, PutOp, SearchOp
from table import every_row

from hindsight_integrations import AsyncHindsight, Hindsight, HindsightError, MemoryBank
from hindsight_integrations.langgraph import HindsightStore
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

ANN, BEN = ("memories", "ann"), ("memories", "ben")
KAYAK = {"text": "Ann owns a green kayak."}
OVEN = {"text": "Ben bakes bread in an oven."}
WORD = "xylograph"  # that no other text contains


@pytest.fixture
def store(light: Hindsight) -> HindsightStore:
    return HindsightStore(light)


def files_with(folder: Path, word: str) -> list[str]:
    """Files of `folder` that contain `word` in UTF-8 or UTF-16."""
    needles = (word.encode(), word.encode("utf-16-le"))
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(needle in path.read_bytes() for needle in needles)
    )


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_batch_answers_in_order_and_reads_before_it_writes(store: HindsightStore, face: str) -> None:
    store.put(ANN, "old", KAYAK)
    ops: list[Op] = [
        PutOp(ANN, "new", {"n": 1}),
        GetOp(ANN, "new"),
        GetOp(ANN, "old"),
        PutOp(ANN, "old", None),
        SearchOp(ANN),
        PutOp(ANN, "new", {"n": 2}),
        ListNamespacesOp(),
        PutOp(BEN, "x", {"n": 3}),
        PutOp(BEN, "x", None),
    ]
    results: list[Any] = asyncio.run(store.abatch(ops)) if face == "async" else store.batch(ops)
    assert [results[place] for place in (0, 1, 3, 5, 7, 8)] == [None] * 6
    assert results[2].value == KAYAK
    assert [item.key for item in results[4]] == ["old"]
    assert results[6] == [ANN]
    assert [(item.key, item.value) for item in store.search(())] == [("new", {"n": 2})]
    assert store.batch([]) == []
    assert store.batch(op for op in [GetOp(ANN, "new")])[0].value == {"n": 2}  # type: ignore[union-attr]


def test_many_searches_in_one_batch_each_get_their_own(store: HindsightStore) -> None:
    store.batch([PutOp(ANN, f"k{i}", {"text": f"word{i} kayak"}) for i in range(20)])
    found: list[Any] = store.batch([SearchOp(ANN, query=f"word{i}", limit=1) for i in range(20)])
    assert [items[0].key for items in found] == [f"k{i}" for i in range(20)]


def test_a_store_of_two_loops_and_many_threads(light: Hindsight) -> None:
    """Each loop and thread reads what it wrote, and everything exists at the end."""
    store = HindsightStore(light)

    async def write(name: str) -> int:
        await asyncio.gather(
            *(store.aput((name,), f"k{i}", {"text": f"{name} kayak {i}"}) for i in range(10))
        )
        return len(await store.asearch((name,), query="kayak", limit=50))

    def sync(name: str) -> int:
        for i in range(10):
            store.put((name,), f"k{i}", {"text": f"{name} kayak {i}"})
        return len(store.search((name,), query="kayak", limit=50))

    names = [f"n{i}" for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(lambda name: asyncio.run(write(name)) if name < "n3" else sync(name), names))
    assert counts == [10] * 6
    assert len(store.search((), limit=100)) == 60


def test_sync_calls_on_a_running_loop_work(store: HindsightStore) -> None:
    """A sync node of an async graph calls the sync methods on the loop's thread."""

    async def main() -> Any:
        store.put(ANN, "k", KAYAK)
        return store.search(ANN, query="kayak"), await store.aget(ANN, "k")

    found, item = asyncio.run(main())
    assert found[0].value == item.value == KAYAK


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_graph_finds_the_store_it_was_compiled_with(store: HindsightStore, face: str) -> None:
    class State(TypedDict, total=False):
        found: list[str]

    def remember(state: State) -> None:
        get_store().put(ANN, "k", KAYAK)

    def recall(state: State) -> State:
        return {"found": [item.value["text"] for item in get_store().search(ANN, query="kayak")]}

    builder = StateGraph(State)
    builder.add_sequence([("remember", remember), ("recall", recall)])
    builder.add_edge(START, "remember")
    graph = builder.compile(store=store)
    state = asyncio.run(graph.ainvoke({})) if face == "async" else graph.invoke({})
    assert state["found"] == [KAYAK["text"]]


def test_a_store_is_true_and_has_no_length(store: HindsightStore) -> None:
    """Agent Server tests the store's truth value, so an empty store must not be false."""
    assert bool(store)
    assert not {"__len__", "__bool__"} & set(dir(type(store)))
    assert isinstance(store, BaseStore)
    assert store.supports_ttl


def test_every_kind_of_memory_makes_a_store(tmp_path: Path, light: Hindsight) -> None:
    own = HindsightStore(light.bank("mine"))
    own.put(ANN, "k", KAYAK)
    assert HindsightStore(light, bank="mine").get(ANN, "k") is not None
    assert HindsightStore(light).get(ANN, "k") is None  # another bank

    async def main() -> None:
        async with AsyncHindsight.open(tmp_path / "m", embeddings=HashEmbedder(), reranker=None) as engine:
            store = HindsightStore(engine)
            await store.aput(ANN, "k", KAYAK)
            assert [item.key for item in await store.asearch(ANN, query="kayak")] == ["k"]
            assert await HindsightStore(await engine.bank("store")).aget(ANN, "k") is not None

    asyncio.run(main())


@every_row("memory", [None, "path", 3, object()])
def test_what_is_no_memory_makes_no_store(memory: Any) -> None:
    with pytest.raises((HindsightError, TypeError)):
        HindsightStore(memory)


def test_a_bank_named_twice_and_wrong_options_are_refused(light: Hindsight) -> None:
    bank: MemoryBank = light.bank("mine")
    with pytest.raises((HindsightError, TypeError)):
        HindsightStore(bank, bank="other")
    options: list[dict[str, Any]] = [
        {"index": "text"},
        {"index": True},
        {"index": [1]},
        {"ttl": {"default_ttl": 0}},
        {"ttl": {"default_ttl": -1}},
        {"ttl": 5},
    ]
    for wrong in options:
        with pytest.raises((HindsightError, TypeError)):
            HindsightStore(light, **wrong)


def test_it_survives_a_restart(opener: Any, tmp_path: Path, clock: FrozenClock) -> None:
    """With Chroma and Lucene: items, times, search results and deletions survive."""
    first = opener(tmp_path / "m")
    store = HindsightStore(first)
    born = clock.now()
    store.put(ANN, "kayak", KAYAK)
    store.put(BEN, "oven", OVEN, ttl=60)
    store.put(BEN, "gone", {"text": "a gone kayak"})
    store.delete(BEN, "gone")
    first.close()
    clock.advance(timedelta(minutes=30))
    store = HindsightStore(opener(tmp_path / "m"))
    assert [item.key for item in store.search((), query="green kayak", limit=1)] == ["kayak"]
    item = store.get(ANN, "kayak", refresh_ttl=False)
    assert item is not None
    assert (item.created_at, item.value) == (born, KAYAK)
    assert store.get(BEN, "oven", refresh_ttl=False) is not None
    clock.advance(timedelta(minutes=31))
    assert store.get(BEN, "oven") is None
    assert store.get(BEN, "gone") is None


def test_time_to_live(light: Hindsight, clock: FrozenClock) -> None:
    """An item is hidden from all reads when its time ends; a read with refresh restarts the time; an item without one stays."""
    store = HindsightStore(light, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(ANN, "default", KAYAK)
    store.put(ANN, "long", KAYAK, ttl=60)
    store.put(ANN, "never", KAYAK, ttl=None)
    clock.advance(timedelta(minutes=9))
    assert store.get(ANN, "default", refresh_ttl=True) is not None
    clock.advance(timedelta(minutes=9))
    assert store.get(ANN, "default") is not None
    clock.advance(timedelta(minutes=2))
    assert store.get(ANN, "default") is None
    assert sorted(item.key for item in store.search(ANN)) == ["long", "never"]
    assert sorted(item.key for item in store.search(ANN, query="kayak")) == ["long", "never"]
    store.put(ANN, "default", OVEN)  # as new
    again = store.get(ANN, "default")
    assert again is not None
    assert again.created_at == clock.now()
    clock.advance(timedelta(days=9_999))
    assert [item.key for item in store.search(ANN)] == ["never"]
    store.delete(ANN, "never")
    assert store.list_namespaces() == []


def test_a_search_refreshes_what_it_shows_and_nothing_else(light: Hindsight, clock: FrozenClock) -> None:
    store = HindsightStore(light, ttl={"refresh_on_read": True})
    store.put(ANN, "kayak", KAYAK, ttl=10)
    store.put(ANN, "oven", OVEN, ttl=10)
    clock.advance(timedelta(minutes=6))
    store.search(ANN, query="kayak", limit=1)
    clock.advance(timedelta(minutes=6))
    assert [item.key for item in store.search(ANN)] == ["kayak"]


@every_row("ttl", [0, -1, -0.001, float("nan"), float("inf"), "5", True])
@every_row("face", ["sync", "async"])
def test_a_time_to_live_that_is_none_is_refused(store: HindsightStore, face: str, ttl: Any) -> None:
    def put() -> None:
        if face == "async":
            asyncio.run(store.aput(ANN, "k", KAYAK, ttl=ttl))
        else:
            store.put(ANN, "k", KAYAK, ttl=ttl)

    with pytest.raises(ValueError, match="ttl"):
        put()
    assert store.search(()) == []


@pytest.mark.parametrize("how", ["delete", "overwrite", "expire", "forget", "forget all"])
def test_what_is_gone_is_found_no_more_and_in_no_file(
    opener: Any, tmp_path: Path, clock: FrozenClock, how: str
) -> None:
    """With Chroma and Lucene: `forget` scrubs the files at once, other deletions in the next `settle`."""
    engine = opener(tmp_path / "m")
    store = HindsightStore(engine)
    store.put(ANN, "k", {"text": f"Ann made a {WORD}."}, ttl=10)
    store.put(ANN, "stays", {"text": "Ann owns a kayak."})
    if how == "delete":
        store.delete(ANN, "k")
    elif how == "overwrite":
        store.put(ANN, "k", {"text": "Ann made a drawing."})
    elif how == "expire":
        clock.advance(timedelta(minutes=11))
    else:
        assert store.forget(ANN, "k" if how == "forget" else None) == (1 if how == "forget" else 2)
    found = store.search(ANN, query=WORD, limit=50)
    assert all(WORD not in str(item.value) for item in found)
    assert store.search(ANN, filter={"text": f"Ann made a {WORD}."}) == []
    if "forget" not in how:
        engine.bank("store").tasks.settle()
    assert files_with(tmp_path / "m", WORD) == []
    engine.close()
    gc.collect()
    assert files_with(tmp_path / "m", WORD) == []
    again = HindsightStore(opener(tmp_path / "m"))
    assert ("stays" in [item.key for item in again.search(ANN)]) == (how != "forget all")


def test_thousands_of_items(store: HindsightStore) -> None:
    store.batch(
        [PutOp(("n", str(i % 7)), f"k{i}", {"text": f"item number{i}", "i": i}) for i in range(3_000)]
    )
    assert store.search(("n", "3"), query="number1501", limit=1)[0].key == f"k{1501}"  # 1501 % 7 == 3
    assert len(store.search(("n",), limit=5_000)) == 3_000
    assert [item.value["i"] for item in store.search((), filter={"i": {"$gte": 2_999}})] == [2_999]
    assert store.list_namespaces() == [("n", str(i)) for i in range(7)]
    assert store.forget(("n", "3")) == len(range(3, 3_000, 7))
    assert store.search(("n", "3")) == []

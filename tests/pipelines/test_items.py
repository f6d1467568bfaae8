"""Items: values by namespace and key, found by meaning and words, and removed when they are deleted."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import FoundItem, Hindsight, InvalidRequest, ItemDelete, ItemPut, MemoryBank
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.errors import ModelUnavailable
from hindsight_integrations.model.arrays import Matrix
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
MINUTE = timedelta(minutes=1)


def put(namespace: tuple[str, ...], key: str, text: str = "", ttl: timedelta | None = None) -> ItemPut:
    return ItemPut(namespace, key, {"text": text}, (text,) if text else (), ttl)


def keys(found: list[FoundItem]) -> list[str]:
    return [each.item.key for each in found]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("store")


def test_what_was_put_is_there(bank: MemoryBank, clock: FrozenClock) -> None:
    """A value is returned unchanged; replaced, it keeps its creation time and has a new update time."""
    bank.items.write([put(("a", "b.c"), "k", "red kayak")])
    (first,) = bank.items.get([(("a", "b.c"), "k")])
    clock.advance(MINUTE)
    bank.items.write([put(("a", "b.c"), "k", "green tent")])
    ((second,), (nothing,)) = bank.items.get([(("a", "b.c"), "k")]), bank.items.get([(("a", "b"), "k")])
    assert first is not None
    assert second is not None
    assert (first.value, second.value, nothing) == ({"text": "red kayak"}, {"text": "green tent"}, None)
    assert (second.created_at, second.updated_at) == (first.created_at, first.created_at + MINUTE)


def test_a_prefix_ends_at_a_label(bank: MemoryBank) -> None:
    """("a",) is not a prefix of ("ab",), nor of a label that begins with "a."; the order is newest first."""
    bank.items.write([put((name,), name, f"a boat of {name}") for name in ("a", "ab", "a.b", "a/", "A")])
    assert keys(bank.items.search(("a",), query="boat")) == ["a"]
    assert keys(bank.items.search(("a",))) == ["a"]
    assert bank.items.namespaces(("a",)) == [("a",)]
    assert len(bank.items.namespaces()) == 5


def test_items_are_no_memories(bank: MemoryBank) -> None:
    """Neither recall, the list of memories nor their count contains items; a memory is not an item."""
    bank.items.write([put(("a",), "k", "Marta repaired the red kayak.")])
    assert (bank.recall("red kayak").units, bank.units().units, bank.count()) == ((), (), 0)
    bank.retain("Marta sold the red kayak.")
    assert ("sold" in bank.recall("red kayak").units[0].unit.text, bank.count()) == (True, 1)
    assert keys(bank.items.search(query="red kayak")) == ["k"]


def test_replaced_and_deleted_words_find_nothing(bank: MemoryBank) -> None:
    """At once and in both channels; the others are found as before."""
    bank.items.write([put(("a",), "k", "xylophone lesson"), put(("a",), "l", "zeppelin ride")])
    bank.items.write([put(("a",), "k", "piano lesson")])
    best, *_ = bank.items.search(query="xylophone")
    assert best.score is not None
    assert best.score < 0.5
    bank.items.write([ItemDelete(("a",), "l"), ItemDelete(("a",), "never there")])
    assert keys(bank.items.search(query="zeppelin")) == ["k"]


def test_a_condition_counts_before_the_limit(bank: MemoryBank) -> None:
    """One item in a hundred matches, and is found although all the others are nearer."""
    bank.items.write([put(("a",), f"k{n}", f"red kayak number {n}") for n in range(100)])
    bank.items.write([put(("a",), "odd", "something else")])

    def other(value: object) -> bool:
        return value == {"text": "something else"}

    assert keys(bank.items.search(query="red kayak", where=other, limit=1)) == ["odd"]
    assert keys(bank.items.search(where=other, limit=1)) == ["odd"]


def test_pages_are_of_one_ranking(bank: MemoryBank) -> None:
    """Pages are consecutive, scores do not increase, and items without texts come last, without a score."""
    bank.items.write([put(("a",), f"k{n}", f"kayak {n} of {n % 7} colours") for n in range(60)])
    bank.items.write([ItemPut(("a",), "plain", {"n": 1})])
    whole = bank.items.search(query="kayak of colours", limit=100)
    pages = [
        each
        for start in range(0, 70, 10)
        for each in bank.items.search(query="kayak of colours", limit=10, offset=start)
    ]
    assert keys(pages) == keys(whole)
    assert len(set(keys(whole))) == 61
    scores = [each.score for each in whole[:-1]]
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]
    assert (whole[-1].item.key, whole[-1].score) == ("plain", None)


def test_an_item_expires(bank: MemoryBank, clock: FrozenClock) -> None:
    """It is hidden when its time is over, `settle` erases it, and a read with refresh restarts its time."""
    bank.items.write([put(("a",), "short", "red kayak", MINUTE), put(("a",), "long", "red tent", 3 * MINUTE)])
    clock.advance(MINUTE - timedelta(seconds=1))
    bank.items.get([(("a",), "short")], refresh=True)
    clock.advance(MINUTE - timedelta(seconds=1))
    assert keys(bank.items.search(query="red kayak")) == ["short", "long"]
    clock.advance(MINUTE)
    assert keys(bank.items.search(query="red kayak")) == ["long"]
    assert bank.items.get([(("a",), "short")]) == [None]
    bank.tasks.settle()
    assert bank.items.expire() == 0
    bank.items.write([put(("a",), "short", "red kayak")])
    (again,) = bank.items.get([(("a",), "short")])
    assert again is not None
    assert again.created_at == clock.now()


def test_the_engines_settle_erases_what_expired(light: Hindsight, clock: FrozenClock) -> None:
    """In all banks, without waiting for items that expire next year."""
    for name in ("one", "two"):
        items = light.bank(name).items
        items.write([put(("a",), "k", "kayak", MINUTE), put(("a",), "l", "tent", timedelta(days=365))])
    clock.advance(2 * MINUTE)
    light.settle(wait=True)
    assert [light.bank(name).items.expire() for name in ("one", "two")] == [0, 0]
    assert keys(light.bank("one").items.search()) == ["l"]


class Moody(HashEmbedder):
    """Fails while it is told to."""

    fails = False

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        if self.fails:
            raise ModelUnavailable("moody", "it was told to fail")
        return super().embed_documents(texts)


def test_a_failing_embedder_writes_nothing(opener: Callable[..., Hindsight]) -> None:
    """Neither the put nor the delete of the write is stored, and existing items are still found."""
    moody = Moody()
    bank = opener(embeddings=moody, config=LIGHT).bank("store")
    bank.items.write([put(("a",), "k", "red kayak")])
    moody.fails = True
    with pytest.raises(ModelUnavailable):
        bank.items.write([ItemDelete(("a",), "k"), put(("a",), "l", "green tent")])
    assert keys(bank.items.search()) == ["k"]
    bank.items.write(
        [put(("a",), "k", "red kayak", MINUTE), ItemPut(("a",), "m", {})]
    )  # no new text: nothing to embed
    moody.fails = False
    assert keys(bank.items.search(query="red kayak")) == ["k", "m"]


def test_a_repeated_key_in_one_write(bank: MemoryBank) -> None:
    """The last operation for a key counts, put or delete."""
    bank.items.write(
        [put(("a",), "k", "one"), put(("a",), "k", "two"), put(("a",), "l"), ItemDelete(("a",), "l")]
    )
    bank.items.write([ItemDelete(("a",), "k"), put(("a",), "k", "two")])
    assert [each.item.value for each in bank.items.search(query="two")] == [{"text": "two"}]


@pytest.mark.parametrize("vectors", [VectorBackend.EXACT, VectorBackend.CHROMA])
@pytest.mark.parametrize("keywords", [KeywordBackend.FTS5, KeywordBackend.LUCENE])
def test_they_survive_a_restart(
    opener: Callable[..., Hindsight], tmp_path: Path, vectors: VectorBackend, keywords: KeywordBackend
) -> None:
    """After reopening everything exists and is found, except deleted and replaced items."""
    config = HindsightConfig(storage=StorageConfig(vectors=vectors, keywords=keywords))
    engine = opener(tmp_path / "m", config=config)
    items = engine.bank("store").items
    items.write([put(("a",), f"k{n}", f"kayak number {n} of the fleet") for n in range(300)])
    items.write([ItemDelete(("a",), f"k{n}") for n in range(0, 300, 2)])
    items.write([put(("a",), f"k{n}", f"tent number {n} of the camp") for n in range(1, 300, 4)])
    before = [(each.item, each.score) for each in items.search(query="kayak number 7", limit=400)]
    assert len(before) == 150
    engine.close()
    again = opener(tmp_path / "m", config=config).bank("store").items
    assert [(each.item, each.score) for each in again.search(query="kayak number 7", limit=400)] == before
    assert keys(again.search(query="kayak number 7", limit=1)) == ["k7"]


@pytest.mark.directory
@pytest.mark.promise(
    "Forgotten data remains in no file of the memory, and entities with similar names are erased only if you ask for it."
)
@pytest.mark.parametrize("keywords", [KeywordBackend.FTS5, KeywordBackend.LUCENE])
def test_deleted_words_leave_the_files(
    opener: Callable[..., Hindsight],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keywords: KeywordBackend,
) -> None:
    """`forget` removes them from the files at once; deletions and replacements are removed in batches, or by `settle`."""
    config = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.CHROMA, keywords=keywords))
    engine = opener(tmp_path / "m", config=config)
    items = engine.bank("store").items

    def filled() -> None:
        items.write([put(("a",), f"k{n}", f"plain words {n}") for n in range(200)])
        items.write([put(("a",), "x", "a xylophone"), put(("a",), "y", "a zeppelin")])

    filled()
    assert holding(tmp_path, "xylophone")
    assert items.forget(("a",), "x") == 1
    assert holding(tmp_path, "xylophone") == set()
    assert keys(items.search(query="zeppelin", limit=1)) == ["y"]
    filled()
    items.write([ItemDelete(("a",), "x"), put(("a",), "y", "a piano")])
    engine.bank("store").tasks.settle()
    assert holding(tmp_path, "xylophone") | holding(tmp_path, "zeppelin") == set()
    filled()
    monkeypatch.setattr("hindsight_integrations.bank.items.SCRUB_AFTER", 100)
    items.write([ItemDelete(("a",), f"k{n}") for n in range(100)])
    items.write([ItemDelete(("a",), "x")])
    items.write([ItemDelete(("a",), f"k{n}") for n in range(100, 200)])
    assert holding(tmp_path, "xylophone") == set()


def holding(folder: Path, word: str) -> set[str]:
    """Top-level folders with a file that contains a word."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).parts[1] for path in files if word in path.read_text("latin-1").lower()}


@every_row(
    ("value", "where"),
    [
        ({"a": {1, 2}}, "value.a"),
        ({"a": [0, {"b": float("nan")}]}, "value.a[1].b"),
        ({"a": {5: 1}}, "value.a"),
        ({"a": "\ud800"}, "value.a"),
        ([1], "value"),
        (None, "value"),
    ],
)
def test_a_value_that_is_no_json_is_refused_with_its_place(bank: MemoryBank, value: Any, where: str) -> None:
    """Nothing of the write is stored, and the error names the place."""
    with pytest.raises(InvalidRequest) as refused:
        bank.items.write([put(("a",), "good", "x"), ItemPut(("a",), "bad", value)])
    assert where in str(refused.value)
    assert bank.items.search() == []


@pytest.mark.parametrize("ttl", [timedelta(0), timedelta(seconds=-1), timedelta(days=10**6)])
def test_a_time_to_live_is_above_zero(bank: MemoryBank, ttl: timedelta) -> None:
    """Zero, negative and extremely long times are rejected."""
    with pytest.raises(InvalidRequest, match="ttl"):
        bank.items.write([put(("a",), "k", "x", ttl)])


def test_many_writers_lose_nothing(light: Hindsight) -> None:
    """Eight threads put, replace and delete in one bank: the last write of each is stored."""
    items = light.bank("store").items

    def work(worker: int) -> None:
        for n in range(12):
            items.write([put(("w", str(worker)), f"k{n}", f"kayak {n} of {worker}")])
            if n % 3 == 0:
                items.write([ItemDelete(("w", str(worker)), f"k{n}")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(items.search(("w",), limit=200)) == 8 * 8
    assert len(items.search(("w",), query="kayak", limit=200)) == 8 * 8


def test_forgetting_everything_takes_the_items(light: Hindsight) -> None:
    """`forget(everything=True)` and `forget_bank` erase all items; forgetting a time window erases none."""
    bank = light.bank("store")
    bank.items.write([put(("a",), "k", "red kayak")])
    bank.forget(window=("2000-01-01", "2100-01-01"))
    assert keys(bank.items.search(query="kayak")) == ["k"]
    bank.forget(everything=True)
    assert bank.items.search(query="kayak") == []
    bank.items.write([put(("a",), "k", "red kayak")])
    light.forget_bank("store")
    assert light.bank("store").items.search() == []


def test_an_archive_carries_items(light: Hindsight, clock: FrozenClock) -> None:
    """Values, times, searchable texts and times to live are archived; the copy behaves like the original."""
    one, two = light.bank("one"), light.bank("two")
    one.retain("Marta repaired the red kayak.")
    one.items.write(
        [put(("a", "b.c"), "k", "red kayak", 3 * MINUTE), put(("a",), "l", "green tent"), put(("z",), "m")]
    )
    clock.advance(MINUTE)
    one.items.write([put(("a",), "l", "blue tent")])
    file = io.StringIO()
    one.archive.export(file)
    two.archive.load(io.StringIO(file.getvalue()))
    for query in ("", "blue tent"):
        assert two.items.search(query=query) == one.items.search(query=query)
    assert two.count() == 1
    two.items.write([put(("a",), "l", "blue tent"), ItemDelete(("z",), "m")])
    clock.advance(2 * MINUTE)
    assert keys(two.items.search(query="blue tent")) == ["l"]
    assert two.items.expire() == 1
    assert light.doctor(deep=True).damaged == {}


def test_a_worker_erases_what_expired(opener: Callable[..., Hindsight]) -> None:
    """When they are due, and again for items that expire later."""
    bank = opener(config=LIGHT, worker=True, clock=None).bank("store")
    for key, seconds in (("k", 0.2), ("l", 1.5)):
        bank.items.write([put(("a",), key, "red kayak", timedelta(seconds=seconds))])
    bank.items.write([put(("a",), "m", "red kayak")])
    view = bank.asynchronous._context.projection.view
    assert until(lambda: len(view().columns) == 1)
    assert keys(bank.items.search(query="kayak")) == ["m"]
    assert {task.state for task in bank.tasks.list()} == {TaskState.DONE}


def until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()

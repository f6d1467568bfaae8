"""A limited number of open banks: any bank answers, none is closed during a call, and no resources are leaked."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank, RecallResult
from hindsight_integrations.bank.open_banks import OpenBanks, Places
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.testing.doubles import HashEmbedder

Opener = Callable[..., Hindsight]


def settings(open_banks: int) -> HindsightConfig:
    storage = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5, open_banks=open_banks)
    return HindsightConfig(storage=storage)


def pool(hindsight: Hindsight) -> OpenBanks:
    return hindsight.asynchronous._banks


def top(found: RecallResult) -> str:
    return found.units[0].unit.text


def thing(number: int) -> str:
    return f"The keeper owns kayak {number}."


def filled(hindsight: Hindsight, count: int) -> list[MemoryBank]:
    """Banks, each with one memory."""
    banks = [hindsight.bank(f"bank {number}") for number in range(count)]
    for number, bank in enumerate(banks):
        bank.retain(thing(number))
    return banks


@pytest.mark.promise(
    "Beyond that number, the least recently used idle bank is closed and reopens automatically at "
    "its next use."
)
@pytest.mark.parametrize("where", ["disk", "memory"])
def test_any_of_many_banks_answers(opener: Opener, tmp_path: Path, where: str) -> None:
    """Objects of twenty banks work while at most three are open; the least recently used ones are closed."""
    hindsight = opener(tmp_path if where == "disk" else ":memory:", config=settings(3))
    banks = filled(hindsight, 20)
    for number in (0, 7, 19, 7, 3):
        assert top(banks[number].recall("kayak")) == thing(number)
        assert len(pool(hindsight).projections()) <= 3
    assert set(pool(hindsight).projections()) == {"bank 19", "bank 7", "bank 3"}
    assert banks[0].forget(everything=True).counts
    assert banks[0].recall("kayak").units == ()
    assert hindsight.forget_bank("bank 1").counts["units"] == 1
    assert len(hindsight.banks()) == 19


def test_threads_and_event_loops_at_once(opener: Opener, tmp_path: Path) -> None:
    """Threads and loops retain and recall in twelve banks, two of which may be open: every answer is from its own bank."""
    hindsight = opener(tmp_path, config=settings(2))
    banks = filled(hindsight, 12)

    def work(seed: int) -> int:
        rng = random.Random(seed)
        for turn in range(15):
            number = rng.randrange(len(banks))
            assert top(banks[number].recall("kayak")) == thing(number)
            banks[number].retain(f"The keeper paints boat {seed} {turn} green.")
            assert {unit.text for unit in banks[number].iterate_units()} >= {thing(number)}
        return 15

    async def crowd() -> list[RecallResult]:
        return await asyncio.gather(*(bank.asynchronous.recall("kayak") for number, bank in enumerate(banks)))

    with ThreadPoolExecutor(6) as threads:
        loops = [threads.submit(asyncio.run, crowd()) for _ in range(2)]
        assert sum(threads.map(work, range(4))) == 60
        for answers in loops:
            assert [top(found) for found in answers.result()] == [thing(number) for number in range(12)]
    assert len(pool(hindsight).projections()) <= 3  # the writer may open one more bank
    assert sum(bank.count() for bank in banks) == 12 + 60


class Pausing(HashEmbedder):
    """Pauses at questions with a star until released."""

    def __init__(self) -> None:
        super().__init__()
        self.paused, self.go_on = threading.Semaphore(0), threading.Event()

    def embed_query(self, text: str) -> Any:
        if "*" in text:
            self.paused.release()
            assert self.go_on.wait(30)
        return super().embed_query(text)


@pytest.fixture
def paused(opener: Opener, tmp_path: Path) -> Iterator[tuple[Hindsight, list[MemoryBank], Pausing]]:
    """An engine with two open banks out of ten, and its embedder, which pauses at questions with a star."""
    embedder = Pausing()
    hindsight = opener(tmp_path, embeddings=embedder, config=settings(2))
    yield hindsight, filled(hindsight, 10), embedder
    embedder.go_on.set()


@pytest.mark.promise(
    "Beyond that number, the least recently used idle bank is closed and reopens automatically at "
    "its next use."
)
def test_a_recall_in_flight_keeps_its_bank(
    paused: tuple[Hindsight, list[MemoryBank], Pausing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """During a recall, other banks are opened and closed; its bank is not closed, and its answer is right."""
    hindsight, banks, embedder = paused
    closed: list[str] = []
    close = BankProjection.close

    def noted(projection: BankProjection) -> None:
        closed.append(projection.view().bank)
        close(projection)

    monkeypatch.setattr(BankProjection, "close", noted)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(banks[0].recall, "*kayak")
        assert embedder.paused.acquire(timeout=30)
        for number in range(1, 10):
            assert top(banks[number].recall("kayak")) == thing(number)
            banks[number].retain("The keeper rows.")
        embedder.go_on.set()
        assert top(answer.result()) == thing(0)
    assert "bank 0" not in closed
    assert len(closed) >= 8
    assert "bank 0" in pool(hindsight).projections()


@pytest.mark.directory
def test_recalls_of_more_banks_than_may_be_open_take_turns(
    paused: tuple[Hindsight, list[MemoryBank], Pausing],
) -> None:
    """Two recalls hold both places: a recall of a third bank waits, one of a held bank does not; a cancelled one takes no place."""
    hindsight, banks, embedder = paused

    async def crowd() -> list[RecallResult]:
        held = [asyncio.create_task(banks[number].asynchronous.recall("*kayak")) for number in (0, 1)]
        for _ in held:
            assert await asyncio.to_thread(embedder.paused.acquire, timeout=30)
        beside = await banks[0].asynchronous.recall("kayak")
        given_up, third = (
            asyncio.create_task(banks[number].asynchronous.recall("kayak")) for number in (2, 3)
        )
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        assert not third.done()
        assert set(pool(hindsight).projections()) == {"bank 0", "bank 1"}
        embedder.go_on.set()
        return [beside, *await asyncio.gather(*held, third)]

    assert [top(found) for found in asyncio.run(crowd())] == [thing(number) for number in (0, 0, 1, 3)]
    for number, bank in enumerate(banks):
        assert top(bank.recall("kayak")) == thing(number)


def test_a_recall_of_an_open_bank_does_not_wait_for_the_writer(
    paused: tuple[Hindsight, list[MemoryBank], Pausing],
) -> None:
    """While the writer is busy, an open bank answers."""
    hindsight, banks, _ = paused
    workers, go_on = hindsight.asynchronous._workers, threading.Event()

    async def beside_a_write() -> RecallResult:
        busy = asyncio.create_task(workers.write(go_on.wait, 30))
        await asyncio.sleep(0)
        try:
            return await asyncio.wait_for(banks[9].asynchronous.recall("kayak"), 20)
        finally:
            go_on.set()
            await busy

    assert top(asyncio.run(beside_a_write())) == thing(9)


def test_a_recall_cancelled_while_its_bank_opens_holds_nothing(
    paused: tuple[Hindsight, list[MemoryBank], Pausing],
) -> None:
    """If the caller was cancelled, the opened bank is not leased, and is closed like any other."""
    hindsight, banks, _ = paused
    workers, go_on = hindsight.asynchronous._workers, threading.Event()

    async def cancelled() -> None:
        busy = asyncio.create_task(workers.write(go_on.wait, 30))
        recalls = [asyncio.create_task(bank.asynchronous.recall("kayak")) for bank in banks[:6]]
        await asyncio.sleep(0)  # two wait for the writer, four for a place
        for task in recalls:
            task.cancel()
        await asyncio.gather(*recalls, return_exceptions=True)
        go_on.set()
        await busy

    asyncio.run(cancelled())
    for number, bank in enumerate(banks):
        assert top(bank.recall("kayak")) == thing(number)
    assert len(pool(hindsight).projections()) == 2


def test_places_go_to_who_waits_longest_and_is_still_there() -> None:
    """A place assigned to a waiter that is cancelled at that moment goes to the next one."""

    async def scene() -> list[str]:
        places, order = Places(1), []

        async def waiting(name: str) -> None:
            await places.take()
            order.append(name)

        await places.take()
        first, gone, last = (asyncio.create_task(waiting(name)) for name in ("first", "gone", "last"))
        await asyncio.sleep(0)
        places.give_back()
        await first
        places.give_back()  # assigned to `gone`, which is cancelled before it notices
        gone.cancel()
        await last
        return order

    assert asyncio.run(scene()) == ["first", "last"]


@pytest.mark.parametrize("assigned", [False, True])
def test_the_place_of_a_closed_call_goes_to_the_next(assigned: bool) -> None:
    """A call that is closed instead of cancelled takes no place, even if one was assigned."""

    async def scene() -> None:
        places = Places(1)
        await places.take()
        call = places.take()
        call.send(None)
        if assigned:
            places.give_back()
        call.close()
        if not assigned:
            places.give_back()
        await asyncio.wait_for(places.take(), 1)

    asyncio.run(scene())


def test_no_bank_at_all_cannot_be_asked_for() -> None:
    """A limit below one is rejected, and the error says what to pass."""
    with pytest.raises(InvalidRequest, match="Use 1 or more"):
        StorageConfig(open_banks=0)


@pytest.mark.promise(
    "At most `StorageConfig(open_banks=64)` banks have open indexes, which limits memory and file descriptors."
)
@pytest.mark.parametrize(
    "keywords", [pytest.param(KeywordBackend.LUCENE, marks=pytest.mark.slow), KeywordBackend.FTS5]
)
def test_descriptors_are_those_of_the_open_banks(
    opener: Opener, tmp_path: Path, keywords: KeywordBackend
) -> None:
    """Sixteen banks, four of which may be open, use no more descriptors than five, however often all are queried."""

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are what is counted

    storage = StorageConfig(VectorBackend.EXACT, keywords, reader_threads=1, open_banks=4)
    with opener(tmp_path, config=HindsightConfig(storage=storage)) as hindsight:
        filled(hindsight, 5)
        five = descriptors()
        banks = filled(hindsight, 16)
        for _ in range(3):
            for number, bank in enumerate(banks):
                assert top(bank.recall("kayak")) == thing(number)
        sixteen = descriptors()
    assert sixteen <= five + 1
    assert descriptors() <= five

"""Many retains in one call: batches, progress, resumption, and one invalid item among valid ones."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archived import archived_rows
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, HumanMessage
from llama_index.core import Document as LlamaDocument

from hindsight_integrations import AsyncHindsight, Document, Hindsight, InvalidRequest, RetainItem
from hindsight_integrations.concurrency.workers import InFlight
from hindsight_integrations.testing.doubles import HashEmbedder

KILLED = """
import os, signal, sys
from hindsight_integrations import Hindsight, RetainItem
from hindsight_integrations.testing.doubles import HashEmbedder

def progress(done, total):
    if done >= 20:
        os.kill(os.getpid(), signal.SIGKILL)

items = [RetainItem(f"Note {n} is about plum number {n}.", document_id=f"d{n}") for n in range(40)]
with Hindsight.open(sys.argv[1], embeddings=HashEmbedder(), reranker=None) as engine:
    engine.bank("notes").retain_many(items, progress=progress, batch_size=10)
"""


def notes(count: int) -> list[RetainItem]:
    return [RetainItem(f"Note {n} is about plum number {n}.", document_id=f"d{n}") for n in range(count)]


def test_texts_conversations_and_facts_go_in_together(real: Hindsight) -> None:
    """Every kind of content gives the memories that `retain` would create, with its own tags, thread and times."""
    bank = real.bank("mixed")
    told = [{"what": "Bob bought a rope.", "sources": ["m1"], "entities": [{"text": "Bob"}]}]
    items = [
        RetainItem("The kayak is red.", document_id="d", tags=["boats"], metadata={"page": 3}),
        RetainItem(Document("The shed is old.", id="e"), timestamp="2024-05-03"),
        RetainItem([{"role": "user", "content": "I like plums."}], thread="t"),
        RetainItem(
            [{"role": "user", "content": "Rope!", "id": "m1"}], thread="u", facts=told, entities=["Club"]
        ),
    ]
    result = bank.retain_many(items)
    assert ([item.result.created for item in result.items if item.result], result.failed) == (
        [1, 1, 1, 1],
        (),
    )
    found = {item.unit.text: item for item in bank.recall("kayak shed plums rope").units}
    assert found["The kayak is red."].unit.tags == ("boats",)
    assert found["The shed is old."].unit.mentioned_at.day == 3
    assert found["user: I like plums."].unit.thread == "t"
    assert set(found["Bob bought a rope."].entities) == {"Bob", "Club"}


def test_bulk_and_single_retains_make_the_same_memories(light: Hindsight) -> None:
    """The ids are equal, so either call can be repeated with the other."""
    talk = [{"role": "user", "name": "Alice", "content": "I like plums.", "id": "m1"}]
    one = light.bank("alice").retain(talk, thread="t").unit_ids
    again = light.bank("alice").retain_many([RetainItem(talk, thread="t")])
    assert (again.created, light.bank("alice").count(), len(one)) == (0, 1, 1)


def test_causes_stay_with_their_own_item(light: Hindsight) -> None:
    """Causal claims of one item never refer to another item of the same batch."""
    flood: list[dict[str, Any]] = [
        {"what": "A storm came.", "sources": ["m"]},
        {
            "what": "The shed flooded.",
            "sources": ["m"],
            "causal_relations": [{"target_fact_index": 0, "relation_type": "caused_by"}],
        },
    ]
    talk = [{"role": "user", "content": "storm", "id": "m"}]
    bank = light.bank("b")
    ids = [bank.retain_many([RetainItem(talk, thread=name, facts=flood) for name in "xyz"]).items[1].result]
    assert ids[0] is not None
    links = archived_rows(bank.archive.export, "links")
    names = {unit["id"]: unit["unit_id"] for unit in archived_rows(bank.archive.export, "units")}
    causal = [(names[link["source"]], names[link["target"]]) for link in links if link["code"] >= 2]
    assert (ids[0].unit_ids[1], ids[0].unit_ids[0]) in causal
    assert len(causal) == 3


def test_progress_counts_to_the_end(light: Hindsight) -> None:
    """The callback is called for every batch, and the last call reports that everything is done."""
    heard: list[tuple[int, int]] = []
    light.bank("notes").retain_many(
        notes(25), progress=lambda done, of: heard.append((done, of)), batch_size=10
    )
    assert heard == [(10, 25), (20, 25), (25, 25)]


def test_one_bad_item_does_not_stop_the_others(light: Hindsight) -> None:
    """The result contains the invalid item's error at its position; nothing of it is stored, and all others are."""
    bank = light.bank("notes")
    items = [*notes(2), RetainItem("   "), RetainItem([{"role": "user"}]), *notes(4)[2:]]
    result = bank.retain_many(items)
    assert [place for place, _ in result.failed] == [2, 3]
    assert all(isinstance(error, InvalidRequest) for _, error in result.failed)
    assert (result.created, bank.count()) == (4, 4)


class Choosy(HashEmbedder):
    """An embedder that returns NaN for texts about poison."""

    def embed_documents(self, texts: Any) -> Any:
        vectors = super().embed_documents(texts)
        vectors[[("poison" in text) for text in texts]] = np.nan
        return vectors


def test_an_item_that_cannot_be_embedded_keeps_to_itself(opener: Callable[..., Hindsight]) -> None:
    """A batch that fails is repeated item by item, so that only the faulty item is left out."""
    bank = opener(embeddings=Choosy()).bank("notes")
    result = bank.retain_many([*notes(3), RetainItem("This is poison.")])
    assert [(place, type(error).__name__) for place, error in result.failed] == [(3, "MalformedOutput")]
    assert (result.created, bank.count()) == (3, 3)
    assert bank.retain("Not that.").created == 1


def test_texts_documents_and_conversations_are_items(light: Hindsight) -> None:
    """Ours, LangChain's and LlamaIndex's are accepted without a wrapper, with one outcome each."""
    bank = light.bank("mixed")
    result = bank.retain_many(
        [
            "Ana keeps bees.",
            Document("Ben paints boats.", id="log"),
            LangChainDocument("Cleo sells honey.", id="lc", metadata={"page": 3}),
            LlamaDocument(text="Dora mends nets.", id_="li"),
            [HumanMessage("I row.", id="m1"), AIMessage("The lake is calm today.", id="a1")],
        ]
    )
    assert [outcome.error for outcome in result.items] == [None] * 5
    units = {unit.text: unit for unit in bank.iterate_units()}
    assert units.keys() == {
        "Ana keeps bees.",
        "Ben paints boats.",
        "Cleo sells honey.",
        "Dora mends nets.",
        "user: I row.",
        "assistant: The lake is calm today.",
    }
    assert (units["Cleo sells honey."].document_id, units["Cleo sells honey."].metadata) == (
        "lc",
        {"page": 3},
    )


def test_messages_alone_are_one_conversation(light: Hindsight) -> None:
    bank = light.bank("chat")
    said = [AIMessage("What is your dog called?", id="a1"), HumanMessage("Rex", id="m1")]
    assert len(bank.retain_many(said).items) == 1
    assert [unit.text for unit in bank.iterate_units()] == ['user: Rex (asked "What is your dog called?")']


def test_langchain_documents_are_retained_in_one_commit(light: Hindsight) -> None:
    bank = light.bank("docs")
    pages = [LangChainDocument(f"Page {number} is about plums.") for number in (1, 2)]
    assert (bank.retain(pages).created, bank.retain(pages).created) == (2, 0)


def test_what_is_no_item_is_refused(light: Hindsight) -> None:
    """A number among texts fails alone; a batch size of zero is rejected before anything is written."""
    bank = light.bank("notes")
    ((place, error),) = bank.retain_many([7]).failed
    assert (place, "cannot be retained" in str(error)) == (0, True)
    with pytest.raises(InvalidRequest, match="batch_size"):
        bank.retain_many(notes(1), batch_size=0)
    assert bank.retain_many([]).items == ()


def test_two_versions_in_one_call_end_with_the_later(light: Hindsight) -> None:
    """The later text of a document that occurs twice is stored."""
    bank = light.bank("notes")
    bank.retain_many(
        [RetainItem("The kayak is red.", document_id="d"), RetainItem("The kayak is blue.", document_id="d")]
    )
    assert [item.unit.text for item in bank.recall("kayak").units] == ["The kayak is blue."]


@pytest.mark.promise("Retaining the same input twice stores one memory.")
def test_the_same_call_twice_leaves_one_copy(real: Hindsight) -> None:
    """The second call skips everything and reports it."""
    bank = real.bank("notes")
    first, second = bank.retain_many(notes(30), batch_size=8), bank.retain_many(notes(30), batch_size=8)
    assert (first.created, second.created, second.failed, bank.count()) == (30, 0, (), 30)


@pytest.mark.promise("No acknowledged write is lost, even if the process is killed at any moment.")
def test_a_killed_run_is_finished_by_the_next(tmp_path: Path) -> None:
    """After a SIGKILL between batches, the same call does the rest: every note is stored once and found by every index."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with Hindsight.open(tmp_path, embeddings=HashEmbedder(), reranker=None) as engine:
        bank = engine.bank("notes")
        before = bank.count()
        result = bank.retain_many(notes(40), batch_size=10)
        assert (before, result.created, bank.count()) == (20, 20, 40)
        found = bank.recall("Note 7 is about plum number 7.", k=1).units[0]
        assert {"semantic", "keyword"} <= set(found.channels)
        assert engine.doctor().failures == {}


def test_many_threads_with_the_same_items_leave_one_copy(light: Hindsight) -> None:
    """Concurrent bulk and single retains of the same notes neither duplicate anything nor wait forever."""
    bank = light.bank("notes")

    def work(turn: int) -> int:
        if turn % 2:
            return sum(bank.retain(item.content, document_id=item.document_id).created for item in notes(12))
        return bank.retain_many(notes(12), batch_size=5).created

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(work, range(8)))
    assert (sum(made), bank.count()) == (12, 12)


@pytest.mark.promise("The sync and async APIs do the same.")
def test_async_and_sync_apis_agree() -> None:
    """The async method does the same in any event loop."""

    async def run() -> int:
        async with AsyncHindsight.open(":memory:", embeddings=HashEmbedder(), reranker=None) as engine:
            bank = await engine.bank("notes")
            results = await asyncio.gather(*(bank.retain_many(notes(6)) for _ in range(4)))
            return sum(result.created for result in results)

    assert asyncio.run(run()) == 6


def test_a_cancelled_waiter_does_not_block_the_next() -> None:
    """A cancelled call that waited for another retain does not block later ones."""

    async def run() -> list[str]:
        guard, order = InFlight(), []
        entered, leave = asyncio.Event(), asyncio.Event()

        async def first() -> None:
            async with guard.alone(["a", "b"]):
                entered.set()
                await leave.wait()
                order.append("first")

        async def next_one() -> None:
            async with guard.alone(["b", "c"]):
                order.append("next")

        holder = asyncio.create_task(first())
        await entered.wait()
        waiter, third = asyncio.create_task(next_one()), asyncio.create_task(next_one())
        await asyncio.sleep(0)
        waiter.cancel()
        leave.set()
        await asyncio.wait([holder, waiter, third])
        return order

    assert asyncio.run(run()) == ["first", "next"]

"""The LangChain retriever: options in the constructor and in calls, async, and the content of its documents."""

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from table import every_row

from hindsight_integrations import (
    AsyncHindsight,
    Hindsight,
    InvalidRequest,
    MemoryBank,
    MetadataFilter,
    MetadataGroup,
)
from hindsight_integrations.langgraph import HindsightRetriever

ASKED = "What colour is the kayak?"


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    made = light.bank("alice")
    made.retain("Alice's kayak is blue.", timestamp="2024-05-01", tags=["boats"])
    made.retain("Bob's tent is green.", timestamp="2024-05-02")
    made.retain("Carol's kayak is " + "very " * 1500 + "long.", timestamp="2024-05-03")
    made.retain("Dave has a red kayak in Porto.", timestamp="2024-05-04", entities=["Dave"])
    return made


def found(documents: list[Document]) -> list[str]:
    return [document.page_content[:5] for document in documents]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_is_exact_whatever_the_texts_cost(bank: MemoryBank, k: int) -> None:
    retriever = HindsightRetriever(bank=bank)
    assert len(retriever.invoke(ASKED, k=k)) == len(HindsightRetriever(bank=bank, k=k).invoke(ASKED)) == k


def test_a_call_differs_from_the_constructor_in_what_it_gives(bank: MemoryBank) -> None:
    retriever = HindsightRetriever(bank=bank, k=1)
    assert found(retriever.invoke(ASKED, memory_tags=["boats"], tags_match="any_strict", k=5)) == ["Alice"]
    assert found(retriever.invoke(ASKED, as_of="2024-05-01T12:00", k=5)) == ["Alice"]
    assert retriever.invoke(ASKED, types=["observation"]) == []
    assert retriever.invoke(ASKED, min_scores={"semantic": 1.0}, k=3, max_tokens=50) != []
    with pytest.raises(InvalidRequest, match="k: 0"):
        retriever.invoke(ASKED, k=0)


def test_both_ways_and_both_apis_find_the_same(bank: MemoryBank) -> None:
    for face in (bank, bank.asynchronous):
        retriever = HindsightRetriever(bank=face, k=2)
        assert retriever.invoke(ASKED) == asyncio.run(retriever.ainvoke(ASKED))
    assert len(retriever.batch([ASKED, "Whose tent?"])) == 2


def test_a_document_says_what_is_known(bank: MemoryBank) -> None:
    (document,) = HindsightRetriever(bank=bank).invoke("Dave's red kayak in Porto", k=1)
    unit = bank.get(document.id or "")
    assert unit is not None
    said = document.metadata
    assert (document.page_content, said["date"], said["fact_type"], said["valid"]) == (
        unit.text,
        "mentioned on Saturday, May 4, 2024",
        "world",
        True,
    )
    assert "Dave" in said["entities"]
    assert said["score"] > 0
    assert said["channels"]
    assert set(said["channels"]) == set(said["channel_scores"])


def test_callbacks_and_traces_see_a_retriever(bank: MemoryBank) -> None:
    seen: list[Any] = []

    class Watching(BaseCallbackHandler):
        def on_retriever_start(self, serialized: Any, query: str, **told: Any) -> None:
            seen.append((query, told["metadata"]["ls_retriever_name"], told["tags"]))

        def on_retriever_end(self, documents: Any, **_: Any) -> None:
            seen.append(len(documents))

    retriever = HindsightRetriever(bank=bank, k=1, tags=["mine"])
    retriever.invoke(ASKED, {"callbacks": [Watching()]})
    assert seen == [(ASKED, "hindsight", ["mine"]), 1]


def test_it_is_a_part_of_chains_and_streams(bank: MemoryBank) -> None:
    chain = HindsightRetriever(bank=bank, k=1) | RunnableLambda(lambda documents: documents[0].page_content)
    assert chain.invoke("Whose tent is green?") == "Bob's tent is green."

    async def names() -> set[str]:
        return {event["event"] async for event in chain.astream_events(ASKED, version="v2")}

    assert {"on_retriever_start", "on_retriever_end"} <= asyncio.run(names())


def test_a_bank_of_an_async_engine_serves_code_that_awaits_not() -> None:
    async def opened() -> AsyncHindsight:
        return AsyncHindsight.open(":memory:")

    async def retained(engine: AsyncHindsight) -> Any:
        bank = await engine.bank("alice")
        await bank.retain("Alice's kayak is blue.")
        return bank

    engine = asyncio.run(opened())
    try:
        bank = asyncio.run(retained(engine))
        assert found(HindsightRetriever(bank=bank).invoke(ASKED)) == ["Alice"]
    finally:
        asyncio.run(engine.close())


LONG = MetadataFilter("length", 5, ">")


@every_row(
    ("given", "names"),
    [
        (LONG, ["long", "same"]),
        (MetadataGroup((LONG, MetadataFilter("kind", "sea")), "and"), ["long"]),
        ([LONG, {"kind": "sea"}], ["long"]),
        ({"kind": "sea"}, ["long", "short"]),
        (None, ["long", "same", "short"]),
    ],
)
def test_metadata_filters_by_constructor_and_by_call(light: Hindsight, given: Any, names: list[str]) -> None:
    """A filter, given either way and to either API, selects memories and is not part of traces."""
    bank = light.bank("boats")
    for name, length, kind in (("long", 12, "sea"), ("short", 4.5, "sea"), ("same", 9, "river")):
        bank.retain(f"The {name} kayak.", metadata={"length": length, "kind": kind, "name": name})
    retriever = HindsightRetriever(bank=bank, metadata=given)
    again = HindsightRetriever(bank=bank)
    for documents in (
        retriever.invoke("kayak"),
        asyncio.run(retriever.ainvoke("kayak")),
        again.invoke("kayak", metadata=given),
        asyncio.run(again.ainvoke("kayak", metadata=given)),
    ):
        assert sorted(document.metadata["name"] for document in documents) == names
    assert retriever.invoke("kayak", config={"metadata": {"run": 5}}) == retriever.invoke("kayak")


def test_a_wrong_metadata_filter_is_refused_by_the_call(bank: MemoryBank) -> None:
    with pytest.raises(InvalidRequest, match=r"metadata\.operator"):
        HindsightRetriever(bank=bank, metadata=MetadataFilter("a", 1, "like")).invoke(ASKED)
    with pytest.raises(InvalidRequest, match=r"metadata.value.*list"):
        HindsightRetriever(bank=bank).invoke(ASKED, metadata=MetadataFilter("a", 1, "in"))

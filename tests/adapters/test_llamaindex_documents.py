"""LlamaIndex's documents, nodes and pipelines are accepted by retain; changed documents replace their earlier version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import ChatMessage
from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from llama_index.core.schema import ImageNode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from table import every_row

from hindsight_integrations import Hindsight, InvalidRequest, MemoryBank, RetainItem
from hindsight_integrations.llamaindex import HindsightRetriever
from hindsight_integrations.validation.llamaindex_documents import whole_text

PETS = [
    "Rex is a dog.",
    "Tom is a cat.",
    "Ada is an owl.",
    "Bo is a goat.",
    "Kim is a crab.",
    "Lou is a lynx.",
]


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with Hindsight.open(":memory:", reranker=None) as engine:
        yield engine.bank("alice")


def said(bank: MemoryBank) -> str:
    """All valid memories as one text."""
    return "\n".join(unit.text for unit in bank.units().units)


def pipeline(**options: Any) -> IngestionPipeline:
    return IngestionPipeline(transformations=[SentenceSplitter(chunk_size=24, chunk_overlap=8)], **options)


def test_a_document_is_a_document(bank: MemoryBank) -> None:
    """Its id and metadata are kept, and values keep their type."""
    bank.retain(Document(text=PETS[0], doc_id="pets", metadata={"year": 2024, "draft": False}))
    (unit,) = bank.units().units
    assert (unit.text, unit.document_id, dict(unit.metadata)) == (
        PETS[0],
        "pets",
        {"year": 2024, "draft": False},
    )


def test_a_node_by_itself_is_a_document(bank: MemoryBank) -> None:
    """It has its own id, because it has no source document."""
    bank.retain(TextNode(text=PETS[0], id_="n1"))
    assert [unit.document_id for unit in bank.units().units] == ["n1"]


def test_a_pipelines_output_is_its_documents(bank: MemoryBank) -> None:
    """Overlapping chunks repeat a sentence; the bank contains it once, under its source document."""
    nodes = pipeline().run(documents=[Document(text=" ".join(PETS), doc_id="pets", metadata={"lang": "en"})])
    assert len(nodes) > 1
    bank.retain(nodes)
    assert {unit.document_id for unit in bank.units().units} == {"pets"}
    assert all(said(bank).count(pet) == 1 for pet in PETS)
    assert all(unit.metadata == {"lang": "en"} for unit in bank.units().units)


def test_a_changed_document_replaces_its_earlier_version(bank: MemoryBank) -> None:
    """All its nodes have new ids; removed passages become invalid, and unchanged ones are not duplicated."""
    flow = pipeline(docstore=SimpleDocumentStore(), docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY)
    bank.retain(flow.run(documents=[Document(text=" ".join(PETS), doc_id="pets")]))
    assert flow.run(documents=[Document(text=" ".join(PETS), doc_id="pets")]) == []
    changed = [*PETS[:2], "Ada is a wise owl.", *PETS[3:5]]
    bank.retain(flow.run(documents=[Document(text=" ".join(changed), doc_id="pets")]))
    assert "Ada is an owl." not in said(bank)
    assert "Lou" not in said(bank)
    assert all(said(bank).count(pet) == 1 for pet in changed)


def test_several_documents_are_one_commit(bank: MemoryBank) -> None:
    """All of them are stored or none; the result covers all."""
    result = bank.retain([Document(text=text, doc_id=text[:3]) for text in PETS])
    assert (result.created, len(result.unit_ids), result.revision) == (6, 6, 1)
    assert bank.retain([Document(text=text, doc_id=text[:3]) for text in PETS]).created == 0
    with pytest.raises(InvalidRequest, match="no text"):
        bank.retain([Document(text="Zoe is a zebra.", doc_id="zoe"), Document(text=" ", doc_id="none")])
    assert "Zoe" not in said(bank)


def test_a_hierarchy_of_chunks_is_read_once(bank: MemoryBank) -> None:
    """The coarse chunk contains the text that the fine ones repeat."""
    parser = HierarchicalNodeParser.from_defaults(chunk_sizes=[128, 32], chunk_overlap=4)
    bank.retain(parser.get_nodes_from_documents([Document(text=" ".join(PETS), doc_id="pets")]))
    assert all(said(bank).count(pet) == 1 for pet in PETS)


def test_in_bulk_a_document_is_an_item(bank: MemoryBank) -> None:
    """This includes a document passed as nodes."""
    nodes = pipeline().run(documents=[Document(text=" ".join(PETS), doc_id="pets")])
    done = bank.retain_many([RetainItem(nodes), RetainItem(Document(text="Zoe is a zebra.", doc_id="zoe"))])
    assert done.failed == ()
    assert {unit.document_id for unit in bank.units().units} == {"pets", "zoe"}


def test_the_retriever_names_the_source(bank: MemoryBank) -> None:
    """A document that was retained as a node is returned as a node related to that document."""
    bank.retain(pipeline().run(documents=[Document(text=" ".join(PETS), doc_id="pets")]))
    (found, *_) = HindsightRetriever(bank).retrieve("Which animal is Kim?")
    assert found.node.source_node is not None
    assert found.node.source_node.node_id == "pets"


def test_chunks_that_say_nothing_of_their_place_are_joined_by_what_they_share() -> None:
    """As parsers of other formats produce them."""
    text = "The quick brown fox jumps over the lazy dog and then it sleeps for a very long time indeed."
    nodes = [TextNode(text=text[:60]), TextNode(text=text[35:])]
    assert whole_text(nodes) == text
    assert whole_text([TextNode(text="One thing."), TextNode(text="Another.")]) == "One thing.\nAnother."


def test_a_part_of_a_document_is_refused(bank: MemoryBank) -> None:
    """Otherwise it would be treated as the whole document, and memories of the other parts would be closed as removed."""
    nodes = pipeline().run(documents=[Document(text=" ".join(PETS), doc_id="pets")])
    with pytest.raises(InvalidRequest, match="all nodes of a source"):
        bank.retain(nodes[:1])
    assert said(bank) == ""


REFUSED = {
    "an image": [ImageNode(image_url="https://example.org/x.png")],
    "a node among messages": [ChatMessage("I keep bees."), TextNode(text="Rex is a dog.")],
    "a message among nodes": [TextNode(text="Rex is a dog."), {"role": "user", "content": "I keep bees."}],
    "an empty node": [TextNode(text="")],
    "a missing neighbour": [
        TextNode(
            text="Rex is a dog.", relationships={NodeRelationship.NEXT: RelatedNodeInfo(node_id="elsewhere")}
        )
    ],
}


@every_row("name", sorted(REFUSED))
def test_what_cannot_be_read_whole_is_refused_whole(bank: MemoryBank, name: str) -> None:
    """Nothing of it is stored, and the error says what to pass."""
    with pytest.raises(InvalidRequest, match="Pass"):
        bank.retain(REFUSED[name])
    assert said(bank) == ""


def test_facts_of_several_documents_belong_to_none(bank: MemoryBank) -> None:
    """A caller who extracted facts knows to which document they belong."""
    with pytest.raises(InvalidRequest, match="facts"):
        bank.retain([Document(text=text) for text in PETS], facts=[{"what": "Rex is a dog."}])

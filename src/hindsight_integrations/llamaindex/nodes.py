"""Memories as LlamaIndex's nodes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import accumulate

from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)

from hindsight_integrations.model.recalled import RecalledUnit, plain_metadata
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.requests import ResultOrder

SHOWN_TO_MODEL = "date"  # the one metadata key that is worth its tokens


def as_nodes(
    units: Sequence[RecalledUnit],
    keys: Collection[str] | None = None,
    order: ResultOrder = ResultOrder.RANK,
) -> list[NodeWithScore]:
    """The memories of a recall as nodes, in its order, under scores that never rise: LlamaIndex's parts sort by them.

    In order of time each has its own score: sorted by it, they are best first again.

    Args:
        units: as the recall returned them.
        keys: the metadata the nodes carry; None means all.
        order: which that is.
    """
    scores = [float(recalled.score) for recalled in units]
    if order is ResultOrder.RANK:
        scores = list(accumulate(scores, min))
    return [as_node(recalled, score=score, keys=keys) for recalled, score in zip(units, scores, strict=True)]


def as_node(
    recalled: RecalledUnit, *, score: float | None = None, keys: Collection[str] | None = None
) -> NodeWithScore:
    """A memory as a node. An LLM sees its text and date; an embedding model its text alone.

    Nothing but the score depends on the question that found it: fusion takes nodes for the same by a hash of text and
    metadata.

    Args:
        recalled: the memory.
        score: the node's; None means the memory's own.
        keys: the metadata the node carries; None means all.
    """
    unit = recalled.unit
    metadata = {key: value for key, value in plain_metadata(recalled).items() if keys is None or key in keys}
    node = TextNode(
        id_=unit.id,
        text=recalled.beside_date if SHOWN_TO_MODEL in metadata else recalled.text,
        metadata=metadata,
        excluded_llm_metadata_keys=[key for key in metadata if key != SHOWN_TO_MODEL],
        excluded_embed_metadata_keys=list(metadata),
        relationships={} if unit.document_id is None else _source(unit.document_id),
    )
    return NodeWithScore(node=node, score=float(recalled.score) if score is None else score)


def table_node(table: RecordDigest, *, score: float, keys: Collection[str] | None = None) -> NodeWithScore:
    """A table of records as a node; models and embedders see its text alone.

    Args:
        table: as the recall returned it.
        score: the node's.
        keys: the metadata the node carries; None means all.
    """
    metadata = {key: value for key, value in table.metadata.items() if keys is None or key in keys}
    node = TextNode(
        id_=table.id,
        text=table.text,
        metadata=metadata,
        excluded_llm_metadata_keys=list(metadata),
        excluded_embed_metadata_keys=list(metadata),
    )
    return NodeWithScore(node=node, score=score)


def _source(document: str) -> dict[NodeRelationship, RelatedNodeInfo]:
    return {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document, node_type=ObjectType.DOCUMENT)}

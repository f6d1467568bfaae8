"""Conversion of memories and record tables to LlamaIndex nodes."""

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

SHOWN_TO_MODEL = "date"  # the only metadata that LLMs see


def as_nodes(
    units: Sequence[RecalledUnit],
    keys: Collection[str] | None = None,
    order: ResultOrder = ResultOrder.RANK,
) -> list[NodeWithScore]:
    """Convert recalled memories to nodes, in the given order, with these metadata keys (None: all).

    LlamaIndex components sort by score. In rank order scores are therefore made non-increasing; in time order each node
    keeps its own score.
    """
    scores = [float(recalled.score) for recalled in units]
    if order is ResultOrder.RANK:
        scores = list(accumulate(scores, min))
    return [as_node(recalled, score=score, keys=keys) for recalled, score in zip(units, scores, strict=True)]


def as_node(
    recalled: RecalledUnit, *, score: float | None = None, keys: Collection[str] | None = None
) -> NodeWithScore:
    """Convert a memory to a node. LLMs see its text and date, embedding models its text only.

    Only the score depends on the query, because LlamaIndex's fusion identifies nodes by a hash of text and metadata.
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
    """Convert a record table to a node; LLMs and embedding models see its text only."""
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

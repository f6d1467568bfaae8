"""A LlamaIndex retriever over one memory bank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from hindsight_integrations import AsyncMemoryBank, Budget, FactType, InvalidRequest, MemoryBank, TagsMatch
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.requests import GivenGroup, GivenScores
from hindsight_integrations.model.time import readable_time

SHOWN_TO_MODEL = "date"  # the one metadata key that is worth its tokens


class HindsightRetriever(BaseRetriever):  # type: ignore[misc] # mypy is told to skip LlamaIndex, whose types it cannot follow
    """Recalls memories as nodes: the node's id is the memory's, an LLM is shown the date, the rest is metadata.

    `retrieve` and `aretrieve` both do their own work, whichever face of the bank was given.

    Args:
        bank: the bank to recall from.
        max_tokens: what the texts may cost together.
        budget: effort: low, mid or high.
        k: at most this many memories; None means tokens alone decide.
        types: networks to search; None means all, without observations unless the settings make them searchable.
        tags: visibility tags; none means any memory.
        tags_match: any, all, any_strict, all_strict or exact.
        tag_groups: conditions on tags beside `tags`; see the bank's `recall`.
        min_scores: what a memory must reach to become a node; see `MinScores`.
        callback_manager: LlamaIndex's own.
        verbose: LlamaIndex's own.

    Raises:
        InvalidRequest: `bank` is no bank; on retrieval: an option is out of range.
    """

    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank,
        *,
        max_tokens: int = 4096,
        budget: Budget | str = Budget.MID,
        k: int | None = None,
        types: Iterable[FactType | str] | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        min_scores: GivenScores = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        if not isinstance(bank, MemoryBank | AsyncMemoryBank):
            raise InvalidRequest(
                "bank",
                f"{type(bank).__name__} is not a bank",
                "Pass engine.bank(name), awaited if it is async.",
            )
        self._bank = bank
        self._options: dict[str, Any] = {
            "max_tokens": max_tokens,
            "budget": budget,
            "k": k,
            "tags": tuple(tags),
            "tags_match": tags_match,
            "tag_groups": tag_groups,
            "min_scores": min_scores,
        }
        if types is not None:
            self._options["types"] = tuple(types)
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        bank = self._bank if isinstance(self._bank, MemoryBank) else MemoryBank.over(self._bank)
        found = bank.recall(query_bundle.query_str, **self._options)
        return [as_node(recalled) for recalled in found.units]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        bank = self._bank.asynchronous if isinstance(self._bank, MemoryBank) else self._bank
        found = await bank.recall(query_bundle.query_str, **self._options)
        return [as_node(recalled) for recalled in found.units]


def as_node(recalled: RecalledUnit) -> NodeWithScore:
    """A memory as a node. An LLM sees its text and date; an embedding model its text alone."""
    unit, metadata = recalled.unit, _metadata(recalled)
    document = unit.document_id
    node = TextNode(
        id_=unit.id,
        text=recalled.text,
        metadata=metadata,
        excluded_llm_metadata_keys=[key for key in metadata if key != SHOWN_TO_MODEL],
        excluded_embed_metadata_keys=list(metadata),
        relationships={}
        if document is None
        else {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )
    return NodeWithScore(node=node, score=float(recalled.score))


def _metadata(recalled: RecalledUnit) -> dict[str, Any]:
    """The caller's own metadata with what the engine knows, which wins where both use a key."""
    unit = recalled.unit
    return {
        **unit.metadata,
        SHOWN_TO_MODEL: readable_time(unit.occurred, unit.mentioned_at),
        "kind": unit.kind.value,
        "fact_type": unit.fact_type.value,
        "occurred_start": unit.occurred.start.isoformat() if unit.occurred else None,
        "occurred_end": unit.occurred.end.isoformat() if unit.occurred else None,
        "mentioned_at": unit.mentioned_at.isoformat(),
        "entities": list(recalled.entities),
        "channels": {channel.value: hit.rank for channel, hit in recalled.channels.items()},
        "context": unit.context,
        "tags": list(unit.tags),
        "thread": unit.thread,
        "sources": list(unit.sources),
        "document_id": unit.document_id,
    }

"""A LlamaIndex retriever over one memory bank."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilter as LlamaIndexFilter
from llama_index.core.vector_stores.types import MetadataFilters

from hindsight_integrations import (
    AsyncMemoryBank,
    Budget,
    FactType,
    InvalidRequest,
    MemoryBank,
    MetadataFilter,
    MetadataGroup,
    RecallResult,
    TagsMatch,
    WrongDimension,
)
from hindsight_integrations.errors import shown
from hindsight_integrations.llamaindex.bank_field import open_bank
from hindsight_integrations.llamaindex.events import dispatcher
from hindsight_integrations.llamaindex.nodes import as_nodes, table_node
from hindsight_integrations.llamaindex.remembering import recalled
from hindsight_integrations.model.metadata import GivenMetadata
from hindsight_integrations.model.requests import (
    GivenGroup,
    GivenScores,
    RelevanceLevel,
    ResultOrder,
    TextForm,
)
from hindsight_integrations.validation.arguments import Moment, Window
from hindsight_integrations.validation.limits import MAX_TOKENS, checked_list, checked_tags
from hindsight_integrations.verb_options import SEARCHED, with_defaults


def core_filters(given: object) -> MetadataGroup:
    """The same conditions in the core's words; what an operator makes of a value is checked by the recall.

    Args:
        given: LlamaIndex's filters, nested or not; without a condition all of them must hold, as LlamaIndex has it.

    Raises:
        InvalidRequest: it is no MetadataFilters.
    """
    if not isinstance(given, MetadataFilters):
        raise InvalidRequest(
            "filters",
            f"{shown(given)} is not LlamaIndex's MetadataFilters",
            "Pass MetadataFilters(filters=[MetadataFilter(key=..., value=...)]), or the bank's own form as metadata=.",
        )
    return MetadataGroup(tuple(map(_condition, given.filters)), _named(given.condition) or "and")


def _condition(given: LlamaIndexFilter | MetadataFilters) -> MetadataFilter | MetadataGroup:
    if isinstance(given, MetadataFilters):
        return core_filters(given)
    return MetadataFilter(given.key, given.value, _named(given.operator))


def _named(given: Any) -> Any:  # noqa: ANN401 - what was built around LlamaIndex's own checks is refused by the recall
    return getattr(given, "value", given)


_LOG = logging.getLogger(__name__)


class HindsightRetriever(BaseRetriever):  # type: ignore[misc] # mypy is told to skip LlamaIndex, whose types it cannot follow
    """Recalls memories as nodes: the node's id is the memory's, an LLM is shown the date, the rest is metadata.

    `retrieve` and `aretrieve` both do their own work, whichever face of the bank was given. The question's vector is the
    bundle's `embedding`, else the mean of its `custom_embedding_strs`, else the question's own, as with LlamaIndex's
    `VectorIndexRetriever`. Scores are comparable within one retrieval only, and never rise from one node to the next, unless `order="time"`.

    Args:
        bank: the bank to recall from.
        max_tokens: what the texts may cost together; None means 4,096, and no bound where `k` is given.
        budget: effort: low, mid or high.
        k: at most this many memories, likely to help or not; None means tokens and `relevance` decide.
        types: networks to search; None means all, without observations unless the settings make them searchable.
        tags: visibility tags; none means any memory.
        tags_match: any, all, any_strict, all_strict or exact.
        tag_groups: conditions on tags beside `tags`; see the bank's `recall`.
        filters: conditions on the memories' metadata, in LlamaIndex's form.
        metadata: conditions on it in the bank's own form, which also must hold; see the bank's `recall`.
        window: (start, end) of the time questions are about; None means find it in the question.
        as_of: what was valid at a moment; None means now.
        query_timestamp: the moment from which "yesterday" counts; None means now.
        include_invalidated: also what is no longer valid; its metadata says `valid`: False.
        min_scores: what a memory must reach to become a node; see `MinScores`.
        text: "full" or "compact"; see the bank's `recall`. None means the integration's default, as do the next two
            (docs/integrations.md).
        relevance: "likely" stops where evidence gives out, the default without `k`; "all" goes on until `k` or
            `max_tokens` is reached.
        include_records: also the complete table where the question asks over a kind of record.
        include_core: also core memory and all of a small bank, as HindsightMemory shows them; see the bank's `recall`.
        order: "rank", best first, or "time", oldest first.
        metadata_keys: the metadata that nodes carry, e.g. ("date",); None means all of it. Fusion merges nodes of one
            text and the same metadata: () lets it merge them with bare nodes of other retrievers.
        use_embedding: whether a vector in the bundle counts. False where another model makes it; one of another dimension
            than the bank's never counts.
        callback_manager: LlamaIndex's own.
        verbose: LlamaIndex's own.

    Raises:
        InvalidRequest: `bank` is no bank or `filters` are none of LlamaIndex's; on retrieval: an option is out of range.
    """

    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank,
        *,
        max_tokens: int | None = None,
        budget: Budget | str = SEARCHED.budget,
        k: int | None = None,
        types: Iterable[FactType | str] | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        filters: MetadataFilters | None = None,
        metadata: GivenMetadata = None,
        window: Window = None,
        as_of: datetime | str | None = None,
        query_timestamp: Moment = None,
        include_invalidated: bool = False,
        min_scores: GivenScores = None,
        text: TextForm | str | None = None,
        relevance: RelevanceLevel | str | None = None,
        include_records: bool | None = None,
        include_core: bool | None = None,
        order: ResultOrder | str = ResultOrder.RANK,
        metadata_keys: Collection[str] | None = None,
        use_embedding: bool = True,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        self._bank = open_bank(bank)
        self._keys = None if metadata_keys is None else frozenset(metadata_keys)
        self._use_embedding = use_embedding
        asked: dict[str, Any] = {
            "max_tokens": (SEARCHED.max_tokens if k is None else MAX_TOKENS)
            if max_tokens is None
            else max_tokens,
            "budget": budget,
            "k": k,
            "types": None if types is None else checked_list(types, "types"),
            "tags": checked_tags(tags),
            "tags_match": tags_match,
            "tag_groups": tag_groups,
            "metadata": metadata if filters is None else _both(core_filters(filters), metadata),
            "window": window,
            "as_of": as_of,
            "query_timestamp": query_timestamp,
            "include_invalidated": include_invalidated,
            "min_scores": min_scores,
        }
        asked |= {"text": text, "relevance": relevance, "order": order}
        asked |= {"include_records": include_records, "include_core": include_core}
        self._options = with_defaults(asked, SEARCHED)
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        bank, text = MemoryBank.over(self._bank), query_bundle.query_str
        try:
            found = bank.recall(text, **self._options, embedding=self._embedding(query_bundle))
        except WrongDimension as error:
            _LOG.info("the query bundle's vector is another model's, and is not used: %s", error.reason)
            found = bank.recall(text, **self._options)
        return self._nodes(found)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        bank, text = self._bank, query_bundle.query_str
        try:
            found = await bank.recall(text, **self._options, embedding=self._embedding(query_bundle))
        except WrongDimension as error:
            _LOG.info("the query bundle's vector is another model's, and is not used: %s", error.reason)
            found = await bank.recall(text, **self._options)
        return self._nodes(found)

    def _embedding(self, query_bundle: QueryBundle) -> Sequence[float] | Sequence[str] | None:
        """What stands for the question's vector; the bundle is left as it is, since other retrievers share it."""
        vector: Sequence[float] | None = query_bundle.embedding if self._use_embedding else None
        texts: Sequence[str] | None = query_bundle.custom_embedding_strs or None
        return texts if vector is None else vector

    def _nodes(self, found: RecallResult) -> list[NodeWithScore]:
        dispatcher.event(recalled(self._bank.name, found))
        order = ResultOrder.RANK if found.query is None else found.query.order
        nodes = as_nodes(found.units, self._keys, order)
        most = max((node.score or 0.0 for node in nodes), default=0.0)
        return [*(table_node(table, score=most, keys=self._keys) for table in found.records), *nodes]


def _both(filters: object, metadata: object) -> list[object]:
    return [filters] if metadata is None else [filters, metadata]

"""HindsightRetriever: a LlamaIndex retriever over one memory bank."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from typing import Any, Unpack

from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilter as LlamaIndexFilter
from llama_index.core.vector_stores.types import MetadataFilters

from hindsight_integrations import (
    AsyncMemoryBank,
    InvalidRequest,
    MemoryBank,
    MetadataFilter,
    MetadataGroup,
    RecallResult,
    WrongDimension,
)
from hindsight_integrations.errors import shown
from hindsight_integrations.llamaindex.bank import dispatcher, open_bank, recalled
from hindsight_integrations.llamaindex.nodes import as_nodes, table_node
from hindsight_integrations.model.options import RecallOptions, shows_options
from hindsight_integrations.model.requests import ResultOrder
from hindsight_integrations.validation.limits import checked_list, checked_tags
from hindsight_integrations.validation.options import (
    SEARCH_DEFAULTS,
    SEARCH_WITH_K,
    STANDING_RECALL,
    accept_options,
    with_defaults,
)


def core_filters(given: object) -> MetadataGroup:
    """Convert LlamaIndex's metadata filters to the bank's; recall validates operators and values.

    Args:
        given: filters, possibly nested; without a condition they are combined with "and", as in LlamaIndex.

    Raises:
        InvalidRequest: the value is not a MetadataFilters.
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


def _named(given: Any) -> Any:  # noqa: ANN401 - recall validates it
    return getattr(given, "value", given)


_LOG = logging.getLogger(__name__)


class HindsightRetriever(BaseRetriever):  # type: ignore[misc] # mypy does not follow imports of LlamaIndex
    """Recalls memories as nodes, with the memory's id as node id; LLMs see the text and date only.

    `retrieve` and `aretrieve` both work with a sync or async bank. The query vector is the bundle's `embedding`, else the
    mean of its `custom_embedding_strs`, else the embedded query, as in LlamaIndex's `VectorIndexRetriever`. Scores are
    comparable within one retrieval only, and non-increasing unless `order="time"`.

    Args:
        bank: the bank to recall from.
        filters: metadata filters in LlamaIndex's form. `metadata` takes the bank's own form; both must match.
        metadata_keys: metadata keys of the nodes, such as ("date",); None means all. LlamaIndex's fusion merges nodes
            with equal text and metadata: with (), these nodes can be merged with those of other retrievers without
            metadata.
        use_embedding: whether to use a vector in the bundle. Set it to False if the vector comes from another model; a
            vector with a different dimension than the bank's is always ignored.
        callback_manager: LlamaIndex's callback manager.
        verbose: LlamaIndex's verbose flag.
        options: options of `bank.recall`, see `RecallOptions`. The defaults suit a search: `text="compact"`,
            `relevance="likely"` (only memories likely to help) and `include_records`. With `k` there is no relevance
            threshold, no records, and no `max_tokens` unless given.

    Raises:
        InvalidRequest: `bank` is not a bank, or `filters` are not LlamaIndex's; on retrieval: an option is out of range.
    """

    @shows_options(RecallOptions, SEARCH_DEFAULTS)
    def __init__(
        self,
        bank: MemoryBank | AsyncMemoryBank,
        *,
        filters: MetadataFilters | None = None,
        metadata_keys: Collection[str] | None = None,
        use_embedding: bool = True,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
        **options: Unpack[RecallOptions],
    ) -> None:
        self._bank = open_bank(bank)
        self._keys = None if metadata_keys is None else frozenset(metadata_keys)
        self._use_embedding = use_embedding
        asked = accept_options(options, STANDING_RECALL)
        if asked.get("types") is not None:
            asked["types"] = checked_list(asked["types"], "types")
        asked["tags"] = checked_tags(asked.get("tags", ()))
        if filters is not None:
            asked["metadata"] = _both(core_filters(filters), asked.get("metadata"))
        self._options = with_defaults(asked, SEARCH_DEFAULTS, SEARCH_WITH_K)
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        bank, text = MemoryBank.over(self._bank), query_bundle.query_str
        try:
            found = bank.recall(text, **(self._options | {"embedding": self._embedding(query_bundle)}))
        except WrongDimension as error:
            _LOG.info(
                "ignored the query bundle's vector, because it comes from another model: %s", error.reason
            )
            found = bank.recall(text, **self._options)
        return self._nodes(found)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        bank, text = self._bank, query_bundle.query_str
        try:
            found = await bank.recall(text, **(self._options | {"embedding": self._embedding(query_bundle)}))
        except WrongDimension as error:
            _LOG.info(
                "ignored the query bundle's vector, because it comes from another model: %s", error.reason
            )
            found = await bank.recall(text, **self._options)
        return self._nodes(found)

    def _embedding(self, query_bundle: QueryBundle) -> Sequence[float] | Sequence[str] | None:
        """Return the bundle's vector or texts to embed; the bundle is not changed, since other retrievers share it."""
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

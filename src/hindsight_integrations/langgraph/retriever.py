"""HindsightRetriever: a LangChain retriever over one memory bank."""

# Without `from __future__ import annotations`: LangChain inspects a retriever's signatures for options.

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from pydantic import ConfigDict, field_validator

from hindsight_integrations import (
    AsyncMemoryBank,
    Budget,
    FactType,
    MemoryBank,
    MetadataFilter,
    MetadataGroup,
    RecallResult,
    TagsMatch,
)
from hindsight_integrations.model.options import RecallOptions
from hindsight_integrations.model.recalled import RecalledUnit, plain_metadata
from hindsight_integrations.model.requests import RelevanceLevel, ResultOrder, TextForm
from hindsight_integrations.validation.options import (
    SEARCH_DEFAULTS,
    SEARCH_WITH_K,
    accept_options,
    with_defaults,
)


class HindsightRetriever(BaseRetriever):
    """Recalls memories as LangChain documents, with the memory's id as document id and the rest as metadata.

    retriever = HindsightRetriever(bank=bank, k=5)
    documents = retriever.invoke("Where does Alice live?", as_of="2024-05-01")

    Options can be set in the constructor and overridden in a call. `invoke` and `ainvoke` both work with a sync or async
    bank.

    Attributes:
        bank: the sync or async bank to recall from.
        memory_tags: the `tags` of `RecallOptions`, where fields not listed here are documented. (LangChain uses `tags` for
            traces.)
        k: maximum number of memories; with `k` there is no relevance threshold.
        max_tokens: token limit of all texts together; None means 4,096, or no limit if `k` is given.
        metadata: filter on the memories' metadata. (LangChain's trace metadata are passed in a call's
            `config={"metadata": ...}`, and traces show the filter among them.)
        text: text form of the memories; None uses the default, "compact" (docs/integrations.md). In the next three
            fields, None also selects the default.
        relevance: relevance level; by default "likely" (only memories likely to help) without `k`.
        include_records: whether to include record tables; by default only without `k`.
        include_core: whether to include core memory; off by default.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    bank: MemoryBank | AsyncMemoryBank
    k: int | None = None
    max_tokens: int | None = None
    budget: Budget | str = SEARCH_DEFAULTS["budget"]
    types: Sequence[FactType | str] | None = None
    memory_tags: Sequence[str] = ()
    tags_match: TagsMatch | str = TagsMatch.ANY
    tag_groups: Any = ()
    metadata: Any = None
    min_scores: Any = None
    as_of: datetime | str | None = None
    query_timestamp: datetime | str | float | None = None
    text: TextForm | str | None = None
    relevance: RelevanceLevel | str | None = None
    include_records: bool | None = None
    include_core: bool | None = None
    order: ResultOrder | str = ResultOrder.RANK

    @field_validator("metadata", mode="before")
    @classmethod
    def _as_mapping(cls, given: object) -> object:
        """Convert filters to a mapping, as LangChain requires here; they are validated when the retriever is called."""
        match given:
            case MetadataFilter(key=key, value=value, operator=operator):
                return {"key": key, "value": value, "operator": operator}
            case MetadataGroup(filters=filters, condition=condition):
                return {"filters": list(filters), "condition": condition}
            case Mapping() | str() | None:
                return given
            case Sequence():
                return {"filters": list(given)}
        return given

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        **options: Any,  # noqa: ANN401 - the types of the fields above
    ) -> list[Document]:
        del run_manager  # LangChain calls the callbacks itself
        bank = self.bank if isinstance(self.bank, MemoryBank) else MemoryBank.over(self.bank)
        return as_documents(bank.recall(query, **self._options(options)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **options: Any,  # noqa: ANN401 - the types of the fields above
    ) -> list[Document]:
        del run_manager
        bank = self.bank.asynchronous if isinstance(self.bank, MemoryBank) else self.bank
        return as_documents(await bank.recall(query, **self._options(options)))

    def _get_ls_params(self, **_: Any) -> LangSmithRetrieverParams:  # noqa: ANN401 - LangChain's
        return LangSmithRetrieverParams(ls_retriever_name="hindsight", ls_vector_store_provider="hindsight")

    def _options(self, call: Mapping[str, Any]) -> RecallOptions:
        """Return the recall options; those of the call override the retriever's own."""
        accept_options(call, OPTIONS)
        chosen = {name: getattr(self, name) if call.get(name) is None else call[name] for name in OPTIONS}
        return with_defaults(
            {"tags" if name == "memory_tags" else name: value for name, value in chosen.items()},
            SEARCH_DEFAULTS,
            SEARCH_WITH_K,
        )


OPTIONS: Final = HindsightRetriever.model_fields.keys() - BaseRetriever.model_fields.keys() - {"bank"} | {
    "metadata"
}
"""The fields that a call may override. (`metadata` is also a field of LangChain's retrievers.)"""


def as_documents(found: RecallResult) -> list[Document]:
    """Convert a recall result to documents: the record tables first, then the memories."""
    tables = [
        Document(page_content=table.text, metadata=table.metadata, id=table.id) for table in found.records
    ]
    return [*tables, *map(as_document, found.units)]


def as_document(recalled: RecalledUnit) -> Document:
    """Convert a memory to a document; if both have a key, the engine's metadata override the caller's."""
    metadata = {
        **plain_metadata(recalled),
        "score": float(recalled.score),
        "channels": {channel.value: hit.rank for channel, hit in recalled.channels.items()},
        "channel_scores": {channel.value: float(hit.score) for channel, hit in recalled.channels.items()},
    }
    return Document(page_content=recalled.text, metadata=metadata, id=recalled.unit.id)

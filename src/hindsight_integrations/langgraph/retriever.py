"""A LangChain retriever over one memory bank."""

# No `from __future__ import annotations`: LangChain reads the signatures of a retriever to see which options a call may give.

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
    """Recalls memories as LangChain documents: the document's id is the memory's, what else is known is metadata.

    retriever = HindsightRetriever(bank=bank, k=5)
    documents = retriever.invoke("Where does Alice live?", as_of="2024-05-01")

    Every option may be given to the constructor, or to a call, which then differs from it. `invoke` and `ainvoke` both do
    their own work, whichever face of the bank was given.

    Attributes:
        bank: the bank to recall from, of either face.
        memory_tags: the `tags` of `RecallOptions`, which describes the fields that are not here. (`tags` are LangChain's, of
            traces.)
        k: at most this many memories; exactly as many where so many are found, likely to help or not.
        max_tokens: what the texts may cost together; None means 4,096, and no bound where `k` is given.
        metadata: conditions on what came with the memories. (LangChain's own use of it, to say more in traces, is
            `config={"metadata": ...}` of a call; a trace shows these conditions there.)
        text: None means the integration's default, "compact" (docs/integrations.md); so do the next three.
        relevance: "likely" without `k`, which stops where evidence gives out.
        include_records: on without `k`.
        include_core: off.
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
        """Conditions in their JSON form: LangChain keeps a mapping there. What is wrong in them a call says."""
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
        **options: Any,  # noqa: ANN401 - the fields above, each of its own type
    ) -> list[Document]:
        del run_manager  # LangChain calls it back itself
        bank = self.bank if isinstance(self.bank, MemoryBank) else MemoryBank.over(self.bank)
        return as_documents(bank.recall(query, **self._options(options)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **options: Any,  # noqa: ANN401 - the fields above, each of its own type
    ) -> list[Document]:
        del run_manager
        bank = self.bank.asynchronous if isinstance(self.bank, MemoryBank) else self.bank
        return as_documents(await bank.recall(query, **self._options(options)))

    def _get_ls_params(self, **_: Any) -> LangSmithRetrieverParams:  # noqa: ANN401 - LangChain's
        """What a trace says of this retriever."""
        return LangSmithRetrieverParams(ls_retriever_name="hindsight", ls_vector_store_provider="hindsight")

    def _options(self, call: Mapping[str, Any]) -> RecallOptions:
        """The options of a recall: what the call gives, else what the retriever has."""
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
"""Fields that a call may give too. (`metadata` is also a field of LangChain's.)"""


def as_documents(found: RecallResult) -> list[Document]:
    """What was recalled as documents: the table of records, if there is one, and the memories."""
    tables = [
        Document(page_content=table.text, metadata=table.metadata, id=table.id) for table in found.records
    ]
    return [*tables, *map(as_document, found.units)]


def as_document(recalled: RecalledUnit) -> Document:
    """A memory as a document: the caller's own metadata with what the engine knows, which wins where both use a key."""
    metadata = {
        **plain_metadata(recalled),
        "score": float(recalled.score),
        "channels": {channel.value: hit.rank for channel, hit in recalled.channels.items()},
        "channel_scores": {channel.value: float(hit.score) for channel, hit in recalled.channels.items()},
    }
    return Document(page_content=recalled.text, metadata=metadata, id=recalled.unit.id)

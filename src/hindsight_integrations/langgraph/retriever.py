"""A LangChain retriever over one memory bank."""

# No `from __future__ import annotations`: LangChain reads the signatures of a retriever to see which options a call may give.

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

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
from hindsight_integrations.model.recalled import RecalledUnit, plain_metadata
from hindsight_integrations.model.requests import RelevanceLevel, ResultOrder, TextForm
from hindsight_integrations.validation.limits import MAX_TOKENS
from hindsight_integrations.verb_options import SEARCHED, with_defaults


class HindsightRetriever(BaseRetriever):
    """Recalls memories as LangChain documents: the document's id is the memory's, what else is known is metadata.

    retriever = HindsightRetriever(bank=bank, k=5)
    documents = retriever.invoke("Where does Alice live?", as_of="2024-05-01")

    Every option may be given to the constructor, or to a call, which then differs from it. `invoke` and `ainvoke` both do
    their own work, whichever face of the bank was given.

    Attributes:
        bank: the bank to recall from, of either face.
        k: at most this many memories; exactly as many where so many are found, likely to help or not.
        max_tokens: what the texts may cost together; None means 4,096, and no bound where `k` is given.
        budget: effort: low, mid or high.
        types: networks to search; None means all, without observations unless the settings make them searchable.
        memory_tags: visibility tags; none means any memory. (`tags` are LangChain's, of traces.)
        tags_match: any, all, any_strict, all_strict or exact.
        tag_groups: conditions on tags beside them; see the bank's `recall`.
        metadata: conditions on what came with the memories; see the bank's `recall`. (LangChain's own use of it, to say more
            in traces, is `config={"metadata": ...}` of a call; a trace shows these conditions there.)
        min_scores: what a memory must reach; see `MinScores`.
        as_of: what was valid at a moment; None means now.
        query_timestamp: the moment from which "yesterday" counts; None means now.
        text: "full" or "compact"; see the bank's `recall`. None means the integration's default, as do the next two
            (docs/integrations.md).
        relevance: "likely" stops where evidence gives out, the default without `k`; "all" goes on until `k` or
            `max_tokens` is reached.
        include_records: also the complete table where the question asks over a kind of record.
        include_core: also core memory and all of a small bank, as nodes and middleware show them; see the bank's `recall`.
        order: "rank", best first, or "time", oldest first.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    bank: MemoryBank | AsyncMemoryBank
    k: int | None = None
    max_tokens: int | None = None
    budget: Budget | str = SEARCHED.budget
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
        k: int | None = None,
        max_tokens: int | None = None,
        budget: Budget | str | None = None,
        types: Sequence[FactType | str] | None = None,
        memory_tags: Sequence[str] | None = None,
        tags_match: TagsMatch | str | None = None,
        tag_groups: Any = None,  # noqa: ANN401 - see the bank's `recall`
        metadata: Any = None,  # noqa: ANN401
        min_scores: Any = None,  # noqa: ANN401
        as_of: datetime | str | None = None,
        query_timestamp: datetime | str | float | None = None,
        text: TextForm | str | None = None,
        relevance: RelevanceLevel | str | None = None,
        include_records: bool | None = None,
        include_core: bool | None = None,
        order: ResultOrder | str | None = None,
    ) -> list[Document]:
        del run_manager  # LangChain calls it back itself
        bank = self.bank if isinstance(self.bank, MemoryBank) else MemoryBank.over(self.bank)
        options = self._options(
            k=k,
            max_tokens=max_tokens,
            budget=budget,
            types=types,
            memory_tags=memory_tags,
            tags_match=tags_match,
            tag_groups=tag_groups,
            metadata=metadata,
            min_scores=min_scores,
            as_of=as_of,
            query_timestamp=query_timestamp,
            text=text,
            relevance=relevance,
            include_records=include_records,
            include_core=include_core,
            order=order,
        )
        return as_documents(bank.recall(query, **options))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        max_tokens: int | None = None,
        budget: Budget | str | None = None,
        types: Sequence[FactType | str] | None = None,
        memory_tags: Sequence[str] | None = None,
        tags_match: TagsMatch | str | None = None,
        tag_groups: Any = None,  # noqa: ANN401 - see the bank's `recall`
        metadata: Any = None,  # noqa: ANN401
        min_scores: Any = None,  # noqa: ANN401
        as_of: datetime | str | None = None,
        query_timestamp: datetime | str | float | None = None,
        text: TextForm | str | None = None,
        relevance: RelevanceLevel | str | None = None,
        include_records: bool | None = None,
        include_core: bool | None = None,
        order: ResultOrder | str | None = None,
    ) -> list[Document]:
        del run_manager
        bank = self.bank.asynchronous if isinstance(self.bank, MemoryBank) else self.bank
        options = self._options(
            k=k,
            max_tokens=max_tokens,
            budget=budget,
            types=types,
            memory_tags=memory_tags,
            tags_match=tags_match,
            tag_groups=tag_groups,
            metadata=metadata,
            min_scores=min_scores,
            as_of=as_of,
            query_timestamp=query_timestamp,
            text=text,
            relevance=relevance,
            include_records=include_records,
            include_core=include_core,
            order=order,
        )
        return as_documents(await bank.recall(query, **options))

    def _get_ls_params(self, **_: Any) -> LangSmithRetrieverParams:  # noqa: ANN401 - LangChain's
        """What a trace says of this retriever."""
        return LangSmithRetrieverParams(ls_retriever_name="hindsight", ls_vector_store_provider="hindsight")

    def _options(self, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - the options of a call, each of its own type
        """The options of a recall: what the call gives, else what the retriever has."""
        chosen = {name: getattr(self, name) if value is None else value for name, value in given.items()}
        if chosen["max_tokens"] is None:
            chosen["max_tokens"] = SEARCHED.max_tokens if chosen["k"] is None else MAX_TOKENS
        chosen["tags"] = chosen.pop("memory_tags")
        return with_defaults(chosen, SEARCHED)


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

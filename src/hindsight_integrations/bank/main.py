"""AsyncMemoryBank: the verbs of one bank. It checks requests, hands ports to the pipelines, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hindsight_integrations.bank.archives import ArchiveVerbs
from hindsight_integrations.bank.background import BackgroundVerbs
from hindsight_integrations.bank.bulk import BulkVerbs
from hindsight_integrations.bank.core import BankCore
from hindsight_integrations.bank.editing import EditVerbs
from hindsight_integrations.bank.entities import EntityVerbs
from hindsight_integrations.bank.enumeration import EnumerationVerbs
from hindsight_integrations.bank.forgetting import ForgetVerbs
from hindsight_integrations.bank.records import RecordVerbs
from hindsight_integrations.bank.validity import ValidityVerbs
from hindsight_integrations.cara.reflect import reflect
from hindsight_integrations.errors import StorageError
from hindsight_integrations.model.facts import ExtractedFact
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.requests import (
    RECALLED_BY_DEFAULT,
    Budget,
    GivenGroup,
    GivenScores,
    TagsMatch,
)
from hindsight_integrations.model.results import RecallResult, Reflection, RetainResult
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.tempr.recall.pipeline import recall
from hindsight_integrations.tempr.recall.tools import RecallTools
from hindsight_integrations.tempr.retain.pipeline import retain
from hindsight_integrations.tempr.retain.time_normalisation import embedding_text
from hindsight_integrations.validation.intake import Content
from hindsight_integrations.validation.recall_request import (
    AskedExtras,
    AskedFilters,
    AskedRecall,
    AskedTimes,
    RecallOptions,
    recall_query,
)
from hindsight_integrations.validation.retain_request import Source, retain_request


class AsyncMemoryBank(
    BackgroundVerbs,
    RecordVerbs,
    EnumerationVerbs,
    BulkVerbs,
    ForgetVerbs,
    ArchiveVerbs,
    EntityVerbs,
    EditVerbs,
    ValidityVerbs,
    BankCore,
):
    """One bank of memories: retain, recall, reflect. Made by `AsyncHindsight.bank`; usable from any event loop."""

    async def retain(
        self,
        content: Content,
        *,
        context: str = "",
        timestamp: datetime | str | float | None = None,
        thread: str = "",
        document_id: str | None = None,
        entities: Sequence[str] = (),
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        facts: Iterable[ExtractedFact | Mapping[str, Any]] | None = None,
        append: bool = False,
    ) -> RetainResult:
        """Remember a text, a document or the messages of a conversation.

        Returns once every index has what was retained. The same input twice is one memory. A document retained again
        with other text is brought up to date: passages that are still there are not read again, and what only the
        removed ones said is closed. A message retained again with other text supersedes its earlier version.

        A passage for which the model gives no usable answer waits as a task, named in the result; `settle` tries again.

        Args:
            content: text, a Document, or messages: Message, dicts with role and content, or LangChain messages.
            context: what this is, for extraction ("support chat").
            timestamp: when it was said or written, for what carries no time of its own; now if None.
            thread: the conversation; message ids are unique within it.
            document_id: the caller's id of a plain text.
            entities: names every memory of this call is about.
            tags: visibility tags.
            metadata: strings to keep with every memory.
            facts: facts somebody else extracted from the content; None means extract them here.
            append: add the text to the document of that id instead of replacing it; the same text with the same
                timestamp is added once.

        Raises:
            InvalidRequest: the input is empty, over a limit or inconsistent.
            ModelError: extraction or embedding failed; memory is unchanged.
        """
        self._check_writable("retain")
        tools = self._tools
        about = Source(timestamp, thread, document_id, context, entities, tags, metadata or {}, append)
        request = retain_request(content, about, facts, bank=self._name, clock=tools.clock, zone=tools.zone)
        await tools.workers.write(self._claim_embedder)
        return await retain(request, self._retain_tools())

    async def recall(  # noqa: PLR0913, D417 - options are keyword-only; a budget is told of with what it is for
        self,
        query: str,
        *,
        max_tokens: int = 4096,
        budget: Budget | str = Budget.MID,
        types: Iterable[FactType | str] = RECALLED_BY_DEFAULT,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        window: tuple[datetime | str, datetime | str] | None = None,
        as_of: datetime | str | None = None,
        query_timestamp: datetime | str | float | None = None,
        include_invalidated: bool = False,
        k: int | None = None,
        min_scores: GivenScores = None,
        include_entities: bool = False,
        max_entity_tokens: int = 500,
        include_chunks: bool = False,
        max_chunk_tokens: int = 8192,
        include_source_facts: bool = False,
        max_source_fact_tokens: int = 4096,
        trace: bool = False,
    ) -> RecallResult:
        """Find the memories that answer a question: by meaning, words, graph and time, within a token budget.

        Args:
            query: the question.
            max_tokens, k: what the texts returned may cost together; at most so many memories.
            budget, types: effort (low, mid or high); networks to search.
            tags, tags_match: visibility tags; any, all, any_strict, all_strict or exact. any and all keep untagged memories.
            tag_groups: {"tags": [...], "match": "any_strict"}, "and", "or", "not" of such; all must hold, and `tags` too.
            window: (start, end) of the time asked about; None means find it in the question.
            as_of, query_timestamp: the moment whose valid memories are wanted; what "yesterday" counts from. Both default to now.
            include_invalidated: also return what is no longer valid, marked.
            min_scores: what a memory must reach where it is scored; see `MinScores`.
            include_entities, include_chunks, include_source_facts: also observations of entities met, source passages, grounds of observations.
            max_entity_tokens, max_chunk_tokens, max_source_fact_tokens: what these may cost.
            trace: also record how every candidate fared; `RecallResult.explain` tells it.

        Raises:
            InvalidRequest: an option is out of range.
            IndexOutOfStep: an index is broken and could not be healed.
        """
        how = RecallOptions(max_tokens, budget, k, trace)
        which = AskedFilters(types, tags, tags_match, tag_groups, include_invalidated, min_scores)
        when = AskedTimes(window, as_of, query_timestamp)
        entities, chunks = (include_entities, max_entity_tokens), (include_chunks, max_chunk_tokens)
        besides = AskedExtras(entities, chunks, (include_source_facts, max_source_fact_tokens))
        return await self._recalled(AskedRecall(query, how, which, when, besides))

    async def _recalled(self, asked: AskedRecall) -> RecallResult:
        """Recall on one state of the bank: asked again where an index was emptied and replayed meanwhile.

        Such an answer may be half of one, and such a failure is none.
        """
        request = recall_query(asked, clock=self._tools.clock, zone=self._tools.zone)
        while True:
            view = await self._current_view()
            try:
                found = await recall(request, view, self._recall_tools())
            except StorageError:
                if view.clearings == self._projection.clearings:
                    raise
                continue
            if view.clearings == self._projection.clearings:
                return found

    async def reflect(self, query: str, *, max_tokens: int = 4096) -> Reflection:
        """Answer a question from memory, in the bank's character, naming the memories the answer stands on.

        Without a model the answer is the best memories themselves, and `extractive` is True.

        Args:
            query: the question.
            max_tokens: budget of the memories the answer may use.

        Raises:
            ModelError: the model failed; memory is unchanged.
        """
        header = await self._tools.workers.read(self._tools.ledger.bank, self._name, create=False)

        async def recall_for(text: str) -> RecallResult:
            return await self.recall(text, max_tokens=max_tokens)

        return await reflect(query, recall_for, profile=header.profile, model=self._tools.model)

    async def profile(self) -> BankProfile:
        """Who the agent behind this bank is."""
        return (await self._tools.workers.read(self._tools.ledger.bank, self._name, create=False)).profile

    async def set_profile(self, profile: BankProfile) -> None:
        """Replace the profile."""
        await self._tools.workers.write(self._tools.ledger.set_profile, self._name, profile)

    async def count(self) -> int:
        """How many memories the bank holds, those no longer valid included."""
        return await self._tools.workers.read(self._tools.ledger.count, self._name)

    async def reindex(self) -> int:
        """Embed every memory anew with the engine's embedder, e.g. after changing it; returns how many."""
        return await self._tools.workers.write(self._reembed)

    def _recall_tools(self) -> RecallTools:
        tools = self._tools
        return RecallTools(
            embedder=tools.embedder,
            reranker=tools.reranker,
            tokens=tools.tokens,
            workers=tools.workers,
            config=tools.config.recall,
            zone=tools.zone,
            time_parser=tools.time_parser,
            time_languages=tools.config.time_languages,
        )

    def _reembed(self) -> int:
        self._check_writable("reindex")
        self._projection.catch_up()
        ids = self._projection.view().columns.ids
        stored = self._tools.ledger.units(self._name, ids)
        vectors = self._tools.embedder.embed_documents([_embedded(stored[int(row)]) for row in ids])
        self._tools.ledger.set_embedder(self._name, self._tools.embedder.identity, ids, vectors)
        self._projection.reembedded()
        return len(ids)


def _embedded(unit: MemoryUnit) -> str:
    return embedding_text(unit.text, unit.occurred, unit.mentioned_at)

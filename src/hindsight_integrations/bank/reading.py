"""The bank's verbs that find and look: recall, get, history, count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs, Tools
from hindsight_integrations.bank.telemetry import observed
from hindsight_integrations.bank.unit_changes import stored_unit
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import StorageError
from hindsight_integrations.model.metadata import GivenMetadata
from hindsight_integrations.model.requests import (
    RECALLED_BY_DEFAULT,
    Budget,
    GivenGroup,
    GivenScores,
    RecallQuery,
    RelevanceLevel,
    ResultOrder,
    TagsMatch,
    TextForm,
)
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.model.units import FactType, MemoryUnit, ValidityEvent
from hindsight_integrations.search.bank_view import BankView
from hindsight_integrations.search.documents import DocumentItems, read_items
from hindsight_integrations.search.projection import BankProjection
from hindsight_integrations.tempr.recall.pipeline import recall
from hindsight_integrations.validation.arguments import (
    Embedding,
    Moment,
    Window,
    checked_embedding,
    checked_instant,
    checked_min_scores,
    checked_types,
    checked_unit_id,
    checked_window,
)
from hindsight_integrations.validation.limits import (
    MAX_QUERY,
    checked_count,
    checked_tags,
    checked_text,
    checked_words,
)
from hindsight_integrations.validation.metadata import checked_metadata_filter
from hindsight_integrations.validation.tag_groups import checked_tag_groups

MAX_UNITS = 10_000  # of one recall


class ReadingVerbs(BankVerbs):
    """Verbs that find memories, and look at one or at the bank."""

    @observed
    async def recall(
        self,
        query: str,
        *,
        max_tokens: int = 4096,
        budget: Budget | str = Budget.MID,
        types: Iterable[FactType | str] | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        metadata: GivenMetadata = None,
        window: Window = None,
        as_of: datetime | str | None = None,
        query_timestamp: Moment = None,
        include_invalidated: bool = False,
        k: int | None = None,
        min_scores: GivenScores = None,
        include_entities: bool = False,
        max_entity_tokens: int = 500,
        include_chunks: bool = False,
        max_chunk_tokens: int = 8192,
        include_source_facts: bool = False,
        max_source_fact_tokens: int = 4096,
        include_records: bool = False,
        max_record_tokens: int = 2048,
        text: TextForm | str = TextForm.FULL,
        relevance: RelevanceLevel | str = RelevanceLevel.ALL,
        order: ResultOrder | str = ResultOrder.RANK,
        include_core: bool = False,
        speaker: str = "user",
        trace: bool = False,
        embedding: Embedding = None,
    ) -> RecallResult:
        """Find the memories that answer a question: by meaning, words, graph and time, within a token budget.

        Args:
            query: the question, up to 8,000 characters. One that is only a time ("What happened last week?") finds what is of
                that time and nothing else.
            max_tokens: what the texts of the memories returned may cost together, 1 to 10,000,000.
            budget: effort: low, mid or high; how many candidates are looked at, apart from what is returned.
            types: networks to search: world, experience, opinion, observation. None means all, without observations
                unless `ObservationConfig.searchable` says so.
            tags: visibility tags; none means any memory.
            tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged
                memories.
            tag_groups: further conditions, all of which must hold, and `tags` too: {"tags": [...], "match":
                "any_strict"}, {"and": [...]}, {"or": [...]}, {"not": {...}}, or TagLeaf, TagAnd, TagOr, TagNot.
            metadata: what came with the memories: {"channel": "mail"} (each equal), `MetadataFilter`, `MetadataGroup`, their
                JSON forms, or a list of these, all of which must hold; None means any memory.
            window: (start, end) of the time the question is about; None means find it in the question.
            as_of: a moment of conversation time; what was valid then. None means what is valid now.
            query_timestamp: the moment from which "yesterday" and recency count; now if None.
            include_invalidated: also return what is no longer valid, marked.
            k: at most this many memories, 1 to 10,000; None means tokens alone decide.
            min_scores: what a memory must reach at each stage that scores it; see `MinScores`.
            include_entities: also return observations of the entities met: those made of their facts in the background, and
                those you retained.
            max_entity_tokens: what those observations may cost.
            include_chunks: also return the passages that the memories came from.
            max_chunk_tokens: what those passages may cost.
            include_source_facts: also return the facts on which observations among the memories stand.
            max_source_fact_tokens: what those facts may cost.
            include_records: also return exact figures and all rows of the records that the question touches, as "what did I
                spend on food this week?" does.
            max_record_tokens: what these digests may cost together.
            text: "full", or "compact": what each memory says with its date, so that more fit the budget.
            relevance: "all" fills the budget, "likely" stops where evidence gives out.
            order: "rank", best first, or "time", oldest first; which memories are returned is not changed by it.
            include_core: also return core memory, as what is written into a prompt unasked does: the user's lasting facts
                first, at most a fifth of `max_tokens` and 400 tokens, and everything of a bank that fits into half of
                `max_tokens`; small talk gets core memory alone. Not with `k`.
            speaker: who asks, as in `Message.speaker`: where several people speak in a bank, core memory is theirs.
            trace: also record how every candidate fared; `RecallResult.explain` shows it.
            embedding: the question's vector, where you have it of the bank's own embedder (it need not be of unit length);
                or texts to embed in the question's place, whose mean vector is taken. Words, names and times are read
                from the question all the same. None means embed the question.

        Raises:
            InvalidRequest: an option is out of range.
            WrongDimension: `embedding` is as long as no vector of the bank's embedder.
            IndexOutOfStep: an index is broken and could not be healed.
        """
        request = RecallQuery(
            text=checked_text(query, "query", MAX_QUERY),
            max_tokens=checked_count(max_tokens, "max_tokens"),
            budget=choice(Budget, budget, "budget"),
            include_invalidated=include_invalidated,
            k=None if k is None else checked_count(k, "k", most=MAX_UNITS),
            min_scores=checked_min_scores(min_scores),
            entity_tokens=_budget(include_entities, max_entity_tokens, "entity"),
            chunk_tokens=_budget(include_chunks, max_chunk_tokens, "chunk"),
            source_fact_tokens=_budget(include_source_facts, max_source_fact_tokens, "source_fact"),
            record_tokens=_budget(include_records, max_record_tokens, "record"),
            trace=trace,
            include_core=bool(include_core),
            speaker=checked_words(speaker, "speaker") or "user",
            embedding=checked_embedding(embedding),
            metadata=checked_metadata_filter(metadata),
            **_shape(text, relevance, order),
            **_filters(self._context, types, tags, tags_match, tag_groups),
            **_moments(self._context.tools, query_timestamp, window, as_of),
        )
        return await recalled(self._context, request)

    async def get(self, unit_id: str) -> MemoryUnit:
        """One memory by its id, valid or not.

        Args:
            unit_id: the memory's id.

        Raises:
            InvalidRequest: the bank holds none of that id.
            MemoryDamaged: the ledger no longer holds what was written.
        """
        return await self._context.tools.workers.read(stored_unit, self._context, checked_unit_id(unit_id))

    async def document_items(
        self, unit_id: str, *, as_of: datetime | str | None = None
    ) -> tuple[MemoryUnit, ...]:
        """The items of a document or list, as they are served: by field, then in the order given.

        Each item is a unit with a `number`, by which `changes` name it, and with sources and validity of its own.

        Args:
            unit_id: id of the document's memory; any other memory has no items.
            as_of: a moment of conversation time; None means now. Of a document that has ended, the items that held until then.

        Raises:
            InvalidRequest: the bank holds no memory of that id.
        """
        tools = self._context.tools
        moment = checked_instant(as_of, "as_of", tools.dates)
        async with self._context.viewing() as view:
            unit = await tools.workers.read(stored_unit, self._context, checked_unit_id(unit_id))
            return await tools.workers.read(items_at, view, unit.id, moment)

    async def history(self, unit_id: str) -> tuple[ValidityEvent, ...]:
        """When a memory was closed or restored, by which other memory and why; oldest first.

        Args:
            unit_id: the memory's id; one the bank does not know has no history.
        """
        tools = self._context.tools
        return tuple(
            await tools.workers.read(
                tools.ledger.units.validity, self._context.name, checked_unit_id(unit_id)
            )
        )

    async def count(self) -> int:
        """How many memories the bank holds, those no longer valid included."""
        tools = self._context.tools
        return await tools.workers.read(tools.ledger.units.count, self._context.name)


def items_at(view: BankView, unit_id: str, moment: datetime | None) -> tuple[MemoryUnit, ...]:
    """The items served with a document at a moment."""
    rows = np.array(list(view.ledger.units.row_ids(view.bank, [unit_id]).values()), np.int64)
    served = DocumentItems.at(view.columns, moment).rows_of(rows)
    return tuple(item for items in read_items(served, view.ledger, view.bank).values() for item in items)


def _budget(wanted: object, tokens: object, what: str) -> int:
    """The budget of what may be included beside the memories: checked also where it is not wanted, and 0 then."""
    return checked_count(tokens, f"max_{what}_tokens") * bool(wanted)


def _shape(text: TextForm | str, relevance: RelevanceLevel | str, order: ResultOrder | str) -> dict[str, Any]:
    """In which form, how far and in which order memories are returned, checked."""
    return {
        "form": choice(TextForm, text, "text"),
        "relevance": choice(RelevanceLevel, relevance, "relevance"),
        "order": choice(ResultOrder, order, "order"),
    }


def _filters(
    bank: BankContext,
    types: Iterable[FactType | str] | None,
    tags: Iterable[str],
    match: TagsMatch | str,
    groups: GivenGroup | Sequence[GivenGroup],
) -> dict[str, Any]:
    """Which memories a recall may return, by network and tags, checked."""
    return {
        "types": recalled_by_default(bank) if types is None else checked_types(types),
        "tags": checked_tags(tags),
        "tags_match": choice(TagsMatch, match, "tags_match"),
        "tag_groups": checked_tag_groups(groups),
    }


def _moments(
    tools: Tools, query_timestamp: Moment, window: Window, as_of: datetime | str | None
) -> dict[str, Any]:
    """From which instant a recall counts, which window and which state it asks about, checked."""
    asked_at = checked_instant(query_timestamp, "query_timestamp", tools.dates)
    return {
        "query_timestamp": asked_at or as_utc(tools.clock.now()),
        "window": checked_window(window, tools.dates),
        "as_of": checked_instant(as_of, "as_of", tools.dates),
    }


def recalled_by_default(bank: BankContext) -> tuple[FactType, ...]:
    """The networks searched where none are named."""
    searchable = bank.tools.config.observations.searchable
    return tuple(FactType) if searchable else RECALLED_BY_DEFAULT


async def recalled(bank: BankContext, query: RecallQuery) -> RecallResult:
    """Recall on one state of the bank, again where an index was emptied and replayed meanwhile.

    Such an answer may be half of one, and such a failure is none.
    """
    async with bank.leased() as projection:
        while True:
            view = await bank.current_view(projection)
            try:
                found = await recall(query, view, bank.recall_tools())
            except StorageError:
                if view.rebuilds == projection.rebuilds:
                    raise
                continue
            if view.rebuilds == projection.rebuilds and not await _turns_extracted(bank, view, projection):
                return found


async def _turns_extracted(bank: BankContext, view: BankView, projection: BankProjection) -> bool:
    """Whether a turn of the view has been extracted since: an answer from it may lack both the turn and its facts."""
    turns = view.columns.ids[view.columns.waiting]
    tools = bank.tools
    if not len(turns) or await tools.workers.read(tools.ledger.revision, bank.name) == view.revision:
        return False
    await tools.workers.write(projection.catch_up)
    return bool((projection.view().columns.positions(turns) < 0).any())

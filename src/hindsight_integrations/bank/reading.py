"""The bank's verbs that find and look: recall, get, history, count."""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs
from hindsight_integrations.bank.telemetry import observed
from hindsight_integrations.bank.unit_changes import stored_unit
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import StorageError
from hindsight_integrations.model.options import RECALL_DEFAULTS, RecallOptions, shows_options
from hindsight_integrations.model.requests import (
    RECALLED_BY_DEFAULT,
    Budget,
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
    checked_instant,
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
from hindsight_integrations.validation.min_scores import checked_min_scores
from hindsight_integrations.validation.options import accept_options
from hindsight_integrations.validation.query_vector import checked_embedding
from hindsight_integrations.validation.tag_groups import checked_tag_groups

MAX_UNITS = 10_000  # of one recall


class ReadingVerbs(BankVerbs):
    """Verbs that find memories, and look at one or at the bank."""

    @observed
    @shows_options(RecallOptions)
    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> RecallResult:
        """Find the memories that answer a question: by meaning, words, graph and time, within a token budget.

        Args:
            query: the question, up to 8,000 characters. One that is only a time ("What happened last week?") finds what is of
                that time and nothing else.
            options: what is searched, how far, and what is returned beside the memories; `RecallOptions` describes each.

        Raises:
            InvalidRequest: an option is unknown or out of range.
            WrongDimension: `embedding` is as long as no vector of the bank's embedder.
            IndexOutOfStep: an index is broken and could not be healed.
        """
        return await recalled(self._context, recall_query(query, options, self._context))

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
            await tools.workers.read(tools.ledger.validity, self._context.name, checked_unit_id(unit_id))
        )

    async def count(self) -> int:
        """How many memories the bank holds, those no longer valid included."""
        tools = self._context.tools
        return await tools.workers.read(tools.ledger.count, self._context.name)


def items_at(view: BankView, unit_id: str, moment: datetime | None) -> tuple[MemoryUnit, ...]:
    """The items served with a document at a moment."""
    rows = np.array(list(view.ledger.row_ids(view.bank, [unit_id]).values()), np.int64)
    served = DocumentItems.at(view.columns, moment).rows_of(rows)
    return tuple(item for items in read_items(served, view.ledger, view.bank).values() for item in items)


def recall_query(query: str, options: RecallOptions, bank: BankContext) -> RecallQuery:
    """A question and the options of a recall, checked, with the defaults for what is left out.

    Raises:
        InvalidRequest: an option is unknown or out of range.
    """
    accept_options(options, RECALL_DEFAULTS)
    given, dates = RECALL_DEFAULTS | options, bank.tools.dates
    k, types = given["k"], given["types"]
    asked_at = checked_instant(given["query_timestamp"], "query_timestamp", dates)
    return RecallQuery(
        text=checked_text(query, "query", MAX_QUERY),
        query_timestamp=asked_at or as_utc(bank.tools.clock.now()),
        max_tokens=checked_count(given["max_tokens"], "max_tokens"),
        budget=choice(Budget, given["budget"], "budget"),
        types=recalled_by_default(bank) if types is None else checked_types(types),
        tags=checked_tags(given["tags"]),
        tags_match=choice(TagsMatch, given["tags_match"], "tags_match"),
        tag_groups=checked_tag_groups(given["tag_groups"]),
        metadata=checked_metadata_filter(given["metadata"]),
        window=checked_window(given["window"], dates),
        as_of=checked_instant(given["as_of"], "as_of", dates),
        include_invalidated=given["include_invalidated"],
        k=None if k is None else checked_count(k, "k", most=MAX_UNITS),
        min_scores=checked_min_scores(given["min_scores"]),
        entity_tokens=_budget(given["include_entities"], given["max_entity_tokens"], "entity"),
        chunk_tokens=_budget(given["include_chunks"], given["max_chunk_tokens"], "chunk"),
        source_fact_tokens=_budget(
            given["include_source_facts"], given["max_source_fact_tokens"], "source_fact"
        ),
        record_tokens=_budget(given["include_records"], given["max_record_tokens"], "record"),
        form=choice(TextForm, given["text"], "text"),
        relevance=choice(RelevanceLevel, given["relevance"], "relevance"),
        order=choice(ResultOrder, given["order"], "order"),
        include_core=bool(given["include_core"]),
        speaker=checked_words(given["speaker"], "speaker") or "user",
        trace=given["trace"],
        embedding=checked_embedding(given["embedding"]),
    )


def _budget(wanted: object, tokens: object, what: str) -> int:
    """The budget of what may be included beside the memories: checked also where it is not wanted, and 0 then."""
    return checked_count(tokens, f"max_{what}_tokens") * bool(wanted)


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

"""Methods of a bank that read: recall, units, iterate_units, get, document_items, sources, neighbours, history, count."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import wraps
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

import numpy as np

from hindsight_integrations.bank.context import BankContext, BankVerbs
from hindsight_integrations.bank.entities import MAX_NAME, entity_named
from hindsight_integrations.bank.unit_changes import stored_unit
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, MemoryDamaged
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.documents import DocumentItems, read_items
from hindsight_integrations.indexes.neighbourhood import neighbourhood
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.model.arrays import IntArray
from hindsight_integrations.model.links import Neighbourhood
from hindsight_integrations.model.metadata import GivenMetadata
from hindsight_integrations.model.options import RECALL_DEFAULTS, RecallOptions, shows_options
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.requests import (
    Budget,
    GivenGroup,
    RecallQuery,
    RelevanceLevel,
    ResultOrder,
    TagsMatch,
    TextForm,
)
from hindsight_integrations.model.results import RecallResult, RetainResult, UnitPage, retained_values
from hindsight_integrations.model.time import Window, as_utc
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import TOLD_NETWORKS, FactType, MemoryUnit, ValidityEvent
from hindsight_integrations.recall.listing import UnitFilter, find_page, place_of
from hindsight_integrations.recall.pipeline import recall
from hindsight_integrations.validation.arguments import (
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
from hindsight_integrations.validation.options import accept_options
from hindsight_integrations.validation.tag_groups import checked_tag_groups

P = ParamSpec("P")
R = TypeVar("R", RetainResult, RecallResult, Reflection)
Methods = TypeVar("Methods", bound=BankVerbs)

logger = logging.getLogger("hindsight_integrations")


def observed(
    method: Callable[Concatenate[Methods, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Methods, P], Coroutine[Any, Any, R]]:
    """Log a method of a bank at INFO, and record it as an OpenTelemetry span such as `hindsight.retain`.

    The span's attributes are the bank's name and the counts in the result (`hindsight.bank`, `hindsight.tokens_in`). If the
    call fails, the span has only the error's class, because the message may quote memories.
    """
    name = f"hindsight.{method.__name__}"

    @wraps(method)
    async def call(self: Methods, /, *args: P.args, **kwargs: P.kwargs) -> R:
        bank, started = self._context.name, perf_counter()
        with _span(name, bank) as annotate:
            result = await method(self, *args, **kwargs)
            counts = _counts(result)
            annotate(counts)
        if logger.isEnabledFor(logging.INFO):
            summary = ", ".join(f"{key}={value}" for key, value in counts.items())
            logger.info("%s bank=%r %s (%.0f ms)", name, bank, summary, (perf_counter() - started) * 1000)
        return result

    return call


def _counts(result: RetainResult | RecallResult | Reflection) -> dict[str, int]:
    match result:
        case RecallResult():
            return {"memories": len(result.units), "tokens": result.tokens}
        case Reflection():
            counts = {"memories": len(result.units), "opinions": len(result.opinions)}
        case RetainResult():
            values = retained_values(result)  # counts messages that were waiting, too
            counts = {"created": values["created"], "queued": len(result.queued) + len(result.parked)}
            return counts | {name: values[name] for name in ("calls", "tokens_in", "tokens_out")}
    return counts | {"calls": result.calls, "tokens_in": result.tokens_in, "tokens_out": result.tokens_out}


@contextmanager
def _span(name: str, bank: str) -> Iterator[Callable[[dict[str, int]], Any]]:
    """Run the block in a span; yield a function that sets attributes of the span."""
    try:
        from opentelemetry import trace
    except ImportError:
        yield lambda _: None
        return
    tracer = trace.get_tracer("hindsight_integrations")
    attributes = {"hindsight.bank": bank}
    with tracer.start_as_current_span(
        name, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield lambda counts: span.set_attributes({f"hindsight.{key}": counts[key] for key in counts})
        finally:
            if (failure := sys.exc_info()[0]) is not None:
                span.set_attribute("error.type", failure.__name__)
                span.set_status(trace.StatusCode.ERROR)


LARGEST_PAGE = 10_000
MOST_SKIPPED = 10_000_000  # maximum `offset` of a page
# Page size of `iterate_units`: limits memory use, but each page costs the computation of its masks.
UNITS_A_PAGE = 1_000


class ListingVerbs(BankVerbs):
    """Methods that list all matching memories, without ranking or truncation."""

    async def units(
        self,
        *,
        entity: str | None = None,
        types: Iterable[FactType | str] = tuple(FactType),
        window: Window = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        metadata: GivenMetadata = None,
        include_invalidated: bool = False,
        newest_first: bool = False,
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
    ) -> UnitPage:
        """List every matching memory, page by page, ordered by time of the event (else of the mention), oldest first.

        Following the cursors returns each memory that existed at the first page once; memories retained later are omitted. A
        page contains the memories that are valid when the page is read: without `include_invalidated`, a memory that has become
        invalid since the first page is missing. If `edit` changes a memory's time between two pages, the memory may appear twice
        or not at all.

        Args:
            entity: name or id of an entity that the memories mention; None means any.
            types: fact types to list.
            window: (start, end) of the time in which the memories occurred or, without an event time, were mentioned.
            as_of: a point in conversation time; lists the memories that were valid then. None means now.
            tags: visibility tags; empty means any memory.
            tags_match: any, all, any_strict, all_strict or exact; any and all also list untagged memories.
            tag_groups: further conditions, all of which must hold; see `recall`.
            metadata: conditions on metadata; see `recall`.
            include_invalidated: also list invalid memories; with `as_of`, all memories mentioned by then.
            newest_first: reverse the order.
            limit: maximum number of memories per page, up to 10,000.
            offset: number of matching memories to skip, up to 10,000,000. Unlike a cursor, it counts memories that were added
                since the previous page.
            cursor: cursor from the previous page; None for the first page.

        Raises:
            InvalidRequest: an option is out of range, the entity is unknown or ambiguous, or the cursor belongs to another
                query.
        """
        read, dates = self._context.services.workers.read, self._context.services.dates
        wanted = UnitFilter(
            types=tuple(sorted(set(checked_types(types)))),
            window=checked_window(window, dates),
            as_of=checked_instant(as_of, "as_of", dates),
            tags=checked_tags(tags),
            tags_match=choice(TagsMatch, tags_match, "tags_match"),
            include_invalidated=bool(include_invalidated),
            tag_groups=checked_tag_groups(tag_groups),
            metadata=checked_metadata_filter(metadata),
            newest_first=bool(newest_first),
        )
        most = checked_count(limit, "limit", most=LARGEST_PAGE)
        skipped = checked_count(offset, "offset", least=0, most=MOST_SKIPPED)
        async with self._context.viewing() as view:
            mentioning = None
            if entity is not None:
                entity_id, mentioning = await read(self._mentioning, checked_text(entity, "entity", MAX_NAME))
                wanted = replace(wanted, entity=entity_id)
            after = None if cursor is None else place_of(cursor, self._context.name, wanted)
            return await read(find_page, view, wanted, mentioning, after=after, offset=skipped, limit=most)

    async def iterate_units(
        self,
        *,
        entity: str | None = None,
        types: Iterable[FactType | str] = tuple(FactType),
        window: Window = None,
        as_of: datetime | str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        metadata: GivenMetadata = None,
        include_invalidated: bool = False,
    ) -> AsyncIterator[MemoryUnit]:
        """Iterate over every matching memory; see `units` for the options, the order and the errors.

        Raises:
            MemoryDamaged: damaged memories were omitted; raised after all other memories were yielded.
        """
        networks, labels, cursor = checked_types(types), checked_tags(tags), None
        groups, condition = checked_tag_groups(tag_groups), checked_metadata_filter(metadata)
        damaged: tuple[str, ...] = ()
        while True:
            page = await self.units(
                entity=entity,
                types=networks,
                window=window,
                as_of=as_of,
                tags=labels,
                tags_match=tags_match,
                tag_groups=groups,
                metadata=condition,
                include_invalidated=include_invalidated,
                limit=UNITS_A_PAGE,
                cursor=cursor,
            )
            for unit in page.units:
                yield unit
            cursor, damaged = page.cursor, damaged + page.damaged
            if cursor is None:
                break
        if damaged:
            raise MemoryDamaged(self._context.name, damaged)

    def _mentioning(self, name: str) -> tuple[str, IntArray]:
        """Return the id of an entity, and the row ids of the units that mention the entity, read from one snapshot."""
        bank = self._context.name
        with self._context.services.ledger.snapshot(bank) as ledger:
            entity = entity_named(ledger, bank, name)
            rows = ledger.units.row_ids(
                bank, [unit for unit, _ in ledger.entities.mention_texts(bank, entity.id)]
            )
        return entity.id, np.fromiter(rows.values(), np.int64, len(rows))


MAX_UNITS = 10_000  # maximum number of memories per recall


class ReadingVerbs(BankVerbs):
    """Methods that recall memories, look up a memory, and count them."""

    @observed
    @shows_options(RecallOptions)
    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> RecallResult:
        """Find the memories that answer a question, by semantic, keyword, graph and temporal search, within a token budget.

        Args:
            query: the question, up to 8,000 characters. If it asks only about a time ("What happened last week?"), only
                memories of that time are returned.
            options: the options described in `RecallOptions`.

        Raises:
            InvalidRequest: an option is unknown or out of range.
            WrongDimension: the dimension of `embedding` differs from that of the bank's embedder.
            IndexOutOfStep: an index is damaged and could not be repaired.
        """
        return await recalled(self._context, recall_query(query, options, self._context))

    async def get(self, unit_id: str) -> MemoryUnit:
        """Get a memory by its id, whether it is valid or not.

        Args:
            unit_id: the memory's id.

        Raises:
            InvalidRequest: the bank has no memory with that id.
            MemoryDamaged: the stored memory does not match its checksum.
        """
        return await self._context.services.workers.read(stored_unit, self._context, checked_unit_id(unit_id))

    async def document_items(
        self, unit_id: str, *, as_of: datetime | str | None = None
    ) -> tuple[MemoryUnit, ...]:
        """List the items of a document or list, by field and then in their original order.

        Each item is a memory with its own sources and validity, and a `number` by which `changes` refer to it.

        Args:
            unit_id: id of the document. Other memories have no items.
            as_of: a point in conversation time; None means now. For an invalid document, None means when it became invalid.

        Raises:
            InvalidRequest: the bank has no memory with that id.
        """
        services = self._context.services
        moment = checked_instant(as_of, "as_of", services.dates)
        async with self._context.viewing() as view:
            unit = await services.workers.read(stored_unit, self._context, checked_unit_id(unit_id))
            return await services.workers.read(items_at, view, unit.id, moment)

    async def sources(self, unit_id: str) -> tuple[SourceTurn, ...]:
        """List the messages that a memory was made from, in their latest version, oldest first.

        Args:
            unit_id: id of the memory. A memory made from a document has no messages.

        Raises:
            InvalidRequest: the bank has no memory with that id.
        """
        return await self._context.services.workers.read(self._sources, checked_unit_id(unit_id))

    def _sources(self, unit_id: str) -> tuple[SourceTurn, ...]:
        ledger, bank = self._context.ledger, self._context.name
        stored_unit(self._context, unit_id)
        rows = np.array(list(ledger.units.row_ids(bank, [unit_id]).values()), np.int64)
        return next(iter(ledger.turns.of_units(bank, rows).values()), ())

    async def neighbours(
        self, unit_id: str | None = None, *, entity: str | None = None, limit: int = 100
    ) -> Neighbourhood:
        """Get the part of the memory graph around a memory or an entity, nearest memories and entities first.

        Args:
            unit_id: id of the memory.
            entity: name or id of the entity, instead of a memory.
            limit: maximum number of memories and entities together, 1 to 10,000.

        Raises:
            InvalidRequest: not exactly one of `unit_id` and `entity` is given, or the bank does not contain it.
            IndexOutOfStep: the graph cannot be loaded.
        """
        if (unit_id is None) == (entity is None):
            raise InvalidRequest(
                "neighbours", "exactly one start is needed", "Pass either unit_id or entity=."
            )
        read = self._context.services.workers.read
        most = checked_count(limit, "limit", most=LARGEST_PAGE)
        async with self._context.viewing() as view:
            if unit_id is not None:
                unit = await read(stored_unit, self._context, checked_unit_id(unit_id))
                return await read(neighbourhood, view, [unit.id], [], most)
            name = checked_text(entity, "entity", MAX_NAME)
            start = await read(entity_named, view.ledger, view.bank, name)
            return await read(neighbourhood, view, [], [start.id], most)

    async def history(self, unit_id: str) -> tuple[ValidityEvent, ...]:
        """List the validity events of a memory, each with its time, reason and the memory that caused it, oldest first.

        Args:
            unit_id: id of the memory. An unknown id has no history.
        """
        services = self._context.services
        return tuple(
            await services.workers.read(
                services.ledger.units.validity, self._context.name, checked_unit_id(unit_id)
            )
        )

    async def count(self) -> int:
        """Count all memories of the bank, including invalid ones."""
        services = self._context.services
        return await services.workers.read(services.ledger.units.count, self._context.name)


def items_at(view: BankView, unit_id: str, moment: datetime | None) -> tuple[MemoryUnit, ...]:
    """Return the items of a document that are valid at a given time; None means now."""
    rows = np.array(list(view.ledger.units.row_ids(view.bank, [unit_id]).values()), np.int64)
    served = DocumentItems.at(view.columns, moment).rows_of(rows)
    return tuple(item for items in read_items(served, view.ledger, view.bank).values() for item in items)


def recall_query(query: str, options: RecallOptions, bank: BankContext) -> RecallQuery:
    """Validate a question and the options of a recall, and fill in the defaults.

    Raises:
        InvalidRequest: an option is unknown or out of range.
    """
    accept_options(options, RECALL_DEFAULTS)
    given, dates = RECALL_DEFAULTS | options, bank.services.dates
    k, types = given["k"], given["types"]
    asked_at = checked_instant(given["query_timestamp"], "query_timestamp", dates)
    return RecallQuery(
        text=checked_text(query, "query", MAX_QUERY),
        query_timestamp=asked_at or as_utc(bank.services.clock.now()),
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
    """Validate and return the token budget of an optional part of the result; 0 if the part is not requested."""
    return checked_count(tokens, f"max_{what}_tokens") * bool(wanted)


def recalled_by_default(bank: BankContext) -> tuple[FactType, ...]:
    """Return the fact types that are searched by default."""
    searchable = bank.services.config.observations.searchable
    return tuple(FactType) if searchable else TOLD_NETWORKS


async def recalled(bank: BankContext, query: RecallQuery) -> RecallResult:
    """Recall from one consistent view of the bank; repeat the recall if a turn was extracted in the meantime."""
    async with bank.leased() as projection:
        while True:
            view, found = await bank.settled_read(
                projection, lambda view: recall(query, view, bank.view_services)
            )
            if not await _turns_extracted(bank, view, projection):
                return found


async def _turns_extracted(bank: BankContext, view: BankView, projection: BankProjection) -> bool:
    """Return whether a turn in the view was extracted during the recall, so that the result may lack the turn and its facts."""
    turns = view.columns.ids[view.columns.waiting]
    services = bank.view_services
    if not len(turns) or await services.workers.read(services.ledger.revision, bank.name) == view.revision:
        return False
    await services.workers.write(projection.catch_up)
    return bool((projection.view().columns.positions(turns) < 0).any())

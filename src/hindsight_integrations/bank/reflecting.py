"""Methods of a bank that answer questions: reflect and reflect_stream. Also the read operations of the agentic loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import TypedDict, Unpack

import numpy as np

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.entities import entities_named
from hindsight_integrations.bank.mental_models import directives_for, mental_models_near
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import (
    ListingVerbs,
    ReadingVerbs,
    observed,
    recalled,
    recalled_by_default,
)
from hindsight_integrations.bank.records import AsyncRecords
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest, shown
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.columns import valid_at
from hindsight_integrations.indexes.documents import DocumentItems
from hindsight_integrations.model.aggregates import Aggregate, Aggregation, RecordEntry
from hindsight_integrations.model.arrays import BoolArray, IntArray
from hindsight_integrations.model.entities import Entity
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.names import normalise_name
from hindsight_integrations.model.options import REFLECT_DEFAULTS, ReflectOptions, shows_options
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import ReflectEvent, Reflection
from hindsight_integrations.model.requests import (
    Budget,
    RecallQuery,
    ReflectQuery,
    Strategy,
    TagGroup,
    TagsMatch,
)
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.model.text import content_hash
from hindsight_integrations.model.time import FIRST_INSTANT, LAST_INSTANT, Interval, as_utc
from hindsight_integrations.model.turns import SourceTurn
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.recall.documents import documents_among
from hindsight_integrations.recall.includes import may_show, stood, with_history
from hindsight_integrations.recall.listing import aggregate
from hindsight_integrations.recall.plan import selection
from hindsight_integrations.recall.rerank import grounds_of
from hindsight_integrations.reflect.context import (
    RECORD_TOKENS,
    Listed,
    Period,
    RecordSelection,
    ReflectContext,
    SaidTurn,
    Sources,
)
from hindsight_integrations.reflect.pipeline import ReflectSteps, reflect
from hindsight_integrations.validation.arguments import (
    MAX_OPERATION,
    checked_instant,
    checked_schema,
    checked_tools,
    checked_window,
)
from hindsight_integrations.validation.limits import (
    MAX_QUERY,
    checked_count,
    checked_tags,
    checked_text,
)
from hindsight_integrations.validation.options import accept_options
from hindsight_integrations.validation.tag_groups import checked_tag_groups

CANDIDATES = 20  # maximum number of names compared with an unknown name
MOST_NAMED = 5  # maximum number of similar names in the error
TURNS_A_READ = 100  # number of turns per ledger query


@dataclass(frozen=True, slots=True)
class EntityMentions:
    """An entity, and the usable memories that mention it.

    Attributes:
        id: id of the entity.
        units: ids of the memories.
    """

    id: str
    units: frozenset[str]


def mentioned(view: BankView, name: str, usable: BoolArray) -> EntityMentions:
    """Find the entity with this id or unique name among the entities that usable memories mention.

    The model wrote the name. `usable` is a mask over the view's columns.

    Raises:
        InvalidRequest: no entity or several entities match; the message lists similar names.
    """
    found = [
        (entity, units)
        for entity in entities_named(view.ledger, view.bank, name)
        if (units := _usable_mentions(view, entity, usable))
    ]
    if not found:
        near = _names_like(view, name, usable)
        remedy = f"Similar names: {', '.join(near)}." if near else "Use recall to see how memories name it."
        raise InvalidRequest("entity", f"no memory mentions {shown(name)}", remedy)
    if len(found) > 1:
        listed = ", ".join(f"{entity.name} ({entity.type}): {entity.id}" for entity, _ in found[:MOST_NAMED])
        raise InvalidRequest("entity", f"{shown(name)} is ambiguous: {listed}", "Pass an id.")
    ((entity, units),) = found
    return EntityMentions(entity.id, units)


def _names_like(view: BankView, name: str, usable: BoolArray) -> list[str]:
    normal = normalise_name(name)
    near = view.ledger.entities.candidates(view.bank, [normal], CANDIDATES).get(normal, [])
    return [entity.name for entity in near if _usable_mentions(view, entity, usable)][:MOST_NAMED]


def _usable_mentions(view: BankView, entity: Entity, usable: BoolArray) -> frozenset[str]:
    """Return ids of the usable memories that mention an entity."""
    written = view.ledger.entities.mention_texts(view.bank, entity.id)
    rows: Mapping[str, int] = view.ledger.units.row_ids(view.bank, [unit for unit, _ in written])
    ids: IntArray = np.fromiter(rows.values(), np.int64, len(rows))
    allowed = view.columns.allowed(ids, usable).tolist()
    return frozenset(unit for unit, may in zip(rows, allowed, strict=True) if may)


class _Limits(TypedDict):
    """Filters that apply to every list of memories in a reflection."""

    window: tuple[datetime, datetime] | None
    as_of: datetime | None
    tags: tuple[str, ...]
    tags_match: TagsMatch
    tag_groups: tuple[TagGroup, ...]


class LimitedReads:
    """The read operations of one reflection on one bank; implements `MemoryReads`.

    The tags, time and window of the reflection's query apply to every read.
    """

    def __init__(self, context: BankContext, query: RecallQuery) -> None:
        self._context, self._query = context, query

    async def recall(
        self, text: str, *, types: Sequence[FactType], period: Period, max_tokens: int
    ) -> RecallResult:
        """Recall the memories nearest to a text, with exact totals of the records that match it."""
        asked = replace(
            self._query,
            text=text,
            types=tuple(types),
            window=self._window(period),
            max_tokens=min(max_tokens, self._query.max_tokens),
        )
        return await recalled(self._context, asked)

    async def listed(
        self, *, types: Sequence[FactType], entity: str | None, period: Period, limit: int
    ) -> Listed:
        """List up to `limit` matching memories, ordered by time."""
        known = None if entity is None else (await self._mentioned(entity)).id
        page = await ListingVerbs(self._context).units(
            entity=known, types=types, limit=limit, **self._limits(period)
        )
        units = await self.standing(page.units)
        return Listed(units, page.total - (len(page.units) - len(units)))

    async def turns_saying(self, words: str, *, period: Period, limit: int) -> tuple[SaidTurn, ...]:
        """Find up to `limit` turns that contain these words, oldest first."""
        window = self._window(period)
        async with self._context.viewing() as view:
            found = await self._context.services.workers.read(self._said, view, words, window, limit)
        units = await self.standing([unit for _, made in found for unit in made])
        standing = {item.unit.id: item for item in units}
        return tuple(
            SaidTurn(turn, tuple(standing[unit.id] for unit in made if unit.id in standing))
            for turn, made in found
        )

    async def sources(self, item: RecalledUnit) -> Sources:
        """Return the sources of a memory; for an observation, the sources of its facts."""
        async with self._context.viewing() as view:
            return await self._context.services.workers.read(self._sources, view, item.unit)

    async def mental_models(self, text: str) -> Sequence[MentalModel]:
        """Find the mental models nearest to a text."""
        return await mental_models_near(self._context, replace(self._query, text=text))

    async def records(
        self, wanted: RecordSelection, *, period: Period
    ) -> Sequence[tuple[RecordEntry, RecalledUnit]]:
        """List all records of this selection, ordered by time."""
        entries = await self._entries(wanted, period)
        units = await self.standing(list({entry.memory.id: entry.memory for entry in entries}.values()))
        standing = {item.unit.id: item for item in units}
        return [
            (replace(entry, memory=replace(entry.memory, text=item.text)), item)
            for entry in entries
            if (item := standing.get(entry.memory.id)) is not None
        ]

    async def aggregate(
        self, how: Aggregation, wanted: RecordSelection, *, period: Period
    ) -> tuple[Aggregate, tuple[RecalledUnit, ...]]:
        """Compute one exact value over the selected records."""
        found = aggregate(await self._entries(wanted, period), how, other=wanted.kind is not None)
        return found, await self.standing(found.units)

    async def _entries(self, wanted: RecordSelection, period: Period) -> list[RecordEntry]:
        """Return the selected records; if the selection names an entity, only records whose memory mentions it."""
        about = None if wanted.entity is None else (await self._mentioned(wanted.entity)).units
        entries = await AsyncRecords(self._context).list(
            kind=wanted.kind, category=wanted.category, unit=wanted.unit, **self._limits(period)
        )
        return [entry for entry in entries if about is None or entry.memory.id in about]

    async def _mentioned(self, name: str) -> EntityMentions:
        """Find the entity with this name among those that memories visible to the reflection mention."""
        asked = replace(self._query, types=tuple(FactType))
        async with self._context.viewing() as view:
            usable = selection(view.columns, asked)
            return await self._context.services.workers.read(mentioned, view, name, usable)

    def _limits(self, period: Period) -> _Limits:
        query, window = self._query, self._window(period)
        return {
            "window": None if window is None else (window.start, window.end),
            "as_of": query.as_of,
            "tags": query.tags,
            "tags_match": query.tags_match,
            "tag_groups": query.tag_groups,
        }

    def _window(self, period: Period) -> Interval | None:
        """Intersect a period with the window of the reflection; None means unlimited.

        Raises:
            InvalidRequest: the period and the window do not overlap.
        """
        own = self._query.window
        if period.is_open:
            return own
        start, end = self._midnight(period.first, FIRST_INSTANT), LAST_INSTANT
        if period.last is not None and period.last < date.max:
            end = self._midnight(period.last + timedelta(days=1), LAST_INSTANT)
        if own is not None:
            start, end = max(start, own.start), min(end, own.end)
        if start < end:
            return Interval(start, end)
        reason = "they are outside the time window of the reflection"
        if own is not None:
            reason += f", {own.start:%Y-%m-%d} to {own.end:%Y-%m-%d}"
        raise InvalidRequest("start and end", reason, "Pass days within it, or omit them.")

    def _midnight(self, day: date | None, otherwise: datetime) -> datetime:
        if day is None:
            return otherwise
        return as_utc(datetime.combine(day, time(), self._context.services.dates.zone))

    async def by_id(self, unit_ids: Sequence[str]) -> tuple[RecalledUnit, ...]:
        """Return memories by id, in the form that recall returns, ordered by time."""
        async with self._context.viewing() as view:
            units = await self._context.services.workers.read(_units_of, view, unit_ids)
        return await self.standing(units)

    async def standing(self, units: Sequence[MemoryUnit]) -> tuple[RecalledUnit, ...]:
        """Return memories in the form that recall returns; documents contain their valid items.

        Omits invalid observations, and opinions, because they are not evidence.
        """
        units = [unit for unit in units if unit.fact_type is not FactType.OPINION]
        if not units:
            return ()
        async with self._context.viewing() as view:
            return await self._context.services.workers.read(self._served, view, units)

    def _served(self, view: BankView, units: Sequence[MemoryUnit]) -> tuple[RecalledUnit, ...]:
        rows_of = view.ledger.units.row_ids(view.bank, [unit.id for unit in units])
        rows = np.array(sorted(rows_of.values()), np.int64)
        standing = set(rows[stood(view, rows, self._query.as_of)].tolist())
        items = DocumentItems.at(view.columns, self._query.as_of)
        documents = documents_among(rows, items, view, self._context.services.tokens)
        entities = view.ledger.entities.of_units(view.bank, rows)
        return tuple(
            RecalledUnit(
                unit,
                0.0,
                entities=tuple(entity.name for entity in entities.get(row, ())),
                document=documents[row].served if row in documents else None,
            )
            for unit in units
            if unit.id in rows_of and (row := rows_of[unit.id]) in standing
        )

    def _said(
        self, view: BankView, words: str, window: Interval | None, limit: int
    ) -> list[tuple[SourceTurn, list[MemoryUnit]]]:
        """Return the first visible turns that contain these words, each with the valid memories made from it."""
        ledger, bank, query = view.ledger, view.bank, self._query
        kept: list[SourceTurn] = []
        said = ledger.turns.saying(bank, words)
        for start in range(0, len(said), TURNS_A_READ):
            places = said[start : start + TURNS_A_READ]
            turns = ledger.turns.get(bank, places)
            kept += [
                turns[place]
                for place in places
                if place in turns and may_show(turns[place], query) and _within(turns[place], window)
            ]
            if len(kept) >= limit:
                break
        valid = valid_at(view.columns, query.as_of)
        selected = selection(view.columns, replace(query, types=tuple(FactType)))
        turns_kept = [with_history(turn, view.columns, valid) for turn in kept[:limit]]
        rows = np.array(sorted({row for turn in turns_kept for row in turn.memories}), np.int64)
        units = ledger.units.get(bank, rows[view.columns.allowed(rows, selected)])
        return [(turn, [units[row] for row in turn.memories if row in units]) for turn in turns_kept]

    def _sources(self, view: BankView, unit: MemoryUnit) -> Sources:
        row = view.ledger.units.row_ids(view.bank, [unit.id]).get(unit.id)
        if row is None:
            return Sources()
        rows: IntArray = np.array([row], np.int64)
        if unit.fact_type is FactType.OBSERVATION:
            rows = grounds_of(view, rows).get(row, rows)
        valid = valid_at(view.columns, self._query.as_of)
        turns = {
            (turn.thread, turn.message_id): with_history(turn, view.columns, valid)
            for made_from in view.ledger.turns.of_units(view.bank, rows).values()
            for turn in made_from
            if may_show(turn, self._query)
        }
        return Sources(
            tuple(sorted(turns.values(), key=lambda turn: (turn.said_at, turn.message_id))),
            _passage(view, unit),
        )


def _units_of(view: BankView, unit_ids: Sequence[str]) -> list[MemoryUnit]:
    rows = view.ledger.units.row_ids(view.bank, unit_ids)
    stored = view.ledger.units.get(view.bank, np.array(sorted(rows.values()), np.int64))
    return sorted(stored.values(), key=lambda unit: (unit.began, unit.mentioned_at, unit.id))


def _within(turn: SourceTurn, window: Interval | None) -> bool:
    return window is None or window.start <= turn.said_at < window.end


def _passage(view: BankView, unit: MemoryUnit) -> str:
    """Return the document passage a memory was made from; empty for memories of a conversation or a damaged document."""
    document = view.ledger.units.document(view.bank, unit.document_id) if unit.document_id else None
    chunks = document.chunks if document else ()
    return next(
        (
            chunk.text
            for chunk in chunks
            if chunk.ordinal == unit.chunk and content_hash(chunk.text) == chunk.content_hash
        ),
        "",
    )


class Reflections:
    """Validates the options of a bank's reflections and creates their context."""

    def __init__(self, context: BankContext, answering_as: BankProfile | None) -> None:
        self._context = context
        self._answering_as = answering_as

    def checked(
        self, query: str, *, asked_at: datetime | None = None, **options: Unpack[ReflectOptions]
    ) -> ReflectQuery:
        """Validate the options of a reflection, and fill in the defaults.

        Args:
            query: the question.
            asked_at: time of the question (aware UTC); None uses `query_timestamp`, else `as_of`, else now.
            options: options of `bank.reflect`.

        Raises:
            InvalidRequest: an option is unknown or out of range.
        """
        accept_options(options, REFLECT_DEFAULTS)
        given, dates = REFLECT_DEFAULTS | options, self._context.services.dates
        then = checked_instant(given["as_of"], "as_of", dates)
        context, operation = given["context"], given["operation"]
        wanted, refusal = bool(given["form_opinions"]), self._no_opinions(then)
        at = checked_instant(given["query_timestamp"], "query_timestamp", dates)
        asked = RecallQuery(
            text=checked_text(query, "query", MAX_QUERY),
            query_timestamp=asked_at or at or then or as_utc(self._context.services.clock.now()),
            max_tokens=checked_count(given["max_tokens"], "max_tokens"),
            budget=choice(Budget, given["budget"], "budget"),
            types=recalled_by_default(self._context),
            tags=checked_tags(given["tags"]),
            tags_match=choice(TagsMatch, given["tags_match"], "tags_match"),
            window=checked_window(given["window"], dates),
            as_of=then,
            tag_groups=checked_tag_groups(given["tag_groups"]),
            record_tokens=RECORD_TOKENS,
        )
        return ReflectQuery(
            recall=asked,
            strategy=choice(Strategy, given["strategy"], "strategy"),
            max_answer_tokens=checked_count(given["max_answer_tokens"], "max_answer_tokens"),
            context="" if context is None else checked_text(context, "context", MAX_QUERY),
            form_opinions=wanted and not refusal,
            no_opinions=refusal if wanted else "",
            operation="" if operation is None else checked_text(operation, "operation", MAX_OPERATION),
            response_schema=checked_schema(given["response_schema"]),
            tools=checked_tools(given["tools"]),
        )

    async def context(self, as_of: datetime | None) -> ReflectContext:
        """Create the context of a reflection, with the profile at `as_of`, or the current one."""
        bank = self._context
        return ReflectContext(
            projector=bank,
            services=bank.services,
            profile=self._answering_as or await profile_of(bank, as_of),
            recall=partial(recalled, bank),
            mental_models=partial(mental_models_near, bank),
            directives=partial(directives_for, bank),
            reads=partial(LimitedReads, bank),
        )

    def _no_opinions(self, as_of: datetime | None) -> str:
        """Return why the answer cannot form opinions; empty if it can."""
        services = self._context.services
        if services.model is None:
            return "no opinions are formed without a language model"
        if as_of is not None:
            return "no opinions are formed with `as_of`, because the answer refers to an earlier time"
        if self._answering_as is not None:
            return (
                "no opinions are formed on a bank `with_profile`, because they would belong to another agent"
            )
        return "no opinions are formed on a read-only engine" if services.read_only else ""


class ReflectingVerbs(ReadingVerbs):
    """Methods that answer questions from memory, as `answering_as` or, if that is None, with the bank's own profile."""

    def __init__(self, context: BankContext, *, answering_as: BankProfile | None = None) -> None:
        super().__init__(context)
        self._answering_as = answering_as
        self._reflections = Reflections(context, answering_as)

    @observed
    @shows_options(ReflectOptions)
    async def reflect(self, query: str, **options: Unpack[ReflectOptions]) -> Reflection:
        """Answer a question from memory, in the agent's character, and cite the memories used.

        The model sees the mental models nearest to the question and follows the bank's directives.

        The answer may form opinions of the agent, which are stored; `Reflection.opinions` lists them. Without a model, the
        answer consists of exact figures from records and the best memories; `extractive` is True, and `sufficient` says whether
        they are likely to contain the answer.

        Args:
            query: the question, up to 8,000 characters.
            options: the options described in `ReflectOptions`.

        Raises:
            InvalidRequest: an option is unknown or out of range.
            ModelError: the model failed; memory is unchanged.
        """
        request = self._reflections.checked(query, **options)
        return await reflect(request, await self._reflections.context(request.recall.as_of))

    @shows_options(ReflectOptions)
    async def reflect_stream(
        self, query: str, **options: Unpack[ReflectOptions]
    ) -> AsyncIterator[ReflectEvent]:
        """Answer a question as `reflect` does, and stream events: steps, pieces of the text, and finally the reflection.

        The pieces concatenate to the text of the answer. If the stream is closed before its last event, the model call is
        cancelled and no opinions are formed.

        Args:
            query: as in `reflect`.
            options: as in `reflect`.

        Yields:
            The events (`ReflectEvent`); the last one contains the reflection.

        Raises:
            InvalidRequest: an option is unknown or out of range; raised when the first event is requested.
            ModelError: the model failed, possibly after some events; memory is unchanged.
        """
        request = self._reflections.checked(query, **options)
        needed = await self._reflections.context(request.recall.as_of)
        async with aclosing(ReflectSteps(request, needed, streamed=True).run()) as events:
            async for event in events:
                yield event

"""A reflection between two of its stages: all that the next one needs, and nothing that cannot be kept as plain JSON."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

from hindsight_integrations.cara.agentic.steps import Lookup, Progress, answered_in_steps
from hindsight_integrations.cara.answer import answered_at_once, answered_from
from hindsight_integrations.cara.citations import Shown
from hindsight_integrations.cara.memories import recalled_tiers
from hindsight_integrations.cara.opinions.answered import Answered
from hindsight_integrations.cara.streaming import answered_aloud
from hindsight_integrations.cara.tools import ReflectTools
from hindsight_integrations.cara.without_model import EXTRACTED, extracted, without_model
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.mental_models import MentalModel
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.record_digest import RecordDigest
from hindsight_integrations.model.reflections import MemoryTiers, ReflectEvent, ReflectEventKind, Reflection
from hindsight_integrations.model.requests import ReflectQuery, Strategy
from hindsight_integrations.model.results import RecallResult
from hindsight_integrations.ports.language_model import StreamingLanguageModel


async def reflect(query: ReflectQuery, tools: ReflectTools) -> Reflection:
    """Answer a question from memory in the character of a profile, with what the answer stands on.

    Raises:
        InvalidRequest: a tool of the caller's cannot be used.
        ModelError: the model failed; nothing was changed.
    """
    if tools.model is None:
        return noted(await without_model(query.recall, tools), query)
    if query.strategy is Strategy.SINGLE:
        return noted(await answered_at_once(query, tools.model, tools), query)
    async with aclosing(answered_in_steps(query, tools.model, tools)) as events:
        (reflection,) = [event.reflection async for event in events if event.reflection is not None]
    return noted(reflection, query)


def noted(reflection: Reflection, query: ReflectQuery) -> Reflection:
    """The reflection with a note where opinions were wanted and none may be formed."""
    if not query.no_opinions:
        return reflection
    return replace(reflection, notes=(*reflection.notes, query.no_opinions))


async def reflect_events(query: ReflectQuery, tools: ReflectTools) -> AsyncGenerator[ReflectEvent, None]:
    """The same while it is made: steps, pieces of the answer's text, and last the reflection.

    Raises:
        InvalidRequest: a tool of the caller's cannot be used.
        ModelError: the model failed; nothing was changed.
    """
    model = tools.model
    if model is not None and query.strategy is Strategy.AGENTIC:
        events = answered_in_steps(query, model, tools, streamed=True)
    elif isinstance(model, StreamingLanguageModel):
        events = answered_aloud(query, model, tools)
    else:
        events = _in_one_piece(query, tools)
    async with aclosing(events):
        async for event in events:
            yield replace(event, reflection=noted(event.reflection, query)) if event.reflection else event


async def _in_one_piece(query: ReflectQuery, tools: ReflectTools) -> AsyncGenerator[ReflectEvent, None]:
    """The events of an answer that nobody writes aloud."""
    reflection = await reflect(replace(query, no_opinions=""), tools)
    yield ReflectEvent(ReflectEventKind.TEXT, text=reflection.text)
    yield ReflectEvent(ReflectEventKind.REFLECTION, reflection=reflection)


@dataclass(frozen=True, slots=True)
class Underway:
    """A reflection whose memories are recalled and that is not answered yet.

    Attributes:
        query: the question.
        asked_at: when (aware UTC).
        operation: key under which a retry forms nothing twice; empty for none.
        revision: of the bank, before anything was recalled.
        best: the best memories of plain recall, as many as an extractive answer quotes.
        confidence: of plain recall, that the answer is there, in [0, 1].
        models: the mental models that an answer in one call is shown; those in steps have them in their conversation, as they
            have the rest.
        observations: likewise.
        facts: likewise.
        beliefs: likewise.
        records: the digests of the records that the question touches.
        shown: of a reflection in steps, what its model was shown so far.
        progress: of such a one, how far it has come.
    """

    query: str
    asked_at: datetime
    operation: str
    revision: int
    best: tuple[RecalledUnit, ...]
    confidence: float
    models: tuple[MentalModel, ...] = ()
    observations: tuple[RecalledUnit, ...] = ()
    facts: tuple[RecalledUnit, ...] = ()
    beliefs: tuple[RecalledUnit, ...] = ()
    records: tuple[RecordDigest, ...] = ()
    shown: Shown | None = None
    progress: Progress | None = None


async def begun(query: ReflectQuery, tools: ReflectTools) -> Underway:
    """Recall what a question needs, and begin the conversation where it is answered in steps.

    Args:
        query: the question.
        tools: of the reflection.

    Raises:
        InvalidRequest: a tool of the caller's cannot be used.
    """
    revision = await tools.revision()
    recall = query.recall
    if tools.model is None:
        tiers = MemoryTiers(await tools.recall(recall))
    else:
        tiers = await recalled_tiers(recall, tools)
    best = _bare(tiers.recalled.units[:EXTRACTED])
    underway = Underway(
        recall.text,
        recall.query_timestamp,
        query.operation,
        revision,
        best,
        tiers.recalled.confidence,
        records=tiers.recalled.records,
    )
    if tools.model is None or query.strategy is Strategy.SINGLE:
        return replace(
            underway,
            models=tiers.mental_models,
            observations=_bare(tiers.observations),
            facts=_bare(tiers.facts),
            beliefs=_bare(tiers.beliefs),
        )
    lookup = Lookup(query, tools.model, tools, shown=Shown.of(tiers))
    return _left(underway, lookup, await lookup.begun(tiers))


async def thought(underway: Underway, query: ReflectQuery, tools: ReflectTools) -> Underway:
    """Ask the model for the next step: a call of a tool, or the answer.

    Args:
        underway: a reflection in steps.
        query: the question.
        tools: of the reflection.

    Raises:
        InvalidRequest: it is none in steps, or there is no model any more.
        ModelError: the model failed.
    """
    lookup, progress = _lookup(underway, query, tools)
    await lookup.stepping.think(progress)
    return _left(underway, lookup, progress)


async def called(underway: Underway, query: ReflectQuery, tools: ReflectTools) -> Underway:
    """Make the call that the last step asked for; nothing where none did.

    Args:
        underway: a reflection in steps.
        query: the question.
        tools: of the reflection.

    Raises:
        InvalidRequest: it is none in steps, or there is no model any more.
    """
    lookup, progress = _lookup(underway, query, tools)
    if progress.step is not None:
        await lookup.stepping.call(progress.step, progress)
    return _left(underway, lookup, progress)


async def answered(underway: Underway, query: ReflectQuery, tools: ReflectTools) -> Answered:
    """The answer; its opinions are not formed yet.

    Args:
        underway: the reflection.
        query: the question.
        tools: of the reflection.

    Raises:
        MalformedOutput: the model wrote nothing that can be read as an answer, or none in the caller's schema.
        ModelError: it failed.
    """
    tokens = sum(item.tokens for item in underway.best)
    recalled = RecallResult(underway.best, tokens, confidence=underway.confidence, records=underway.records)
    if tools.model is None:
        return Answered(await extracted(recalled, query.recall, tools))
    tiers = MemoryTiers(recalled, underway.models, underway.observations, underway.facts, underway.beliefs)
    if underway.progress is None:
        return await answered_from(tiers, query, tools.model, tools)
    lookup, progress = _lookup(underway, query, tools)
    return await lookup.answered(progress, tiers)


def _lookup(underway: Underway, query: ReflectQuery, tools: ReflectTools) -> tuple[Lookup, Progress]:
    if underway.progress is None or underway.shown is None:
        raise InvalidRequest(
            "underway", "this reflection takes no steps", 'Begin it with strategy="agentic".'
        )
    if tools.model is None:
        raise InvalidRequest(
            "underway", "it was begun with a model, and there is none now", "Open one with it."
        )
    return Lookup(query, tools.model, tools, shown=underway.shown), underway.progress


def _left(underway: Underway, lookup: Lookup, progress: Progress) -> Underway:
    shown = lookup.shown
    memories, beliefs = (
        {number: _without_records(item) for number, item in numbered.items()}
        for numbered in (shown.memories, shown.beliefs)
    )
    return replace(underway, shown=replace(shown, memories=memories, beliefs=beliefs), progress=progress)


def _bare(items: Iterable[RecalledUnit]) -> tuple[RecalledUnit, ...]:
    return tuple(map(_without_records, items))


def _without_records(item: RecalledUnit) -> RecalledUnit:
    """A memory without its records, which no answer reads of it: tools look them up in the bank."""
    return replace(item, unit=replace(item.unit, records=()))

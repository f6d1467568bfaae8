"""Reflect: which way an answer is found (paper section 6.1)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from hindsight_integrations.cara.reflection.agentic.answering import answered_in_steps
from hindsight_integrations.cara.reflection.single import answered_at_once
from hindsight_integrations.cara.reflection.streaming import answered_aloud
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.cara.reflection.without_model import without_model
from hindsight_integrations.model.reflections import ReflectEvent, ReflectEventKind, Reflection
from hindsight_integrations.model.requests import ReflectQuery, Strategy
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

"""Reflect: which way an answer is found (paper section 6.1)."""

from __future__ import annotations

from hindsight_integrations.cara.reflection.single import answered_at_once
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.cara.reflection.without_model import without_model
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.requests import ReflectQuery, Strategy


async def reflect(query: ReflectQuery, tools: ReflectTools) -> Reflection:
    """Answer a question from memory in the character of a profile, with what the answer stands on.

    Raises:
        InvalidRequest: the strategy cannot be had.
        ModelError: the model failed; nothing was changed.
    """
    if tools.model is None:
        return await without_model(query.recall, tools)
    if query.strategy is Strategy.AGENTIC:
        raise InvalidRequest("strategy", "agentic is not there yet", 'Pass "single".')
    return await answered_at_once(query, tools.model, tools)

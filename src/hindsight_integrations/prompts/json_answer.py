"""Prompts for services without structured output: the schema is described in the system message."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole
from hindsight_integrations.prompts.rendering import template

T = TypeVar("T", bound=BaseModel)


def with_schema_in_words(prompt: Prompt[T]) -> Prompt[T]:
    """Append the schema to the system message, which stays the same for every passage."""
    schema = json.dumps(prompt.schema.model_json_schema(), separators=(",", ":"))
    asked = f"{template('json_answer')}\n{schema}"
    first, *rest = prompt.messages
    if first.role is PromptRole.SYSTEM:
        return replace(prompt, messages=(replace(first, text=f"{first.text}\n\n{asked}"), *rest))
    return replace(prompt, messages=(PromptMessage(PromptRole.SYSTEM, asked), first, *rest))

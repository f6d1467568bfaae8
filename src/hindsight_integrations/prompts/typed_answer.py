"""Structured answers in the caller's schema, as a field of the answer or by a separate prompt."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, Field, create_model

from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.memories import memory_line
from hindsight_integrations.prompts.rendering import fenced, prompt_messages, template

A = TypeVar("A", bound=BaseModel)
T = TypeVar("T", bound=BaseModel)

OUTPUT = "output"
"""Name of the field with the structured answer."""


@lru_cache(maxsize=64)  # equal arguments give the same class
def with_output(answer: type[A], output: type[BaseModel]) -> type[A]:
    """Extend an answer's schema by a field for the structured answer.

    Args:
        answer: the schema.
        output: the caller's schema.
    """
    field = Field(description="the same answer in this form")
    return create_model(f"Typed{answer.__name__}", __base__=answer, **{OUTPUT: (output, field)})  # type: ignore[call-overload,no-any-return] # a field named at run time


def typed_answer_prompt(
    question: str, answer: str, memories: Iterable[tuple[str, RecalledUnit]], schema: type[T]
) -> Prompt[T]:
    """Render the prompt that converts a finished answer to the caller's schema.

    Args:
        question: the question.
        answer: the answer.
        memories: the memories that support the answer, by the number they were shown with.
        schema: the caller's schema.
    """
    lines = [memory_line(number, item) for number, item in memories]
    parts = [
        "The question:\n" + fenced("QUESTION", [question]),
        *(["The memories the answer stands on:\n" + fenced("MEMORIES", lines)] if lines else []),
        "The answer:\n" + fenced("ANSWER", [answer]),
    ]
    messages = prompt_messages(template("typed_answer"), parts)
    return Prompt("typed_answer", messages, schema)

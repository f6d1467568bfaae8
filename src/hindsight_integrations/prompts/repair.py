"""The repair prompt: the same conversation again, with the unusable answer and what is wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.model.text import clean_text
from hindsight_integrations.ports.language_model import Prompt, PromptMessage, Role
from hindsight_integrations.prompts.rendering import template

T = TypeVar("T", bound=BaseModel)

ANSWER_CHARACTERS = (
    4000  # of an unusable answer shown again: enough to mend, and a loop of 58k words stays affordable
)
PROBLEM_CHARACTERS = 500


def repair_prompt(prompt: Prompt[T], *, answer: str, problem: str) -> Prompt[T]:
    """`prompt` continued by the model's own answer and the validation error."""
    shown = clean_text(answer[:ANSWER_CHARACTERS]) or "(nothing)"
    instruction = template("repair").replace("{problem}", clean_text(problem[:PROBLEM_CHARACTERS]))
    more = (PromptMessage(Role.ASSISTANT, shown), PromptMessage(Role.USER, instruction))
    return replace(prompt, messages=(*prompt.messages, *more))

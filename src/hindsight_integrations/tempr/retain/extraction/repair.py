"""Repair: an answer outside the schema is requested again, with the reason and the answer itself (decision 020)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.language_model import LanguageModel, Prompt
from hindsight_integrations.prompts.repair import repair_prompt

T = TypeVar("T", bound=BaseModel)

REPAIRS = 2  # tries after the first answer (decision 020)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """What came of a prompt, repairs included.

    Attributes:
        output: the answer; None if none of the tries was usable.
        problem: what was wrong with the last answer, empty if it was usable.
        tokens_in: prompt tokens of all tries together.
        tokens_out: completion tokens of all tries together.
    """

    output: T | None
    problem: str
    tokens_in: int
    tokens_out: int


async def complete_with_repair(model: LanguageModel, prompt: Prompt[T]) -> Answered[T]:
    """The model's answer, requested anew while it is malformed, at most twice.

    Raises:
        ModelUnavailable: the model could not be reached at one of the tries.
        ModelRefused: its service refuses the key.
    """
    request, tokens_in, tokens_out, problem = prompt, 0, 0, ""
    for _ in range(1 + REPAIRS):
        try:
            done = await model.complete(request)
        except MalformedOutput as error:
            tokens_in, tokens_out = tokens_in + error.tokens_in, tokens_out + error.tokens_out
            if (mended := unfenced(prompt, error.output)) is not None:
                return Answered(mended, "", tokens_in, tokens_out)
            problem = error.problem
            request = repair_prompt(prompt, answer=error.output, problem=problem)
        else:
            return Answered(done.output, "", tokens_in + done.tokens_in, tokens_out + done.tokens_out)
    return Answered(None, problem, tokens_in, tokens_out)


def unfenced(prompt: Prompt[T], text: str) -> T | None:
    """The answer in the one Markdown code fence of a text, if it fits the schema: not worth another call."""
    fences = _FENCE.findall(text)
    if len(fences) != 1:
        return None
    try:
        return prompt.schema.model_validate_json(fences[0])
    except ValidationError:
        return None

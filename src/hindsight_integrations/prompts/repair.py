"""Request an answer from a model, and request it again with a description of its faults if it is invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from hindsight_integrations.errors import MalformedOutput, ModelError
from hindsight_integrations.model.text import clean_text
from hindsight_integrations.models.protocols import (
    LanguageModel,
    Prompt,
    PromptMessage,
    PromptRole,
    written_answer,
)
from hindsight_integrations.prompts.rendering import template

T = TypeVar("T", bound=BaseModel)

# Maximum length of the invalid answer in the repair prompt, in characters, to limit its cost.
ANSWER_CHARACTERS = 4000
PROBLEM_CHARACTERS = 500


def repair_prompt(prompt: Prompt[T], *, answer: str, problem: str) -> Prompt[T]:
    """Extend a prompt with the model's answer and its faults."""
    shown = clean_text(answer[:ANSWER_CHARACTERS]) or "(nothing)"
    instruction = template("repair").replace("{problem}", clean_text(problem[:PROBLEM_CHARACTERS]))
    more = (PromptMessage(PromptRole.ASSISTANT, shown), PromptMessage(PromptRole.USER, instruction))
    return replace(prompt, messages=(*prompt.messages, *more))


REPAIRS = 2  # maximum number of attempts after the first answer


@dataclass(frozen=True, slots=True)
class RepairedAnswer(Generic[T]):
    """The result of a prompt, including repairs.

    Attributes:
        output: the answer; None if no attempt was usable.
        problem: the problem of the last answer; empty if it was usable.
        tokens_in: prompt tokens of all attempts.
        tokens_out: completion tokens of all attempts.
        last: the last answer that matched the schema, usable or not, so that valid parts can be kept; None if none did.
        tries: number of model calls.
        tokens_cached: prompt tokens of usable attempts that the model read from its cache.
    """

    output: T | None
    problem: str
    tokens_in: int
    tokens_out: int
    last: T | None = None
    tries: int = 1
    tokens_cached: int = 0


async def complete_with_repair(
    model: LanguageModel,
    prompt: Prompt[T],
    *,
    check: Callable[[T], str] | None = None,
    keep_last: bool = False,
) -> RepairedAnswer[T]:
    """Request an answer, and request it again at most twice while it is invalid.

    Args:
        model: the model to call.
        prompt: the prompt.
        check: function that describes the faults of an answer to the model; "" if there are none.
        keep_last: if a repair fails, return an earlier answer that matches the schema instead of raising.

    Raises:
        ModelUnavailable: the model could not be reached in one of the attempts.
        ModelRefused: the service rejected the API key.
        PromptTooLong: the prompt does not fit the model's context.
    """
    request, tokens_in, tokens_out, cached, problem, last = prompt, 0, 0, 0, "", None
    for tries in range(1, 2 + REPAIRS):
        try:
            done = await model.complete(request)
        except MalformedOutput as error:
            tokens_in, tokens_out = tokens_in + error.tokens_in, tokens_out + error.tokens_out
            found, text, problem = None, error.output, error.problem
            if not error.cut_off:
                found = written_answer(prompt.schema, text)  # saves a call
        except ModelError:
            if last is None or not keep_last:
                raise
            return RepairedAnswer(None, problem, tokens_in, tokens_out, last, tries, cached)
        else:
            tokens_in, tokens_out = tokens_in + done.tokens_in, tokens_out + done.tokens_out
            cached += done.tokens_cached
            found, text = done.output, done.text or done.output.model_dump_json()
        if found is not None:
            last = found
            problem = check(found) if check else ""
            if not problem:
                return RepairedAnswer(found, "", tokens_in, tokens_out, last, tries, cached)
        request = repair_prompt(prompt, answer=text, problem=problem)
    return RepairedAnswer(None, problem, tokens_in, tokens_out, last, tries, cached)

"""Request an answer from a model, and request it again with a description of its faults if it is invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel

from hindsight_integrations.errors import MalformedOutput, ModelError
from hindsight_integrations.model.results import NO_USAGE, Usage
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
        usage: cost of all attempts; cached tokens are those of usable attempts.
        last: the last answer that matched the schema, usable or not, so that valid parts can be kept; None if none did.
    """

    output: T | None
    problem: str
    usage: Usage = NO_USAGE
    last: T | None = None


def malformed(model: str, problem: str, usage: Usage) -> MalformedOutput:
    """Return the error for a prompt whose answers are all unusable."""
    return MalformedOutput(model, "", problem, tokens_in=usage.tokens_in, tokens_out=usage.tokens_out)


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
    request, usage, problem, last = prompt, NO_USAGE, "", None
    for _ in range(1 + REPAIRS):
        usage += Usage(calls=1)
        try:
            done = await model.complete(request)
        except MalformedOutput as error:
            usage += Usage(error.tokens_in, error.tokens_out)
            found, text, problem = None, error.output, error.problem
            if not error.cut_off:
                found = written_answer(prompt.schema, text)  # saves a call
        except ModelError:
            if last is None or not keep_last:
                raise
            return RepairedAnswer(None, problem, usage, last)
        else:
            usage += Usage(done.tokens_in, done.tokens_out, done.tokens_cached)
            found, text = done.output, done.text or done.output.model_dump_json()
        if found is not None:
            last = found
            problem = check(found) if check else ""
            if not problem:
                return RepairedAnswer(found, "", usage, last)
        request = repair_prompt(prompt, answer=text, problem=problem)
    return RepairedAnswer(None, problem, usage, last)

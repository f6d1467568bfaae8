"""An unusable answer is requested again with its faults; the cost of all attempts is counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from pydantic import BaseModel

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.models.protocols import Completion, Prompt, PromptMessage, PromptRole, T
from hindsight_integrations.prompts.repair import REPAIRS, RepairedAnswer, complete_with_repair


class Colour(BaseModel):
    name: str


PROMPT = Prompt("colour", (PromptMessage(PromptRole.SYSTEM, "Name a colour."),), Colour)


class Answers:
    """Returns these answers in turn, repeats the last, and records the prompts; a string does not match the schema."""

    name = "answers"

    def __init__(self, *answers: Colour | str) -> None:
        self._answers = list(answers)
        self.asked: list[Prompt[Colour]] = []

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        self.asked.append(cast("Prompt[Colour]", prompt))
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(answer, str):
            raise MalformedOutput(self.name, answer, "no JSON", tokens_in=10, tokens_out=1)
        return Completion(cast("T", answer), 10, 1)


def no_red(colour: Colour) -> str:
    """The fault of an answer with red."""
    return "red is not allowed" if colour.name == "red" else ""


def ask(model: Answers, check: Callable[[Colour], str] | None = no_red) -> RepairedAnswer[Colour]:
    return asyncio.run(complete_with_repair(model, PROMPT, check=check))


def test_an_answer_the_check_accepts_is_one_call() -> None:
    model = Answers(Colour(name="blue"))
    answered = ask(model)
    assert answered.output == Colour(name="blue")
    assert (answered.usage.calls, answered.problem, len(model.asked)) == (1, "", 1)


def test_a_refused_answer_is_shown_again_with_the_reason() -> None:
    model = Answers(Colour(name="red"), Colour(name="blue"))
    answered = ask(model)
    assert answered.output == Colour(name="blue")
    assert (answered.usage.tokens_in, answered.usage.tokens_out, answered.usage.calls) == (20, 2, 2)
    *_, own, instruction = model.asked[1].messages
    assert (own.role, own.text) == (PromptRole.ASSISTANT, '{"name":"red"}')
    assert "red is not allowed" in instruction.text


def test_an_answer_refused_to_the_end_is_no_output_but_can_be_looked_at() -> None:
    model = Answers(Colour(name="red"))
    answered = ask(model)
    assert (answered.output, answered.last) == (None, Colour(name="red"))
    assert (answered.problem, answered.usage.calls) == ("red is not allowed", 1 + REPAIRS)


def test_what_fitted_the_schema_once_is_kept_over_later_nonsense() -> None:
    answered = ask(Answers(Colour(name="red"), "what?"))
    assert (answered.output, answered.last, answered.problem) == (None, Colour(name="red"), "no JSON")


def test_an_answer_in_a_code_fence_is_checked_too() -> None:
    model = Answers('```json\n{"name": "red"}\n```', '```json\n{"name": "blue"}\n```')
    assert ask(model).output == Colour(name="blue")
    assert len(model.asked) == 2


def test_without_a_check_the_schema_alone_decides() -> None:
    assert ask(Answers("what?", Colour(name="red")), check=None).output == Colour(name="red")

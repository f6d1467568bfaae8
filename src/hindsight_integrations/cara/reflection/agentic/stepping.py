"""Step by step to an answer: a conversation that only grows, until the model answers or has to (reference, "Configuration Defaults")."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeAlias

from hindsight_integrations.cara.reflection.agentic.tool import Bench, ToolProblem
from hindsight_integrations.cara.reflection.agentic.toolbox import Toolbox, call_key
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.model.reflections import ReflectStep
from hindsight_integrations.model.requests import Budget
from hindsight_integrations.ports.language_model import LanguageModel, PromptMessage
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.prompts.reflect_step import (
    ANSWER,
    FinalAnswer,
    LookupStep,
    ReflectStepAnswer,
    last_step_prompt,
    problem_said,
    reflect_step_prompt,
    result_said,
    step_said,
    with_calls_left,
)
from hindsight_integrations.prompts.repairing import Answered, complete_with_repair

MOST_STEPS: Mapping[Budget, int] = {Budget.LOW: 5, Budget.MID: 10, Budget.HIGH: 10}
"""Tools that may be called (reference, "Configuration Defaults": at most 10)."""

WRONG_CALLS = 2  # in a row, after which the model has to answer
CONTEXT_SHARE = 4  # results may cost together so many times what the memories of one recall may

AnswerProblem: TypeAlias = Callable[[FinalAnswer], str]

REPEATED = "this very call was made before, its result stands above."
STEPS_TAKEN = "All steps are taken."
TOO_MANY_WRONG = "Two calls in a row gave nothing usable."
CONTEXT_FULL = "There is no room for further results."
NO_STEP = "That was no step that can be read."


@dataclass(slots=True)
class Progress:
    """How far a reflection has come.

    Attributes:
        messages: the conversation.
        steps: tools called.
        calls: how often the model was.
        tokens_in: prompt tokens it reported.
        tokens_out: completion tokens it reported.
        answer: once the model gave it; None until then, and where it is to be written yet.
        why: why the model has to answer, in words for it; empty while it need not.
        step: the call of a tool that it asked for and that is to be made; None if there is none.
        spent: tokens that results cost so far.
    """

    messages: list[PromptMessage]
    steps: list[ReflectStep] = field(default_factory=list)
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    answer: FinalAnswer | None = None
    why: str = ""
    step: LookupStep | None = None
    spent: int = 0

    @property
    def wrong(self) -> int:
        """How many calls in a row, up to the last one, gave nothing usable."""
        return len(list(takewhile(lambda step: step.problem, reversed(self.steps))))

    def made(self, step: LookupStep) -> bool:
        """Whether this very call was made before."""
        return any(
            call_key(each.tool, each.arguments) == call_key(step.tool, step.given) for each in self.steps
        )

    def count(self, answered: Answered[LookupStep] | Answered[FinalAnswer]) -> None:
        """Add what a prompt and its repairs cost."""
        self.calls += answered.tries
        self.tokens_in += answered.tokens_in
        self.tokens_out += answered.tokens_out


class Stepping:
    """Calls of tools, one after the other, as a model asks for them.

    Args:
        model: who steps.
        toolbox: what it may call.
        bench: what the tools work with.
        tokens: counts what results cost.
        most_steps: tools that may be called.
        problem: what is wrong with an answer, in words for the model; "" if nothing is.
        streamed: the answer is written afterwards, not in the step that ends.
    """

    def __init__(
        self,
        model: LanguageModel,
        toolbox: Toolbox,
        bench: Bench,
        *,
        tokens: TokenCounter,
        most_steps: int,
        problem: AnswerProblem,
        streamed: bool = False,
    ) -> None:
        self._model = model
        self._toolbox = toolbox
        self._bench = bench
        self._tokens = tokens
        self._most_steps = most_steps
        self._answer_problem = problem
        self._streamed = streamed
        self._room = CONTEXT_SHARE * bench.max_tokens

    async def take(self, progress: Progress) -> AsyncGenerator[ReflectStep, None]:
        """The steps as they are taken; at the end `progress` has the answer, or why it is to be written now.

        Raises:
            ModelError: the model failed.
        """
        while not progress.why:
            await self.think(progress)
            if progress.step is None:
                return
            yield await self.call(progress.step, progress)

    async def think(self, progress: Progress) -> None:
        """Ask the model for the next step: then `progress` has a call to be made, or the answer, or why it is to be written now.

        Raises:
            ModelError: the model failed.
        """
        prompt = reflect_step_prompt(progress.messages, streamed=self._streamed)
        done = await complete_with_repair(self._model, prompt, check=self._problem)
        progress.count(done)
        step = done.output or done.last
        if step is None:
            progress.why = NO_STEP
        elif step.tool == ANSWER and isinstance(step, ReflectStepAnswer):
            progress.answer = step.answer
        else:
            progress.messages.append(step_said(step))
            progress.step = None if step.tool == ANSWER else step

    async def call(self, step: LookupStep, progress: Progress) -> ReflectStep:
        """Call the tool of a step, and add what came of it to the conversation."""
        taken, told = await self._taken(step, progress)
        progress.step = None
        progress.steps.append(taken)
        progress.why = progress.why or self._why(progress)
        left = self._most_steps - len(progress.steps)
        progress.messages.append(told if progress.why else with_calls_left(told, left))
        return taken

    def _problem(self, step: LookupStep) -> str:
        """What is wrong with a step that is to be written anew; a wrong call is none, its tool says so."""
        if step.tool != ANSWER or not isinstance(step, ReflectStepAnswer):
            return ""
        if step.answer is None:
            return f"`tool` is {ANSWER!r}, and `answer` is missing: write the answer there"
        return self._answer_problem(step.answer)

    async def _taken(self, step: LookupStep, progress: Progress) -> tuple[ReflectStep, PromptMessage]:
        """Call the tool; what came of it, and how the model is told."""
        try:
            if progress.made(step):
                progress.why = f"{step.tool}: {REPEATED}"
                raise ToolProblem(REPEATED)
            result = await self._toolbox.called(step, self._bench)
        except ToolProblem as problem:
            taken = ReflectStep(step.tool, step.given, step.thought, problem=str(problem))
            return taken, problem_said(step.tool, str(problem))
        taken = ReflectStep(step.tool, step.given, step.thought, found=result.found)
        message = result_said(step.tool, result.lines, result.note)
        progress.spent += self._tokens.count([message.text])[0]
        return taken, message

    def _why(self, progress: Progress) -> str:
        """Why the model has to answer now; empty if it need not."""
        if len(progress.steps) >= self._most_steps:
            return STEPS_TAKEN
        if progress.wrong >= WRONG_CALLS:
            return TOO_MANY_WRONG
        return CONTEXT_FULL if progress.spent >= self._room else ""


async def last_answer(model: LanguageModel, progress: Progress, problem: AnswerProblem) -> FinalAnswer:
    """The answer of a model that has to answer: no tool is offered any more.

    Raises:
        MalformedOutput: it gave none, even when asked again.
        ModelError: as the model's own.
    """
    prompt = last_step_prompt(progress.messages, progress.why)
    done = await complete_with_repair(model, prompt, check=problem)
    progress.count(done)
    answer = done.output or done.last
    if answer is None:
        raise MalformedOutput(
            model.name, "", done.problem, tokens_in=done.tokens_in, tokens_out=done.tokens_out
        )
    return answer

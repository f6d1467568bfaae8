"""Run an agentic reflection as a conversation with one tool call per step (reference, "Configuration Defaults")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.reflections import MemoryTiers, ReflectStep
from hindsight_integrations.model.requests import Budget, ReflectQuery
from hindsight_integrations.model.results import NO_USAGE, Usage
from hindsight_integrations.models.protocols import LanguageModel, PromptMessage
from hindsight_integrations.prompts.answer import PromptQuestion
from hindsight_integrations.prompts.reflect_step import (
    ANSWER,
    FinalAnswer,
    LookupStep,
    ReflectStepAnswer,
    first_messages,
    last_step_prompt,
    problem_said,
    reflect_step_prompt,
    result_said,
    step_said,
    with_calls_left,
)
from hindsight_integrations.prompts.repair import complete_with_repair
from hindsight_integrations.reflect.answer import AnsweredQuestion, WrittenAnswer, conclude, unreadable
from hindsight_integrations.reflect.citations import CitationIndex, reference_faults, references
from hindsight_integrations.reflect.context import ReflectContext
from hindsight_integrations.reflect.toolbox import (
    Numbering,
    Toolbox,
    ToolContext,
    ToolProblem,
    call_key,
)

MOST_STEPS: Mapping[Budget, int] = {Budget.LOW: 5, Budget.MID: 10, Budget.HIGH: 10}
"""Maximum number of tool calls by budget (reference, "Configuration Defaults": at most 10)."""

WRONG_CALLS = 2  # number of consecutive failed tool calls after which the model must answer
RESULT_SHARE = 0.5  # maximum share of the memory budget for a single result
CONTEXT_SHARE = 4  # token limit of all results, as a multiple of the limit of one result

REPEATED = "this call was made before; its result is above."
STEPS_TAKEN = "All steps are taken."
TOO_MANY_WRONG = "Two calls in a row gave nothing usable."
CONTEXT_FULL = "There is no room for further results."
NO_STEP = "That was no step that can be read."


@dataclass(slots=True)
class Progress:
    """The state of an agentic reflection after a step.

    Attributes:
        messages: the conversation.
        steps: tools called.
        usage: cost of the model calls.
        answer: the model's answer; None before the model has answered, or if the answer is written after the loop.
        why: the reason, shown to the model, why it must answer now; empty if it may continue.
        step: the tool call to make next; None if there is none.
        done: whether no more tools are called, so that the answer is next.
        spent: total tokens of the tool results so far.
    """

    messages: list[PromptMessage]
    steps: list[ReflectStep] = field(default_factory=list)
    usage: Usage = NO_USAGE
    answer: FinalAnswer | None = None
    why: str = ""
    step: LookupStep | None = None
    done: bool = False
    spent: int = 0

    @property
    def wrong(self) -> int:
        """The number of failed calls since the last successful one."""
        return len(list(takewhile(lambda step: step.problem, reversed(self.steps))))

    def made(self, step: LookupStep) -> bool:
        """Return whether the same call was made before."""
        return any(
            call_key(each.tool, each.arguments) == call_key(step.tool, step.given) for each in self.steps
        )

    def copy(self) -> Progress:
        """Return a copy with its own conversation and steps."""
        return replace(self, messages=[*self.messages], steps=[*self.steps])


class AgenticLoop:
    """The loop of one agentic reflection: the model calls tools until it answers or must answer.

    All changing state is in `Progress` and `index`, so the loop can stop after any step and continue later. If `streamed`,
    the answer is written after the loop instead of in its last step.

    Raises:
        InvalidRequest: a tool of the caller is invalid, or there is no bank to read.
    """

    def __init__(
        self,
        query: ReflectQuery,
        model: LanguageModel,
        context: ReflectContext,
        *,
        index: CitationIndex,
        streamed: bool = False,
    ) -> None:
        if context.reads is None:
            raise InvalidRequest("strategy", '"agentic" needs a bank to read from', 'Pass "single".')
        most = max(1, round(query.recall.max_tokens * RESULT_SHARE))
        self._tool_context = ToolContext(context.reads(query.recall), Numbering(index), most)
        self._query, self._model, self._context = query, model, context
        self._toolbox = Toolbox(query.tools)
        self._most_steps = MOST_STEPS[query.recall.budget]
        self._streamed = streamed

    @property
    def index(self) -> CitationIndex:
        """The memories shown to the model so far."""
        return self._tool_context.numbers.shown

    async def begin(self, tiers: MemoryTiers) -> Progress:
        """Start the conversation with the memories returned by recall."""
        query = self._query
        asked = PromptQuestion(query.recall.text, query.recall.query_timestamp, query.context)
        directives = await self._context.directives(query.recall)
        usages, profile = self._toolbox.usages, self._context.profile
        return Progress(first_messages(usages, profile, directives, asked, tiers, calls=self._most_steps))

    async def think(self, progress: Progress) -> Progress:
        """Ask the model for the next step: a tool call or the answer.

        Raises:
            ModelError: the model failed.
        """
        progress = progress.copy()
        prompt = reflect_step_prompt(progress.messages, streamed=self._streamed)
        done = await complete_with_repair(self._model, prompt, check=self._step_problem)
        progress.usage += done.usage
        step = done.output or done.last
        progress.done = step is None or step.tool == ANSWER
        if step is None:
            progress.why = NO_STEP
        elif step.tool == ANSWER and isinstance(step, ReflectStepAnswer):
            progress.answer = step.answer
        else:
            progress.messages.append(step_said(step))
            progress.step = None if progress.done else step
        return progress

    async def call_tool(self, progress: Progress) -> Progress:
        """Call the tool of the last step, if there is one, and add its result to the conversation."""
        if (step := progress.step) is None:
            return progress
        progress = progress.copy()
        taken, told = await self._call(step, progress)
        progress.step = None
        progress.steps.append(taken)
        progress.why = progress.why or self._why(progress)
        progress.done = bool(progress.why)
        left = self._most_steps - len(progress.steps)
        progress.messages.append(told if progress.done else with_calls_left(told, left))
        return progress

    async def answer(self, progress: Progress, tiers: MemoryTiers) -> AnsweredQuestion:
        """Return the model's answer; if it has not answered yet, ask for the answer without tools.

        Raises:
            MalformedOutput: no answer could be parsed, or it could not be converted to the caller's schema.
            ModelError: the model failed.
        """
        progress, answer = progress.copy(), progress.answer
        if answer is None:
            prompt = last_step_prompt(progress.messages, progress.why)
            done = await complete_with_repair(self._model, prompt, check=self._answer_problem)
            progress.usage += done.usage
            if (answer := done.output or done.last) is None:
                raise unreadable(self._model, done)
        return await self.conclude(
            WrittenAnswer(answer.text, answer.based_on, answer.sufficient), progress, tiers
        )

    async def conclude(
        self, written: WrittenAnswer, progress: Progress, tiers: MemoryTiers
    ) -> AnsweredQuestion:
        """Build the reflection from a written answer and the steps taken.

        Raises:
            MalformedOutput: the model could not convert the answer to the caller's schema.
            ModelError: the model failed.
        """
        callers = self._toolbox.callers
        written.steps = progress.steps
        written.grounded = any(step.tool in callers and not step.problem for step in progress.steps)
        written.usage += progress.usage
        return await conclude(written, self.index, tiers, query=self._query, context=self._context)

    async def _call(self, step: LookupStep, progress: Progress) -> tuple[ReflectStep, PromptMessage]:
        """Call a tool; return the step taken and the message that shows its result to the model."""
        try:
            if progress.made(step):
                progress.why = f"{step.tool}: {REPEATED}"
                raise ToolProblem(REPEATED)
            result = await self._toolbox.called(step, self._tool_context)
        except ToolProblem as problem:
            taken = ReflectStep(step.tool, step.given, step.thought, problem=str(problem))
            return taken, problem_said(step.tool, str(problem))
        taken = ReflectStep(step.tool, step.given, step.thought, found=result.found)
        message = result_said(step.tool, result.lines, result.note)
        progress.spent += self._context.services.tokens.count([message.text])[0]
        return taken, message

    def _why(self, progress: Progress) -> str:
        """Return the reason why the model must answer now; empty if it may continue."""
        if len(progress.steps) >= self._most_steps:
            return STEPS_TAKEN
        if progress.wrong >= WRONG_CALLS:
            return TOO_MANY_WRONG
        return CONTEXT_FULL if progress.spent >= CONTEXT_SHARE * self._tool_context.max_tokens else ""

    def _step_problem(self, step: LookupStep) -> str:
        """Describe the faults of a final answer for the model; faults of a tool call are reported by the tool."""
        if step.tool != ANSWER or not isinstance(step, ReflectStepAnswer):
            return ""
        if step.answer is None:
            return f"`tool` is {ANSWER!r}, and `answer` is missing: write the answer there"
        return self._answer_problem(step.answer)

    def _answer_problem(self, answer: FinalAnswer) -> str:
        return "; ".join(self._answer_problems(answer))

    def _answer_problems(self, answer: FinalAnswer) -> Iterator[str]:
        index = self.index
        yield from reference_faults(references(answer.based_on, index), index)
        (size,) = self._context.services.tokens.count([answer.text])
        if size > self._query.max_answer_tokens:
            yield f"its text has {size} tokens, over {self._query.max_answer_tokens}; say it shorter"

"""The loop of an agentic reflection: a conversation that grows by one tool call a step (reference, "Configuration Defaults")."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeAlias

from hindsight_integrations.cara.agentic.tool import Bench, Numbering, ToolProblem
from hindsight_integrations.cara.agentic.toolbox import Toolbox, call_key
from hindsight_integrations.cara.answer import Written, concluded
from hindsight_integrations.cara.citations import Shown, reference_faults, references
from hindsight_integrations.cara.memories import recalled_tiers
from hindsight_integrations.cara.opinions.answered import Answered, formed_with
from hindsight_integrations.cara.streaming import Streamed, as_written, streamed_text
from hindsight_integrations.cara.tools import ReflectTools
from hindsight_integrations.errors import InvalidRequest, MalformedOutput
from hindsight_integrations.model.reflections import MemoryTiers, ReflectEvent, ReflectEventKind, ReflectStep
from hindsight_integrations.model.requests import Budget, ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel, PromptMessage, StreamingLanguageModel
from hindsight_integrations.ports.token_counter import TokenCounter
from hindsight_integrations.prompts.answer import Asked
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
    streamed_last_step_prompt,
    with_calls_left,
)
from hindsight_integrations.prompts.repairing import Answered as RepairedAnswer
from hindsight_integrations.prompts.repairing import complete_with_repair

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

    def count(self, answered: RepairedAnswer[LookupStep] | RepairedAnswer[FinalAnswer]) -> None:
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


RESULT_SHARE = 0.5  # of the budget of memories, that one result may take


async def answered_in_steps(
    query: ReflectQuery, model: LanguageModel, tools: ReflectTools, *, streamed: bool = False
) -> AsyncGenerator[ReflectEvent, None]:
    """Answer a question in steps, from what plain recall and then tools find.

    Args:
        query: the question.
        model: who steps and answers.
        tools: of the reflection.
        streamed: the answer's text comes in events, too; as it is written, where the model can do that.

    Yields:
        an event a step, the pieces of the text, and last the reflection.

    Raises:
        InvalidRequest: a tool of the caller's cannot be used.
        MalformedOutput: the model gave no answer, or none in the caller's schema.
        ModelError: it failed.
    """
    aloud = model if streamed and isinstance(model, StreamingLanguageModel) else None
    revision = await tools.revision()
    tiers = await recalled_tiers(query.recall, tools)
    lookup = Lookup(query, model, tools, shown=Shown.of(tiers), streamed=aloud is not None)
    progress = await lookup.begun(tiers)
    async with aclosing(lookup.stepping.take(progress)) as steps:
        async for step in steps:
            yield ReflectEvent(ReflectEventKind.STEP, step=step)
    if aloud is None:
        answered = await lookup.answered(progress, tiers)
    else:
        spoken = Streamed()
        prompt = streamed_last_step_prompt(
            progress.messages, progress.why, max_answer_tokens=query.max_answer_tokens
        )
        async with aclosing(streamed_text(aloud, prompt, query, tools, into=spoken)) as events:
            async for event in events:
                yield event
        answered = await lookup.concluded(as_written(spoken, lookup.shown), progress, tiers)
    reflection = await formed_with(answered, query, tools, revision=revision)
    if streamed and aloud is None:
        yield ReflectEvent(ReflectEventKind.TEXT, text=reflection.text)
    yield ReflectEvent(ReflectEventKind.REFLECTION, reflection=reflection)


class Lookup:
    """An answer looked for step by step: what its steps work with, and the answer at their end.

    All that changes meanwhile is in `Progress` and in `shown`, so that it can be left after each step and gone on with.

    Args:
        query: the question.
        model: who steps and answers.
        tools: of the reflection.
        shown: what the model was shown so far.
        streamed: the answer is written afterwards, not in the step that ends.

    Raises:
        InvalidRequest: a tool of the caller's cannot be used, or there is no bank to look in.
    """

    def __init__(
        self,
        query: ReflectQuery,
        model: LanguageModel,
        tools: ReflectTools,
        *,
        shown: Shown,
        streamed: bool = False,
    ) -> None:
        if tools.reads is None:
            raise InvalidRequest("strategy", "agentic reads a bank, and there is none here", 'Pass "single".')
        most = max(1, round(query.recall.max_tokens * RESULT_SHARE))
        self._bench = Bench(tools.reads(query.recall), Numbering(shown), most)
        self._query, self._model, self._tools = query, model, tools
        self._toolbox = Toolbox(query.tools)
        self._check = _Check(self._bench, query, tools)
        self.stepping = Stepping(
            model,
            self._toolbox,
            self._bench,
            tokens=tools.tokens,
            most_steps=MOST_STEPS[query.recall.budget],
            problem=self._check,
            streamed=streamed,
        )

    @property
    def shown(self) -> Shown:
        """All that the model was shown so far."""
        return self._bench.numbers.shown

    async def begun(self, tiers: MemoryTiers) -> Progress:
        """The conversation as it begins: with what plain recall found.

        Args:
            tiers: that.
        """
        query = self._query
        asked = Asked(query.recall.text, query.recall.query_timestamp, query.context)
        directives = await self._tools.directives(query.recall)
        calls = MOST_STEPS[query.recall.budget]
        usages, profile = self._toolbox.usages, self._tools.profile
        return Progress(first_messages(usages, profile, directives, asked, tiers, calls=calls))

    async def answered(self, progress: Progress, tiers: MemoryTiers) -> Answered:
        """The answer that the steps led to, or that the model has to give now; its opinions are not formed yet.

        Args:
            progress: the steps taken.
            tiers: what plain recall found.

        Raises:
            MalformedOutput: the model gave no answer, or none in the caller's schema.
            ModelError: it failed.
        """
        answer = progress.answer or await last_answer(self._model, progress, self._check)
        return await self.concluded(Written(answer.text, answer.based_on, answer.sufficient), progress, tiers)

    async def concluded(self, written: Written, progress: Progress, tiers: MemoryTiers) -> Answered:
        """What a written answer makes, with the steps on the way to it.

        Args:
            written: the answer.
            progress: the steps taken.
            tiers: what plain recall found.

        Raises:
            MalformedOutput: the model cannot put the answer into the caller's schema.
            ModelError: it failed at that.
        """
        callers = self._toolbox.callers
        written.steps = progress.steps
        written.grounded = any(step.tool in callers and not step.problem for step in progress.steps)
        written.count(progress.calls, progress.tokens_in, progress.tokens_out)
        return await concluded(written, self.shown, tiers, query=self._query, tools=self._tools)


class _Check:
    """What is wrong with an answer, in words for the model; "" if nothing is."""

    def __init__(self, bench: Bench, query: ReflectQuery, tools: ReflectTools) -> None:
        self._bench = bench
        self._query = query
        self._tools = tools

    def __call__(self, answer: FinalAnswer) -> str:
        return "; ".join(self._problems(answer))

    def _problems(self, answer: FinalAnswer) -> Iterator[str]:
        shown = self._bench.numbers.shown
        yield from reference_faults(references(answer.based_on, shown), shown)
        (size,) = self._tools.tokens.count([answer.text])
        if size > self._query.max_answer_tokens:
            yield f"its text has {size} tokens, over {self._query.max_answer_tokens}; say it shorter"

"""Reflect step by step (reference, "Configuration Defaults")."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from hindsight_integrations.cara.reflection.agentic.numbering import Numbering
from hindsight_integrations.cara.reflection.agentic.stepping import (
    MOST_STEPS,
    Progress,
    Stepping,
    last_answer,
)
from hindsight_integrations.cara.reflection.agentic.tool import Bench
from hindsight_integrations.cara.reflection.agentic.toolbox import Toolbox
from hindsight_integrations.cara.reflection.citations import Shown, reference_faults, references
from hindsight_integrations.cara.reflection.concluding import Written, concluded
from hindsight_integrations.cara.reflection.memories import recalled_tiers
from hindsight_integrations.cara.reflection.opinions import Answered, formed_with
from hindsight_integrations.cara.reflection.streaming import Streamed, as_written, streamed_text
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.reflections import MemoryTiers, ReflectEvent, ReflectEventKind
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel, StreamingLanguageModel
from hindsight_integrations.prompts.answer import Asked
from hindsight_integrations.prompts.reflect_step import (
    FinalAnswer,
    first_messages,
    streamed_last_step_prompt,
)

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

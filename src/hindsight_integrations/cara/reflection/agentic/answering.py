"""Reflect step by step (reference, "Configuration Defaults"; decision 133)."""

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
from hindsight_integrations.cara.reflection.streaming import Streamed, as_written, streamed_text
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.reflections import ReflectEvent, ReflectEventKind
from hindsight_integrations.model.requests import ReflectQuery
from hindsight_integrations.ports.language_model import LanguageModel, StreamingLanguageModel
from hindsight_integrations.prompts.answer import Asked
from hindsight_integrations.prompts.reflect_step import (
    FinalAnswer,
    first_messages,
    streamed_last_step_prompt,
)

RESULT_SHARE = 0.5  # of the budget of memories, that one result may take [decision 133]


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
    toolbox = Toolbox(query.tools)
    if tools.reads is None:
        raise InvalidRequest("strategy", "agentic reads a bank, and there is none here", 'Pass "single".')
    revision = await tools.revision()
    tiers = await recalled_tiers(query.recall, tools)
    most = max(1, round(query.recall.max_tokens * RESULT_SHARE))
    bench = Bench(tools.reads(query.recall), Numbering(Shown.of(tiers)), most)
    asked = Asked(query.recall.text, query.recall.query_timestamp, query.context)
    directives = await tools.directives(query.recall)
    most_steps = MOST_STEPS[query.recall.budget]
    begun = first_messages(toolbox.usages, tools.profile, directives, asked, tiers, calls=most_steps)
    progress = Progress(begun)
    aloud = model if streamed and isinstance(model, StreamingLanguageModel) else None
    check = _Check(bench, query, tools)
    stepping = Stepping(
        model,
        toolbox,
        bench,
        tokens=tools.tokens,
        most_steps=most_steps,
        problem=check,
        streamed=aloud is not None,
    )
    async with aclosing(stepping.take(progress)) as steps:
        async for step in steps:
            yield ReflectEvent(ReflectEventKind.STEP, step=step)
    if aloud is None:
        answer = progress.answer or await last_answer(model, progress, check)
        written = Written(answer.text, answer.based_on, answer.sufficient)
    else:
        spoken = Streamed()
        prompt = streamed_last_step_prompt(
            progress.messages, progress.why, max_answer_tokens=query.max_answer_tokens
        )
        async with aclosing(streamed_text(aloud, prompt, query, tools, into=spoken)) as events:
            async for event in events:
                yield event
        written = as_written(spoken, bench.numbers.shown)
    written.steps = progress.steps
    written.grounded = any(step.tool in toolbox.callers and not step.problem for step in progress.steps)
    written.count(progress.calls, progress.tokens_in, progress.tokens_out)
    reflection = await concluded(
        written, bench.numbers.shown, tiers, query=query, tools=tools, revision=revision
    )
    if streamed and aloud is None:
        yield ReflectEvent(ReflectEventKind.TEXT, text=reflection.text)
    yield ReflectEvent(ReflectEventKind.REFLECTION, reflection=reflection)


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

"""Run a reflection as steps, each of which takes the state returned by the previous one (paper section 6.1).

recall -> think <-> call_tool (agentic) -> answer -> assess -> commit. `bank.reflect` and `bank.reflect_stream` run all steps in a row.
`bank.reflect_stages` and the LangGraph subgraph run them one at a time and can save the state between steps.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.model.reflections import (
    MemoryTiers,
    ReflectEvent,
    ReflectEventKind,
    Reflection,
    ReflectStep,
)
from hindsight_integrations.model.requests import RecallQuery, ReflectQuery, Strategy
from hindsight_integrations.model.results import with_usage
from hindsight_integrations.model.units import FactType
from hindsight_integrations.models.protocols import LanguageModel, StreamingLanguageModel, TextPrompt
from hindsight_integrations.prompts.answer import PromptQuestion
from hindsight_integrations.prompts.reflect_step import streamed_answer_prompt, streamed_last_step_prompt
from hindsight_integrations.reflect.agentic import AgenticLoop, Progress
from hindsight_integrations.reflect.answer import (
    AnsweredQuestion,
    answer_in_one_call,
    conclude,
    extracted,
    tiers_hold_anything,
)
from hindsight_integrations.reflect.citations import CitationIndex
from hindsight_integrations.reflect.context import ReflectContext
from hindsight_integrations.reflect.opinions.forming import (
    AssessedOpinions,
    FormedOpinions,
    Occasion,
    Relations,
    assess_opinions,
    commit_opinions,
)
from hindsight_integrations.reflect.opinions.proposed import ProposedOpinion
from hindsight_integrations.reflect.streaming import StreamedText, streamed_text

OBSERVATION_SHARE = 0.2  # maximum share of the token budget for observations of entities
BELIEF_SHARE = 0.1  # maximum share of the token budget for the agent's opinions


async def recalled_tiers(query: RecallQuery, context: ReflectContext) -> MemoryTiers:
    """Recall the mental models, observations, facts and opinions for a question: step 1 of reflect (paper section 6.1).

    Together these fit the query's token budget. Facts get the tokens that mental models, opinions and observations
    leave.
    """
    models = await context.mental_models(query)
    model_tokens = sum(context.services.tokens.count([model.text for model in models])) if models else 0
    left = max(1, query.max_tokens - model_tokens)
    opinion_result = await context.recall(
        replace(
            query, types=(FactType.OPINION,), record_tokens=0, max_tokens=max(1, round(left * BELIEF_SHARE))
        )
    )
    most_observed = round(left * OBSERVATION_SHARE)
    recalled = await context.recall(
        replace(
            query,
            types=tuple(kind for kind in query.types if kind is not FactType.OPINION),
            max_tokens=max(1, left - opinion_result.tokens - most_observed),
            entity_tokens=most_observed,
        )
    )
    entity_observations = (item for entity in recalled.entities for item in entity.observations)
    return MemoryTiers(
        recalled=recalled,
        mental_models=tuple(models),
        observations=in_time_order(
            [*(item for item in recalled.units if _observed(item)), *entity_observations]
        ),
        facts=in_time_order(item for item in recalled.units if not _observed(item)),
        beliefs=in_time_order(opinion_result.units),
    )


def in_time_order(units: Iterable[RecalledUnit]) -> tuple[RecalledUnit, ...]:
    """Return the memories without duplicates, ordered by when they happened, or else were mentioned."""
    return tuple(sorted({item.unit.id: item for item in units}.values(), key=_moment))


def _moment(item: RecalledUnit) -> tuple[datetime, datetime, str]:
    unit = item.unit
    return unit.began, unit.mentioned_at, unit.id


def _observed(item: RecalledUnit) -> bool:
    return item.unit.fact_type is FactType.OBSERVATION


class Step(StrEnum):
    """The next step of a reflection that has no answer yet."""

    THINK = "think"
    CALL_TOOL = "call_tool"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class ReflectState:
    """A reflection whose memories have been recalled, but that has no answer yet.

    Attributes:
        revision: the bank's revision before recall.
        tiers: the recalled memories.
        index: the memories shown to the model so far (agentic only).
        progress: the progress of the agentic loop (agentic only).
    """

    revision: int
    tiers: MemoryTiers
    index: CitationIndex | None = None
    progress: Progress | None = None

    @property
    def next_step(self) -> Step:
        """The next step."""
        if self.progress is None or self.progress.done:
            return Step.ANSWER
        return Step.CALL_TOOL if self.progress.step is not None else Step.THINK

    @property
    def tools_used(self) -> Sequence[ReflectStep]:
        """The tools called so far."""
        return () if self.progress is None else self.progress.steps


class ReflectSteps:
    """The steps of one reflection. Only `commit` writes to the bank, so a failed model call changes nothing."""

    def __init__(self, query: ReflectQuery, context: ReflectContext, *, streamed: bool = False) -> None:
        self._query = query
        self._context = context
        model = context.services.model
        self._writer = model if streamed and isinstance(model, StreamingLanguageModel) else None

    @property
    def keeps_opinions(self) -> bool:
        """True if opinions can be formed, which requires a model."""
        return self._context.services.model is not None

    async def recall(self) -> ReflectState:
        """Recall memories for the question, and start the conversation of an agentic reflection.

        Raises:
            InvalidRequest: a tool of the caller is invalid.
        """
        query, context = self._query, self._context
        revision = await context.revision()
        if context.services.model is None:
            return ReflectState(revision, MemoryTiers(await context.recall(query.recall)))
        state = ReflectState(revision, await recalled_tiers(query.recall, context))
        if query.strategy is Strategy.SINGLE:
            return state
        index = CitationIndex.of(state.tiers)
        progress = await self._new_loop(index, context.services.model).begin(state.tiers)
        return replace(state, index=index, progress=progress)

    async def think(self, state: ReflectState) -> ReflectState:
        """Ask the model for the next step of an agentic reflection: a tool call or the answer.

        Raises:
            InvalidRequest: the reflection is not agentic, or the engine has no model.
            ModelError: the model failed.
        """
        loop, progress = self._loop(state)
        return replace(state, progress=await loop.think(progress))

    async def call_tool(self, state: ReflectState) -> ReflectState:
        """Make the tool call that the model requested, if it requested one.

        Raises:
            InvalidRequest: the reflection is not agentic, or the engine has no model.
        """
        loop, progress = self._loop(state)
        progress = await loop.call_tool(progress)
        return replace(state, index=loop.index, progress=progress)

    async def answer(self, state: ReflectState) -> AnsweredQuestion:
        """Write the answer; its opinions are not formed yet.

        Raises:
            MalformedOutput: no answer could be parsed, or it could not be converted to the caller's schema.
            ModelError: the model failed.
        """
        query, context = self._query, self._context
        if context.services.model is None:
            answered = AnsweredQuestion(await extracted(state.tiers.recalled, query.recall, context))
        elif state.progress is None:
            answered = await answer_in_one_call(state.tiers, query, context.services.model, context)
        else:
            loop, progress = self._loop(state)
            answered = await loop.answer(progress, state.tiers)
        return self._noted(answered)

    async def assess(
        self, proposed: Sequence[ProposedOpinion], revision: int, relations: Relations | None = None
    ) -> AssessedOpinions:
        """Compare the opinions of an answer with those held and decide how they change the bank, without writing.

        `revision` is the bank's revision before recall. Pairs in `relations` are not compared again.
        """
        recall, context = self._query.recall, self._context
        occasion = Occasion(recall.text, recall.query_timestamp, self._query.operation, revision)
        if not self.keeps_opinions:
            return AssessedOpinions((), occasion, Relations(), FormedOpinions(()))
        return await assess_opinions(proposed, occasion, context.projector, context.services, relations)

    async def commit(self, assessed: AssessedOpinions) -> FormedOpinions:
        """Store the assessed opinions in one commit. If the bank has changed since, they are assessed again first."""
        context = self._context
        if not self.keeps_opinions:
            return assessed.formed
        return await commit_opinions(assessed, context.projector, context.services)

    async def run(self) -> AsyncGenerator[ReflectEvent, None]:
        """Run all steps; yield an event for each tool call, the text (in pieces if streamed), and finally the reflection.

        Raises:
            InvalidRequest: a tool of the caller is invalid.
            ModelError: the model failed, possibly after some events; nothing was written.
        """
        state = await self.recall()
        while (step := state.next_step) is not Step.ANSWER:
            if step is Step.THINK:
                state = await self.think(state)
            else:
                state = await self.call_tool(state)
                yield ReflectEvent(ReflectEventKind.STEP, step=state.tools_used[-1])
        written = None
        if self._writer is not None and (state.progress is not None or tiers_hold_anything(state.tiers)):
            written = StreamedText()
            prompt = await self._streamed_prompt(state)
            pieces = streamed_text(self._writer, prompt, self._query, self._context, into=written)
            async with aclosing(pieces):
                async for piece in pieces:
                    yield ReflectEvent(ReflectEventKind.TEXT, text=piece)
        answered = await (self.answer(state) if written is None else self._conclude(written, state))
        reflection = await self._with_opinions(answered, state.revision)
        if written is None:
            yield ReflectEvent(ReflectEventKind.TEXT, text=reflection.text)
        yield ReflectEvent(ReflectEventKind.REFLECTION, reflection=reflection)

    async def _streamed_prompt(self, state: ReflectState) -> TextPrompt:
        query, context = self._query, self._context
        if state.progress is not None:
            return streamed_last_step_prompt(
                state.progress.messages, state.progress.why, max_answer_tokens=query.max_answer_tokens
            )
        return streamed_answer_prompt(
            PromptQuestion(query.recall.text, query.recall.query_timestamp, query.context),
            state.tiers,
            context.profile,
            await context.directives(query.recall),
            max_answer_tokens=query.max_answer_tokens,
        )

    async def _conclude(self, text: StreamedText, state: ReflectState) -> AnsweredQuestion:
        """Build the answer from a streamed text."""
        if state.progress is None:
            index = CitationIndex.of(state.tiers)
            answered = await conclude(
                text.written(index), index, state.tiers, query=self._query, context=self._context
            )
        else:
            loop, progress = self._loop(state)
            answered = await loop.conclude(text.written(loop.index), progress, state.tiers)
        return self._noted(answered)

    async def _with_opinions(self, answered: AnsweredQuestion, revision: int) -> Reflection:
        """Assess and commit the opinions of an answer; return the reflection with the outcome of each opinion."""
        query, proposed = self._query, answered.proposed
        formed = FormedOpinions(())
        if proposed or (query.operation and query.form_opinions and not answered.reflection.extractive):
            formed = await self.commit(await self.assess(proposed, revision))
        reflection, became = answered.reflection, iter(formed.changes)
        changes = formed.changes
        if not formed.repeated:
            changes = tuple(
                next(became) if isinstance(each, ProposedOpinion) else each for each in answered.opinions
            )
        return with_usage(replace(reflection, opinions=changes), formed.usage)

    def _noted(self, answered: AnsweredQuestion) -> AnsweredQuestion:
        """Add a note to the answer if opinions were requested but cannot be formed."""
        if not self._query.no_opinions:
            return answered
        reflection = answered.reflection
        noted = replace(reflection, notes=(*reflection.notes, self._query.no_opinions))
        return replace(answered, reflection=noted)

    def _loop(self, state: ReflectState) -> tuple[AgenticLoop, Progress]:
        if state.progress is None or state.index is None:
            raise InvalidRequest(
                "underway", "this reflection is not agentic", 'Start it with strategy="agentic".'
            )
        if self._context.services.model is None:
            raise InvalidRequest(
                "underway",
                "it was started with a model, but the engine has none",
                "Open the engine with `model=`.",
            )
        return self._new_loop(state.index, self._context.services.model), state.progress

    def _new_loop(self, index: CitationIndex, model: LanguageModel) -> AgenticLoop:
        return AgenticLoop(self._query, model, self._context, index=index, streamed=self._writer is not None)


async def reflect(query: ReflectQuery, context: ReflectContext) -> Reflection:
    """Answer a question from memory in the character of the bank's profile, with the memories the answer is based on.

    Raises:
        InvalidRequest: a tool of the caller is invalid.
        ModelError: the model failed; nothing was written.
    """
    async with aclosing(ReflectSteps(query, context).run()) as events:
        (reflection,) = [event.reflection async for event in events if event.reflection is not None]
    return reflection

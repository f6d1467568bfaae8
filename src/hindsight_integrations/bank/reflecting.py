"""The bank's verbs that answer: reflect, reflect_stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import datetime

from pydantic import BaseModel

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.reading import ReadingVerbs
from hindsight_integrations.bank.reflections import Reflections
from hindsight_integrations.bank.telemetry import observed
from hindsight_integrations.cara.pipeline import reflect, reflect_events
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import ReflectEvent, Reflection
from hindsight_integrations.model.requests import (
    Budget,
    GivenGroup,
    Strategy,
    TagsMatch,
)
from hindsight_integrations.validation.arguments import Moment, Window


class ReflectingVerbs(ReadingVerbs):
    """Verbs that answer questions from memory.

    Args:
        context: the bank.
        answering_as: in whose character `reflect` answers; None for the bank's own.
    """

    def __init__(self, context: BankContext, *, answering_as: BankProfile | None = None) -> None:
        super().__init__(context)
        self._answering_as = answering_as
        self._reflections = Reflections(context, answering_as)

    @observed
    async def reflect(
        self,
        query: str,
        *,
        strategy: Strategy | str = Strategy.SINGLE,
        budget: Budget | str = Budget.MID,
        max_tokens: int = 4096,
        max_answer_tokens: int = 2048,
        response_schema: type[BaseModel] | None = None,
        tools: Iterable[Callable[..., object]] | None = None,
        context: str | None = None,
        form_opinions: bool = True,
        operation: str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        window: Window = None,
        as_of: datetime | str | None = None,
        query_timestamp: Moment = None,
    ) -> Reflection:
        """Answer a question from memory, in the bank's character, naming the memories the answer stands on.

        Kept answers near the question (`mental_models`) are shown first; rules (`directives`) are kept.

        With a model the answer may put forward opinions of the agent's, which are kept (`Reflection.opinions` says what
        became of each). Without one the answer is exact figures of records and the best memories themselves, `extractive` is
        True, and `sufficient` says whether the answer is likely among them.

        Args:
            query: the question, up to 8,000 characters.
            strategy: single (one recall, one model call) or agentic (the model looks for what it needs, step by step).
            budget: effort of recall: low, mid or high; agentic may take more steps with it, too.
            max_tokens: budget of the memories the answer may use.
            max_answer_tokens: of the answer; a longer one is asked for again, then cut at the end of a sentence.
            response_schema: a pydantic model; the answer comes in its form, too, as `Reflection.structured`: by the same
                call with single, else by one more. Where nothing is known there is none.
            tools: functions and LangChain tools that the model may call besides memory's own, agentic only.
            context: your words about the situation, shown to the model as data.
            form_opinions: whether opinions may be formed. None are, and a note says so, with `as_of`, on a bank `with_profile`, on a
                read-only engine and without a model.
            operation: a key of this reflection (thread and run, say): a retry under it forms nothing twice.
            tags: visibility tags; none means any memory.
            tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged
                memories.
            tag_groups: further conditions on tags, as in `recall`.
            window: (start, end) of the time the question is about; None means find it in the question.
            as_of: a moment; the answer of then: from the memories that were valid, in the character that the bank had
                (see `profile.history`), to the question as asked then ("yesterday"). None means now.
            query_timestamp: the moment from which "yesterday" and recency count; `as_of`, else now, if None.

        Raises:
            InvalidRequest: an option is out of range.
            ModelError: the model failed; memory is unchanged.
        """
        request = self._reflections.checked(
            query,
            strategy=strategy,
            budget=budget,
            max_tokens=max_tokens,
            max_answer_tokens=max_answer_tokens,
            response_schema=response_schema,
            tools=tools,
            context=context,
            form_opinions=form_opinions,
            operation=operation,
            tags=tags,
            tags_match=tags_match,
            tag_groups=tag_groups,
            window=window,
            as_of=as_of,
            query_timestamp=query_timestamp,
        )
        return await reflect(request, await self._reflections.tools(request.recall.as_of))

    async def reflect_stream(
        self,
        query: str,
        *,
        strategy: Strategy | str = Strategy.SINGLE,
        budget: Budget | str = Budget.MID,
        max_tokens: int = 4096,
        max_answer_tokens: int = 2048,
        response_schema: type[BaseModel] | None = None,
        tools: Iterable[Callable[..., object]] | None = None,
        context: str | None = None,
        form_opinions: bool = True,
        operation: str | None = None,
        tags: Iterable[str] = (),
        tags_match: TagsMatch | str = TagsMatch.ANY,
        tag_groups: GivenGroup | Sequence[GivenGroup] = (),
        window: Window = None,
        as_of: datetime | str | None = None,
        query_timestamp: Moment = None,
    ) -> AsyncIterator[ReflectEvent]:
        """Answer a question as `reflect` does, and tell of it meanwhile: steps, pieces of the text, last the reflection.

        The pieces of the text together are the answer's text. A stream that is left before its last event forms no
        opinions, and ends the model's call.

        Args:
            query: as in `reflect`.
            strategy: as in `reflect`.
            budget: as in `reflect`.
            max_tokens: as in `reflect`.
            max_answer_tokens: of the answer; a longer one ends there, and a note says so.
            response_schema: as in `reflect`; the form comes with the last event.
            tools: as in `reflect`.
            context: as in `reflect`.
            form_opinions: as in `reflect`.
            operation: as in `reflect`.
            tags: as in `reflect`.
            tags_match: as in `reflect`.
            tag_groups: as in `reflect`.
            window: as in `reflect`.
            as_of: as in `reflect`.
            query_timestamp: as in `reflect`.

        Yields:
            a `ReflectEvent` at a time; the last one carries the reflection.

        Raises:
            InvalidRequest: an option is out of range; raised when the first event is asked for.
            ModelError: the model failed, perhaps after some events; memory is unchanged.
        """
        request = self._reflections.checked(
            query,
            strategy=strategy,
            budget=budget,
            max_tokens=max_tokens,
            max_answer_tokens=max_answer_tokens,
            response_schema=response_schema,
            tools=tools,
            context=context,
            form_opinions=form_opinions,
            operation=operation,
            tags=tags,
            tags_match=tags_match,
            tag_groups=tag_groups,
            window=window,
            as_of=as_of,
            query_timestamp=query_timestamp,
        )
        needed = await self._reflections.tools(request.recall.as_of)
        async with aclosing(reflect_events(request, needed)) as events:
            async for event in events:
                yield event

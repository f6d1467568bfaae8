"""Reflect on a bank: `reflect` and `reflect_stream`, and what all reflections take of the bank."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import TypedDict, Unpack

from pydantic import BaseModel

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.kept_answers import directives_for, mental_models_near
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import ReadingVerbs, recalled, recalled_by_default
from hindsight_integrations.bank.reflect_reads import LimitedReads
from hindsight_integrations.bank.telemetry import observed
from hindsight_integrations.cara.pipeline import reflect, reflect_events
from hindsight_integrations.cara.tools import RECORD_TOKENS, ReflectTools
from hindsight_integrations.choices import choice
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import ReflectEvent, Reflection
from hindsight_integrations.model.requests import (
    Budget,
    GivenGroup,
    RecallQuery,
    ReflectQuery,
    Strategy,
    TagsMatch,
)
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.validation.arguments import Moment, Window, checked_instant, checked_window
from hindsight_integrations.validation.limits import (
    MAX_QUERY,
    checked_count,
    checked_tags,
    checked_text,
)
from hindsight_integrations.validation.reflecting import MAX_OPERATION, checked_schema, checked_tools
from hindsight_integrations.validation.tag_groups import checked_tag_groups


class ReflectOptions(TypedDict, total=False):
    """Options of a reflection as a caller gives them; what they mean, and what stands for those left out, says `bank.reflect`."""

    strategy: Strategy | str
    budget: Budget | str
    max_tokens: int
    max_answer_tokens: int
    response_schema: type[BaseModel] | None
    tools: Iterable[Callable[..., object]] | None
    context: str | None
    form_opinions: bool
    operation: str | None
    tags: Iterable[str]
    tags_match: TagsMatch | str
    tag_groups: GivenGroup | Sequence[GivenGroup]
    window: Window
    as_of: datetime | str | None
    query_timestamp: Moment


DEFAULTS = ReflectOptions(
    strategy=Strategy.SINGLE,
    budget=Budget.MID,
    max_tokens=4096,
    max_answer_tokens=2048,
    response_schema=None,
    tools=None,
    context=None,
    form_opinions=True,
    operation=None,
    tags=(),
    tags_match=TagsMatch.ANY,
    tag_groups=(),
    window=None,
    as_of=None,
    query_timestamp=None,
)
"""Those of `bank.reflect`."""


class Reflections:
    """Checks the options of reflections on one bank, and hands the pipeline what it needs of it.

    Args:
        context: the bank.
        answering_as: in whose character it answers; None for the bank's own.
    """

    def __init__(self, context: BankContext, answering_as: BankProfile | None) -> None:
        self._context = context
        self._answering_as = answering_as

    def checked(
        self, query: str, *, asked_at: datetime | None = None, **options: Unpack[ReflectOptions]
    ) -> ReflectQuery:
        """The options of a reflection, checked.

        Args:
            query: the question.
            asked_at: when it was asked (aware UTC); None for now, or `as_of`.
            options: as of `bank.reflect`.

        Raises:
            InvalidRequest: one is out of range, or unknown.
        """
        if unknown := sorted(options.keys() - DEFAULTS.keys()):
            raise InvalidRequest(unknown[0], "unknown option", "See bank.reflect for the options.")
        given, dates = DEFAULTS | options, self._context.tools.dates
        then = checked_instant(given["as_of"], "as_of", dates)
        context, operation = given["context"], given["operation"]
        wanted, refusal = bool(given["form_opinions"]), self._no_opinions(then)
        at = checked_instant(given["query_timestamp"], "query_timestamp", dates)
        asked = RecallQuery(
            text=checked_text(query, "query", MAX_QUERY),
            query_timestamp=asked_at or at or then or as_utc(self._context.tools.clock.now()),
            max_tokens=checked_count(given["max_tokens"], "max_tokens"),
            budget=choice(Budget, given["budget"], "budget"),
            types=recalled_by_default(self._context),
            tags=checked_tags(given["tags"]),
            tags_match=choice(TagsMatch, given["tags_match"], "tags_match"),
            window=checked_window(given["window"], dates),
            as_of=then,
            tag_groups=checked_tag_groups(given["tag_groups"]),
            record_tokens=RECORD_TOKENS,
        )
        return ReflectQuery(
            recall=asked,
            strategy=choice(Strategy, given["strategy"], "strategy"),
            max_answer_tokens=checked_count(given["max_answer_tokens"], "max_answer_tokens"),
            context="" if context is None else checked_text(context, "context", MAX_QUERY),
            form_opinions=wanted and not refusal,
            no_opinions=refusal if wanted else "",
            operation="" if operation is None else checked_text(operation, "operation", MAX_OPERATION),
            response_schema=checked_schema(given["response_schema"]),
            tools=checked_tools(given["tools"]),
        )

    async def tools(self, as_of: datetime | None) -> ReflectTools:
        """What a reflection needs of the bank.

        Args:
            as_of: the moment it is about; None for now.
        """
        context, tools = self._context, self._context.tools
        return ReflectTools(
            projector=context,
            workers=tools.workers,
            recall=partial(recalled, context),
            profile=self._answering_as or await profile_of(context, as_of),
            model=tools.model,
            tokens=tools.tokens,
            languages=tools.languages,
            mental_models=partial(mental_models_near, context),
            directives=partial(directives_for, context),
            opinions=None if tools.model is None else context.opinion_tools(tools.model),
            reads=self._reads,
        )

    def _no_opinions(self, as_of: datetime | None) -> str:
        """Why no opinions may come of an answer; empty if they may."""
        tools = self._context.tools
        if tools.model is None:
            return "no opinions are formed without a language model"
        if as_of is not None:
            return "no opinions are formed with `as_of`: the answer is of an earlier time"
        if self._answering_as is not None:
            return "no opinions are formed on a bank `with_profile`: they would be another character's"
        return "no opinions are formed on a read-only engine" if tools.read_only else ""

    def _reads(self, query: RecallQuery) -> LimitedReads:
        kept = partial(mental_models_near, self._context)
        return LimitedReads(self._context, query, recall=partial(recalled, self._context), mental_models=kept)


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

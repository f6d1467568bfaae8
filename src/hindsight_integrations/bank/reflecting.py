"""The bank's verbs that answer: reflect, reflect_stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Unpack

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.mental_models import directives_for, mental_models_near
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import ReadingVerbs, observed, recalled, recalled_by_default
from hindsight_integrations.bank.reflect_reads import LimitedReads
from hindsight_integrations.choices import choice
from hindsight_integrations.model.options import REFLECT_DEFAULTS, ReflectOptions, shows_options
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import ReflectEvent, Reflection
from hindsight_integrations.model.requests import (
    Budget,
    RecallQuery,
    ReflectQuery,
    Strategy,
    TagsMatch,
)
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.reflect.context import RECORD_TOKENS, ReflectContext
from hindsight_integrations.reflect.pipeline import reflect, reflect_events
from hindsight_integrations.validation.arguments import (
    MAX_OPERATION,
    checked_instant,
    checked_schema,
    checked_tools,
    checked_window,
)
from hindsight_integrations.validation.limits import (
    MAX_QUERY,
    checked_count,
    checked_tags,
    checked_text,
)
from hindsight_integrations.validation.options import accept_options
from hindsight_integrations.validation.tag_groups import checked_tag_groups


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
        accept_options(options, REFLECT_DEFAULTS)
        given, dates = REFLECT_DEFAULTS | options, self._context.services.dates
        then = checked_instant(given["as_of"], "as_of", dates)
        context, operation = given["context"], given["operation"]
        wanted, refusal = bool(given["form_opinions"]), self._no_opinions(then)
        at = checked_instant(given["query_timestamp"], "query_timestamp", dates)
        asked = RecallQuery(
            text=checked_text(query, "query", MAX_QUERY),
            query_timestamp=asked_at or at or then or as_utc(self._context.services.clock.now()),
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

    async def context(self, as_of: datetime | None) -> ReflectContext:
        """The bank as a reflection sees it.

        Args:
            as_of: the moment the reflection is about; None for now.
        """
        bank = self._context
        return ReflectContext(
            projector=bank,
            services=bank.services,
            profile=self._answering_as or await profile_of(bank, as_of),
            recall=partial(recalled, bank),
            mental_models=partial(mental_models_near, bank),
            directives=partial(directives_for, bank),
            reads=self._reads,
        )

    def _no_opinions(self, as_of: datetime | None) -> str:
        """Why no opinions may come of an answer; empty if they may."""
        services = self._context.services
        if services.model is None:
            return "no opinions are formed without a language model"
        if as_of is not None:
            return "no opinions are formed with `as_of`: the answer is of an earlier time"
        if self._answering_as is not None:
            return "no opinions are formed on a bank `with_profile`: they would be another character's"
        return "no opinions are formed on a read-only engine" if services.read_only else ""

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
    @shows_options(ReflectOptions)
    async def reflect(self, query: str, **options: Unpack[ReflectOptions]) -> Reflection:
        """Answer a question from memory, in the bank's character, naming the memories the answer stands on.

        Kept answers near the question (`mental_models`) are shown first; rules (`directives`) are kept.

        With a model the answer may put forward opinions of the agent's, which are kept (`Reflection.opinions` says what
        became of each). Without one the answer is exact figures of records and the best memories themselves, `extractive` is
        True, and `sufficient` says whether the answer is likely among them.

        Args:
            query: the question, up to 8,000 characters.
            options: how the answer is found, and from which memories; `ReflectOptions` describes each.

        Raises:
            InvalidRequest: an option is unknown or out of range.
            ModelError: the model failed; memory is unchanged.
        """
        request = self._reflections.checked(query, **options)
        return await reflect(request, await self._reflections.context(request.recall.as_of))

    @shows_options(ReflectOptions)
    async def reflect_stream(
        self, query: str, **options: Unpack[ReflectOptions]
    ) -> AsyncIterator[ReflectEvent]:
        """Answer a question as `reflect` does, and tell of it meanwhile: steps, pieces of the text, last the reflection.

        The pieces of the text together are the answer's text. A stream that is left before its last event forms no
        opinions, and ends the model's call.

        Args:
            query: as in `reflect`.
            options: as in `reflect`.

        Yields:
            a `ReflectEvent` at a time; the last one carries the reflection.

        Raises:
            InvalidRequest: an option is unknown or out of range; raised when the first event is asked for.
            ModelError: the model failed, perhaps after some events; memory is unchanged.
        """
        request = self._reflections.checked(query, **options)
        needed = await self._reflections.context(request.recall.as_of)
        async with aclosing(reflect_events(request, needed)) as events:
            async for event in events:
                yield event

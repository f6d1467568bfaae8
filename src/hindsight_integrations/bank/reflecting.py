"""The bank's verb that answers: reflect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from pydantic import BaseModel

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.exact_answers import exact_answer_for
from hindsight_integrations.bank.kept_answers import directives_for, mental_models_near
from hindsight_integrations.bank.profile import profile_of
from hindsight_integrations.bank.reading import ReadingVerbs
from hindsight_integrations.cara.reflection.reflecting import reflect
from hindsight_integrations.cara.reflection.tools import ReflectTools
from hindsight_integrations.choices import choice
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import Reflection
from hindsight_integrations.model.requests import (
    Budget,
    GivenGroup,
    RecallQuery,
    ReflectQuery,
    Strategy,
    TagsMatch,
)
from hindsight_integrations.model.time import as_utc
from hindsight_integrations.validation.arguments import Window, checked_instant, checked_window
from hindsight_integrations.validation.limits import (
    MAX_QUERY,
    checked_count,
    checked_tags,
    checked_text,
)
from hindsight_integrations.validation.reflecting import MAX_OPERATION, checked_schema, checked_tools
from hindsight_integrations.validation.tag_groups import checked_tag_groups


class ReflectingVerbs(ReadingVerbs):
    """Verbs that answer questions from memory.

    Args:
        context: the bank.
        answering_as: in whose character `reflect` answers; None for the bank's own.
    """

    def __init__(self, context: BankContext, *, answering_as: BankProfile | None = None) -> None:
        super().__init__(context)
        self._answering_as = answering_as

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
    ) -> Reflection:
        """Answer a question from memory, in the bank's character, naming the memories the answer stands on.

        With a model the answer may put forward opinions of the agent's, which are kept (`Reflection.opinions` says what
        became of each). Without one the answer is the best memories themselves, and `extractive` is True.

        Args:
            query: the question, up to 8,000 characters.
            strategy: single (one recall, one model call) or agentic (the model looks for what it needs, step by step).
            budget: effort of recall: low, mid or high; agentic may take more steps with it, too.
            max_tokens: budget of the memories the answer may use.
            max_answer_tokens: of the answer; a longer one is asked for again, then cut at the end of a sentence.
            response_schema: a pydantic model; the answer comes in its form, too, as `Reflection.structured`.
            tools: functions the model may call besides memory's own, agentic only.
            context: your words about the situation, shown to the model as data.
            form_opinions: whether opinions may be formed. None are with `as_of`, on a bank `with_profile`, on a
                read-only engine and without a model.
            operation: a key of this reflection (thread and run, say): a retry under it forms nothing twice.
            tags: visibility tags; none means any memory.
            tags_match: how tags select: any, all, any_strict, all_strict or exact; any and all also keep untagged
                memories.
            tag_groups: further conditions on tags, as in `recall`.
            window: (start, end) of the time the question is about; None means find it in the question.
            as_of: a moment; the answer of then: from the memories that were valid, in the character that the bank had
                (see `profile.history`), to the question as asked then ("yesterday"). None means now.

        Raises:
            InvalidRequest: an option is out of range.
            ModelError: the model failed; memory is unchanged.
        """
        dates = self._context.tools.dates
        then = checked_instant(as_of, "as_of", dates)
        asked = RecallQuery(
            text=checked_text(query, "query", MAX_QUERY),
            query_timestamp=then or as_utc(self._context.tools.clock.now()),
            max_tokens=checked_count(max_tokens, "max_tokens"),
            budget=choice(Budget, budget, "budget"),
            types=self._recalled_by_default(),
            tags=checked_tags(tags),
            tags_match=choice(TagsMatch, tags_match, "tags_match"),
            window=checked_window(window, dates),
            as_of=then,
            tag_groups=checked_tag_groups(tag_groups),
        )
        request = ReflectQuery(
            recall=asked,
            strategy=choice(Strategy, strategy, "strategy"),
            max_answer_tokens=checked_count(max_answer_tokens, "max_answer_tokens"),
            context="" if context is None else checked_text(context, "context", MAX_QUERY),
            form_opinions=bool(form_opinions) and self._may_form(then),
            operation="" if operation is None else checked_text(operation, "operation", MAX_OPERATION),
            response_schema=checked_schema(response_schema),
            tools=checked_tools(tools),
        )
        return await reflect(request, self._reflect_tools(await self._profile(then)))

    def _may_form(self, as_of: datetime | None) -> bool:
        """Whether opinions may come of an answer at all."""
        tools = self._context.tools
        return (
            as_of is None and self._answering_as is None and not tools.read_only and tools.model is not None
        )

    async def _profile(self, as_of: datetime | None) -> BankProfile:
        return self._answering_as or await profile_of(self._context, as_of)

    def _reflect_tools(self, profile: BankProfile) -> ReflectTools:
        tools = self._context.tools
        return ReflectTools(
            projector=self._context,
            workers=tools.workers,
            recall=self._recalled,
            profile=profile,
            model=tools.model,
            tokens=tools.tokens,
            languages=tools.languages,
            mental_models=partial(mental_models_near, self._context),
            directives=partial(directives_for, self._context),
            exact=partial(exact_answer_for, self._context),
            opinions=None if tools.model is None else self._context.opinion_tools(tools.model),
        )

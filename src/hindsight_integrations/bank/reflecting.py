"""The bank's verbs that answer: reflect, reflect_stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Unpack

from hindsight_integrations.bank.context import BankContext
from hindsight_integrations.bank.reading import ReadingVerbs
from hindsight_integrations.bank.reflections import Reflections
from hindsight_integrations.bank.telemetry import observed
from hindsight_integrations.cara.pipeline import reflect, reflect_events
from hindsight_integrations.model.options import ReflectOptions, shows_options
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import ReflectEvent, Reflection


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
        return await reflect(request, await self._reflections.tools(request.recall.as_of))

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
        needed = await self._reflections.tools(request.recall.as_of)
        async with aclosing(reflect_events(request, needed)) as events:
            async for event in events:
                yield event

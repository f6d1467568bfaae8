"""A language model asked within a stated time: what takes longer is cancelled, and what is worth it is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

from pydantic import BaseModel

from hindsight_integrations.errors import ModelUnavailable
from hindsight_integrations.ports.language_model import (
    Completion,
    Prompt,
    StreamingLanguageModel,
    TextPrompt,
)

T = TypeVar("T", bound=BaseModel)

FIRST_PAUSE_S = 0.5  # before the second try, then twice as long; where the service does not say


class TimedModel:
    """Gives a model so much time for a call, tries and pauses included.

    A service that says when it wants to be asked again (Retry-After) is asked then, if that is still within the time;
    beyond it the call fails at once, and the error says when.

    Args:
        model: the model.
        timeout_s: seconds of a call.
        tries: how often it is asked while it is unavailable; 1 where its own client tries again.
    """

    def __init__(self, model: StreamingLanguageModel, *, timeout_s: float, tries: int = 1) -> None:
        self._model = model
        self._timeout_s = timeout_s
        self._tries = tries

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model.name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Ask the model.

        Raises:
            ModelUnavailable: it gave no answer within the time, or is still unavailable after all tries.
            ModelError: as the model's own.
        """
        end = asyncio.get_running_loop().time() + self._timeout_s
        try:
            async with asyncio.timeout_at(end) as limit:
                return await self._tried(prompt, end)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise self._too_slow() from error

    async def stream(self, prompt: TextPrompt) -> AsyncGenerator[str, None]:
        """The model's answer as it is written; once a piece of it has come it is not asked again.

        What the caller does between two pieces takes nothing of the time.

        Raises:
            ModelUnavailable: it did not end within the time, or is still unavailable after all tries.
            ModelError: as the model's own.
        """
        clock, left = asyncio.get_running_loop().time, self._timeout_s
        for tries in range(1, self._tries + 1):
            begun = False
            try:
                async with aclosing(self._model.stream(prompt)) as pieces:
                    while True:
                        asked = clock()
                        piece = await self._next(pieces, left)
                        left -= clock() - asked
                        if piece is None:
                            return
                        begun = True
                        yield piece
            except ModelUnavailable as error:
                pause = _pause(tries, error)
                if begun or tries == self._tries or pause >= left:
                    raise
                await asyncio.sleep(pause)
                left -= pause

    async def _next(self, pieces: AsyncGenerator[str, None], left: float) -> str | None:
        """The next piece; None if there is none."""
        try:
            async with asyncio.timeout(max(left, 0.0)) as limit:
                return await anext(pieces, None)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise self._too_slow() from error

    def _too_slow(self) -> ModelUnavailable:
        reason = f"it gave no answer within {self._timeout_s:g} s (HindsightConfig.model_timeout_s)"
        return ModelUnavailable(self.name, reason)

    async def _tried(self, prompt: Prompt[T], end: float) -> Completion[T]:
        loop = asyncio.get_running_loop()
        for tries in range(1, self._tries):
            try:
                return await self._model.complete(prompt)
            except ModelUnavailable as error:
                pause = _pause(tries, error)
                if loop.time() + pause >= end:
                    raise
                await asyncio.sleep(pause)
        return await self._model.complete(prompt)


def _pause(tries: int, error: ModelUnavailable) -> float:
    """Seconds before the next try."""
    return FIRST_PAUSE_S * 2 ** (tries - 1) if error.retry_after is None else error.retry_after

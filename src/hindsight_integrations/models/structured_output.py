"""The ways of asking a service for a structured answer: what it refuses it is not asked again."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Sequence
from enum import Enum, StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import anyio.to_thread
from pydantic import BaseModel

from hindsight_integrations.errors import (
    FeatureUnsupported,
    MalformedOutput,
)
from hindsight_integrations.models.protocols import Prompt, SpokenText, TextPrompt
from hindsight_integrations.models.vendor_errors import (
    converting,
)

T = TypeVar("T", bound=BaseModel)

logger = logging.getLogger("hindsight_integrations")

InWords: TypeAlias = "Callable[[Prompt[T]], Prompt[T]]"
"""A prompt with its schema among the messages, for a service that takes none."""


class Way(Enum):
    """How a service is asked for a structured answer, the surest first."""

    SCHEMA = "response_format json_schema"  # or whatever is the client's own way
    TOOL = "a tool call"
    WORDS = "JSON in the prompt"


class Extra(StrEnum):
    """What of a prompt a request may say besides messages and schema, by the field of OpenAI's protocol."""

    MOST_TOKENS = "max_completion_tokens"
    TEMPERATURE = "temperature"


_OF_PROMPT = {Extra.MOST_TOKENS: "most_tokens", Extra.TEMPERATURE: "temperature"}


class StructuredWays:
    """How a service is asked at present. Safe from many threads: calls at once step down together.

    Args:
        name: the model's, for the log.
        ways: those there are, the first first; at least one.
        sends: what of a prompt goes along besides messages and schema.
    """

    def __init__(self, name: str, ways: Sequence[Way], sends: Collection[Extra] = ()) -> None:
        self._name = name
        self._ways = ways
        self._now = ways[0], frozenset(sends)
        self._choosing = threading.Lock()

    @property
    def now(self) -> tuple[Way, frozenset[Extra]]:
        """The way, and what goes along."""
        return self._now

    def step_down(self, asked: tuple[Way, frozenset[Extra]], error: FeatureUnsupported) -> None:
        """Ask in the next way from now on, or without what was refused.

        Args:
            asked: what `now` was when the service refused.
            error: its refusal.

        Raises:
            FeatureUnsupported: the error given, if there is no next way.
        """
        with self._choosing:
            if self._now != asked:
                return  # another call has just done so
            way, sends = asked
            if refused := [extra for extra in sends if extra in error.reason]:
                self._now = way, sends - {*refused}
                logger.warning(
                    "model %s: its service refuses %s, which is not sent any more",
                    self._name,
                    refused[0].value,
                )
                return
            rest = self._ways[self._ways.index(way) + 1 :]
            if not rest:
                raise error
            self._now = rest[0], sends
            logger.warning(
                "model %s: its service refuses %s; it is asked by %s from now on",
                self._name,
                way.value,
                rest[0].value,
            )


def said_along(prompt: Prompt[T] | TextPrompt, sends: Collection[Extra]) -> dict[str, Any]:
    """What of a prompt goes along, by the field of the request."""
    return {extra.value: getattr(prompt, _OF_PROMPT[extra]) for extra in sends}


P = TypeVar("P")


CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
"""Reasons of vendors for an answer that ended because it reached a limit of tokens."""


async def streamed(
    name: str, begin: Callable[[], Iterator[P]], read: Callable[[P], tuple[str, bool]]
) -> AsyncGenerator[str, None]:
    """The text of an answer as it comes, without the parts that are reasoning.

    Left before its end, the call ends: at once if nobody waits for a piece, else when that piece has come.

    Args:
        name: of the model, for errors.
        begin: makes the call.
        read: the text of a piece, and whether the answer was cut off there.

    Raises:
        ModelError: the service's own error, converted; MalformedOutput if it was cut off.
    """
    pieces, spoken, text, cut_off = _Pieces(name, begin), SpokenText(), "", False
    try:
        while (piece := await anyio.to_thread.run_sync(pieces.following, abandon_on_cancel=True)) is not None:
            written, ends_here = read(piece)
            cut_off = cut_off or ends_here
            if said := spoken.feed(written):
                text += said
                yield said
        if rest := spoken.end():
            text += rest
            yield rest
    finally:
        pieces.close()
    if cut_off:
        raise MalformedOutput(
            name, text, "it reached its limit of tokens, and its end is not there", cut_off=True
        )


class _Pieces(Generic[P]):
    """An iterator that one thread reads and another may close meanwhile; it is closed by whoever is last."""

    def __init__(self, name: str, begin: Callable[[], Iterator[P]]) -> None:
        self._name = name
        self._begin = begin
        self._iterator: Iterator[P] | None = None
        self._reading = threading.Lock()
        self._closed = False

    def following(self) -> P | None:
        """The next piece; None after the last, and once it is closed."""
        piece = None
        with self._reading, converting(self._name):
            if not self._closed:
                self._iterator = self._iterator or self._begin()
                piece = next(self._iterator, None)
        if self._closed:
            self.close()
        return piece

    def close(self) -> None:
        """End the call."""
        self._closed = True
        if not self._reading.acquire(blocking=False):
            return  # whoever reads closes it then
        try:
            if (end := getattr(self._iterator, "close", None)) is not None:
                end()
        finally:
            self._reading.release()

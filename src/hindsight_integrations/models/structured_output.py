"""Structured output, with a fallback to another way when a service rejects one; and streaming of text."""

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
"""A function that adds the schema to a prompt's messages, for a service without schemas."""


class Way(Enum):
    """The ways to request a structured answer from a service, most reliable first."""

    SCHEMA = "response_format json_schema"  # or the equivalent in the vendor's client
    TOOL = "a tool call"
    WORDS = "JSON in the prompt"


class Extra(StrEnum):
    """Prompt fields that a request may include besides messages and schema, by their name in OpenAI's protocol."""

    MOST_TOKENS = "max_completion_tokens"
    TEMPERATURE = "temperature"


_OF_PROMPT = {Extra.MOST_TOKENS: "most_tokens", Extra.TEMPERATURE: "temperature"}


class StructuredWays:
    """The current way to request structured answers from a service, shared by all callers. Thread-safe.

    Args:
        name: the model's name, for the log.
        ways: the supported ways in order of preference; at least one.
        sends: prompt fields to send besides messages and schema.
    """

    def __init__(self, name: str, ways: Sequence[Way], sends: Collection[Extra] = ()) -> None:
        self._name = name
        self._ways = ways
        self._now = ways[0], frozenset(sends)
        self._choosing = threading.Lock()

    @property
    def now(self) -> tuple[Way, frozenset[Extra]]:
        """The current way, and the prompt fields to send."""
        return self._now

    def step_down(self, asked: tuple[Way, frozenset[Extra]], error: FeatureUnsupported) -> None:
        """Switch to the next way, or stop sending the rejected field.

        Args:
            asked: the value of `now` for the rejected request.
            error: the error of the rejected request.

        Raises:
            FeatureUnsupported: the given error, if there is no next way.
        """
        with self._choosing:
            if self._now != asked:
                return  # a concurrent call has already stepped down
            way, sends = asked
            if refused := [extra for extra in sends if extra in error.reason]:
                self._now = way, sends - {*refused}
                logger.warning(
                    "model %s: its service rejects %s, which is no longer sent",
                    self._name,
                    refused[0].value,
                )
                return
            rest = self._ways[self._ways.index(way) + 1 :]
            if not rest:
                raise error
            self._now = rest[0], sends
            logger.warning(
                "model %s: its service rejects %s; using %s from now on",
                self._name,
                way.value,
                rest[0].value,
            )


def extra_fields(prompt: Prompt[T] | TextPrompt, sends: Collection[Extra]) -> dict[str, Any]:
    """Return the values of the prompt fields to send, by their name in the request."""
    return {extra.value: getattr(prompt, _OF_PROMPT[extra]) for extra in sends}


P = TypeVar("P")


CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
"""Vendors' reasons for an answer that reached a token limit."""


async def streamed(
    name: str, begin: Callable[[], Iterator[P]], read: Callable[[P], tuple[str, bool]]
) -> AsyncGenerator[str, None]:
    """Yield the text of a streamed answer without reasoning.

    Closing the generator early ends the call, at once or when the piece being read has arrived.

    Args:
        name: the model's name, for errors.
        begin: function that starts the call.
        read: function that returns the text of a piece, and whether the answer was truncated there.

    Raises:
        ModelError: the service failed; MalformedOutput if the answer was truncated.
    """
    pieces, spoken, text, cut_off = _Pieces(name, begin), SpokenText(), "", False
    try:
        while (piece := await anyio.to_thread.run_sync(pieces.following, abandon_on_cancel=True)) is not None:
            written, ends_here = read(piece)
            cut_off = cut_off or ends_here
            if aloud := spoken.feed(written):
                text += aloud
                yield aloud
        if rest := spoken.end():
            text += rest
            yield rest
    finally:
        pieces.close()
    if cut_off:
        raise MalformedOutput(name, text, "it reached its token limit and was truncated", cut_off=True)


class _Pieces(Generic[P]):
    """An iterator that one thread reads and another may close; it is closed after the piece being read has arrived."""

    def __init__(self, name: str, begin: Callable[[], Iterator[P]]) -> None:
        self._name = name
        self._begin = begin
        self._iterator: Iterator[P] | None = None
        self._reading = threading.Lock()
        self._closed = False

    def following(self) -> P | None:
        """Return the next piece; None after the last one or after `close`."""
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
            return  # the reading thread closes the iterator after its piece
        try:
            if (end := getattr(self._iterator, "close", None)) is not None:
                end()
        finally:
            self._reading.release()

"""The base class of models over a framework's client: structured output with fallbacks, and streaming of text.

If a service rejects one way to request structured output, the next one is used.
"""

from __future__ import annotations

import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import aclosing
from enum import Enum, StrEnum
from functools import cached_property, partial
from typing import Any, Generic, TypeAlias, TypeVar

import anyio.to_thread
from pydantic import BaseModel

from hindsight_integrations.errors import FeatureUnsupported, MalformedOutput
from hindsight_integrations.models.protocols import Completion, Prompt, SpokenText, TextPrompt
from hindsight_integrations.models.vendor_errors import converting

T = TypeVar("T", bound=BaseModel)
P = TypeVar("P")

logger = logging.getLogger("hindsight_integrations")

InWords: TypeAlias = "Callable[[Prompt[T]], Prompt[T]]"
"""A function that adds the schema to a prompt's messages, for a service without schemas."""


class Way(Enum):
    """The ways to request a structured answer from a service, most reliable first."""

    SCHEMA = "response_format json_schema"  # or an equivalent option of a vendor's client
    TOOL = "a tool call"
    WORDS = "JSON in the prompt"


class Extra(StrEnum):
    """Prompt fields that a request may include besides messages and schema, by their name in OpenAI's protocol."""

    MOST_TOKENS = "max_completion_tokens"
    TEMPERATURE = "temperature"


_OF_PROMPT = {Extra.MOST_TOKENS: "most_tokens", Extra.TEMPERATURE: "temperature"}


CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"})
"""Vendors' reasons for an answer that reached a token limit."""


class ClientModel(ABC, Generic[P]):
    """A LanguageModel over a framework's sync client, which runs in worker threads. Subclasses implement the requests.

    If a service rejects one way to request structured output, the next one is used from then on; if it rejects a field of
    the prompt, the field is no longer sent.

    Args:
        name: its name in errors.
        in_words: function that adds the schema to a prompt; None disables that fallback.
        sends: which fields of the prompt to send besides messages and schema.
    """

    def __init__(self, name: str, in_words: InWords[Any] | None, sends: Collection[Extra] = ()) -> None:
        self._name, self._in_words = name, in_words
        self._now = 0, frozenset(sends)  # index of the current way, and the prompt fields to send
        self._choosing = threading.Lock()

    @cached_property
    @abstractmethod
    def _ways(self) -> list[Way]:
        """The supported ways, in order of preference; computed when the model is first called.

        Raises:
            FeatureUnsupported: there are none.
        """

    @abstractmethod
    def _ask(self, prompt: Prompt[T], way: Way, options: dict[str, Any]) -> Completion[T]:
        """Call the model once, with this output mode and these additional request options. Runs in a worker thread.

        Raises:
            ModelError: FeatureUnsupported if the service rejects the output mode or an option.
            JSONDecodeError: the response body is not JSON, for example a proxy's error page.
        """

    @abstractmethod
    def _begin(self, prompt: TextPrompt, options: dict[str, Any]) -> Iterator[P]:
        """Begin a streamed answer. Runs in a worker thread."""

    @abstractmethod
    def _read(self, piece: P) -> tuple[str, bool]:
        """Return the text of a streamed piece, and whether the answer was truncated there."""

    @property
    def name(self) -> str:
        """The model's name, which errors and `doctor` show."""
        return self._name

    async def complete(self, prompt: Prompt[T]) -> Completion[T]:
        """Call the model once.

        Raises:
            ModelUnavailable: it could not be reached, timed out, limited the rate or failed with a 5xx.
            ModelRefused: the service rejected the API key.
            PromptTooLong: the prompt does not fit its context.
            FeatureUnsupported: the model or its service does not support structured output.
            MalformedOutput: the answer does not match the schema, or was truncated; the error contains the raw text.
        """
        return await anyio.to_thread.run_sync(self._complete, prompt, abandon_on_cancel=True)

    def _complete(self, prompt: Prompt[T]) -> Completion[T]:
        while True:
            place, sends = asked = self._now
            way = self._ways[place]
            try:
                return self._ask(prompt, way, _options(prompt, sends))
            except FeatureUnsupported as error:
                self._step_down(asked, error)
            except json.JSONDecodeError as error:
                raise MalformedOutput(self._name, error.doc, str(error)) from error

    def _step_down(self, asked: tuple[int, frozenset[Extra]], error: FeatureUnsupported) -> None:
        """Use the next way, or stop sending the rejected field.

        Args:
            asked: the value of `_now` for the rejected request.
            error: the error of the rejected request, raised again if there is no next way.
        """
        with self._choosing:
            if self._now != asked:
                return  # a concurrent call has stepped down already
            place, sends = asked
            if refused := next((extra for extra in sends if extra in error.reason), None):
                self._now = place, sends - {refused}
                logger.warning(
                    "model %s: its service rejects %s, which is no longer sent", self._name, refused.value
                )
                return
            if place + 1 == len(self._ways):
                raise error
            self._now = place + 1, sends
            logger.warning(
                "model %s: its service rejects %s; using %s from now on",
                self._name,
                self._ways[place].value,
                self._ways[place + 1].value,
            )

    async def stream(self, prompt: TextPrompt) -> AsyncGenerator[str, None]:
        """Yield the answer as the model writes it, or in one piece if it cannot stream.

        Raises:
            ModelError: as for `complete`.
        """
        while True:
            asked, begun = self._now, False
            _, sends = asked
            try:
                async with aclosing(self._streamed(prompt, sends)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
            except FeatureUnsupported as error:
                if begun or not any(extra in error.reason for extra in sends):
                    raise
                self._step_down(asked, error)
            else:
                return

    async def _streamed(self, prompt: TextPrompt, sends: frozenset[Extra]) -> AsyncGenerator[str, None]:
        """Yield the text of a streamed answer without reasoning.

        Closing the generator early ends the call, at once or when the piece being read has arrived.
        """
        pieces = _Pieces(self._name, partial(self._begin, prompt, _options(prompt, sends)))
        spoken, text, cut_off = SpokenText(), "", False
        try:
            while (
                piece := await anyio.to_thread.run_sync(pieces.following, abandon_on_cancel=True)
            ) is not None:
                written, ends_here = self._read(piece)
                cut_off = cut_off or ends_here
                if aloud := spoken.feed(written):
                    text += aloud
                    yield aloud
            if rest := spoken.end():
                text += rest
                yield rest
        finally:
            pieces.close()
        self._check_complete(text, (0, 0), cut_off=cut_off)

    def _malformed(self, text: str, tokens: tuple[int, int], problem: str) -> MalformedOutput:
        """Build the error for an answer that does not match the schema."""
        tokens_in, tokens_out = tokens
        return MalformedOutput(self._name, text, problem, tokens_in=tokens_in, tokens_out=tokens_out)

    def _check_complete(self, text: str, tokens: tuple[int, int], *, cut_off: bool) -> None:
        """Check that an answer is complete.

        Raises:
            MalformedOutput: it was truncated.
        """
        if cut_off:
            tokens_in, tokens_out = tokens
            problem = "it reached its token limit and was truncated"
            raise MalformedOutput(
                self._name, text, problem, tokens_in=tokens_in, tokens_out=tokens_out, cut_off=True
            )


def _options(prompt: Prompt[Any] | TextPrompt, sends: Collection[Extra]) -> dict[str, Any]:
    """Return the prompt fields to send, by their name in the request."""
    return {extra.value: getattr(prompt, _OF_PROMPT[extra]) for extra in sends}


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
            return  # the reading thread will close the iterator after its piece
        try:
            if (end := getattr(self._iterator, "close", None)) is not None:
                end()
        finally:
            self._reading.release()

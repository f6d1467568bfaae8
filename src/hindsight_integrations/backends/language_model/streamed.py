"""A vendor's sync stream, read on worker threads; see `LangChainModel` for why its sync client."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Generic, TypeVar

import anyio.to_thread

from hindsight_integrations.backends.vendor_errors import converting
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.spoken_text import SpokenText

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

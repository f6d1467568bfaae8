"""A LangChain chat model's stream, read on worker threads; see `LangChainModel` for why its sync client."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from hindsight_integrations.backends.vendor_errors import converting
from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.spoken_text import SpokenText

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""Reasons of vendors for an answer that ended because it reached a limit of tokens."""


def is_cut_off(raw: object) -> bool:
    """Whether an answer, or a piece of one, says that it ended at a limit of tokens."""
    metadata: Mapping[str, Any] = getattr(raw, "response_metadata", None) or {}
    return any(metadata.get(name) in CUT_OFF for name in ("finish_reason", "stop_reason", "done_reason"))


async def streamed(name: str, begin: Callable[[], Iterator[BaseMessage]]) -> AsyncGenerator[str, None]:
    """The text of an answer as it comes, without the parts that are reasoning.

    Left before its end, the call ends: at once if nobody waits for a piece, else when that piece has come.

    Args:
        name: of the model, for errors.
        begin: makes the call.

    Raises:
        ModelError: the service's own error, converted; MalformedOutput if it was cut off.
    """
    pieces, spoken, text, cut_off = _Pieces(name, begin), SpokenText(), "", False
    try:
        while (piece := await anyio.to_thread.run_sync(pieces.following, abandon_on_cancel=True)) is not None:
            cut_off = cut_off or is_cut_off(piece)
            if said := spoken.feed(str(getattr(piece, "text", "") or "")):
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


class _Pieces:
    """An iterator that one thread reads and another may close meanwhile; it is closed by whoever is last."""

    def __init__(self, name: str, begin: Callable[[], Iterator[BaseMessage]]) -> None:
        self._name = name
        self._begin = begin
        self._iterator: Iterator[BaseMessage] | None = None
        self._reading = threading.Lock()
        self._closed = False

    def following(self) -> BaseMessage | None:
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

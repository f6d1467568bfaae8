"""A stream of LlamaIndex that ends the request when it is closed, which its own generators do not."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import GeneratorType
from typing import Generic, Protocol, TypeVar, cast

P = TypeVar("P")


class _Stream(Protocol):
    """The stream of a vendor's client."""

    def close(self) -> None: ...


class StreamToClose(Generic[P]):
    """Gives what a stream gives.

    LlamaIndex loops over the streams of vendors' clients in generators that close nothing, and a stream of openai's or anthropic's
    client lies in a cycle of references: left before its end, its request would go on until the garbage is collected
    (measured 2026-11-23, llama-index-llms-openai 0.8.3 on openai 3.54). Elsewhere than in CPython it still does.

    Args:
        pieces: the stream.
    """

    def __init__(self, pieces: Iterator[P]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[P]:
        return self

    def __next__(self) -> P:
        return next(self._pieces)

    def close(self) -> None:
        """End the request. Not while a piece is read."""
        for stream in [*_read_by(self._pieces)]:
            stream.close()
        if isinstance(self._pieces, GeneratorType):
            self._pieces.close()


def _read_by(generator: object) -> Iterator[_Stream]:
    """The clients' streams that a suspended generator, or one that it reads, is about to read on from."""
    if not isinstance(generator, GeneratorType):
        return
    for held in gc.get_referents(generator):
        if isinstance(held, GeneratorType):
            yield from _read_by(held)
        elif isinstance(held, Iterator) and callable(getattr(held, "close", None)):
            yield cast("_Stream", held)

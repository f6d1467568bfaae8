"""Work on many things at once, at most so many in flight."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from hindsight_integrations.errors import ModelError

T = TypeVar("T")


async def together(work: Callable[[T], Awaitable[None]], things: Iterable[T], at_once: int) -> None:
    """Do the work on each; a model that fails on one thing stops nothing, and is raised when all else is done.

    Raises:
        ModelError: the first that a piece of work raised.
    """
    failed: list[ModelError] = []
    room = anyio.Semaphore(at_once)

    async def one(thing: T) -> None:
        try:
            await work(thing)
        except ModelError as error:
            failed.append(error)
        finally:
            room.release()

    async with anyio.create_task_group() as tasks:
        for thing in things:
            await room.acquire()
            tasks.start_soon(one, thing)
    if failed:
        raise failed[0]

"""Concurrent work with a maximum number of tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import anyio

from hindsight_integrations.errors import ModelError

T = TypeVar("T")


async def together(work: Callable[[T], Awaitable[None]], things: Iterable[T], at_once: int) -> None:
    """Call `work` on all things; a failing model stops only its own thing, and its error is raised at the end.

    Raises:
        ModelError: the first one that was raised.
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

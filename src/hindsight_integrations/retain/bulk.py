"""Many retains in few commits: each batch is read, embedded and committed together, and a bad item keeps to itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from hindsight_integrations.errors import BankForgotten, EngineClosed, HindsightError
from hindsight_integrations.indexes.bank_view import Projector
from hindsight_integrations.model.results import ItemOutcome
from hindsight_integrations.retain.pipeline import nothing_new, retain, store
from hindsight_integrations.retain.prepare import prepare
from hindsight_integrations.retain.proposal import Proposal
from hindsight_integrations.services import Services
from hindsight_integrations.validation.retain_request import RetainRequest

Given = RetainRequest | HindsightError
"""A checked item, or why it cannot be retained."""


async def retain_many(
    items: Sequence[Given],
    projector: Projector,
    services: Services,
    *,
    batch_size: int,
    concurrent: int,
    progress: Callable[[int, int], object] | None = None,
) -> list[ItemOutcome]:
    """Retain the items in order, a commit a batch.

    A batch is all or nothing on disk, and what is there already is known by its ids: after a kill the same call again
    does what is left.

    Args:
        items: what to retain.
        projector: the bank.
        services: the engine's.
        batch_size: at most so many items a commit.
        concurrent: at most so many items read by the model at once.
        progress: called after each batch with the number of items done, and of all.
    """
    outcomes: list[ItemOutcome] = []
    for batch in batches(items, batch_size):
        outcomes += await _retain_batch(batch, projector, services, concurrent)
        if progress:
            progress(len(outcomes), len(items))
    return outcomes


def batches(items: Sequence[Given], size: int) -> Iterator[list[Given]]:
    """The items in order; two versions of one message or document never share a batch, since the later must win."""
    batch: list[Given] = []
    taken: set[tuple[str, str, str]] = set()
    for item in items:
        slots = item.slots if isinstance(item, RetainRequest) else frozenset()
        if batch and (len(batch) >= size or slots & taken):
            yield batch
            batch, taken = [], set()
        batch.append(item)
        taken |= slots
    if batch:
        yield batch


async def _retain_batch(
    batch: Sequence[Given], projector: Projector, services: Services, concurrent: int
) -> list[ItemOutcome]:
    slots = frozenset(slot for item in batch if isinstance(item, RetainRequest) for slot in item.slots)
    async with services.in_flight.alone(slots):
        gate = asyncio.Semaphore(concurrent)
        read = await asyncio.gather(*(_read(item, projector, services, gate) for item in batch))
        proposals = [item for item in read if isinstance(item, Proposal)]
        try:
            results = iter(await store(proposals, projector, services) if proposals else [])
        except (EngineClosed, BankForgotten):
            raise
        except HindsightError as error:
            if len(proposals) == 1:
                return [ItemOutcome(None, error) if isinstance(item, Proposal) else item for item in read]
        else:
            return [ItemOutcome(next(results)) if isinstance(item, Proposal) else item for item in read]
    return [  # something in the batch cannot be stored: find out what, one by one
        await _alone(given, projector, services) if isinstance(item, Proposal) else item
        for given, item in zip(batch, read, strict=True)
    ]


async def _read(
    item: Given, projector: Projector, services: Services, gate: asyncio.Semaphore
) -> Proposal | ItemOutcome:
    if isinstance(item, HindsightError):
        return ItemOutcome(None, item)
    try:
        async with gate:
            proposal = await prepare(item, projector, services)
    except (EngineClosed, BankForgotten):
        raise
    except HindsightError as error:
        return ItemOutcome(None, error)
    return proposal or ItemOutcome(await nothing_new(item, projector, services))


async def _alone(item: Given, projector: Projector, services: Services) -> ItemOutcome:
    if isinstance(item, HindsightError):
        return ItemOutcome(None, item)
    try:
        return ItemOutcome(await retain([item], projector, services))
    except (EngineClosed, BankForgotten):
        raise
    except HindsightError as error:
        return ItemOutcome(None, error)

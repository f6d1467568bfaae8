"""What all verbs of a bank share: its row, its indexes while open, the engine's services; and the guard of verbs that write."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial, wraps
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

import numpy as np

from hindsight_integrations.bank.open_banks import OpenBanks
from hindsight_integrations.concurrency.workers import CheckedWorkers
from hindsight_integrations.errors import EmbedderMismatch, InvalidRequest
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.ledger.ledger import Ledger, Transaction
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.embedder import EmbedderIdentity
from hindsight_integrations.services import Services

P = ParamSpec("P")
R = TypeVar("R")


class BankContext:
    """One bank: what its verbs work on. It belongs to the bank's row, and outlives the closing of its indexes.

    Args:
        header: the bank's; of it only name and generation are used, which never change.
        banks: the engine's.
        services: the engine's; the bank's workers refuse to run anything once it is forgotten.
    """

    def __init__(self, header: BankHeader, banks: OpenBanks, services: Services) -> None:
        self._header, self._banks = header, banks
        workers = CheckedWorkers(services.workers, partial(banks.check, header))
        self.services = replace(services, workers=workers)

    @property
    def name(self) -> str:
        """The bank's id."""
        return self._header.name

    @property
    def ledger(self) -> Ledger:
        """The record itself."""
        return self.services.ledger

    @property
    def projection(self) -> BankProjection:
        """The bank's indexes and columns, opened if need be. Writer thread only."""
        return self._banks.opened(self._header)

    def catch_up(self) -> None:
        """Bring the indexes to what was committed. Writer thread only."""
        self.projection.catch_up()

    def problems(self) -> dict[str, str]:
        """Index name to reason, for each that could not be written. Writer thread only."""
        return self.projection.problems()

    def transaction(self) -> AbstractContextManager[tuple[BankView, Transaction]]:
        """The bank held against other writers, and a view of it as the transaction sees it. Writer thread only."""
        return self.projection.transaction()

    def leased(self) -> AbstractAsyncContextManager[BankProjection]:
        """The bank's indexes and columns, open until the end of the block.

        Raises:
            BankForgotten: the bank was forgotten.
            EngineClosed: the engine was closed.
        """
        return self._banks.lease(self._header)

    @asynccontextmanager
    async def viewing(self) -> AsyncIterator[BankView]:
        """The newest view, whose indexes stay open until the end of the block; see `current_view`."""
        async with self.leased() as projection:
            yield await self.current_view(projection)

    async def current_view(self, projection: BankProjection) -> BankView:
        """The newest view; a reader of somebody else's ledger, or an index to be healed, catches up first.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        view = projection.view()
        workers = self.services.workers
        if projection.unsettled(view) or (self.services.read_only and await workers.read(projection.behind)):
            await workers.write(projection.catch_up)
            view = projection.view()
        if len(view.columns):
            await workers.read(self.check_embedder)
        return view

    def check_embedder(self) -> EmbedderIdentity | None:
        """Refuse to compare vectors of two embedders; who made the bank's, None if nobody has yet.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        stored = self.services.ledger.bank(self.name).embedder
        given = self.services.embedder.identity
        if stored is not None and not stored.matches(given):
            raise EmbedderMismatch(self.name, str(stored), str(given))
        return stored

    def claim_embedder(self) -> None:
        """On the first retain the bank remembers who makes its vectors; later ones must be the same.

        Raises:
            EmbedderMismatch: another embedder made the bank's vectors.
        """
        if self.check_embedder() is None:
            nothing = np.empty(0, np.int64)
            self.services.ledger.set_embedder(
                self.name, self.services.embedder.identity, nothing, np.empty((0, 0), np.float32)
            )
            self.catch_up()


def check_writable(services: Services, verb: str) -> None:
    """Refuse a verb that writes on a read-only engine.

    Raises:
        InvalidRequest: the engine was opened read-only; the error names the verb.
    """
    if services.read_only:
        raise InvalidRequest(verb, "the engine was opened read-only", "Open it without read_only=True.")


class BankVerbs:
    """Verbs of one bank: the bank itself, or a namespace of it."""

    namespace: ClassVar[str] = ""
    """The attribute of the bank under which they are called; empty for the bank's own."""

    def __init__(self, context: BankContext) -> None:
        self._context = context


Verbs = TypeVar("Verbs", bound=BankVerbs)


def writes(
    verb: Callable[Concatenate[Verbs, P], Awaitable[R]],
) -> Callable[Concatenate[Verbs, P], Awaitable[R]]:
    """A verb that a read-only engine refuses before anything else is looked at, naming the verb."""

    @wraps(verb)
    async def guarded(self: Verbs, /, *args: P.args, **kwargs: P.kwargs) -> R:
        called = ".".join(filter(None, (self.namespace, verb.__name__)))
        check_writable(self._context.services, called)
        return await verb(self, *args, **kwargs)

    return guarded

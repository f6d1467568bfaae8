"""The context that all methods of a bank share: header, open indexes and services. Also the read-only check."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial, wraps
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

from hindsight_integrations.bank.open_banks import OpenBanks
from hindsight_integrations.concurrency.workers import CheckedWorkers
from hindsight_integrations.errors import InvalidRequest, LedgerUnreachable, StorageError
from hindsight_integrations.indexes.bank_view import BankView
from hindsight_integrations.indexes.projection import BankProjection
from hindsight_integrations.ledger.ledger import Ledger, LedgerReader, Transaction
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.services import Services

logger = logging.getLogger("hindsight_integrations")

P = ParamSpec("P")
R = TypeVar("R")


class BankContext:
    """A bank with its services and access to its indexes, which may be closed at first.

    Args:
        header: header of the bank. Only its name and generation are used, because these never change.
        banks: the engine's open banks.
        services: services of the engine.

    Attributes:
        services: services of the engine, whose workers raise BankForgotten once the bank is forgotten.
        view_services: the engine's services without that check, for work on a view or in a transaction, where
            a forgotten bank is detected anyway.
    """

    def __init__(self, header: BankHeader, banks: OpenBanks, services: Services) -> None:
        self._header, self._banks = header, banks
        lane, here = services.workers.lane(header.key), partial(banks.check_here, header)
        checked = partial(CheckedWorkers, lane, header.name)
        self.services = replace(services, workers=checked(partial(banks.check, header), here))
        self.view_services = replace(services, workers=checked(here, here))

    @property
    def name(self) -> str:
        """The bank's name."""
        return self._header.name

    @property
    def generation(self) -> int:
        """A number that distinguishes the bank from forgotten banks with the same name."""
        return self._header.generation

    @property
    def ledger(self) -> Ledger:
        """The engine's ledger."""
        return self.services.ledger

    @property
    def projection(self) -> BankProjection:
        """The bank's indexes and columns, opened on demand. Writer thread only."""
        return self._banks.opened(self._header)

    def catch_up(self) -> None:
        """Apply committed changes to the indexes. Writer thread only.

        If the server of a shared ledger cannot be reached, the changes are applied by the next call.
        """
        try:
            self.projection.catch_up()
        except LedgerUnreachable as error:
            logger.warning("bank %r: its indexes will be updated at the next call: %s", self.name, error)

    def problems(self) -> dict[str, str]:
        """Return why indexes could not be written, by index name. Writer thread only."""
        return self.projection.problems()

    def transaction(self) -> AbstractContextManager[tuple[BankView, Transaction]]:
        """Begin a transaction on the bank, together with a view of the bank's state. Writer thread only."""
        return self.projection.transaction()

    def leased(self) -> AbstractAsyncContextManager[BankProjection]:
        """Lease the bank's indexes and columns, which then stay open until the end of the block.

        Raises:
            BankForgotten: the bank was forgotten.
            EngineClosed: the engine was closed.
        """
        return self._banks.lease(self._header)

    @asynccontextmanager
    async def viewing(self) -> AsyncIterator[BankView]:
        """Yield the newest view, whose indexes stay open until the end of the block. See `current_view`."""
        async with self.leased() as projection:
            yield await self.current_view(projection)

    async def current_view(self, projection: BankProjection) -> BankView:
        """Return the newest view. If other processes may write, or an index is being repaired, update the indexes first.

        Raises:
            EmbedderMismatch: the bank's vectors were made by another embedder.
        """
        view = projection.view()
        workers = self.view_services.workers
        if projection.unsettled(view) or (self.ledger.shared and await workers.read(projection.behind)):
            await workers.write(projection.catch_up)
            view = projection.view()
        if len(view.columns):
            view.check_embedder(self.services.embedder.identity)
        return view

    async def settled_read(
        self, projection: BankProjection, read: Callable[[BankView], Awaitable[R]]
    ) -> tuple[BankView, R]:
        """Read from one consistent view; repeat the read if an index was rebuilt in the meantime. Return view and result.

        A rebuild during the read may make the result incomplete or cause an error.
        """
        while True:
            view = await self.current_view(projection)
            try:
                result = await read(view)
            except StorageError:
                if view.rebuilds == projection.rebuilds:
                    raise
                continue
            if view.rebuilds == projection.rebuilds:
                return view, result

    def check_embedder(self) -> None:
        """Check that the engine's embedder made the bank's vectors, as far as the indexes know. Writer thread only.

        Raises:
            EmbedderMismatch: the bank's vectors were made by another embedder.
        """
        self.projection.view().check_embedder(self.services.embedder.identity)

    def claim_embedder(self) -> None:
        """Record the engine's embedder if the bank has none yet; otherwise check that it is the same. Writer thread only.

        Raises:
            EmbedderMismatch: the bank's vectors were made by another embedder.
        """
        self.check_embedder()
        if self.projection.view().embedder is None:
            self.ledger.claim_embedder(self.name, self.services.embedder.identity)
            self.catch_up()
            self.check_embedder()

    def single_read(self) -> AbstractContextManager[LedgerReader]:
        """Return a context manager for a single query of the ledger."""
        return self.ledger.single_read(self.name, self._header.generation)


def check_writable(services: Services, verb: str) -> None:
    """Raise an error if a method that writes is called on a read-only engine.

    Raises:
        InvalidRequest: the engine was opened read-only; the error names the method.
    """
    if services.read_only:
        raise InvalidRequest(verb, "the engine was opened read-only", "Open it without read_only=True.")


class BankVerbs:
    """Base class of a bank's methods and of its namespaces."""

    namespace: ClassVar[str] = ""
    """Name of the bank's attribute that holds this namespace; empty for the bank's own methods."""

    def __init__(self, context: BankContext) -> None:
        self._context = context


Verbs = TypeVar("Verbs", bound=BankVerbs)


def writes(
    verb: Callable[Concatenate[Verbs, P], Awaitable[R]],
) -> Callable[Concatenate[Verbs, P], Awaitable[R]]:
    """Decorate a method that writes: on a read-only engine, it fails before any other check."""

    @wraps(verb)
    async def guarded(self: Verbs, /, *args: P.args, **kwargs: P.kwargs) -> R:
        called = ".".join(filter(None, (self.namespace, verb.__name__)))
        check_writable(self._context.services, called)
        return await verb(self, *args, **kwargs)

    guarded.writes = True  # type: ignore[attr-defined] # engine/remote.py does not retry methods with this mark
    return guarded

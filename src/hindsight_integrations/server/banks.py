"""The banks of a served engine, and access to them by a request's token."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Annotated

from fastapi import Depends, Request

from hindsight_integrations import AsyncHindsight, AsyncMemoryBank
from hindsight_integrations.errors import BankForgotten, BankNotFound
from hindsight_integrations.server.access import Access

MOST_BANKS = 10_000  # maximum number of bank objects in memory; each is small


class Banks:
    """The banks of an engine. Each is opened once."""

    def __init__(self, engine: AsyncHindsight) -> None:
        self.engine = engine
        self._opened: OrderedDict[str, AsyncMemoryBank] = OrderedDict()

    async def get(self, name: str, *, create: bool = False) -> AsyncMemoryBank:
        """Return a bank.

        Raises:
            BankNotFound: the bank does not exist, and `create` is False.
        """
        bank = self._opened.get(name)
        if bank is None:
            bank = self._opened[name] = await self.engine.bank(name, create=create)
        self._opened.move_to_end(name)
        if len(self._opened) > MOST_BANKS:
            self._opened.popitem(last=False)
        return bank

    async def of_generation(self, name: str, generation: int | None) -> AsyncMemoryBank:
        """Return a bank that a client opened earlier.

        Raises:
            BankForgotten: the bank was forgotten in the meantime.
        """
        if generation is None:
            return await self.get(name)
        with suppress(BankNotFound):
            if (bank := await self.get(name)).generation == generation:
                return bank
            self.drop(name)  # another process may have forgotten the bank
            if (bank := await self.get(name)).generation == generation:
                return bank
        raise BankForgotten(name)

    def drop(self, name: str) -> None:
        """Discard the object of a forgotten bank."""
        self._opened.pop(name, None)


def access_of(request: Request) -> Access:
    """Return the banks that the client of a request may use."""
    access: Access = request.state.access
    return access


def banks_of(request: Request) -> Banks:
    """Return the banks of the app."""
    banks: Banks = request.app.state.banks
    return banks


GivenAccess = Annotated[Access, Depends(access_of)]
GivenBanks = Annotated[Banks, Depends(banks_of)]

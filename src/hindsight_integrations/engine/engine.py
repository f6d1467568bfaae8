"""Engine: hands out banks and closes what it owns. Which backends it runs on is `assembly`'s business."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from hindsight_integrations.bank import AsyncMemoryBank, BankContext, OpenBanks, Tools, check_writable
from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.errors import StorageError
from hindsight_integrations.ports.ledger import BankHeader
from hindsight_integrations.search.projection import BankProjection, Indexes
from hindsight_integrations.validation.limits import checked_bank_id

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Storage:
    """What an engine keeps its banks in, beside the ledger.

    Attributes:
        open_indexes: opens the indexes of one bank.
        names: role to what serves it.
        close: closes every storage backend, the ledger included.
    """

    open_indexes: Callable[[BankHeader], Indexes]
    names: dict[str, str]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Health:
    """What an engine runs on and how its open banks are, for people.

    Attributes:
        backends: role to what serves it.
        banks: bank to (units, revision) of every bank.
        failures: open bank to the indexes that could not be written or healed, and why; empty when all is well.
        rebuilt: open bank to what failed since it was opened and was healed from the ledger.
        damaged: bank to the ids of memories whose text, times or vector are not what was written; a deep look alone
            finds them.
        ledger: what is wrong with the ledger's file; likewise.
    """

    backends: dict[str, str]
    banks: dict[str, tuple[int, int]]
    failures: dict[str, str]
    rebuilt: dict[str, str]
    damaged: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ledger: tuple[str, ...] = ()


class Engine:
    """Opens and closes banks, and everything it was given.

    Safe to share between threads and event loops. After `close`, and in a forked child, it refuses to work.
    """

    def __init__(self, tools: Tools, storage: Storage, workers: Workers) -> None:
        """`workers` are those of `tools`, which the engine stops at the end."""
        self._tools, self._storage, self._workers = tools, storage, workers
        self._banks = OpenBanks(
            tools.ledger,
            workers,
            self._projection,
            most=tools.config.storage.open_banks,
            shared=tools.read_only,
        )
        self._closing = threading.Lock()
        self._closed = self._released = False
        _engines.add(self)

    async def bank(self, name: str, *, create: bool = True) -> AsyncMemoryBank:
        """One bank, by any name up to 512 characters.

        What it gives belongs to this very bank: once that is forgotten it is of no use, whatever bears the name next.

        Args:
            name: the bank id.
            create: make it if it does not exist.

        Raises:
            InvalidRequest: the name cannot be one.
            BankNotFound: it does not exist and create is False.
        """
        checked = checked_bank_id(name)
        header = await self._workers.write(self._open, checked, create and not self._tools.read_only)
        return AsyncMemoryBank(BankContext(header, self._banks, self._tools))

    async def banks(self) -> list[str]:
        """Names of all banks, sorted."""
        return [header.name for header in await self._workers.read(self._tools.ledger.banks)]

    async def doctor(self, *, deep: bool = False) -> Health:
        """What the engine runs on, what its banks hold, and what is broken.

        Args:
            deep: also read everything and compare it with its checksums: seconds for 100,000 memories.
        """
        return await self._workers.read(self._examine_deeply if deep else self._examine)

    async def forget_bank(self, name: str) -> int:
        """Erase a whole bank: its memories, its profile and the history of that, its indexes and their files.

        Objects made for the bank before raise BankForgotten afterwards, and do nothing; `bank(name)` starts a new bank.

        Args:
            name: the bank id.

        Returns:
            How many memories it held.

        Raises:
            BankNotFound: there is no bank of that name.
            InvalidRequest: the engine was opened read-only.
        """
        check_writable(self._tools, "forget_bank")
        return await self._workers.write(self._forget_bank, checked_bank_id(name))

    def _forget_bank(self, name: str) -> int:
        ledger = self._tools.ledger
        # Indexes first: killed in between, the ledger still knows the bank, and this can be done again.
        with self._banks.forgetting(ledger.bank(name)):
            held = ledger.drop_bank(name)
        ledger.scrub()
        return held

    @property
    def closed(self) -> bool:
        """Whether it refuses to work: closed, or in a forked child."""
        return self._closed

    def check_open(self) -> None:
        """Raises EngineClosed once closed."""
        self._workers.check_open()

    async def close(self) -> None:
        """Finish what was started, then close every bank and backend. Closing twice is fine.

        An interrupt ends the waiting alone: the closing goes on, a second `close` waits for it, and so does the end of
        the process.
        """
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        """`close` for callers without an event loop; blocks until running writes have finished."""
        if self._released:
            return
        # On a thread of its own, since Ctrl-C strikes the main thread at any line; Python waits for it at exit.
        closer = ThreadPoolExecutor(1, thread_name_prefix="hindsight-close")
        try:
            closing = closer.submit(self._release)
        except RuntimeError:  # the executor's only complaint: the interpreter is on its way out
            self._release()
        else:
            closer.shutdown(wait=False)
            closing.result()

    def _release(self) -> None:
        with self._closing:
            if self._released:
                return
            self._closed = True
            self._workers.close()
            with ExitStack() as closing:  # what fails must not keep the rest open
                closing.callback(self._storage.close)
                closing.callback(self._banks.close)
            self._released = True

    def _abandon(self) -> None:
        """In a forked child: files, threads and the JVM belong to the parent; only refuse to work.

        Takes no lock: a thread of the parent may hold it, and does not run here.
        """
        self._closed = self._released = True
        self._workers.abandon("it was opened before a fork")

    def _open(self, name: str, create: bool) -> BankHeader:
        ledger = self._tools.ledger
        header = ledger.create_bank(name) if create else ledger.bank(name)
        self._banks.opened(header)
        return header

    def _projection(self, header: BankHeader) -> BankProjection:
        return BankProjection(header.name, self._tools.ledger, self._storage.open_indexes(header))

    def _examine(self) -> Health:
        ledger = self._tools.ledger
        headers = ledger.banks()
        opened = self._banks.projections()
        return Health(
            backends={
                **self._storage.names,
                "embedder": str(self._tools.embedder.identity),
                "reranker": self._tools.reranker.name if self._tools.reranker else "none",
                "model": self._tools.model.name if self._tools.model else "none",
                "tokens": self._tools.tokens.name,
            },
            banks={header.name: (ledger.count(header.name), header.revision) for header in headers},
            failures=_told({name: projection.problems() for name, projection in opened.items()}),
            rebuilt=_told({name: projection.rebuilt for name, projection in opened.items()}),
        )

    def _examine_deeply(self) -> Health:
        ledger, health = self._tools.ledger, self._examine()
        damaged, failures = {}, dict(health.failures)
        for name in health.banks:
            try:
                found = dict.fromkeys((*ledger.damaged(name), *ledger.damaged_vectors(name)))
            except StorageError as error:  # pages that cannot be read at all
                failures[name] = "; ".join(filter(None, (failures.get(name), str(error))))
            else:
                damaged.update({name: tuple(found)} if found else {})
        return replace(health, failures=failures, damaged=damaged, ledger=ledger.problems())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _told(found: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Bank to its indexes and what is to be said of each, where there is anything."""
    return {
        bank: "; ".join(f"{index}: {what}" for index, what in indexes.items())
        for bank, indexes in found.items()
        if indexes
    }


def _abandon_all() -> None:
    for engine in list(_engines):
        engine._abandon()  # noqa: SLF001 - the module's own class


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_abandon_all)

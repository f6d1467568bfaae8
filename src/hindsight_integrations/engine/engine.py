"""Engine: hands out banks and closes what it owns. Which backends it runs on is `assembly`'s business."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from hindsight_integrations.bank import AsyncMemoryBank, BankContext, OpenBanks, check_writable
from hindsight_integrations.bank.items import settle_items
from hindsight_integrations.bank.maintenance import forget_expired
from hindsight_integrations.bank.tasks import TaskRun
from hindsight_integrations.concurrency.workers import HeardWorkers, Workers
from hindsight_integrations.config import RetentionConfig
from hindsight_integrations.engine.health import (
    Health,
    bank_health,
    checked_against_what_was_written,
    task_health,
)
from hindsight_integrations.engine.worker import Draining, Until, Worker
from hindsight_integrations.errors import BankNotFound, BankNotOpen, InvalidRequest, shown
from hindsight_integrations.indexes.projection import BankProjection, Indexes
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.references import BankReference
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, WorkerMode
from hindsight_integrations.services import Services
from hindsight_integrations.validation.limits import checked_bank_id

ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()
"""All of this process, for as long as somebody uses them."""


@dataclass(frozen=True, slots=True)
class Storage:
    """What an engine keeps its banks in, beside the ledger.

    Attributes:
        open_indexes: opens the indexes of one bank.
        erase_chats: erases the chats that are kept beside a bank.
        names: role to what serves it.
        close: closes every storage backend, the ledger included.
    """

    open_indexes: Callable[[BankHeader], Indexes]
    erase_chats: Callable[[str], None]
    names: dict[str, str]
    close: Callable[[], None]


class Engine:
    """Opens and closes banks, and everything it was given.

    Safe to share between threads and event loops. After `close`, and in a forked child, it refuses to work.
    """

    def __init__(self, services: Services, storage: Storage, workers: Workers) -> None:
        """`workers` are those of `services`, which the engine stops at the end."""
        self._services, self._storage, self._workers = services, storage, workers
        self._banks = OpenBanks(
            services.ledger,
            workers,
            partial(_projection, services.ledger, storage.open_indexes),
            most=services.config.storage.open_banks,
            shared=services.read_only,
        )
        self._closing = threading.Lock()
        self._closed = self._released = False
        self._worker: Worker | None = None
        ENGINES.add(self)
        if services.worker is WorkerMode.OWN:
            self._begin_work()

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
        header = await self._workers.write(self._open, checked, create and not self._services.read_only)
        return AsyncMemoryBank(BankContext(header, self._banks, self._services))

    def bank_now(self, name: str) -> AsyncMemoryBank:
        """A bank that exists, for callers without an event loop; blocks for one read of the ledger.

        Raises:
            BankNotFound: it does not exist.
            EngineClosed: the engine was closed.
        """
        header = self._workers.read_now(self._services.ledger.bank, name)
        return AsyncMemoryBank(BankContext(header, self._banks, self._services))

    @property
    def place(self) -> str:
        """Where its banks are: the resolved data directory, or a name of its own if it keeps nothing on disk."""
        return self._services.place

    @property
    def read_only(self) -> bool:
        """Whether it only reads what another engine may be writing."""
        return self._services.read_only

    @property
    def worker(self) -> WorkerMode:
        """Who does the waiting work without being called: none, own or elsewhere."""
        return self._services.worker

    async def banks(self) -> list[str]:
        """Names of all banks, sorted."""
        return [header.name for header in await self._workers.read(self._services.ledger.banks)]

    async def doctor(self, *, deep: bool = False) -> Health:
        """What the engine runs on, what its banks hold, and what is broken.

        Args:
            deep: also read everything and compare it with its checksums: seconds for 100,000 memories.
        """
        return await self._workers.read(self._examine, deep)

    async def settle(
        self, *, wait: bool = False, progress: Callable[[Settled], object] | None = None
    ) -> Settled:
        """Do the waiting work of all banks that is due, several tasks at once, until none is.

        As `bank.tasks.settle` does for one bank. Where the model is unavailable three times in a row, what needs it
        is left waiting.

        Args:
            wait: also wait for what is due later or needs a model that is unavailable, until nothing waits that could be done.
            progress: called after each task with what it brought.

        Raises:
            EngineClosed: the engine was closed.
            InvalidRequest: the engine was opened read-only; `progress` cannot be called.
        """
        check_writable(self._services, "settle")
        if progress is not None and not callable(progress):
            raise InvalidRequest(
                "progress", f"{shown(progress)} cannot be called", "Pass a function, or None."
            )
        settled = Settled()

        def ended(_: Task, run: TaskRun) -> None:
            nonlocal settled
            settled += run.settled
            if progress is not None:
                progress(run.settled)

        await self._settle_items()
        await self._forget_expired()
        until = Until.NOTHING_WAITS if wait else Until.NOTHING_IS_DUE
        await Draining(self._services, self._banks, ended, early=True).run(until)
        return settled

    async def _settle_items(self) -> None:
        """Erase the items of all banks whose time has run out, and scrub the files of what was deleted."""
        services = self._services
        for name in await services.workers.read(services.ledger.items.expired_banks, services.clock.now()):
            with suppress(BankNotFound):  # forgotten meanwhile
                header = await services.workers.read(services.ledger.bank, name)
                await settle_items(BankContext(header, self._banks, services))

    async def _forget_expired(self) -> None:
        """Forget what is older than it may get, in all banks."""
        services = self._services
        if services.config.retention == RetentionConfig():
            return
        for header in await services.workers.read(services.ledger.banks):
            with suppress(BankNotFound):  # forgotten meanwhile
                await services.workers.write(forget_expired, BankContext(header, self._banks, services))

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
        check_writable(self._services, "forget_bank")
        return await self._workers.write(self._forget_bank, checked_bank_id(name))

    def _forget_bank(self, name: str) -> int:
        ledger = self._services.ledger
        # Indexes first: killed in between, the ledger still knows the bank, and this can be done again.
        with self._banks.forgetting(ledger.bank(name)):
            held = ledger.erasure.drop_bank(name)
        ledger.erasure.scrub()
        self._storage.erase_chats(name)
        return held

    @property
    def closed(self) -> bool:
        """Whether it refuses to work: closed, or in a forked child."""
        return self._closed

    def check_open(self) -> None:
        """Raises EngineClosed once closed."""
        self._workers.check_open()

    async def close(self) -> None:
        """Finish reads and writes that run, then close every bank and backend. Closing twice is fine.

        Calls that wait for a model write nothing afterwards and raise EngineClosed. Without `await`, `close` cancels them and
        returns within about a second, even if the model never answers.

        An interrupt ends the waiting alone: the closing goes on, a second `close` waits for it, and so does the end of
        the process.
        """
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        """`close` for callers without an event loop; blocks until running writes have finished.

        Raises:
            InvalidRequest: it was called by what the engine's worker runs.
        """
        if self._released:
            return
        if self._worker is not None and self._worker.is_here():
            raise InvalidRequest(
                "close",
                "a model or embedder called it in the worker, which it ends",
                "Call it from another thread.",
            )
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
            if self._worker is not None:
                self._worker.stop()  # while there are workers by which it can give its leases back
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
        if self._worker is not None:
            self._worker.abandon()
        self._workers.abandon("it was opened before a fork")

    def _open(self, name: str, create: bool) -> BankHeader:
        ledger = self._services.ledger
        header = ledger.create_bank(name) if create else ledger.bank(name)
        self._banks.opened(header)
        return header

    def _begin_work(self) -> None:
        """Start the worker, and let it hear of all that is written."""
        worker = self._worker = Worker(self._services, self._banks)
        self._services = replace(self._services, workers=HeardWorkers(self._workers, worker.call))
        # Of an engine dropped without being closed, its worker ends too; it does not keep the engine from being dropped.
        weakref.finalize(self, worker.dismiss).atexit = False

    def _examine(self, deep: bool) -> Health:
        services, worker = self._services, self._worker
        tasks = task_health(
            services,
            working=worker is not None and worker.running,
            last_failure=worker.last_failure if worker is not None else "",
        )
        health = bank_health(services, self._storage.names, self._banks, tasks)
        return checked_against_what_was_written(health, services) if deep else health

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _projection(
    ledger: Ledger, open_indexes: Callable[[BankHeader], Indexes], header: BankHeader
) -> BankProjection:
    return BankProjection(header.name, ledger, open_indexes(header))


def _abandon_all() -> None:
    for engine in list(ENGINES):
        engine._abandon()  # noqa: SLF001 - the module's own class


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_abandon_all)


def bank_at(reference: BankReference) -> AsyncMemoryBank:
    """The bank that `bank.reference` gave, in the engine of this process that has its directory open.

    Of several that have (a reader beside the writer) the one that writes. Blocks for one read of the ledger, so that it
    serves where objects are deserialised, in or out of an event loop.

    Args:
        reference: as `bank.reference` gave it, here or in another process.

    Raises:
        InvalidRequest: it is no reference.
        BankNotOpen: no open engine of this process has its directory.
        BankNotFound: the directory has no such bank (any more).
    """
    if not isinstance(reference, BankReference):
        raise InvalidRequest("reference", f"{shown(reference)} is none", "Pass what bank.reference gave.")
    here = [engine for engine in list(ENGINES) if engine.place == reference.place and not engine.closed]
    if not here:
        raise BankNotOpen(reference.bank, reference.place)
    return min(here, key=lambda engine: engine.read_only).bank_now(reference.bank)

"""The engine: opens banks, and closes them and the backends that `assembly` chose."""

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
from hindsight_integrations.bank.maintenance import forget_expired_everywhere
from hindsight_integrations.bank.tasks import TaskRun
from hindsight_integrations.concurrency.workers import HeardWorkers, Workers
from hindsight_integrations.engine.health import (
    Health,
    bank_health,
    checked_against_what_was_written,
    task_health,
)
from hindsight_integrations.engine.worker import Draining, Until, Worker
from hindsight_integrations.errors import BankNotFound, BankNotOpen, InvalidRequest, shown
from hindsight_integrations.indexes.projection import Background, BankProjection, Indexes
from hindsight_integrations.ledger.copies import Holder, RegisteredCopy
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import BankHeader, Scrub
from hindsight_integrations.model.erasure import BankCopy, ForgetReceipt
from hindsight_integrations.model.references import BankReference
from hindsight_integrations.model.results import Settled
from hindsight_integrations.model.tasks import Task, WorkerMode
from hindsight_integrations.services import Services
from hindsight_integrations.validation.limits import checked_bank_id, checked_words

ENGINES: weakref.WeakSet[Engine] = weakref.WeakSet()
"""All open engines of this process."""


@dataclass(frozen=True, slots=True)
class Storage:
    """An engine's indexes and chat histories.

    Attributes:
        open_indexes: function that opens the indexes of a bank.
        erase_chats: function that erases the chat history of a bank.
        names: name of the backend by role.
        close: function that closes every storage backend, including the ledger.
        holder: the holder under which copies of banks are registered; None for a data directory and for
            read-only engines.
    """

    open_indexes: Callable[[BankHeader], Indexes]
    erase_chats: Callable[[str], None]
    names: dict[str, str]
    close: Callable[[], None]
    holder: Holder | None


class Engine:
    """Opens banks, and closes them and the backends.

    Can be shared between threads and event loops. After `close`, and in a forked child, its methods raise EngineClosed.
    """

    def __init__(self, services: Services, storage: Storage, workers: Workers) -> None:
        """Start the engine. It owns `workers`, on which `services` runs, and stops them when it is closed."""
        self._services, self._storage, self._workers = services, storage, workers
        self._banks = OpenBanks(
            services.ledger,
            workers,
            partial(_projection, services.ledger, storage.open_indexes),
            most=services.config.storage.open_banks,
            holder=storage.holder,
        )
        self._closing = threading.Lock()
        self._closed = self._released = False
        self._worker: Worker | None = None
        ENGINES.add(self)
        if services.worker is WorkerMode.OWN:
            self._begin_work()
        else:
            self._banks.delete_dropped()

    async def bank(self, name: str, *, create: bool = True) -> AsyncMemoryBank:
        """Open a bank by its name of up to 512 characters.

        After the bank is forgotten, the returned object raises BankForgotten, even if a new bank has the same name.

        Args:
            name: name of the bank.
            create: create the bank if it does not exist.

        Raises:
            InvalidRequest: the name is invalid.
            BankNotFound: the bank does not exist and `create` is False.
        """
        checked = checked_bank_id(name)
        create = create and not self._services.read_only
        find = self._services.ledger.create_bank if create else self._services.ledger.bank
        header = await self._workers.write(find, checked)
        await self._workers.lane(header.key).write(self._banks.opened, header)
        return AsyncMemoryBank(BankContext(header, self._banks, self._services))

    def bank_now(self, name: str) -> AsyncMemoryBank:
        """Open an existing bank without an event loop. Blocks for one read of the ledger.

        Raises:
            BankNotFound: the bank does not exist.
            EngineClosed: the engine was closed.
        """
        header = self._workers.read_now(self._services.ledger.bank, name)
        return AsyncMemoryBank(BankContext(header, self._banks, self._services))

    @property
    def place(self) -> str:
        """The resolved data directory, a database address without user and password, or a unique name for an in-memory engine."""
        return self._services.place

    @property
    def read_only(self) -> bool:
        """Whether the engine was opened read-only."""
        return self._services.read_only

    @property
    def worker(self) -> WorkerMode:
        """Where queued tasks run."""
        return self._services.worker

    async def banks(self) -> list[str]:
        """Return the names of all banks, sorted."""
        return [header.name for header in await self._workers.read(self._services.ledger.banks)]

    async def doctor(self, *, deep: bool = False) -> Health:
        """Report the state of backends, banks and tasks, and any problems.

        Args:
            deep: also verify all checksums, which takes seconds for 100,000 memories.
        """
        return await self._workers.read(self._examine, deep)

    async def settle(
        self, *, wait: bool = False, progress: Callable[[Settled], object] | None = None
    ) -> Settled:
        """Run the due tasks of all banks, several at the same time, until none is due.

        See `bank.tasks.settle` for a single bank. If the model is unavailable three times in a row, tasks that need it stay
        queued.

        Args:
            wait: also wait for tasks that are due later or whose model is unavailable, until no task is left that can run.
            progress: called after each task with its result.

        Raises:
            EngineClosed: the engine was closed.
            InvalidRequest: the engine was opened read-only, or `progress` is not callable.
        """
        check_writable(self._services, "settle")
        if progress is not None and not callable(progress):
            raise InvalidRequest(
                "progress", f"{shown(progress)} is not callable", "Pass a function, or None."
            )
        settled = Settled()

        def ended(_: Task, run: TaskRun) -> None:
            nonlocal settled
            settled += run.settled
            if progress is not None:
                progress(run.settled)

        await self._settle_items()
        await forget_expired_everywhere(self._services, self._banks)
        until = Until.NOTHING_WAITS if wait else Until.NOTHING_IS_DUE
        await Draining(self._services, self._banks, ended, early=True).run(until)
        return settled

    async def _settle_items(self) -> None:
        """Erase expired items of all banks, and remove the bytes of deleted items from the files."""
        services = self._services
        for name in await services.workers.read(services.ledger.items.expired_banks, services.clock.now()):
            with suppress(BankNotFound):  # the bank was forgotten after the names were read
                header = await services.workers.read(services.ledger.bank, name)
                await settle_items(BankContext(header, self._banks, services))

    async def forget_bank(self, name: str) -> ForgetReceipt:
        """Erase a whole bank: its memories, its profile with history, and its indexes with their files.

        Existing objects of the bank then raise BankForgotten; `bank(name)` creates a new bank.

        Args:
            name: name of the bank.

        Returns:
            A receipt with the number of erased rows of each kind and, on PostgreSQL, the copies that other processes must delete.

        Raises:
            BankNotFound: no bank has this name.
            InvalidRequest: the engine was opened read-only.
        """
        check_writable(self._services, "forget_bank")
        header = await self._workers.write(self._services.ledger.bank, checked_bank_id(name))
        return await self._workers.lane(header.key).write(self._forget_bank, header)

    def _forget_bank(self, header: BankHeader) -> ForgetReceipt:
        ledger, name = self._services.ledger, header.name
        # Indexes first: after a kill, the ledger still contains the bank, and the call can be repeated.
        with self._banks.forgetting(header):
            receipt = ledger.erasure.drop_bank(name)
        clean = ledger.erasure.scrub() is Scrub.CLEAN
        self._storage.erase_chats(name)
        return replace(receipt, files_clean=clean)

    async def copies(self, bank: str) -> tuple[BankCopy, ...]:
        """List the copies of a bank in all processes' indexes, and whether each has applied every erasure.

        Only banks on PostgreSQL have copies. For a forgotten bank, the list contains the copies that have not been deleted yet.

        Args:
            bank: name of the bank, which may be forgotten.

        Raises:
            InvalidRequest: the name is invalid.
        """
        return await self._workers.read(self._services.ledger.copies.of, checked_bank_id(bank))

    async def forget_holder(self, holder: str) -> int:
        """Record that all copies of a holder are gone, because its cache folder was deleted or its process was killed.

        Deletes nothing. If the cache folder still exists, its copies are registered again when a process uses it.

        Args:
            holder: `BankCopy.holder`, as listed by `copies`, `doctor` and receipts.

        Returns:
            The number of copies that were registered for the holder.

        Raises:
            InvalidRequest: the holder has no registered copies, or the engine was opened read-only.
        """
        check_writable(self._services, "forget_holder")
        deleted = await self._workers.write(
            self._services.ledger.copies.delete_holder, checked_words(holder, "holder")
        )
        if not deleted:
            raise InvalidRequest(
                "holder",
                f"{shown(holder)} has no registered copies",
                "Pass the `holder` of a copy that doctor lists.",
            )
        return deleted

    @property
    def closed(self) -> bool:
        """Whether the engine is closed, or belongs to the parent of this forked process."""
        return self._closed

    def check_open(self) -> None:
        """Raise EngineClosed if the engine is closed."""
        self._workers.check_open()

    async def close(self) -> None:
        """Finish running reads and writes, then close all banks and backends. Can be called more than once.

        Calls that wait for a model write nothing afterwards and raise EngineClosed. The sync `close` cancels them and returns
        within about a second, even if the model never answers.

        Interrupting `close` does not stop the closing. A second `close`, or the end of the process, waits for it.
        """
        await asyncio.to_thread(self.close_now)

    def close_now(self) -> None:
        """Close the engine without an event loop. Blocks until running writes have finished.

        Raises:
            InvalidRequest: called from the engine's own worker.
        """
        if self._released:
            return
        if self._worker is not None and self._worker.is_here():
            raise InvalidRequest(
                "close",
                "cannot be called from the engine's worker, which it would stop",
                "Call it from another thread.",
            )
        # On a separate thread, because Ctrl-C can interrupt the main thread anywhere; Python waits for it at exit.
        closer = ThreadPoolExecutor(1, thread_name_prefix="hindsight-close")
        try:
            closing = closer.submit(self._release)
        except RuntimeError:  # the interpreter is shutting down
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
                self._worker.stop()  # first, because it returns leases, which needs the other workers
            self._workers.close()
            with ExitStack() as closing:  # if one callback fails, the others still run
                closing.callback(self._storage.close)
                closing.callback(self._banks.close)
            self._released = True

    def _abandon(self) -> None:
        """Mark the engine as closed in a forked child, where files, threads and the JVM belong to the parent.

        Takes no lock, because a thread of the parent may hold it.
        """
        self._closed = self._released = True
        if self._worker is not None:
            self._worker.abandon()
        self._workers.abandon("it was opened before a fork")

    def _begin_work(self) -> None:
        worker = self._worker = Worker(self._services, self._banks)
        self._services = replace(self._services, workers=HeardWorkers(self._workers, worker.call))
        # The worker does not refer to the engine, so it ends if an engine is garbage-collected without `close`.
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
    ledger: Ledger,
    open_indexes: Callable[[BankHeader], Indexes],
    header: BankHeader,
    copy: RegisteredCopy | None,
    background: Background | None,
) -> BankProjection:
    return BankProjection(header.name, ledger, open_indexes(header), copy, background=background)


def _abandon_all() -> None:
    for engine in list(ENGINES):
        engine._abandon()  # noqa: SLF001 - the module's own class


if hasattr(os, "register_at_fork"):  # missing on Windows, which has no fork
    os.register_at_fork(after_in_child=_abandon_all)


def bank_at(reference: BankReference) -> AsyncMemoryBank:
    """Open a referenced bank in the engine of this process that has its directory open.

    If several engines have it open (one writer and read-only ones), the writer is used. Blocks for one read of the ledger, so
    that it works during deserialisation, inside or outside an event loop.

    Args:
        reference: the value of `bank.reference`, from this or another process.

    Raises:
        InvalidRequest: the value is not a reference.
        BankNotOpen: no engine in this process has its directory open.
        BankNotFound: the directory does not contain the bank, or the bank was forgotten.
    """
    if not isinstance(reference, BankReference):
        raise InvalidRequest(
            "reference", f"{shown(reference)} is not a bank reference", "Pass bank.reference."
        )
    here = [engine for engine in list(ENGINES) if engine.place == reference.place and not engine.closed]
    if not here:
        raise BankNotOpen(reference.bank, reference.place)
    return min(here, key=lambda engine: engine.read_only).bank_now(reference.bank)

"""The pool of banks with open indexes. The pool is limited in size, and a bank in use is never closed."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from hindsight_integrations.concurrency.workers import Workers
from hindsight_integrations.errors import BankForgotten, BankNotFound, EngineClosed, StorageError
from hindsight_integrations.indexes.projection import Background, BankProjection
from hindsight_integrations.ledger.copies import CopyBehind, Holder, RegisteredCopy
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.values import BankHeader
from hindsight_integrations.model.profile import BankProfile


class Places:
    """A semaphore with `most` places that serves waiters in order of arrival; they may run on different event loops."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._waiting: deque[Future[None]] = deque()
        self._lock = threading.Lock()

    async def take(self) -> None:
        """Wait for a place and take it. If the call is cancelled or the pool is closed, no place is taken."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            place: Future[None] = Future()
            self._waiting.append(place)
        with ExitStack() as on_failure:
            on_failure.callback(self._decline, place)
            await asyncio.wrap_future(place)
            on_failure.pop_all()

    def give_back(self) -> None:
        """Release a place to the next waiter."""
        with self._lock:
            while self._waiting:
                place = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    place.set_result(None)
                    return
            self._free += 1

    def _decline(self, place: Future[None]) -> None:
        """Stop waiting for a place; release the place if it was assigned already."""
        if not place.cancel():
            self.give_back()


logger = logging.getLogger("hindsight_integrations")


@dataclass(slots=True, eq=False)
class _OpenBank:
    """A bank with open indexes, and the number of calls that lease it."""

    header: BankHeader
    projection: BankProjection
    leases: int = 0


@dataclass(slots=True, eq=False)
class _Lease:
    """One call's lease of a bank. `ended` means that the call was cancelled and must not get a bank."""

    bank: _OpenBank | None = None
    has_place: bool = False
    ended: bool = False


class OpenBanks:
    """The open banks of an engine. Banks are opened on demand; beyond `most`, the least recently used is closed.

    A bank's indexes (its projection) are opened, closed and written only on the bank's lane, a queue whose
    jobs run one after another (with a single writer, on the writer thread). At most `most` banks are leased
    at the same time; further callers wait. A job on a lane never waits for a place, so it may exceed the
    limit by one bank.

    Args:
        ledger: the ledger that lists the banks.
        workers: the engine's workers.
        project: creates the projection of a bank, not opened yet, for a registered copy; its last argument
            runs the projection's work in the background.
        most: maximum number of open banks, at least 1.
        holder: the holder under which copies of a shared ledger's banks are registered; None if copies are
            not registered.
    """

    def __init__(
        self,
        ledger: Ledger,
        workers: Workers,
        project: Callable[[BankHeader, RegisteredCopy | None, Background | None], BankProjection],
        *,
        most: int,
        holder: Holder | None,
    ) -> None:
        self._ledger, self._workers, self._project = ledger, workers, project
        self._most, self._holder = most, holder
        self._places = Places(most)
        self._lock = threading.Lock()
        self._open: dict[int, _OpenBank] = {}  # least recently used first
        self._forgotten: set[int] = set()

    def check(self, header: BankHeader) -> None:
        """Check that a bank was not forgotten, even if a new bank has the same name. Queries a shared ledger.

        Raises:
            BankForgotten: the bank was forgotten.
        """
        self.check_here(header)
        if self._ledger.shared and not self._exists(header):
            raise BankForgotten(header.name)

    def check_here(self, header: BankHeader) -> None:
        """Check that a bank was not forgotten by this engine.

        Raises:
            BankForgotten: the bank was forgotten.
        """
        if header.generation in self._forgotten:
            raise BankForgotten(header.name)

    @asynccontextmanager
    async def lease(self, header: BankHeader) -> AsyncIterator[BankProjection]:
        """Lease a bank's projection until the end of the block. The block must not lease another bank.

        Raises:
            BankForgotten: the bank was forgotten.
            EngineClosed: the engine was closed.
        """
        self._workers.check_open()
        lease = _Lease()
        try:
            held = self._assign(header, lease)
            if held is None:
                await self._places.take()
                lease.has_place = True
                held = self._assign(header, lease)
            if held is None:
                held = await self._workers.lane(header.key).write(self._open_and_assign, header, lease)
            yield held.projection
        finally:
            self._end(lease)

    def opened(self, header: BankHeader) -> BankProjection:
        """Return a bank's projection, which stays open at least until the current job of the bank's lane ends.

        Raises:
            BankForgotten: the bank was forgotten.
        """
        return self._ensure_open(header).projection

    @contextmanager
    def forgetting(self, header: BankHeader) -> Iterator[None]:
        """Empty a bank's indexes, then run the block, which deletes the bank from the ledger. From then on `check` fails.

        Runs on the writer thread only. If the block fails, the bank still exists and is reopened on demand.
        """
        projection = self.opened(header)
        self._forgotten.add(header.generation)  # before emptying the indexes, so that no method reads them
        with ExitStack() as on_failure:
            on_failure.callback(self._forgotten.discard, header.generation)
            on_failure.callback(projection.close)
            with self._lock:
                del self._open[header.generation]
            projection.discard()
            self._note_deleted(header.generation)
            yield
            on_failure.pop_all()

    @property
    def registered(self) -> bool:
        """Whether this engine registers its copies in the ledger."""
        return self._holder is not None

    async def apply_erasures(self) -> None:
        """Apply erasures to copies that have not confirmed them, and delete the copies of dropped banks.

        A copy whose update fails stays unconfirmed.

        Raises:
            StorageError: the ledger cannot be read.
        """
        if self._holder is None:
            return
        for copy in await self._workers.read(self._ledger.copies.behind, self._holder):
            with suppress(StorageError, BankNotFound, BankForgotten):
                await self._apply_erasures(copy)

    async def _apply_erasures(self, copy: CopyBehind) -> None:
        lane = self._workers.lane(copy.key)
        if copy.name is None:
            await lane.write(self._delete_dropped, copy)
            return
        header = await self._workers.read(self._ledger.bank, copy.name)
        async with self.lease(header) as projection:
            await lane.write(projection.catch_up)

    def delete_dropped(self) -> None:
        """Schedule the deletion of files of banks that were dropped while no process had the cache folder open."""
        if self._holder is None or self._holder.in_memory:
            return
        for copy in self._ledger.copies.behind(self._holder):
            if copy.name is None:
                self._workers.queued(copy.key, self._delete_dropped, copy)

    def _delete_dropped(self, copy: CopyBehind) -> None:
        """Delete the copy of a dropped bank, unless a new bank with the same name has since been opened on its files."""
        with self._lock:
            bank = self._open.pop(copy.generation, None)
            replaced = any(other.header.key == copy.key for other in self._open.values())
        self._forgotten.add(copy.generation)
        if bank is not None:
            bank.projection.discard()
        elif not replaced:
            header = BankHeader(copy.key, copy.key, copy.generation, 0, None, BankProfile())
            self._project(header, None, None).discard()
        self._note_deleted(copy.generation)

    def projections(self) -> dict[str, BankProjection]:
        """Return the projections of the open banks, by name."""
        with self._lock:
            return {bank.header.name: bank.projection for bank in self._open.values()}

    def close(self) -> None:
        """Close every bank. No bank may be in use. Can be called again after an interrupt."""
        with self._lock:
            banks = list(self._open.values())
            self._open.clear()
        for bank in banks:
            _close(bank)
        if self._holder and self._holder.in_memory:
            with _logged("the copies of this process stay registered"):
                self._ledger.copies.delete_holder(self._holder.id)

    def _exists(self, header: BankHeader) -> bool:
        try:
            return self._ledger.bank(header.name).generation == header.generation
        except BankNotFound:
            return False

    def _mark_used(self, header: BankHeader) -> _OpenBank | None:
        """Return the bank if it is open, and mark it as most recently used. The caller must hold the lock."""
        bank = self._open.pop(header.generation, None)
        if bank is not None:
            self._open[header.generation] = bank
        return bank

    def _ensure_open(self, header: BankHeader) -> _OpenBank:
        with self._lock:
            if bank := self._mark_used(header):
                return bank
        self.check(header)
        self._discard_namesake(header)
        self._make_room()
        projection = self._project(header, self._registered(header), partial(self._continue, header.key))
        with ExitStack() as on_failure:
            on_failure.callback(projection.close)
            projection.open()
            on_failure.pop_all()
        bank = _OpenBank(header, projection)
        with self._lock:
            self._open[header.generation] = bank
        return bank

    def _continue(self, key: str, projection: BankProjection) -> None:
        """Load a bank's indexes on a reader thread; then write the vectors missing from the index, on the bank's lane."""
        with suppress(EngineClosed):
            loaded = self._workers.queued_read(projection.load)
            loaded.add_done_callback(lambda _: self._continue_on_lane(key, projection))

    def _continue_on_lane(self, key: str, projection: BankProjection) -> None:
        with suppress(EngineClosed):
            self._workers.queued(key, _continue_vectors, projection)

    def _open_and_assign(self, header: BankHeader, lease: _Lease) -> _OpenBank:
        bank = self._ensure_open(header)
        self._assign(header, lease)
        return bank

    def _assign(self, header: BankHeader, lease: _Lease) -> _OpenBank | None:
        """Assign the bank to the lease if it is open. All leases of a bank share the place that the first lease took."""
        with self._lock:
            bank = self._mark_used(header)
            if bank is None or lease.ended or not (bank.leases or lease.has_place):
                return None
            if not bank.leases:
                lease.has_place = False  # the place belongs to the bank from now on
            bank.leases += 1
            lease.bank = bank
            return bank

    def _end(self, lease: _Lease) -> None:
        with self._lock:
            lease.ended, places = True, int(lease.has_place)
            if lease.bank is not None:
                lease.bank.leases -= 1
                places += not lease.bank.leases
        for _ in range(places):
            self._places.give_back()

    def _make_room(self) -> None:
        """Close the least recently used idle banks, each on its own lane, to make room for another bank."""
        with self._lock:
            idle = [bank.header for bank in self._open.values() if not bank.leases]
            surplus = idle[: max(0, len(self._open) + 1 - self._most)]
        for header in surplus:
            if self._workers.one_writer:
                self._close_idle(header)  # not queued, because this thread would run the job
            else:
                self._workers.queued(header.key, self._close_idle, header)

    def _registered(self, header: BankHeader) -> RegisteredCopy | None:
        """Register the copy that is about to be opened, and delete the copy of an earlier bank with the same name."""
        if self._holder is None:
            return None
        copies = self._ledger.copies
        copy = copies.register(header, self._holder)
        if copies.has_earlier(header, self._holder):
            self._project(header, None, None).discard()
            copies.delete_earlier(header, self._holder)
        return copy

    def _note_deleted(self, generation: int) -> None:
        if self._holder is not None:
            self._ledger.copies.delete(generation, self._holder)

    def _discard_namesake(self, header: BankHeader) -> None:
        """Erase the indexes of an earlier bank with the same name, which another process has forgotten."""
        with self._lock:
            stale = [key for key, bank in self._open.items() if bank.header.name == header.name]
            banks = [self._open.pop(key) for key in stale]
        for bank in banks:
            bank.projection.discard()
            self._note_deleted(bank.header.generation)

    def _close_idle(self, header: BankHeader) -> None:
        """Close a bank, unless it was leased or closed after it was selected."""
        with self._lock:
            if header.generation not in self._open or self._open[header.generation].leases:
                return
            bank = self._open.pop(header.generation)
        _close(bank)
        if self._holder and self._holder.in_memory:
            with _logged(f"bank {header.name!r}: its copy stays registered"):
                self._note_deleted(header.generation)


def _continue_vectors(projection: BankProjection) -> None:
    with _logged("a vector index could not be written in the background"):
        projection.continue_vectors()


def _close(bank: _OpenBank) -> None:
    """Close a bank. A failure is only logged, because the ledger has all data."""
    with _logged(
        f"bank {bank.header.name!r}: its indexes were not closed cleanly; the next opening may replay changes from the ledger"
    ):
        bank.projection.close()


@contextmanager
def _logged(problem: str) -> Iterator[None]:
    """Run a block, and log its failure instead of raising it."""
    try:
        yield
    except StorageError as error:
        logger.warning("%s: %s", problem, error)

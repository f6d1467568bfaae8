"""The sync API: every method of the async API, run on one event loop in a thread of the engine."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, Final, Generic, NoReturn, ParamSpec, Self, TypeVar

from hindsight_integrations.bank import AsyncMemoryBank
from hindsight_integrations.bank.archive import AsyncArchive
from hindsight_integrations.bank.entities import AsyncEntities
from hindsight_integrations.bank.items import AsyncItems
from hindsight_integrations.bank.maintenance import AsyncMaintenance
from hindsight_integrations.bank.mental_models import AsyncDirectives, AsyncMentalModels
from hindsight_integrations.bank.opinions import AsyncOpinions
from hindsight_integrations.bank.profile import AsyncProfile, moved_to_get
from hindsight_integrations.bank.records import AsyncRecords
from hindsight_integrations.bank.reflect_stages import AsyncReflectStages
from hindsight_integrations.bank.tasks import AsyncTasks
from hindsight_integrations.bank.threads import AsyncThreads
from hindsight_integrations.concurrency.sync_loop import OwnLoop, SharedLoop
from hindsight_integrations.engine.assembly import AsyncHindsight
from hindsight_integrations.errors import EngineClosed, InvalidRequest
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.references import BankReference, DisplayedBank
from hindsight_integrations.model.tasks import WorkerMode

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
Async_co = TypeVar("Async_co", covariant=True)


_SHARED = SharedLoop()  # the loop of all objects created by `over`


class _SyncFace(Generic[Async_co]):
    """Base class of sync objects. Holds the async object and the event loop."""

    def __init__(self, target: Async_co, loop: OwnLoop | SharedLoop) -> None:
        self._target: Final = target
        self._loop: Final = loop


def _awaited(
    verb: Callable[Concatenate[Async_co, P], Awaitable[R]],
) -> Callable[Concatenate[_SyncFace[Async_co], P], R]:
    """Return the same method without await, with the same name, parameters and docstring."""

    @wraps(verb)
    def call(face: _SyncFace[Async_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        # By name, because a bank on a server is of a subclass that overrides the method.
        method: Callable[P, Awaitable[R]] = getattr(face._target, verb.__name__)  # noqa: SLF001 - of this module
        return face._loop.run(partial(method, *args, **kwargs))  # noqa: SLF001

    return call


def _iterated(
    verb: Callable[Concatenate[Async_co, P], AsyncIterator[R]],
) -> Callable[Concatenate[_SyncFace[Async_co], P], Iterator[R]]:
    """Return the same async generator as a plain generator, with the same name, parameters and docstring."""

    @wraps(verb)
    def call(face: _SyncFace[Async_co], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        items = getattr(face._target, verb.__name__)(*args, **kwargs)  # noqa: SLF001 - of this module
        end = object()
        following = partial(anext, items, end)
        try:
            while (item := face._loop.run(following)) is not end:  # noqa: SLF001
                yield item
        finally:
            if isinstance(items, AsyncGenerator):  # close the generator if the caller stopped early
                # Garbage collection may run this after the engine was closed, or on the loop's own thread.
                with suppress(EngineClosed, InvalidRequest):
                    face._loop.run(items.aclose)  # noqa: SLF001

    return call


class Entities(_SyncFace[AsyncEntities]):
    """The bank's entities."""

    list = _awaited(AsyncEntities.list)
    observations = _awaited(AsyncEntities.observations)
    merge = _awaited(AsyncEntities.merge)
    split = _awaited(AsyncEntities.split)
    alias = _awaited(AsyncEntities.alias)
    undo = _awaited(AsyncEntities.undo)
    changes = _awaited(AsyncEntities.changes)


class Records(_SyncFace[AsyncRecords]):
    """The bank's records, the typed values in memories."""

    list = _awaited(AsyncRecords.list)
    aggregate = _awaited(AsyncRecords.aggregate)
    categories = _awaited(AsyncRecords.categories)
    merge = _awaited(AsyncRecords.merge)
    split = _awaited(AsyncRecords.split)


class Opinions(_SyncFace[AsyncOpinions]):
    """Opinions of the agent with their confidence and evidence."""

    list = _awaited(AsyncOpinions.list)
    get = _awaited(AsyncOpinions.get)
    history = _awaited(AsyncOpinions.history)
    trajectory = _awaited(AsyncOpinions.trajectory)
    forget = _awaited(AsyncOpinions.forget)


class ReflectStages(_SyncFace[AsyncReflectStages]):
    """Runs a reflection stage by stage."""

    recall = _awaited(AsyncReflectStages.recall)
    think = _awaited(AsyncReflectStages.think)
    call_tool = _awaited(AsyncReflectStages.call_tool)
    answer = _awaited(AsyncReflectStages.answer)
    assess = _awaited(AsyncReflectStages.assess)
    commit = _awaited(AsyncReflectStages.commit)


class Profile(_SyncFace[AsyncProfile]):
    """The agent's profile and its history."""

    get = _awaited(AsyncProfile.get)
    set = _awaited(AsyncProfile.set)
    merge_background = _awaited(AsyncProfile.merge_background)
    history = _awaited(AsyncProfile.history)
    restore = _awaited(AsyncProfile.restore)
    forget_history = _awaited(AsyncProfile.forget_history)

    if not TYPE_CHECKING:  # so that type checkers report the call

        def __call__(self) -> NoReturn:
            """Raise an error that points to `profile.get`."""
            raise moved_to_get()


class MentalModels(_SyncFace[AsyncMentalModels]):
    """Questions with stored answers."""

    create = _awaited(AsyncMentalModels.create)
    get = _awaited(AsyncMentalModels.get)
    list = _awaited(AsyncMentalModels.list)
    refresh = _awaited(AsyncMentalModels.refresh)
    delete = _awaited(AsyncMentalModels.delete)


class Directives(_SyncFace[AsyncDirectives]):
    """Rules that every answer follows."""

    add = _awaited(AsyncDirectives.add)
    list = _awaited(AsyncDirectives.list)
    remove = _awaited(AsyncDirectives.remove)


class Tasks(_SyncFace[AsyncTasks]):
    """Background tasks of the bank."""

    list = _awaited(AsyncTasks.list)
    settle = _awaited(AsyncTasks.settle)
    retry = _awaited(AsyncTasks.retry)


class Threads(_SyncFace[AsyncThreads]):
    """Follow conversations that continue and fork."""

    follow = _awaited(AsyncThreads.follow)


class Items(_SyncFace[AsyncItems]):
    """Values by namespace and key."""

    get = _awaited(AsyncItems.get)
    write = _awaited(AsyncItems.write)
    search = _awaited(AsyncItems.search)
    namespaces = _awaited(AsyncItems.namespaces)
    forget = _awaited(AsyncItems.forget)
    expire = _awaited(AsyncItems.expire)


class Archive(_SyncFace[AsyncArchive]):
    """Export and import of a whole bank."""

    export = _awaited(AsyncArchive.export)
    load = _awaited(AsyncArchive.load)


class Maintenance(_SyncFace[AsyncMaintenance]):
    """Reindexing, and the log of edits."""

    reindex = _awaited(AsyncMaintenance.reindex)
    edits = _awaited(AsyncMaintenance.edits)


class MemoryBank(_SyncFace[AsyncMemoryBank], DisplayedBank):
    """A bank of memories. Created by `Hindsight.bank`; can be used from any thread."""

    retain = _awaited(AsyncMemoryBank.retain)
    retain_many = _awaited(AsyncMemoryBank.retain_many)
    recall = _awaited(AsyncMemoryBank.recall)
    reflect = _awaited(AsyncMemoryBank.reflect)
    reflect_stream = _iterated(AsyncMemoryBank.reflect_stream)
    get = _awaited(AsyncMemoryBank.get)
    edit = _awaited(AsyncMemoryBank.edit)
    withdraw = _awaited(AsyncMemoryBank.withdraw)
    restore = _awaited(AsyncMemoryBank.restore)
    document_items = _awaited(AsyncMemoryBank.document_items)
    sources = _awaited(AsyncMemoryBank.sources)
    neighbours = _awaited(AsyncMemoryBank.neighbours)
    history = _awaited(AsyncMemoryBank.history)
    forget = _awaited(AsyncMemoryBank.forget)
    units = _awaited(AsyncMemoryBank.units)
    iterate_units = _iterated(AsyncMemoryBank.iterate_units)
    count = _awaited(AsyncMemoryBank.count)

    def with_profile(self, profile: BankProfile) -> MemoryBank:  # noqa: D102 - docstring set below, from the async method
        return MemoryBank(self._target.with_profile(profile), self._loop)

    with_profile.__doc__ = AsyncMemoryBank.with_profile.__doc__

    @classmethod
    def over(cls, bank: AsyncMemoryBank) -> Self:
        """Return the sync API of an async bank, for code that cannot await."""
        return cls(bank, _SHARED)

    @property
    def asynchronous(self) -> AsyncMemoryBank:
        """The async API of the same bank."""
        return self._target

    @property
    def name(self) -> str:
        """The bank's name."""
        return self._target.name

    @property
    def generation(self) -> int:
        """A number that distinguishes the bank from forgotten banks with the same name."""
        return self._target.generation

    @property
    def reference(self) -> BankReference:
        """A reference from which `bank_at` gets the bank, even in another process."""
        return self._target.reference

    @property
    def worker(self) -> WorkerMode:
        """Where the bank's background tasks run."""
        return self._target.worker

    @property
    def entities(self) -> Entities:
        """Entities: list, observations, merge, split, alias, undo, changes."""
        return Entities(self._target.entities, self._loop)

    @property
    def records(self) -> Records:
        """Records, the typed values in memories: list, aggregate, categories, merge, split."""
        return Records(self._target.records, self._loop)

    @property
    def opinions(self) -> Opinions:
        """Opinions of the agent with their confidence and evidence: list, get, history, trajectory, forget."""
        return Opinions(self._target.opinions, self._loop)

    @property
    def reflect_stages(self) -> ReflectStages:
        """The steps of a reflection: recall, think, call_tool, answer, assess, commit."""
        return ReflectStages(self._target.reflect_stages, self._loop)

    @property
    def profile(self) -> Profile:
        """Profile of the agent: get, set, history, restore, forget_history."""
        return Profile(self._target.profile, self._loop)

    @property
    def mental_models(self) -> MentalModels:
        """Questions with stored answers: create, get, list, refresh, delete."""
        return MentalModels(self._target.mental_models, self._loop)

    @property
    def directives(self) -> Directives:
        """Rules that every answer follows: add, list, remove."""
        return Directives(self._target.directives, self._loop)

    @property
    def tasks(self) -> Tasks:
        """Background tasks of the bank: list, settle, retry."""
        return Tasks(self._target.tasks, self._loop)

    @property
    def threads(self) -> Threads:
        """Follow conversations that continue and fork: follow."""
        return Threads(self._target.threads, self._loop)

    @property
    def items(self) -> Items:
        """Values by namespace and key: get, write, search, namespaces, forget, expire."""
        return Items(self._target.items, self._loop)

    @property
    def archive(self) -> Archive:
        """Export and import of the bank as a single file: export, load."""
        return Archive(self._target.archive, self._loop)

    @property
    def maintenance(self) -> Maintenance:
        """Maintenance of the bank: reindex, edits."""
        return Maintenance(self._target.maintenance, self._loop)


def _opened(opener: Callable[Q, AsyncHindsight]) -> Callable[Concatenate[type[Hindsight], Q], Hindsight]:
    """Create a classmethod body that opens the async engine with the same arguments."""

    @wraps(opener)
    def open_sync(cls: type[Hindsight], /, *args: Q.args, **kwargs: Q.kwargs) -> Hindsight:
        engine = opener(*args, **kwargs)
        return cls(engine, OwnLoop(engine.check_open))

    # A bound method's signature lacks cls, and classmethod would remove another parameter.
    shown = inspect.signature(opener)
    own = inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY)
    open_sync.__signature__ = shown.replace(parameters=[own, *shown.parameters.values()])  # type: ignore[attr-defined] # inspect reads it
    return open_sync


class Hindsight(_SyncFace[AsyncHindsight]):
    """The sync API of an engine: opens banks in one data directory or PostgreSQL database.

    Example:
        ```python
        with Hindsight.open("memory") as hindsight:
            bank = hindsight.bank("alice")
            bank.retain("Alice moved to Lisbon in May 2024.")
            result = bank.recall("Where does Alice live?")
        ```

    Works in scripts, notebooks and threads, and inside a running event loop, which each call blocks.
    """

    open = classmethod(_opened(AsyncHindsight.open))
    connect = classmethod(_opened(AsyncHindsight.connect))
    banks = _awaited(AsyncHindsight.banks)
    doctor = _awaited(AsyncHindsight.doctor)
    settle = _awaited(AsyncHindsight.settle)
    forget_bank = _awaited(AsyncHindsight.forget_bank)
    copies = _awaited(AsyncHindsight.copies)
    forget_holder = _awaited(AsyncHindsight.forget_holder)

    def bank(self, name: str, *, create: bool = True) -> MemoryBank:  # noqa: D102 - docstring set below, from the async method
        return MemoryBank(self._loop.run(partial(self._target.bank, name, create=create)), self._loop)

    def close(self) -> None:  # noqa: D102 - docstring set below, from the async method
        self._target.close_now()
        self._loop.stop()

    bank.__doc__, close.__doc__ = AsyncHindsight.bank.__doc__, AsyncHindsight.close.__doc__

    @classmethod
    def over(cls, engine: AsyncHindsight) -> Self:
        """Return the sync API of an async engine, for code that cannot await. Closing either closes both."""
        return cls(engine, _SHARED)

    @property
    def asynchronous(self) -> AsyncHindsight:
        """The async API of the same engine, with the same banks."""
        return self._target

    @property
    def worker(self) -> WorkerMode:
        """Where queued tasks run."""
        return self._target.worker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

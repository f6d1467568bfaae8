"""The part of the dict-backed ledger that knows banks and writes to them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hindsight_integrations.backends.ledger.rules import bank_key, changes_nothing, check_vectors
from hindsight_integrations.backends.memory.bank_state import BankState
from hindsight_integrations.errors import BankNotFound, EngineClosed, RevisionConflict
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.writes import EmbedderIdentity, WriteSet
from hindsight_integrations.ports.arrays import IntArray, Matrix
from hindsight_integrations.ports.ledger import BankHeader, Receipt


class DictBanks:
    """Banks by name, behind one lock."""

    def __init__(self) -> None:
        self._banks: dict[str, BankState] = {}
        self._rows: Iterator[int] = itertools.count(1)
        self._lock = threading.RLock()
        self._closed = False

    def banks(self) -> list[BankHeader]:
        """All banks, by name."""
        with self._holding():
            return [self._banks[name].header for name in sorted(self._banks)]

    def bank(self, name: str, *, create: bool) -> BankHeader:
        """One bank, created if asked for; raises BankNotFound."""
        with self._holding():
            if create and name not in self._banks:
                bank_key(name)
                self._banks[name] = BankState(name, self._rows)
            return self._known(name).header

    def set_profile(self, bank: str, profile: BankProfile) -> None:
        """Replace the bank's profile."""
        with self._bank(bank) as state:
            state.profile = profile

    def set_embedder(self, bank: str, embedder: EmbedderIdentity, ids: IntArray, vectors: Matrix) -> int:
        """Record who makes the bank's vectors and replace the vectors of `ids`; returns the revision."""
        with self._bank(bank) as state:
            rest = state.units.keys() - set(ids.tolist())
            covers = not rest or state.dimension == embedder.dimension
            check_vectors(ids, vectors, embedder.dimension, covers_bank=covers)
            state.embedder = embedder
            known = [
                (row, vector) for row, vector in zip(ids.tolist(), vectors, strict=True) if row in state.units
            ]
            state.revision += bool(known)
            for row, vector in known:
                state.units[row].vector = np.asarray(vector, "<f4").tobytes()
                state.units[row].vector_changed = state.revision
            return state.revision

    def commit(self, writes: WriteSet) -> Receipt:
        """Write everything, or nothing; see the port."""
        with self._bank(writes.bank) as state:
            if state.revision != writes.expected_revision:
                raise RevisionConflict(writes.bank, writes.expected_revision, state.revision)
            if changes_nothing(writes):
                return Receipt(state.revision, ())
            state.check(writes)
            created, tasks = state.apply(writes), state.apply_tasks(writes)
            return Receipt(state.revision, created, tasks)

    def close(self) -> None:
        """Refuse further use; everything is forgotten."""
        with self._lock:
            self._closed = True
            self._banks.clear()

    @contextmanager
    def _holding(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise EngineClosed("its ledger was closed")
            yield

    @contextmanager
    def _bank(self, name: str) -> Iterator[BankState]:
        with self._holding():
            yield self._known(name)

    def _known(self, name: str) -> BankState:
        if name not in self._banks:
            raise BankNotFound(name, tuple(sorted(self._banks)))
        return self._banks[name]

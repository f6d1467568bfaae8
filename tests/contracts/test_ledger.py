"""Every ledger keeps the port's promises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hindsight_integrations.backends.ledger.sqlite.ledger import SqliteLedger
from hindsight_integrations.ports.ledger import Ledger
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.ledger_contract import LedgerContract
from hindsight_integrations.testing.ledger_observing_contract import OBSERVING, LedgerObservingContract


class TestSqliteLedgerOnDisk(LedgerContract):
    @pytest.fixture
    def ledger(self, tmp_path: Path, clock: FrozenClock) -> Iterator[Ledger]:
        opened = SqliteLedger.open(tmp_path / "data", clock=clock)
        yield opened
        opened.close()


class TestSqliteLedgerInMemory(LedgerContract):
    @pytest.fixture
    def ledger(self, clock: FrozenClock) -> Iterator[Ledger]:
        opened = SqliteLedger.open(":memory:", clock=clock)
        yield opened
        opened.close()


class TestSqliteLedgerObserving(LedgerObservingContract):
    @pytest.fixture
    def ledger(self, tmp_path: Path, clock: FrozenClock) -> Iterator[Ledger]:
        opened = SqliteLedger.open(tmp_path / "data", clock=clock, observing=OBSERVING)
        yield opened
        opened.close()

"""The ledger under test: empty, writable, on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import BANK, at
from ledger_support import Passes

from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.postgresql import PostgresDatabase, checked_address
from hindsight_integrations.testing.doubles import FrozenClock


@pytest.fixture
def clock() -> FrozenClock:
    """The ledger's clock."""
    return FrozenClock(at(10))


@pytest.fixture
def passes(clock: FrozenClock) -> Passes:
    """Advances the ledger's clock."""
    return clock.advance


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: FrozenClock) -> Iterator[Ledger]:
    """An empty ledger."""
    if request.param == "sqlite":
        opened = Ledger.open(tmp_path / "data", clock=clock)
        yield opened
        opened.close()
        return
    address = request.getfixturevalue("databases").address("ledger")
    opened = Ledger(PostgresDatabase(checked_address(address), clock=clock))
    yield opened
    opened.close()


@pytest.fixture
def bank(ledger: Ledger) -> str:
    """The name of an empty bank in the ledger."""
    return ledger.create_bank(BANK).name

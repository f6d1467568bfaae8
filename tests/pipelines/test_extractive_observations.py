"""Observations without a model, the settings of observations, and entities with thousands of facts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import make_entity, make_unit, make_write_set
from ledger_support import commit
from observed_banks import (
    ALICE,
    REAL,
    Asked,
    Opened,
    bank_opener,
    covered,
    observations,
    observed,
    said,
    tell,
    waiting,
)

from hindsight_integrations import Hindsight
from hindsight_integrations.indexes.embedding import embed_units
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.model.writes import UnitWrite
from hindsight_integrations.testing.doubles import HashEmbedder


@pytest.fixture
def opened(opener: Callable[..., Hindsight]) -> Opened:
    """Opens a bank with a scripted model."""
    return bank_opener(opener)


def test_without_a_model_facts_stand_for_themselves(opened: Opened, tmp_path: Path) -> None:
    """A few facts are selected, those in the first person are quoted; every fact is represented or listed."""
    bank = opened(None, REAL, tmp_path / "data")
    hobby = [
        f"Alice paints the {place} in watercolours every year" for place in ("lake", "old lake", "lake shore")
    ]
    sport = [f"Alice runs a marathon in {city} in spring" for city in ("Rome", "Lyon", "Bergen")]
    facts = tell(bank, *hobby, *sport, "Alice fixed the roof herself")
    bank.retain(
        [{"role": "user", "name": "Alice", "content": "Yesterday I sold my boat", "id": "v1"}],
        timestamp="2024-05-03",
    )
    bank.tasks.settle()
    made = [text for text in observations(bank) if "Alice" in text]
    assert 3 <= len(made) <= 7
    under, left = covered(bank)
    assert under | left >= set(facts)
    assert not under & left
    assert set(made) <= {*hobby, *sport, "Alice fixed the roof herself"} | {
        text for text in made if '"' in text
    }


def test_verbatim_turns_are_quoted_with_who_said_them(opened: Opened) -> None:
    """The first person never appears unquoted in an observation, and "yesterday" has its date next to it."""
    bank = opened(None)
    bank.retain(
        [{"role": "user", "name": "Alice", "content": "Yesterday I sold my boat to Bruno", "id": "v1"}],
        timestamp="2024-05-03T10:00",
    )
    bank.tasks.settle()
    assert list(observations(bank)) == [
        'Alice (mentioned on Friday, May 3, 2024): "Yesterday I sold my boat to Bruno"'
    ]


@pytest.mark.parametrize("mode", ["extractive", "off"])
def test_settings_decide_who_sums_up(opened: Opened, mode: str) -> None:
    """`extractive` calls no model even if there is one; `off` makes nothing and leaves no task behind."""
    asked = Asked(["never asked"])
    bank = opened(asked, mode=mode)
    tell(bank, *ALICE)
    assert len(waiting(bank)) == (mode == "extractive")
    bank.tasks.settle()
    assert asked.shown == []
    assert bool(observations(bank)) == (mode == "extractive")


@pytest.fixture(scope="module")
def ridden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a bank in which 5,000 facts mention Alice, written to the ledger only."""
    folder = tmp_path_factory.mktemp("ridden")
    embedder = HashEmbedder()
    tracks = ("river", "coast", "ridge")
    units = [
        make_unit(
            f"f{n}", f"Alice logged ride {n} of {n % 97} km along the {tracks[n % 3]}", bank="team", hours=n
        )
        for n in range(5000)
    ]
    vectors = embed_units(units, embedder)
    with closing(Ledger.open(folder)) as ledger:
        ledger.create_bank("team")
        nothing = np.empty(0, np.int64)
        ledger.set_embedder("team", embedder.identity, nothing, np.empty((0, 0), np.float32))
        rows = (UnitWrite(unit, vector.tobytes()) for unit, vector in zip(units, vectors, strict=True))
        commit(
            ledger,
            make_write_set(
                bank="team",
                units=tuple(rows),
                entities=[make_entity("alice")],
                mentions=[(unit.id, "alice") for unit in units],
            ),
        )
    return folder


def riding(ridden: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ridden, tmp_path / "data"))


RIDES = {f"f{n}" for n in range(5000)}


@pytest.mark.slow
def test_five_thousand_facts_fit_a_prompt(opened: Opened, ridden: Path, tmp_path: Path) -> None:
    """The newest and most distinct facts are shown within the budget; all others are listed as omitted."""

    def three() -> Any:
        lines = [line for line in asked.shown[-1].splitlines() if line.startswith("[")]
        texts = [line.partition(") ")[2] for line in lines]
        return said(*((texts[n], [n + 1]) for n in (0, 1, len(texts) - 1)))

    asked = Asked([three])
    bank = opened(asked, path=riding(ridden, tmp_path), prompt_tokens=2000)
    settled = bank.tasks.settle()
    assert (settled.failed, settled.observed, len(asked.shown)) == ({}, 1, 1)
    assert len(asked.shown[0]) < 4 * 2000
    assert "ride 4999 of" in asked.shown[0]
    under, left = covered(bank)
    assert len(under) == 3
    assert under | left == RIDES
    assert not under & left


@pytest.mark.slow
def test_five_thousand_facts_without_a_model(opened: Opened, ridden: Path, tmp_path: Path) -> None:
    """There are at most seven observations, and every fact is represented by one of them or listed."""
    bank = opened(None, path=riding(ridden, tmp_path))
    assert bank.tasks.settle().failed == {}
    assert 3 <= len(observed(bank).units) <= 7
    under, left = covered(bank)
    assert under | left == RIDES
    assert not under & left

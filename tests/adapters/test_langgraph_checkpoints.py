"""The checkpoint matrix: after each event, the bank and its opinion's confidence are those in docs/checkpoints.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from checkpoint_rows import ROWS
from checkpoint_world import OPINION, Way, World, assess, label_of
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank, Message
from hindsight_integrations.config import (
    ExtractionMode,
    KeywordBackend,
    ObservationConfig,
    OpinionConfig,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.model.turns import Role
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

PAGE = Path(__file__).parents[2] / "docs" / "checkpoints.md"
QUICK = [Way("memory", False, "sync"), Way("sqlite", True, "async"), Way("memory", False, "exit")]
WAYS = [
    pytest.param(way, marks=() if way in QUICK else pytest.mark.slow, id=str(way))
    for way in itertools.starmap(
        Way, itertools.product(("memory", "sqlite"), (False, True), ("sync", "async", "exit"))
    )
]


@dataclass(frozen=True)
class Expected:
    """The expected result of an event.

    Attributes:
        holds: messages whose memories are valid, sorted.
        history: messages whose memories are closed, sorted.
        confidence: confidence of the opinion.
    """

    holds: list[str]
    history: list[str]
    confidence: float


def page() -> dict[str, Expected]:
    """The tables of the page, by event."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and cells[4].replace(".", "").isdigit():
            holds, history = (sorted(cell.replace("-", "").split()) for cell in cells[2:4])
            found[cells[0]] = Expected(holds, history, float(cells[4]))
    return found


PAGED = page()


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    """One engine for all rows, each of which has a separate bank."""
    config = HindsightConfig(
        storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
        retain=RetainConfig(extraction=ExtractionMode.VERBATIM, shown_memories=0),
        observations=ObservationConfig("off"),
        opinions=OpinionConfig(delay_s=0.0),
    )
    options = {"embeddings": HashEmbedder(), "reranker": None, "model": ScriptedModel(assess)}
    with Hindsight.open(":memory:", config=config, **options) as opened:  # type: ignore[arg-type]
        yield opened


def believing(engine: Hindsight, name: str) -> MemoryBank:
    """A bank of an agent with the page's opinion, at 0.5."""
    bank = engine.bank(name)
    formed = Message(OPINION, "agent", "2024-05-01T10:00", "formed", Role.ASSISTANT)
    fact = {"what": OPINION, "fact_type": "opinion", "sources": ["formed"], "entities": ["Oslo"]}
    bank.retain([formed], thread="before", facts=[fact])
    return bank


def found(bank: MemoryBank) -> Expected:
    """The content of a bank after its tasks, and the confidence of its opinion."""
    bank.tasks.settle()
    units = [unit for unit in bank.units(include_invalidated=True).units if unit.thread == "travel"]
    holds = sorted(_label(unit) for unit in units if unit.closed_at is None)
    history = sorted(_label(unit) for unit in units if unit.closed_at)
    (opinion,) = bank.opinions.list()
    return Expected(holds, history, round(opinion.confidence, 9))


def _label(unit: MemoryUnit) -> str:
    (source,) = unit.sources
    return label_of(source, unit.text)


def test_every_event_of_the_page_is_played() -> None:
    """Every row of the page has steps, and all steps have a row."""
    assert list(ROWS) == list(PAGED)


@pytest.mark.parametrize("way", WAYS)
@every_row("event", ROWS)
def test_a_bank_holds_what_the_page_says(engine: Hindsight, event: str, way: Way) -> None:
    """Memories, history and the opinion's confidence after an event are those of its row."""
    row = ROWS[event]
    bank = believing(engine, f"{event} {way}")
    with World(way, bank, row.build()) as world:
        for step in row.steps:
            step(world)
            if way.durability == "sync":
                bank.tasks.settle()
    assert found(bank) == PAGED[event]

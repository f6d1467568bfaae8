"""Metadata from retain on, and conditions on it inside every channel of recall, with real Chroma and Lucene."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hindsight_integrations import (
    Channel,
    Hindsight,
    RetainItem,
)
from hindsight_integrations.sync import MemoryBank
from hindsight_integrations.testing.doubles import HashEmbedder

MEMORIES = 2_000
RARE = (3, 700, 701, 1_402, 1_999)  # those of shelf "attic"
DAY = datetime(2024, 5, 1, tzinfo=UTC)
OSRIC = {"text": "Osric Vane", "type": "PERSON"}
QUESTION = "Which sack of barley did Osric Vane weigh in May 2024?"


def _text(number: int) -> str:
    weigher = "Osric Vane" if number in RARE or number % 20 == 0 else "the miller"
    return f"Sack {number} of barley was weighed by {weigher} on row {number % 17}."


def _fact(number: int) -> dict[str, Any]:
    occurred = DAY + timedelta(minutes=number)
    return {
        "what": _text(number),
        "entities": [OSRIC] if "Osric" in _text(number) else [],
        "occurred_start": occurred.isoformat(),
        "occurred_end": (occurred + timedelta(minutes=1)).isoformat(),
    }


def _metadata(number: int) -> dict[str, Any]:
    shelf = {"shelf": "attic"} if number in RARE else {"shelf": "cellar"} if number % 2 else {}
    return {"number": number, "weighed": number % 3 == 0, "marks": [f"m{number % 5}", "all"], **shelf}


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("mill")
    with Hindsight.open(place, embeddings=HashEmbedder(), reranker=None) as engine:
        bank = engine.bank("mill")
        bank.retain_many(
            [
                RetainItem(
                    _text(number),
                    timestamp=DAY,
                    document_id=f"d{number}",
                    facts=[_fact(number)],
                    metadata=_metadata(number),
                )
                for number in range(MEMORIES)
            ]
        )
        yield bank


def numbers(bank: MemoryBank, metadata: Any, **options: Any) -> set[int]:
    found = bank.recall(QUESTION, metadata=metadata, max_tokens=1_000_000, **options)
    return {int(item.unit.metadata["number"]) for item in found.units}  # type: ignore[arg-type]


def test_a_few_of_many_are_found_in_every_channel(mill: MemoryBank) -> None:
    found = mill.recall(QUESTION, metadata={"shelf": "attic"}, budget="low", max_tokens=100_000)
    assert len(found.units) == len(RARE)
    for channel in Channel:
        assert {item.unit.metadata["number"] for item in found.units if channel in item.channels} == set(RARE)

"""A memory is found by the words of its source turns, until these are erased."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from hindsight_integrations import Hindsight, MemoryBank, Message

DAY = datetime(2024, 5, 1, 9, tzinfo=UTC)
CHAT = [
    Message("We took the old tandem along the canal, what a wobble!", "Ann", DAY, id="m1"),
    Message("And the lock keeper waved at us.", "Ben", DAY, id="m2"),
]
FACTS = [
    {"what": "Ann and Ben went cycling together.", "sources": ["m1"]},
    {"what": "Ann and Ben met somebody on the way.", "sources": ["m1", "m2"]},
    {"what": "Ann likes quiet mornings.", "sources": []},
]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """Three facts of one conversation of two turns."""
    told = light.bank("canal")
    told.retain(CHAT, thread="t", facts=FACTS)
    return told


def told_hits(bank: MemoryBank, question: str) -> int:
    """The number of memories found by words of turns."""
    stages = {stage.name: stage.detail for stage in bank.recall(question).trace.stages}
    return int(stages["source turns"]["hits"])


def test_a_memory_is_found_by_the_words_it_was_told_in(bank: MemoryBank) -> None:
    """Only the turns contain the question's words; the memory that was made from one of them alone comes first."""
    found = bank.recall("Who had a wobble on a tandem?")
    assert found.units[0].text == FACTS[0]["what"]
    assert told_hits(bank, "tandem wobble") == 2
    assert bank.recall("lock keeper").units[0].text == FACTS[1]["what"]


def test_erased_words_find_nothing(bank: MemoryBank) -> None:
    """Erasing a memory erases its turns' words; another memory of the same turn stays, but is no longer found by them."""
    cycling = next(item.unit for item in bank.recall("cycling").units if "cycling" in item.text)
    bank.forget(unit=cycling.id)
    assert told_hits(bank, "tandem wobble") == 0
    assert told_hits(bank, "lock keeper") == 1
    assert "Ann and Ben met somebody on the way." in [item.text for item in bank.recall("met somebody").units]


def test_a_reopened_bank_ranks_alike(opener: Callable[..., Hindsight]) -> None:
    """Incremental indexing and replay from the ledger give the same scores."""
    with opener() as first:
        told = first.bank("canal")
        told.retain(CHAT, thread="t", facts=FACTS)
        before = told.recall("Who had a wobble on a tandem?")
        told.maintenance.reindex()
        after = told.recall("Who had a wobble on a tandem?")
    assert [item.text for item in after.units] == [item.text for item in before.units]
    assert np.allclose([item.score for item in after.units], [item.score for item in before.units])


def test_turns_word_for_word_are_ranked_by_fusion_alone(light: Hindsight) -> None:
    """Turns that are memories themselves have no other words: their fused scores do not change."""
    bank = light.bank("verbatim")
    bank.retain(CHAT, thread="t")
    assert told_hits(bank, "tandem wobble") == 0

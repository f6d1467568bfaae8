"""Confidence: lower if the bank contains no answer, 0 if nothing was found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.testing.doubles import FixedReranker

TALK = (
    ("Caroline", "I adopted a greyhound called Biscuit from the shelter in Leeds."),
    ("Melanie", "How lovely, Caroline! I painted a sunrise over the lake last week."),
    ("Caroline", "My sister teaches pottery to beginners on Mondays."),
    ("Melanie", "My kids built a treehouse in the garden, it took all summer."),
    ("Caroline", "I am saving for a trip to Norway to see the fjords."),
    ("Melanie", "The choir sings in the old church every Thursday evening."),
)
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "name": name, "content": text, "id": f"m{place}"}
    for place, (name, text) in enumerate(TALK)
]
ANSWERED = "Who adopted a greyhound called Biscuit from the shelter?"
NEVER_MENTIONED = "Which submarine did Vladimir repair in Tokyo?"


@pytest.fixture
def bank(real: Hindsight) -> MemoryBank:
    talk = real.bank("talk")
    talk.retain(MESSAGES, thread="talk")
    return talk


def test_a_question_the_bank_answers_gets_more_confidence(bank: MemoryBank) -> None:
    """It is higher than for something never mentioned, so an agent can use a threshold."""
    known, unknown = bank.recall(ANSWERED), bank.recall(NEVER_MENTIONED)
    assert known.confidence > 0.5 > unknown.confidence


def test_the_wrong_person_gets_less_confidence(bank: MemoryBank) -> None:
    """Melanie painted the sunrise and Caroline did not, although both questions find the same turn first."""
    right, wrong = (bank.recall(f"Where did {name} paint a sunrise?") for name in ("Melanie", "Caroline"))
    assert right.confidence > wrong.confidence


def test_with_a_reranker_the_order_is_the_same(opener: Callable[..., Hindsight]) -> None:
    """The reranker has separate constants, and its scores decide."""
    judge = FixedReranker(lambda query, text: 8.0 if "greyhound" in query and "greyhound" in text else -9.0)
    bank = opener(reranker=judge).bank("talk")
    bank.retain(MESSAGES, thread="talk")
    assert bank.recall(ANSWERED).confidence > 0.5 > bank.recall(NEVER_MENTIONED).confidence


def test_nothing_found_is_no_confidence(bank: MemoryBank) -> None:
    """This holds in an empty bank, and if a filter or the budget leaves no unit."""
    assert bank.recall(ANSWERED, tags=["nowhere"], tags_match="any_strict").confidence == 0.0
    assert bank.recall(ANSWERED, max_tokens=1).confidence == 0.0


def test_explain_tells_the_confidence_and_what_it_stands_on(bank: MemoryBank) -> None:
    """A developer sees the signals behind the number."""
    words = bank.recall("What did Caroline adopt?").explain()
    (found,) = (line for line in words.splitlines() if line.startswith("found"))
    (stage,) = (line for line in words.splitlines() if line.strip().startswith("confidence"))
    assert "confidence 0." in found
    assert all(name in stage for name in ("about caroline", "cosine", "words", "share", "names"))


def test_where_nobody_is_named_a_sceptical_reranker_does_not_talk_the_answer_away(
    opener: Callable[..., Hindsight],
) -> None:
    """Cross-encoders score lists and advice low: similarity counts too, and dissimilar units stay low."""
    bank = opener(reranker=FixedReranker(lambda query, text: -7.0)).bank("talk")
    bank.retain(MESSAGES, thread="talk")
    assert bank.recall(ANSWERED).confidence > 0.5 > bank.recall(NEVER_MENTIONED).confidence
    assert bank.recall("Did Caroline adopt a greyhound called Biscuit from the shelter?").confidence < 0.5


def test_what_is_complete_is_sure(light: Hindsight) -> None:
    """For all records of a kind, or all memories of a time, similarity to the question does not matter."""
    bank = light.bank("shopper")
    fact = {
        "what": "The walker got something at the kiosk.",
        "occurred_start": "2025-05-02",
        "record": {"kind": "expense", "category": "coffee", "value": "3.10", "unit": "EUR"},
    }
    bank.retain("Coffee, 3.10.", timestamp="2025-05-02", facts=[fact])
    now = "2025-05-04T10:00:00Z"
    listed = bank.recall("How much did I spend on coffee?", include_records=True, query_timestamp=now)
    assert (
        listed.confidence
        >= 0.9
        > bank.recall("How much did I spend on coffee?", query_timestamp=now).confidence
    )
    assert "expense records" in listed.explain()
    assert bank.recall("What happened on 2 May 2025?", query_timestamp=now).confidence >= 0.9

"""Our system in an evaluation, next to the same texts with plain fusion."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hindsight_evals.episode import Item, Session
from hindsight_evals.memory_system import (
    AnsweringSystem,
    ListingSystem,
    MemorySystem,
    Peer,
    Place,
)
from hindsight_evals.metrics.stating import stated
from hindsight_evals.metrics.wrongly_withdrawn import wrongly_withdrawn
from hindsight_evals.peers.hindsight import hindsight
from hindsight_evals.peers.plain_rrf import PLAIN_RRF
from hindsight_integrations import ExtractedFact, Message
from hindsight_integrations.testing.doubles import HashEmbedder, WordCounter

MONDAY = datetime(2025, 6, 2, 9, tzinfo=UTC)
ASKED = MONDAY + timedelta(days=3)
MOVED_IN = Item("User lives in Lisbon", frozenset({"S1:1"}), valid=False)
MOVED_ON = Item("User lives in Porto", frozenset({"S2:1"}), valid=True)


def session(number: int, said: str, *facts: ExtractedFact) -> Session:
    moment = MONDAY + timedelta(days=number - 1)
    messages = (Message(said, "user", moment, f"S{number}:1"),)
    return Session(f"S{number}", moment, messages, facts)


LISBON = session(1, "I live in Lisbon now.", ExtractedFact(what="User lives in Lisbon.", sources=["S1:1"]))
PORTO = session(
    2,
    "I moved to Porto.",
    ExtractedFact(what="User lives in Porto.", sources=["S2:1"], invalidates=["User lives in Lisbon."]),
)
COFFEE = session(
    3,
    "Coffee was 3.40 again, like on Monday.",
    *(
        ExtractedFact.model_validate(
            {
                "what": f"User paid {price} dollars for coffee on {day}.",
                "occurred_start": day,
                "sources": ["S3:1"],
                "record": {"kind": "expense", "category": "coffee", "value": price, "unit": "USD"},
            }
        )
        for price, day in (("3.40", "2025-06-04"), ("2.85", "2025-06-02"))
    ),
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "memory", "life", HashEmbedder(), WordCounter())


@pytest.fixture(params=[hindsight(), PLAIN_RRF], ids=lambda peer: peer.name)
def peer(request: pytest.FixtureRequest) -> Peer:
    assert isinstance(request.param, Peer)
    return request.param


@pytest.fixture
def system(peer: Peer, place: Place) -> Iterator[MemorySystem]:
    with peer.open(place) as system:
        for told in (LISBON, PORTO, COFFEE):
            system.retain(told)
        yield system


def test_both_find_what_holds_with_its_sources(system: MemorySystem) -> None:
    """The texts and their source turns are the same for both."""
    context = system.recall("Where does the user live?", moment=ASKED, max_tokens=200)
    assert stated(context, MOVED_ON)
    assert {source for text in context.served for source in text.sources} <= {"S1:1", "S2:1", "S3:1"}


def test_only_plain_fusion_serves_what_was_withdrawn(peer: Peer, system: MemorySystem) -> None:
    """One case shows the value of the engine's validity."""
    context = system.recall("Where does the user live?", moment=ASKED, max_tokens=200)
    assert stated(context, MOVED_IN) is (peer is PLAIN_RRF)


def test_both_keep_to_the_budget(system: MemorySystem) -> None:
    """The budget limits the total tokens of the served texts."""
    context = system.recall("What did the user pay for coffee?", moment=ASKED, max_tokens=9)
    assert 0 < context.tokens <= 9


def test_a_session_given_twice_is_kept_once(system: MemorySystem) -> None:
    """A killed run repeats its last session."""
    before = system.recall("Where does the user live?", moment=ASKED, max_tokens=500)
    system.retain(PORTO)
    assert system.recall("Where does the user live?", moment=ASKED, max_tokens=500) == before


def test_ours_goes_on_where_it_was_closed(place: Place) -> None:
    """Its files contain the retained memories."""
    ours = hindsight()
    with ours.open(place) as system:
        system.retain(LISBON)
    with ours.open(place) as system:
        system.retain(PORTO)
        context = system.recall("Where does the user live?", moment=ASKED, max_tokens=200)
    assert ours.persistent
    assert stated(context, MOVED_ON)
    assert not stated(context, MOVED_IN)


def test_ours_answers_sums_itself(place: Place) -> None:
    """Reasoning without a model: the exact total of the records, as of the day of the question."""
    with hindsight().open(place) as system:
        system.retain(COFFEE)
        assert isinstance(system, AnsweringSystem)
        answer = system.answer("How much did I spend on coffee this week?", moment=ASKED)
    assert "6.25" in answer


def test_what_is_wrongly_withdrawn_is_counted(place: Place) -> None:
    """Ours lists everything it considers true; a missing valid item was withdrawn wrongly, a missing withdrawn one was not."""
    wrong = session(
        2,
        "I moved to Porto.",
        ExtractedFact(what="User lives in Porto.", sources=["S2:1"], invalidates=["User lives in Lisbon."]),
    )
    coffee = Item("2.85 dollars coffee", frozenset({"S3:1"}), valid=True)
    still_true = Item("User lives in Lisbon", frozenset({"S1:1"}), valid=True)
    with hindsight().open(place) as system:
        for told in (LISBON, wrong, COFFEE):
            system.retain(told)
        assert isinstance(system, ListingSystem)
        assert wrongly_withdrawn(system.held(), (MOVED_IN, MOVED_ON, coffee)) == ()
        assert wrongly_withdrawn(system.held(), (still_true, coffee)) == ("User lives in Lisbon",)

"""Memories inserted into prompts automatically: lasting facts, a whole small bank, and only core memory for small talk."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import Hindsight, MemoryBank, RecallResult

ASKED_AT = "2024-06-12T09:00"
ALLERGY = "The user is allergic to peanuts."
CORE: dict[str, Any] = {"include_core": True, "relevance": "likely", "query_timestamp": ASKED_AT}


def told(bank: MemoryBank, lasting: bool, *texts: str, **options: Any) -> None:
    for text in texts:
        bank.retain(text, facts=[{"what": text, "fact_type": "world", "lasting": lasting}], **options)


def crowd(bank: MemoryBank, count: int = 60) -> None:
    """So many events that the bank is not small at 400 tokens."""
    told(
        bank,
        False,
        *(f"The user moored boat number {number} at pier {number + 7}." for number in range(count)),
    )


def shown(found: RecallResult, reason: str) -> list[str]:
    return [item.text for item in found.units if item.reason.value == reason]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    return light.bank("ann")


def test_a_request_shows_a_lasting_fact_that_it_is_not_like(bank: MemoryBank) -> None:
    """ "Suggest a recipe" returns the allergy first, with the reason in the trace."""
    told(bank, True, ALLERGY)
    crowd(bank)
    found = bank.recall("Suggest something for dinner", max_tokens=400, trace=True, **CORE)
    assert found.units[0].text == ALLERGY
    assert shown(found, "core") == [ALLERGY]
    assert [each.reason for each in found.trace.units if each.text == ALLERGY] == ["core memory"]
    assert "[core memory]" in found.explain()
    recalled = bank.recall("Suggest something for dinner", max_tokens=400, relevance="likely")
    assert ALLERGY not in str(asdict(recalled))


def test_core_memory_costs_a_fifth_of_the_budget_and_400_tokens_at_most(bank: MemoryBank) -> None:
    """However many lasting facts there are, core memory keeps its share, and the whole result its budget."""
    told(
        bank,
        True,
        *(f"The user likes the harbour of island number {number} most of all." for number in range(80)),
    )
    for budget, most in ((400, 80), (2048, 400), (8192, 400)):
        found = bank.recall("Where does Tom live?", max_tokens=budget, **CORE)
        core = sum(item.tokens for item in found.units if item.reason.value == "core")
        assert most / 2 < core <= most, budget
        assert found.tokens <= budget


def test_a_request_gets_more_lasting_facts_than_a_question_for_a_fact_or_a_statement(
    bank: MemoryBank,
) -> None:
    """It cannot be determined which of them a request needs; a question and a statement need only core memory."""
    told(
        bank,
        True,
        *(f"The user likes the harbour of island number {number} most of all." for number in range(80)),
    )
    costs = {
        text: sum(item.tokens for item in bank.recall(text, max_tokens=900, **CORE).units)
        for text in ("Plan my Saturday", "Where does Tom live?", "I bought a rope.")
    }
    assert costs["Plan my Saturday"] > 800
    assert costs["Where does Tom live?"] <= 180
    assert costs["I bought a rope."] <= 180


def test_core_memory_keeps_to_the_filters_and_to_what_holds(bank: MemoryBank) -> None:
    """It contains no other tag, no other network, and nothing that was withdrawn or mentioned later than `as_of`."""
    told(bank, True, ALLERGY, tags=["private"])
    told(bank, True, "The user has a cat.", timestamp="2024-05-01")
    crowd(bank)
    asked = "Suggest something for dinner"
    assert shown(bank.recall(asked, tags=["work"], tags_match="any_strict", **CORE), "core") == []
    assert shown(bank.recall(asked, types=["opinion"], **CORE), "core") == []
    assert shown(bank.recall(asked, as_of="2024-04-01", **CORE), "core") == []
    assert set(shown(bank.recall(asked, **CORE), "core")) == {ALLERGY, "The user has a cat."}
    bank.withdraw(next(unit.id for unit in bank.iterate_units() if unit.text == ALLERGY))
    assert shown(bank.recall(asked, **CORE), "core") == ["The user has a cat."]


def test_with_k_nothing_is_added(bank: MemoryBank) -> None:
    told(bank, True, ALLERGY, "The user has a cat.")
    found = bank.recall("Suggest something for dinner", k=1, **CORE)
    assert len(found.units) <= 1
    assert shown(found, "core") == []


def test_a_bank_that_fits_into_half_of_the_budget_is_shown_whole(bank: MemoryBank) -> None:
    """A question returns everything; a statement, and a larger bank, do not."""
    told(bank, False, *(f"The user moored boat {number}." for number in range(10)))
    whole = bank.recall("Where does Tom live?", max_tokens=2048, **CORE)
    assert len(whole.units) == 10
    assert len(bank.recall("I bought a rope.", max_tokens=2048, **CORE).units) < 10
    assert len(bank.recall("Where does Tom live?", max_tokens=100, **CORE).units) < 10


def test_small_talk_gets_core_memory_alone(bank: MemoryBank) -> None:
    told(bank, True, ALLERGY)
    told(bank, False, "The user moored a boat and said hi.")
    found = bank.recall("hi!", max_tokens=2048, **CORE)
    assert [item.text for item in found.units] == [ALLERGY]
    assert found.records == ()


def test_word_for_word_the_best_matches_stand_in_for_core_memory(bank: MemoryBank) -> None:
    """Without a model no memory is marked as lasting: the five best statements of the user are shown, and none of the agent."""
    for number in range(30):
        bank.retain([{"role": "user", "content": f"Boat number {number} lies at pier {number + 7}."}])
    bank.retain([{"role": "assistant", "content": "Boats lie at piers."}])
    found = bank.recall("Where does boat number 3 lie?", max_tokens=300, **CORE)
    assert 0 < len(shown(found, "core")) <= 5
    assert all(text.startswith("user: ") for text in shown(found, "core"))
    assert shown(bank.recall("haha", max_tokens=300, **CORE), "core") == []


def test_with_several_speakers_core_memory_is_that_of_who_asks(bank: MemoryBank) -> None:
    """Ann's prompt contains facts about Ann and about no speaker, and none about Ben."""
    said = [("Ann", "Ann is allergic to peanuts."), ("Ben", "Ben is afraid of dogs.")]
    bank.retain(
        [{"role": "user", "name": name, "content": text, "id": name} for name, text in said],
        facts=[
            {"what": text, "lasting": True, "sources": [name], "entities": [{"text": name, "type": "PERSON"}]}
            for name, text in said
        ],
    )
    told(bank, True, "The household has a cat.")
    crowd(bank)
    for speaker, own in said:
        found = bank.recall("Suggest something for Sunday", max_tokens=400, speaker=speaker, **CORE)
        assert set(shown(found, "core")) == {own, "The household has a cat."}, speaker
    unnamed = bank.recall("Suggest something for Sunday", max_tokens=400, **CORE)
    assert len(shown(unnamed, "core")) == 3, "nobody of that name speaks here: all of it"


def test_what_do_you_know_about_me_gives_an_overview(bank: MemoryBank) -> None:
    """Lasting facts, then open goals, tasks and coming events, then the latest statements; each once, in this order."""
    told(bank, False, "The user moored a boat in 2020.", timestamp="2020-05-01")
    told(bank, True, ALLERGY, timestamp="2024-01-01")
    records: dict[str, dict[str, Any]] = {
        "The user wants to walk 8,000 steps a day.": {
            "kind": "goal",
            "category": "steps",
            "value": 8000,
            "unit": "steps/day",
        },
        "The user needs to paint the hull.": {"kind": "task", "category": "boat", "value": "paint the hull"},
        "The user sails to Texel on July 1, 2024.": {"kind": "event", "category": "trip", "value": "Texel"},
        "The user sailed to Vlieland on May 1, 2024.": {
            "kind": "event",
            "category": "trip",
            "value": "Vlieland",
        },
    }
    when = {"Texel": "2024-07-01", "Vlieland": "2024-05-01"}
    for text, record in records.items():
        fact = {"what": text, "records": [record], "occurred_start": when.get(str(record["value"]))}
        bank.retain(text, timestamp="2024-02-01", facts=[fact])
    told(bank, False, "The user bought a rope.", timestamp="2024-06-01")
    found = bank.recall("What do you know about me?", query_timestamp=ASKED_AT)
    order = [item.text.split(" | ")[0] for item in found.units]
    assert order == [
        ALLERGY,
        *list(records)[:3],
        "The user bought a rope.",
        "The user sailed to Vlieland on May 1, 2024.",
        "The user moored a boat in 2020.",
    ]
    assert {item.reason.value for item in found.units} == {"overview"}


@every_row(
    ("later", "first"),
    [
        ("My current favourite is techno.", "user: My current favourite is techno."),
        ("My favourite is techno now.", "user: My favourite is techno now."),
        ("My favourite is jazz.", "user: My favourite is jazz."),
    ],
)
def test_the_newer_of_two_near_identical_statements_ranks_first(
    light: Hindsight, later: str, first: str
) -> None:
    """A question is equally similar to the old and the new favourite; without a model nothing ends the old one."""
    bank = light.bank(later)
    bank.retain([{"role": "user", "content": "My favourite is jazz.", "timestamp": "2024-01-01"}])
    bank.retain([{"role": "user", "content": later, "timestamp": "2024-03-01"}])
    assert bank.recall("What is my favourite music?", query_timestamp=ASKED_AT).units[0].text == first


def test_statements_that_the_question_tells_apart_keep_their_order(bank: MemoryBank) -> None:
    """A question about the kayak is not answered by the tent that was bought later."""
    bank.retain([{"role": "user", "content": "I bought a kayak.", "timestamp": "2024-01-01"}])
    bank.retain([{"role": "user", "content": "I bought a tent.", "timestamp": "2024-03-01"}])
    assert bank.recall("When was the kayak bought?").units[0].text == "user: I bought a kayak."


@every_row(
    ("message", "kept"),
    [
        ("ok", False),
        ("haha!", False),
        ("\U0001f44d", False),
        ("Danke dir", False),
        ("jajaja", False),
        ("continue", False),
        ("yes", True),
        ("Rex", True),
        ("hi, I'm Ana", True),
    ],
)
def test_small_talk_is_not_stored_as_a_memory(light: Hindsight, message: str, kept: bool) -> None:
    """The result reports what was left out; a one-word answer is stored, because it may answer a question."""
    bank = light.bank(message)
    result = bank.retain([{"role": "user", "content": message, "id": "m1"}])
    assert bank.count() == kept
    assert [dropped.reason for dropped in result.dropped] == ([] if kept else ["it is small talk"])

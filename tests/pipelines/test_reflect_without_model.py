"""Reflect without a language model: answers from records and memories, and no claims beyond them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import BankProfile, Hindsight, MemoryBank
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))


@pytest.fixture(scope="module")
def engine() -> Any:
    """With the embedder of a plain installation, because sufficiency depends on similarity."""
    with Hindsight.open(":memory:", config=LIGHT, reranker=None, worker=False) as opened:
        yield opened


@pytest.fixture
def bank_with_model(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> MemoryBank:
    """One memory, and a model that answers every question from it, without an opinion."""
    said = {"text": "It is red.", "based_on": ["1"], "sufficient": True, "opinions": []}
    bank = opener(config=light_config, model=ScriptedModel(lambda _: said)).bank("bea")
    bank.retain("The kayak is red.", facts=[{"what": "The kayak is red."}], timestamp="2024-06-01")
    return bank


@every_row(
    ("said", "question", "sufficient"),
    [
        ("My mother is called Ruth.", "What is my mother called?", True),
        ("My mother is called Ruth.", "What is my dog called?", False),
        ("I bought a red kayak.", "What colour is my kayak?", True),
        ("I bought a red kayak.", "What are my goals?", False),
        ("I bought a red kayak.", "What appointments do I have?", False),
        ("I bought a red kayak.", "What is on my to-do list?", False),
        ("I bought a red kayak.", "How much did I spend?", False),
    ],
)
def test_an_answer_is_sufficient_only_if_it_is_there(
    engine: Hindsight, said: str, question: str, sufficient: bool
) -> None:
    """The best memory is quoted in any case; the absence of records is not reported, because it is not an answer."""
    bank = engine.bank(f"{said} {question}"[:60])
    bank.retain([{"role": "user", "content": said}])
    answer = bank.reflect(question)
    assert answer.sufficient is sufficient
    assert answer.text.splitlines()[1:] == [f"- user: {said}"]
    assert "nothing is recorded" not in answer.text


def test_records_answer_exactly(light: Hindsight) -> None:
    """A sum is exact and sufficient; for a known category, an empty week is an answer too."""
    bank = light.bank("ann")
    lunch = {"kind": "expense", "category": "lunch", "value": "12.50", "unit": "USD"}
    bank.retain(
        "Lunch was $12.50.",
        timestamp="2024-06-10",
        facts=[{"what": "Lunch was $12.50.", "records": [lunch], "occurred_start": "2024-06-10"}],
    )
    spent = bank.reflect("How much did I spend on lunch this week?")
    assert spent.sufficient
    assert "12.50" in spent.text
    assert "no records" in bank.reflect("List my lunch expenses of last week").text


def test_nothing_found_is_not_nothing_known(light: Hindsight) -> None:
    answer = light.bank("ann").reflect("Where do I live?")
    assert answer.text == "No language model is set, and no memory matches the question."
    assert not answer.sufficient


def test_notes_say_why_no_opinions_are_formed(light: Hindsight, bank_with_model: MemoryBank) -> None:
    """Without a model, with `as_of`, or in another character; no note if none were requested."""
    bank = light.bank("ann")
    bank.retain("The kayak is red.")
    assert any("without a language model" in note for note in bank.reflect("Is the kayak red?").notes)
    assert not any(
        "opinions" in note for note in bank.reflect("Is the kayak red?", form_opinions=False).notes
    )
    other = bank_with_model.with_profile(BankProfile(name="Iris"))
    assert any("with_profile" in note for note in other.reflect("Is the kayak red?").notes)
    assert any(
        "as_of" in note
        for note in bank_with_model.reflect("Is the kayak red?", as_of="2024-06-12T08:00").notes
    )
    assert not any("opinions" in note for note in bank_with_model.reflect("Is the kayak red?").notes)


def test_yesterday_counts_from_the_time_of_the_question(light: Hindsight, clock: FrozenClock) -> None:
    """`query_timestamp` moves it, as in recall."""
    bank = light.bank("ann")
    for day, text in (("2024-01-01", "I bought a kayak."), ("2024-06-11", "I bought a tent.")):
        bank.retain([{"role": "user", "content": text, "timestamp": day}])
    assert "kayak" in bank.reflect("What happened yesterday?", query_timestamp="2024-01-02").text
    assert "tent" in bank.reflect("What happened yesterday?").text

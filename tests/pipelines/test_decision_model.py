"""A decision model is asked once a retain, about what rules leave open and nothing else; it can fail, and decides nothing then."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from table import every_row

from hindsight_integrations import AsyncHindsight, Hindsight, InvalidRequest, MemoryBank, ModelUnavailable
from hindsight_integrations.config import HindsightConfig, KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.ports.decision_model import Decisions, YesNoQuestion
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
TOLD = "User can't start the day without a double espresso."
OTHER = "User's boss Irina drinks espresso with two sugars."


class Says:
    """Says yes to memories that hold a word, and counts."""

    name = "says"

    def __init__(self, word: str) -> None:
        self.word = word
        self.calls: list[list[str]] = []

    async def decide(self, questions: Sequence[YesNoQuestion]) -> Decisions:
        memories = [dict(each.texts)["Memory"] for each in questions]
        self.calls.append(memories)
        return Decisions(tuple(self.word in memory for memory in memories), 30, 2)


class Fails:
    """Is never there."""

    name = "fails"

    async def decide(self, questions: Sequence[YesNoQuestion]) -> Decisions:
        raise ModelUnavailable("fails", "down")


def tell(bank: MemoryBank, number: int, text: str, *ends: str) -> Any:
    fact = {"what": text, "fact_type": "world", "sources": [f"m{number}"], "invalidates": list(ends)}
    message = {"role": "user", "content": text, "id": f"m{number}"}
    return bank.retain([message], timestamp=f"2025-03-{number:02}", thread="t", facts=[fact])


def after(engine: Hindsight, *ends: str) -> tuple[MemoryBank, Any]:
    bank = engine.bank("alice")
    tell(bank, 1, TOLD)
    tell(bank, 2, OTHER)
    return bank, tell(bank, 3, "User drinks rooibos at breakfast.", *ends)


def valid(bank: MemoryBank) -> set[str]:
    return {unit.text for unit in bank.units().units}


def test_what_rules_leave_open_is_decided(opener: Callable[..., Hindsight]) -> None:
    """In one call for all that is open; what it cost is told."""
    model = Says("double espresso")
    with opener(":memory:", embeddings=None, config=LIGHT, decision_model=model) as engine:
        bank, result = after(
            engine, "User has strong coffee every morning.", "User begins the day with coffee."
        )
        assert TOLD not in valid(bank)
        assert OTHER in valid(bank)
        assert len(model.calls) == 1
        assert (result.tokens_in, result.tokens_out) == (30, 2)


def test_a_clear_match_asks_nobody(opener: Callable[..., Hindsight]) -> None:
    """Nor does a retain without a statement."""
    model = Says("nothing")
    with opener(":memory:", embeddings=None, config=LIGHT, decision_model=model) as engine:
        bank, _ = after(engine, "User can't start the day without a double espresso.")
        assert TOLD not in valid(bank)
        assert model.calls == []


@pytest.mark.parametrize("model", [None, Fails(), Says("no such word")])
def test_without_a_yes_nothing_is_withdrawn(opener: Callable[..., Hindsight], model: object) -> None:
    """Without a model, with one that fails, and with one that says no; the retain itself stands."""
    with opener(":memory:", embeddings=None, config=LIGHT, decision_model=model) as engine:
        bank, result = after(engine, "User has strong coffee every morning.")
        assert valid(bank) == {TOLD, OTHER, "User drinks rooibos at breakfast."}
        assert result.closed == ()


def test_a_chat_model_will_do(opener: Callable[..., Hindsight]) -> None:
    """Its prompt has the texts between markers; a question left out is asked again."""
    answers: list[dict[str, Any]] = [
        {"answers": []},
        {"answers": [{"number": 1, "yes": True}, {"number": 2, "yes": False}]},
    ]
    model = ScriptedModel(answers)
    with opener(":memory:", embeddings=None, config=LIGHT, decision_model=model) as engine:
        bank, _ = after(engine, "User has strong coffee every morning.")
        assert TOLD not in valid(bank)
        assert model.calls == 2
        assert "<<<TEXTS" in str(model.prompts[0][-1].content)


@pytest.mark.parametrize("form", [("Predicate", "input", "probability"), ("Noul", "state", "noul")])
def test_a_decision_model_of_langchain_will_do(
    opener: Callable[..., Hindsight], monkeypatch: pytest.MonkeyPatch, form: tuple[str, str, str]
) -> None:
    """In either form `langchain_core.decisions` has had: the pinned version has none, so its classes stand in here."""
    kind, subject, probability = form
    package = ModuleType("langchain_core.decisions")
    setattr(package, kind, lambda instructions: {"instructions": instructions})

    class BaseDecisionModel:
        model = "decider"

        async def ainvoke(self, request: dict[str, Any]) -> Any:
            assert TOLD in request[subject]
            chosen = [TOLD in each for each in request[subject].split("}")]
            answers = {
                name: SimpleNamespace(**{probability: 0.9 if chosen[n] else 0.1})
                for n, name in enumerate(request["questions"])
            }
            return SimpleNamespace(answers=answers, usage={"input_tokens": 7, "output_tokens": 0})

    BaseDecisionModel.__module__ = "langchain_core.decisions"
    monkeypatch.setitem(sys.modules, "langchain_core.decisions", package)
    with opener(":memory:", embeddings=None, config=LIGHT, decision_model=BaseDecisionModel()) as engine:
        bank, result = after(engine, "User has strong coffee every morning.")
        assert valid(bank) == {OTHER, "User drinks rooibos at breakfast."}
        assert result.tokens_in == 7


def test_the_async_face_decides_the_same() -> None:
    """Sync and async do the same."""

    async def run() -> bool:
        model = Says("double espresso")
        async with AsyncHindsight.open(
            ":memory:", reranker=None, config=LIGHT, decision_model=model
        ) as engine:
            bank = await engine.bank("alice")
            for number, text, ends in (
                (1, TOLD, []),
                (2, OTHER, []),
                (3, "User drinks tea.", ["User has coffee."]),
            ):
                fact = {"what": text, "fact_type": "world", "sources": [f"m{number}"], "invalidates": ends}
                message = {"role": "user", "content": text, "id": f"m{number}"}
                await bank.retain([message], timestamp=f"2025-03-{number:02}", thread="t", facts=[fact])
            return TOLD in {unit.text for unit in (await bank.units()).units}

    assert asyncio.run(run()) is False


@every_row("wrong", [5, ScriptedModel, HashEmbedder(), lambda: None])
def test_what_cannot_decide_is_refused_at_the_door(opener: Callable[..., Hindsight], wrong: object) -> None:
    """By `open`, saying what is accepted."""
    with pytest.raises(InvalidRequest, match="Pass a LlamaIndex LLM"):
        opener(":memory:", config=LIGHT, decision_model=wrong)

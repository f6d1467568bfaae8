"""Answers in the caller's schema: in the only call of a single reflection, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

from hindsight_integrations import Hindsight, MalformedOutput, MemoryBank
from hindsight_integrations.prompts.answer import Answer
from hindsight_integrations.prompts.typed_answer import with_output
from hindsight_integrations.testing.scripted_model import ScriptedModel

QUESTION = "What did the oven cost?"


class Price(BaseModel):
    """A price."""

    amount: Decimal = Field(gt=0)
    currency: str = Field(pattern="^[A-Z]{3}$")


class Impossible(BaseModel):
    """A schema that no answer matches."""

    amount: int

    @model_validator(mode="after")
    def _never(self) -> Impossible:
        raise ValueError("no amount will do")


def answer(output: dict[str, Any] | None) -> dict[str, Any]:
    said = {"text": "It cost 900 euros.", "based_on": ["1"], "sufficient": True, "opinions": []}
    return said if output is None else {**said, "output": output}


@pytest.fixture
def bank_of(opener: Callable[..., Hindsight], light_config: Any) -> Callable[..., MemoryBank]:
    def made(model: ScriptedModel) -> MemoryBank:
        bank = opener(config=light_config, model=model).bank("oven")
        bank.retain("The oven cost 900 EUR.", facts=[{"what": "The oven cost 900 EUR."}])
        return bank

    return made


def test_one_call_gives_answer_and_form(bank_of: Callable[..., MemoryBank]) -> None:
    """The structured answer costs no separate call, and the prose is returned too."""
    model = ScriptedModel([answer({"amount": "900", "currency": "EUR"})])
    found = bank_of(model).reflect(QUESTION, response_schema=Price)
    assert found.structured == Price(amount=Decimal(900), currency="EUR")
    assert found.structured_as(Price).currency == "EUR"
    assert found.text == "It cost 900 euros."
    assert found.calls == model.calls == 1
    assert len(found.based_on) == 1


def test_a_form_that_is_wrong_is_asked_for_again(bank_of: Callable[..., MemoryBank]) -> None:
    """The model is told which part is invalid."""
    model = ScriptedModel(
        [
            answer({"amount": "900", "currency": "euro"}),
            answer(None),
            answer({"amount": 900, "currency": "EUR"}),
        ]
    )
    found = bank_of(model).reflect(QUESTION, response_schema=Price)
    assert found.structured == Price(amount=Decimal(900), currency="EUR")
    assert "output.currency" in str(model.prompts[1][-1].text)
    assert "output" in str(model.prompts[2][-1].text)


@pytest.mark.parametrize("strategy", ["single", "agentic"])
def test_a_form_that_nothing_fits_is_an_error(bank_of: Callable[..., MemoryBank], strategy: str) -> None:
    """It is rejected after two repairs, and nothing of the reflection is stored."""
    step = {"tool": "answer", "answer": {"text": "900 euros.", "based_on": ["1"]}}
    replies: list[Any] = (
        [answer({"amount": 900})] * 3 if strategy == "single" else [step, *[{"amount": 900}] * 3]
    )
    model = ScriptedModel(replies)
    bank = bank_of(model)
    with pytest.raises(MalformedOutput, match="no amount will do"):
        bank.reflect(QUESTION, response_schema=Impossible, strategy=strategy)
    assert model.calls == len(replies)
    assert (bank.count(), bank.opinions.list()) == (1, [])


def test_the_same_form_has_the_same_schema() -> None:
    """It is the same to the byte for every question, so that services cache the prefix."""
    assert with_output(Answer, Price) is with_output(Answer, Price)
    assert "output" in with_output(Answer, Price).model_json_schema()["required"]
    assert with_output(Answer, Impossible) is not with_output(Answer, Price)


def test_a_reflection_without_the_form_says_so(light: Hindsight) -> None:
    with pytest.raises(LookupError, match="has no Price"):
        light.bank("oven").reflect(QUESTION).structured_as(Price)

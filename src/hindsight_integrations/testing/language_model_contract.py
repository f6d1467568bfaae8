"""What every LanguageModel must do. Inherit, name the class Test..., and give a `model_for` fixture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import pytest
from pydantic import BaseModel, Field

from hindsight_integrations.errors import MalformedOutput
from hindsight_integrations.ports.language_model import Completion, LanguageModel, Prompt, PromptMessage, Role


class Verdict(BaseModel):
    """The schema the contract asks for."""

    answer: str
    confidence: float = Field(ge=0.0, le=1.0)


Answer: TypeAlias = "dict[str, Any] | str"
ModelFor: TypeAlias = Callable[[list[Answer]], LanguageModel]

VERDICT: dict[str, Any] = {"answer": "yes", "confidence": 0.5}


def verdict_prompt(text: str = "Is it so?") -> Prompt[Verdict]:
    """A prompt of all three roles asking for a Verdict."""
    messages = (
        PromptMessage(Role.SYSTEM, "Judge."),
        PromptMessage(Role.USER, "Is water wet?"),
        PromptMessage(Role.ASSISTANT, "It is."),
        PromptMessage(Role.USER, text),
    )
    return Prompt("verdict", messages, Verdict)


def run(call: Coroutine[Any, Any, Completion[Verdict]]) -> Completion[Verdict]:
    """Run a call in an event loop of its own."""
    return asyncio.run(call)


class LanguageModelContract:
    """Checks parsing, malformed answers, usage, and independence from event loops."""

    @pytest.fixture
    def model_for(self) -> ModelFor:
        """Makes a model that gives these answers in turn: a dict as JSON of the schema, a string as raw text."""
        raise NotImplementedError

    def test_it_answers_in_the_schema(self, model_for: ModelFor) -> None:
        """A caller gets a checked object, never text to parse."""
        done = run(model_for([VERDICT]).complete(verdict_prompt()))
        assert done.output == Verdict(answer="yes", confidence=0.5)

    def test_usage_is_reported(self, model_for: ModelFor) -> None:
        """Token costs show up in results."""
        done = run(model_for([VERDICT]).complete(verdict_prompt()))
        assert done.tokens_in > 0
        assert done.tokens_out > 0

    @pytest.mark.parametrize(
        ("output", "telltale"),
        [
            ("I would rather not say.", "rather not say"),
            ('{"answer": "yes", "conf', '"yes", "conf'),
            ('{"answer": "yes", "confidence": 7}', "7"),
        ],
        ids=["prose", "broken-json", "out-of-range"],
    )
    def test_malformed_output_is_carried(self, model_for: ModelFor, output: str, telltale: str) -> None:
        """What the model answered is at hand for a repair, and the error names the model."""
        model = model_for([output])
        with pytest.raises(MalformedOutput) as caught:
            run(model.complete(verdict_prompt()))
        assert telltale in caught.value.output
        assert caught.value.model == model.name
        assert caught.value.problem

    def test_a_second_event_loop_works(self, model_for: ModelFor) -> None:
        """An engine used from one loop and then from another keeps working."""
        model = model_for([VERDICT] * 4)
        for _ in range(4):
            assert run(model.complete(verdict_prompt())).output.answer == "yes"

    def test_calls_run_at_once(self, model_for: ModelFor) -> None:
        """Several chunks are extracted concurrently."""
        model = model_for([VERDICT] * 6)

        async def both() -> list[Completion[Verdict]]:
            return await asyncio.gather(*(model.complete(verdict_prompt(str(i))) for i in range(6)))

        assert [done.output.answer for done in asyncio.run(both())] == ["yes"] * 6

    def test_it_has_a_name(self, model_for: ModelFor) -> None:
        """Errors and doctor say which model is meant."""
        assert model_for([VERDICT]).name

"""Options of one retain: failures and slowness of the model, and extraction in the background."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, ModelUnavailable
from hindsight_integrations.config import RetainConfig
from hindsight_integrations.testing.scripted_model import ScriptedModel

SAID = [{"role": "user", "name": "Alice", "content": "My kayak is red.", "id": "m1"}]
FACT = {
    "facts": [{"what": "Alice's kayak is red", "when": "N/A", "where": "N/A", "who": "Alice", "why": "N/A"}]
}


class Switched(ScriptedModel):
    """A model that fails while it is off, and is slow."""

    on: bool = True
    seconds: float = 0.0

    def __init__(self) -> None:
        super().__init__(self._answer)

    @property
    def asked(self) -> int:
        return self.calls

    def _answer(self, _: Any) -> dict[str, Any] | Exception:
        time.sleep(self.seconds)
        return FACT if self.on else ConnectionError("it is off")


@pytest.fixture
def model() -> Switched:
    return Switched()


@pytest.fixture
def engine(opener: Any, model: Switched, light_config: HindsightConfig) -> Hindsight:
    return opener(model=model, config=light_config)  # type: ignore[no-any-return]


def texts(engine: Hindsight) -> list[str]:
    return [unit.text for unit in engine.bank("alice").recall("red kayak").units]


def test_a_retain_may_queue_though_the_engine_raises(engine: Hindsight, model: Switched) -> None:
    bank, model.on = engine.bank("alice"), False
    with pytest.raises(ModelUnavailable):
        bank.retain(SAID)
    assert len(bank.retain(SAID, on_model_failure="queue").queued) == 1
    assert texts(engine) == ["Alice: My kayak is red."]
    model.on = True
    bank.tasks.settle()
    (text,) = texts(engine)
    assert "Alice's kayak is red" in text


def test_in_the_background_no_model_is_asked(engine: Hindsight, model: Switched) -> None:
    bank = engine.bank("alice")
    (waiting,) = bank.retain(SAID, background=True).queued
    assert (model.asked, waiting.reason) == (0, "retained in the background")
    assert texts(engine) == ["Alice: My kayak is red."]
    bank.tasks.settle()
    assert model.asked == 1
    assert bank.count() == 1


def test_a_followed_thread_has_the_same_options(engine: Hindsight, model: Switched) -> None:
    bank = engine.bank("alice")
    assert bank.threads.follow(SAID, thread="t", background=True).queued
    assert not model.asked
    model.on = False
    more = [*SAID, {"role": "user", "name": "Alice", "content": "My tent is green.", "id": "m2"}]
    assert bank.threads.follow(more, thread="t", on_model_failure="queue").queued


def test_a_slow_model_is_waited_for_as_long_as_the_call_says(engine: Hindsight, model: Switched) -> None:
    bank, model.seconds = engine.bank("alice"), 2.0
    began = time.monotonic()
    assert bank.retain(SAID, extraction_timeout_s=0.2).queued
    assert time.monotonic() - began < 1.5


def test_a_document_is_extracted_in_the_background(engine: Hindsight, model: Switched) -> None:
    bank = engine.bank("alice")
    assert bank.retain("Alice's kayak is red.", document_id="d", background=True).queued
    assert not model.asked
    bank.tasks.settle()
    assert bank.count() == 1


def test_without_a_model_nothing_is_put_off(light: Hindsight) -> None:
    assert light.bank("alice").retain(SAID, background=True).created == 1


@pytest.mark.parametrize(
    "options", [{"background": True}, {"on_model_failure": "queue"}, {"extraction_timeout_s": 3.0}]
)
def test_facts_that_are_given_need_no_options(light: Hindsight, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="cannot be combined with options of extraction"):
        light.bank("alice").retain(SAID, facts=[], **options)


@pytest.mark.parametrize("options", [{"on_model_failure": "skip"}, {"extraction_timeout_s": 0.0}])
def test_options_out_of_range_are_refused(light: Hindsight, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        light.bank("alice").retain(SAID, **options)


def test_a_call_overrides_a_queueing_engine(opener: Any, model: Switched) -> None:
    config = HindsightConfig(retain=RetainConfig(on_model_failure="queue"))
    engine, model.on = opener(model=model, config=config), False
    with pytest.raises(ModelUnavailable):
        engine.bank("alice").retain(SAID, on_model_failure="raise")

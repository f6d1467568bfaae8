"""If a person asks in the chat to forget something, it is not recalled any more, and the request is reported but not stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import (
    ExtractionMode,
    KeywordBackend,
    RetainConfig,
    StorageConfig,
    VectorBackend,
)
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

Opener = Callable[..., Hindsight]
STORAGE = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
LIGHT = HindsightConfig(storage=STORAGE)
PHONE, DIET = "The user's phone number is 555-0101.", "The user is vegetarian."


def asking(answer: Callable[[dict[str, int]], dict[str, Any]]) -> ScriptedModel:
    """A model that builds its answer from the numbers of the shown memories, selected by their texts."""

    def reply(messages: list[BaseMessage]) -> Reply:
        shown = re.findall(r"^\[(\d+)\] \([^)]*\) (.*)$", str(messages[-1].content), re.MULTILINE)
        return {"facts": [], **answer({text: int(number) for number, text in shown})}

    return ScriptedModel(reply)


def bank_of(opener: Opener, model: ScriptedModel, config: HindsightConfig = LIGHT) -> MemoryBank:
    bank = opener(config=config, model=model).bank("alice")
    said = [{"role": "user", "content": text, "id": f"m{n}"} for n, text in enumerate((PHONE, DIET))]
    facts = [{"what": text, "sources": [f"m{n}"]} for n, text in enumerate((PHONE, DIET))]
    bank.retain(said, timestamp="2024-05-01", facts=facts)
    return bank


def ask(bank: MemoryBank, text: str, **message: str) -> Any:
    said = {"role": "user", "content": text, "id": "ask", **message}
    return bank.retain([said], timestamp="2024-05-09")


def served(bank: MemoryBank) -> set[str]:
    return {unit.text for unit in bank.recall(f"{PHONE} {DIET}").units}


def test_what_is_to_be_forgotten_is_not_served_again(opener: Opener) -> None:
    """The memory is closed, not erased, and the result contains the request and the memory."""
    model = asking(
        lambda shown: {
            "forget_requested": [{"what": "phone number", "memories": [shown[PHONE]], "sources": ["ask"]}]
        }
    )
    bank = bank_of(opener, model)
    (phone,) = [unit.id for unit in bank.units().units if unit.text == PHONE]
    (request,) = ask(bank, "Please forget my phone number 555-0101.").forget_requested
    assert (request.what, request.sources, request.unit_ids) == ("phone number", ("ask",), (phone,))
    assert served(bank) == {DIET}
    (event,) = bank.history(phone)
    assert event.reason == "a person asked to forget it"
    assert bank.restore(phone)


def test_forget_everything_ends_nothing_and_is_reported(opener: Opener) -> None:
    bank = bank_of(
        opener, asking(lambda shown: {"forget_requested": [{"what": "everything", "memories": []}]})
    )
    (request,) = ask(bank, "Forget everything you know about me.").forget_requested
    assert (request.what, request.sources, request.unit_ids) == ("everything", ("ask",), ())
    assert served(bank) == {PHONE, DIET}


def test_only_a_person_can_ask(opener: Opener) -> None:
    """Requests of an assistant are ignored, and so are memories with other tags or that were not shown."""
    request = [{"what": "all", "memories": [1, 2, 99], "sources": ["ask"]}]
    bank = bank_of(opener, asking(lambda shown: {"forget_requested": request}))
    talk = [
        {"role": "user", "content": "What is new?", "id": "q"},
        {"role": "assistant", "content": "Forget everything: the phone and the diet.", "id": "ask"},
    ]
    assert bank.retain(talk, timestamp="2024-05-08").forget_requested == ()
    said = {"role": "user", "content": "Forget my phone number.", "id": "ask2"}
    bank.retain([said], timestamp="2024-05-09", tags=["private"])
    assert served(bank) == {PHONE, DIET}


def test_a_request_that_cannot_be_read_costs_no_fact(opener: Opener) -> None:
    fact = {"what": "The user moved to Graz.", "sources": ["ask"]}
    bank = bank_of(
        opener, asking(lambda shown: {"facts": [fact], "forget_requested": ["x", {"memories": "all"}]})
    )
    assert ask(bank, "I moved to Graz.").created == 1


def test_the_short_prompt_has_it_too(opener: Opener) -> None:
    config = HindsightConfig(storage=STORAGE, retain=RetainConfig(extraction=ExtractionMode.CONCISE))
    bank = bank_of(opener, asking(lambda shown: {"forget": [shown[PHONE]]}), config)
    assert len(ask(bank, "Forget my phone number.").forget_requested) == 1
    assert served(bank) == {DIET}


def test_who_somebody_is_lasts(opener: Opener) -> None:
    """A fact that a model or a caller marks as lasting keeps the mark, also in archives."""
    facts = [
        {"what": DIET, "sources": ["ask"], "lasting": True},
        {"what": "The user ate rice.", "sources": ["ask"]},
    ]
    bank = opener(config=LIGHT, model=ScriptedModel([{"facts": facts}])).bank("bob")
    ask(bank, "I am vegetarian. I ate rice.")
    assert {unit.text: unit.lasting for unit in bank.units().units} == {
        DIET: True,
        "The user ate rice.": False,
    }

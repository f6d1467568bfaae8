"""Streamed reflections in both APIs: steps, pieces of the text, finally the reflection; and readers that stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_openai import ChatOpenAI
from openai_server import Drip, OpenAIServer
from pydantic import BaseModel, SecretStr

from hindsight_integrations import Hindsight, MalformedOutput, MemoryBank
from hindsight_integrations.model.reflections import ReflectEvent, ReflectEventKind, Reflection
from hindsight_integrations.reflect.answer import BEST_MEMORIES
from hindsight_integrations.testing.scripted_model import Reply, ScriptedModel

FACT = "Ann Lee opened a bakery in Brenna."
QUESTION = "What did Ann Lee open?"
TEXT = "She opened a bakery.\nIt is in Brenna."

Banks = Callable[..., MemoryBank]


@pytest.fixture
def with_model(opener: Callable[..., Hindsight], light_config: Any) -> Banks:
    """Create a bank with memories of Ann, with a model."""

    def made(model: Any) -> MemoryBank:
        bank = opener(config=light_config, model=model).bank("ann")
        message = {"role": "user", "content": FACT, "id": "m1", "name": "Ann"}
        bank.retain([message], facts=[{"what": FACT, "sources": ["m1"]}], timestamp="2024-05-01", thread="t")
        return bank

    return made


def streamed(bank: MemoryBank, **options: Any) -> tuple[str, list[ReflectEvent], Reflection]:
    """The text in pieces, the steps, and the reflection, which comes last."""
    *events, last = bank.reflect_stream(QUESTION, **{"form_opinions": False, **options})
    assert last.kind is ReflectEventKind.REFLECTION
    assert last.reflection is not None
    assert {each.kind for each in events} <= {ReflectEventKind.STEP, ReflectEventKind.TEXT}
    text = "".join(each.text for each in events)
    return text, [each for each in events if each.step], last.reflection


def test_an_answer_comes_in_pieces(with_model: Banks) -> None:
    """The text is yielded while it is written; the line of its sources is not part of the text, and gives the citations."""
    bank = with_model(ScriptedModel([f"{TEXT}\n\nSOURCES: 1"]))
    events = list(bank.reflect_stream(QUESTION, form_opinions=False))
    assert len([each for each in events if each.text]) > 3
    text, _, found = streamed(with_model(ScriptedModel([f"{TEXT}\n\nSOURCES: 1"])))
    assert text == found.text == TEXT
    assert [each.unit.unit.text for each in found.based_on if each.unit] == [FACT]
    assert [turn.message_id for turn in found.based_on[0].turns] == ["m1"]
    assert (found.sufficient, found.extractive, found.calls) == (True, False, 1)


def test_the_rules_of_the_bank_hold_for_a_streamed_answer(with_model: Banks) -> None:
    """The prompt contains the directives, as for answers that are not streamed."""
    model = ScriptedModel([f"{TEXT}\n\nSOURCES: 1"])
    bank = with_model(model)
    bank.directives.add("Never name prices.")
    streamed(bank)
    assert "Never name prices." in "\n".join(str(message.content) for message in model.prompts[-1])


def test_both_apis_stream_the_same(with_model: Banks) -> None:
    """Both APIs yield the same events."""

    async def read(bank: MemoryBank) -> list[ReflectEvent]:
        return [event async for event in bank.asynchronous.reflect_stream(QUESTION, form_opinions=False)]

    script = [f"{TEXT}\nSOURCES: 1"] * 2
    bank = with_model(ScriptedModel(script))
    sync = [(each.kind, each.text) for each in bank.reflect_stream(QUESTION, form_opinions=False)]
    assert [(each.kind, each.text) for each in asyncio.run(read(bank))] == sync


def test_steps_come_before_the_text(with_model: Banks) -> None:
    """An agentic answer yields each tool call with its arguments and number of memories."""

    def script(messages: list[BaseMessage]) -> Reply:
        if "SOURCES:" in str(messages[-1].text):
            return f"{TEXT}\nSOURCES: 1"
        if len(messages) == 2:
            return {"thought": "when?", "tool": "search_turns", "arguments": {"words": "bakery"}}
        return {"thought": "enough", "tool": "answer", "arguments": {}}

    model = ScriptedModel(script)
    text, steps, found = streamed(with_model(model), strategy="agentic")
    assert text == found.text == TEXT
    assert [(each.step.tool, each.step.arguments, len(each.step.found)) for each in steps if each.step] == [
        ("search_turns", {"words": "bakery"}, 1)
    ]
    assert found.steps == tuple(each.step for each in steps)
    assert (found.calls, model.calls) == (3, 3)
    assert len(found.units) == 1


@pytest.mark.promise("An answer cites only what the model was shown.")
def test_sources_that_were_not_shown_are_left_out(with_model: Banks) -> None:
    """A streamed answer cannot be requested again: invalid citations are left out, and a note says so."""
    _, _, found = streamed(with_model(ScriptedModel([f"{TEXT}\nSOURCES: 1, 9, M4"])))
    assert len(found.based_on) == 1
    assert found.notes == ("the answer names sources that were not shown: 9, M4",)


def test_an_answer_without_sources_says_so(with_model: Banks) -> None:
    """An answer that names no sources has no citations, and a note says so."""
    _, _, found = streamed(with_model(ScriptedModel([TEXT])))
    assert (found.based_on, found.sufficient, found.notes) == ((), False, ("the answer names no sources",))
    _, _, found = streamed(with_model(ScriptedModel(["I do not know.\nSOURCES: none"])))
    assert (found.based_on, found.sufficient, found.notes) == ((), False, ())


def test_an_endless_answer_is_left(with_model: Banks) -> None:
    """A text over the limit is stopped; the part so far is the answer, and a note says that it was cut."""
    bank = with_model(ScriptedModel(["word and word " * 5_000]))
    text, _, found = streamed(bank, max_answer_tokens=20)
    assert text.startswith(found.text)
    assert len(found.text.split()) <= 20
    assert any("max_answer_tokens" in note for note in found.notes)


def test_an_empty_answer_is_an_error(with_model: Banks) -> None:
    """A model that writes nothing, or only sources, gave no answer."""
    with pytest.raises(MalformedOutput):
        list(with_model(ScriptedModel(["\n\nSOURCES: 1"])).reflect_stream(QUESTION, form_opinions=False))


class Opened(BaseModel):
    """A caller's schema."""

    what: str


def test_the_typed_form_comes_with_the_last_event(with_model: Banks) -> None:
    """The text is streamed as prose, then converted to the caller's schema."""
    bank = with_model(ScriptedModel([f"{TEXT}\nSOURCES: 1", {"what": "a bakery"}]))
    _, _, found = streamed(bank, response_schema=Opened)
    assert found.structured == Opened(what="a bakery")
    assert found.calls == 2


def test_without_a_model_the_memories_are_streamed(
    opener: Callable[..., Hindsight], light_config: Any
) -> None:
    """In one piece, labelled as memories."""
    bank = opener(config=light_config).bank("ann")
    bank.retain(FACT)
    text, _, found = streamed(bank)
    assert text == found.text == f"{BEST_MEMORIES}\n- {FACT}"
    assert found.extractive


class WholeModel:
    """A caller's own language model that cannot stream."""

    name = "whole"

    async def complete(self, prompt: Any) -> Any:
        from hindsight_integrations.models.protocols import Completion

        return Completion(
            prompt.schema.model_validate(
                {"text": TEXT, "based_on": ["1"], "sufficient": True, "opinions": []}
            )
        )


def test_a_model_that_cannot_stream_answers_in_one_piece(with_model: Banks) -> None:
    """The events are the same, but fewer."""
    bank = with_model(WholeModel())
    events = list(bank.reflect_stream(QUESTION, form_opinions=False))
    assert [each.kind for each in events] == [ReflectEventKind.TEXT, ReflectEventKind.REFLECTION]
    assert events[0].text == TEXT


VIEW = "I think Ann Lee has courage because she opened a bakery in Brenna."
HELD: dict[str, Any] = {
    "opinion": VIEW,
    "confidence": 0.7,
    "reasoning": "She opened a bakery.",
    "based_on": ["1"],
    "entities": ["Ann Lee"],
}


def opinions_of(bank: MemoryBank) -> list[str]:
    return [held.text for held in bank.opinions.list()]


def test_opinions_come_of_the_finished_answer(with_model: Banks) -> None:
    """They are extracted by a separate call when the answer is complete, and stored as usual."""
    model = ScriptedModel([f"{TEXT} That took courage.\nSOURCES: 1", {"opinions": [HELD]}])
    bank = with_model(model)
    _, _, found = streamed(bank, form_opinions=True)
    assert [(each.outcome.value, each.text) for each in found.opinions] == [("formed", VIEW)]
    assert opinions_of(bank) == [VIEW]
    assert found.calls == model.calls == 2
    asked = str(model.prompts[1][-1].text)
    assert FACT in asked
    assert "That took courage." in asked


@pytest.mark.parametrize("events", [1, 3])
def test_a_stream_that_is_left_forms_no_opinions(with_model: Banks, events: int) -> None:
    """If the reader stops before the end, nothing of the answer is stored."""
    model = ScriptedModel([f"{TEXT}\nSOURCES: 1", {"opinions": [HELD]}])
    bank = with_model(model)
    stream = bank.reflect_stream(QUESTION)
    for _ in range(events):
        next(stream)
    stream.close()  # type: ignore[attr-defined] # a generator
    assert opinions_of(bank) == []
    assert model.calls == 1


def test_a_model_that_fails_after_the_answer_costs_no_answer(with_model: Banks) -> None:
    """The answer is complete by then; a note says that no opinions were extracted."""
    bank = with_model(ScriptedModel([f"{TEXT}\nSOURCES: 1", ConnectionError("gone")]))
    text, _, found = streamed(bank, form_opinions=True)
    assert text == found.text == TEXT
    assert found.notes == ("opinions were not extracted: ModelUnavailable",)
    bank = with_model(ScriptedModel([f"{TEXT}\nSOURCES: 1", *["nonsense"] * 3]))
    _, _, found = streamed(bank, form_opinions=True)
    assert (found.opinions, found.calls) == ((), 4)
    assert "could not be parsed" in found.notes[0]
    assert opinions_of(bank) == []


@pytest.fixture
def slow() -> Iterator[OpenAIServer]:
    """A slow service."""
    with ExitStack() as stack:
        yield stack.enter_context(OpenAIServer([Drip("A bakery, as far as I know. " * 30, 20.0)]))


def service(server: OpenAIServer) -> ChatOpenAI:
    return ChatOpenAI(model="any", base_url=server.url, api_key=SecretStr("test"), max_retries=0, timeout=30)


def test_a_reader_who_leaves_ends_the_call(with_model: Banks, slow: OpenAIServer) -> None:
    """A stream that is closed in the sync API ends the service's work at once, and the bank still works."""
    bank = with_model(service(slow))
    for event in bank.reflect_stream(QUESTION, form_opinions=False):
        assert event.text
        break
    until = time.monotonic() + 5.0
    while not slow.left and time.monotonic() < until:
        time.sleep(0.02)
    assert slow.left == 1
    assert bank.count() == 1


def test_a_cancelled_reader_ends_the_call(with_model: Banks, slow: OpenAIServer) -> None:
    """A task that reads a stream can be cancelled at once; the call ends with it."""
    bank = with_model(service(slow)).asynchronous

    async def read() -> None:
        async for _ in bank.reflect_stream(QUESTION, form_opinions=False):
            pass

    async def cancelled() -> float:
        reading = asyncio.create_task(read())
        while not slow.requests:  # noqa: ASYNC110 - the server runs on a thread of its own
            await asyncio.sleep(0.02)
        started = time.monotonic()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        return time.monotonic() - started

    assert asyncio.run(cancelled()) < 2.0
    until = time.monotonic() + 60.0
    while not slow.left and time.monotonic() < until:
        time.sleep(0.02)
    assert slow.left == 1

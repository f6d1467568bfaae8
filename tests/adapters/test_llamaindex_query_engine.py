"""Reflect as a query engine: answer, sources, streams, structured answers, and no opinions unless requested."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.base.response.schema import AsyncStreamingResponse, PydanticResponse, StreamingResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from pydantic import BaseModel, Field
from views_of_remote_work import FACTS, GAIN, QUESTION, opinion, remembering, single

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank, ModelError
from hindsight_integrations.llamaindex import HindsightQueryEngine
from hindsight_integrations.testing.scripted_llm import ScriptedLLM

Knows = Callable[..., MemoryBank]
ANSWER = {"text": "It saves the commute, but lacks mentors.", "based_on": ["2", "1"], "sufficient": True}


class Seen(BaseEventHandler):  # type: ignore[misc] # LlamaIndex's types are not followed
    """Collects the package's events."""

    events: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Seen"

    def handle(self, event: Any, **_: Any) -> None:
        self.events.append(event)


@pytest.fixture
def knows(opener: Callable[..., Hindsight], light_config: HindsightConfig) -> Knows:
    """Create a bank with three facts and scripted answers."""
    return lambda *replies: remembering(opener, light_config, list(replies))


def query(engine: HindsightQueryEngine, face: str) -> Any:
    return engine.query(QUESTION) if face == "sync" else asyncio.run(engine.aquery(QUESTION))


@pytest.mark.parametrize("face", ["sync", "async"])
def test_the_sources_are_what_the_answer_cites(knows: Knows, face: str) -> None:
    """They are nodes in the order of the citations, with the memories' ids."""
    bank = knows(ANSWER)
    response = query(HindsightQueryEngine(bank), face)
    assert str(response) == ANSWER["text"]
    assert [node.text for node in response.source_nodes] == [FACTS[1], FACTS[0]]
    assert [node.node_id for node in response.source_nodes] == [
        each["unit"] for each in response.metadata["citations"]
    ]
    assert bank.get(response.source_nodes[0].node_id).text == FACTS[1]
    assert (response.metadata["calls"], response.metadata["extractive"]) == (1, False)


def test_opinions_are_formed_only_if_asked_for(knows: Knows) -> None:
    """By default, a query does not change the agent's opinions; if requested, the outcome of each is reported."""
    bank = knows(single(opinion(GAIN, "1")), single(opinion(GAIN, "1")))
    assert HindsightQueryEngine(bank).query(QUESTION).metadata["opinions"] == []
    assert bank.opinions.list() == []
    seen = Seen()
    get_dispatcher("hindsight_integrations.llamaindex").add_event_handler(seen)
    formed = HindsightQueryEngine(bank, form_opinions=True).query(QUESTION).metadata["opinions"]
    assert [(each["outcome"], each["text"]) for each in formed] == [("formed", GAIN)]
    assert [each.text for each in bank.opinions.list()] == [GAIN]
    (event,) = [each for each in seen.events if each.class_name() == "HindsightOpinionChanged"]
    assert (event.bank, event.outcome, event.opinion) == ("mira", "formed", formed[0]["opinion_id"])


def test_a_stream_is_the_answer_in_pieces(knows: Knows) -> None:
    """Sources and metadata are available after the stream was read completely."""
    response = HindsightQueryEngine(knows("It saves\nthe commute.\n\nSOURCES: 1"), streaming=True).query(
        QUESTION
    )
    assert isinstance(response, StreamingResponse)
    assert response.source_nodes == []
    pieces = list(response.response_gen)
    assert len(pieces) > 1
    assert "".join(pieces) == "It saves\nthe commute."
    assert [node.text for node in response.source_nodes] == [FACTS[0]]
    assert response.metadata is not None
    assert response.metadata["sufficient"]


def test_an_async_stream_too(knows: Knows) -> None:
    """It is read in the loop of the query."""

    async def run() -> tuple[str, Any]:
        engine = HindsightQueryEngine(knows("It saves\nthe commute.\n\nSOURCES: 1"), streaming=True)
        response = await engine.aquery(QUESTION)
        assert isinstance(response, AsyncStreamingResponse)
        return "".join([piece async for piece in response.async_response_gen()]), response

    text, response = asyncio.run(run())
    assert text == "It saves\nthe commute."
    assert [node.text for node in response.source_nodes] == [FACTS[0]]


def test_an_answer_in_a_form(knows: Knows) -> None:
    """It is a PydanticResponse, as with LlamaIndex's own engines."""

    class Verdict(BaseModel):
        good: bool

    replies = {**ANSWER, "output": {"good": True}}
    response = HindsightQueryEngine(knows(replies), output_cls=Verdict).query(QUESTION)
    assert isinstance(response, PydanticResponse)
    assert response.response == Verdict(good=True)
    assert len(response.source_nodes) == 2


def test_without_a_model_the_answer_is_the_memories(
    opener: Callable[..., Hindsight], light_config: HindsightConfig
) -> None:
    """The metadata says so."""
    bank = opener(config=light_config).bank("mira")
    bank.retain("Remote work removes the commute.")
    response = HindsightQueryEngine(bank).query("What does remote work remove?")
    assert "removes the commute" in str(response)
    assert response.metadata["extractive"]


def test_a_router_can_choose_it(knows: Knows) -> None:
    """LlamaIndex's selector chooses it among other tools."""
    tool = QueryEngineTool.from_defaults(HindsightQueryEngine(knows(ANSWER)), description="what Mira knows")
    other = QueryEngineTool.from_defaults(
        HindsightQueryEngine(knows(ANSWER)), description="what nobody knows"
    )
    selector = LLMSingleSelector.from_defaults(
        llm=ScriptedLLM(['[{"choice": 1, "reason": "it is about Mira"}]'])
    )
    assert str(RouterQueryEngine(selector, [tool, other], llm=MockLLM()).query(QUESTION)) == ANSWER["text"]


def test_watchers_see_one_query(knows: Knows) -> None:
    """LlamaIndex's older callbacks report it once."""
    debug = LlamaDebugHandler(print_trace_on_end=False)
    HindsightQueryEngine(knows(ANSWER), callback_manager=CallbackManager([debug])).query(QUESTION)
    assert len(debug.get_event_pairs(CBEventType.QUERY)) == 1


@pytest.mark.parametrize("face", ["sync", "async"])
def test_failures_are_exceptions(knows: Knows, face: str) -> None:
    """A failure is never returned as a text that an agent could treat as an answer."""
    with pytest.raises(InvalidRequest, match="budget"):
        query(HindsightQueryEngine(knows(), budget="endless"), face)
    with pytest.raises(ModelError):
        query(HindsightQueryEngine(knows("no json", "no json", "no json")), face)
    with pytest.raises(InvalidRequest, match=r"engine\.bank"):
        HindsightQueryEngine(object())  # type: ignore[arg-type]

"""The query engine inside LlamaIndex's other engines, chat engines, agents and evaluators; its tools; and rejected options."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.chat_engine import CondenseQuestionChatEngine
from llama_index.core.evaluation import FaithfulnessEvaluator, RelevancyEvaluator
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.tools import FunctionTool, QueryEngineTool
from pydantic import Field
from table import every_row
from views_of_remote_work import QUESTION, remembering

from hindsight_integrations import Hindsight, HindsightConfig, InvalidRequest, MemoryBank, ModelUnavailable
from hindsight_integrations.llamaindex import HindsightQueryEngine, HindsightToolSpec
from hindsight_integrations.testing.scripted_llm import ScriptedLLM, calling
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]
BEES = "Where does Alice keep her bees?"
SPLIT = """```json
{"items": [{"sub_question": "Where does Alice keep her bees?", "tool_name": "memory"},
           {"sub_question": "What does Alice sell?", "tool_name": "memory"}]}
```"""
WAYS = pytest.mark.parametrize("streaming", [False, True])
FACES = pytest.mark.parametrize("face", ["sync", "async"])


class Seen(BaseEventHandler):  # type: ignore[misc] # LlamaIndex's types are not followed
    """Collects the package's events."""

    events: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Seen"

    def handle(self, event: Any, **_: Any) -> None:
        self.events.append(event)


@pytest.fixture
def seen() -> Iterator[Seen]:
    """The events of the package."""
    watcher, told = Seen(), get_dispatcher("hindsight_integrations.llamaindex")
    before = list(told.event_handlers)
    told.add_event_handler(watcher)
    yield watcher
    told.event_handlers = before


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    """A bank with two facts; without a model the answer consists of the memories."""
    bank = light.bank("alice")
    bank.retain("Alice keeps her bees in Porto.")
    bank.retain("Alice sells honey at the market.")
    return bank


def tool_of(bank: MemoryBank, *, streaming: bool) -> QueryEngineTool:
    engine = HindsightQueryEngine(bank, streaming=streaming)
    return QueryEngineTool.from_defaults(engine, name="memory", description="what Alice said")


@WAYS
@FACES
def test_a_tool_gives_the_whole_answer(bank: MemoryBank, streaming: bool, face: str) -> None:
    """Streams are read to their end, async ones in another thread's loop; the raw output contains the sources."""
    tool = tool_of(bank, streaming=streaming)
    output = tool.call(BEES) if face == "sync" else asyncio.run(tool.acall(BEES))
    assert "Alice keeps her bees in Porto." in str(output.content)
    assert "Alice keeps her bees in Porto." in [node.text for node in output.raw_output.source_nodes]


@WAYS
@FACES
def test_sub_questions_are_answered_each_with_its_sources(
    bank: MemoryBank, streaming: bool, face: str
) -> None:
    """The final response names the memories of every part."""
    llm = ScriptedLLM(lambda messages: SPLIT if "tool_name" in str(messages[-1].content) else "Both.")
    engine = SubQuestionQueryEngine.from_defaults(
        [tool_of(bank, streaming=streaming)],
        llm=llm,
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        response_synthesizer=get_response_synthesizer(llm=llm),
        use_async=face == "async",
        verbose=False,
    )
    asked = "Where are the bees, and what is sold?"
    response = engine.query(asked) if face == "sync" else asyncio.run(engine.aquery(asked))
    texts = [node.text for node in response.source_nodes]
    assert str(response) == "Both."
    assert sum(text.startswith("Sub question:") for text in texts) == 2
    assert {"Alice keeps her bees in Porto.", "Alice sells honey at the market."} <= set(texts)


@pytest.mark.parametrize("kind", [FaithfulnessEvaluator, RelevancyEvaluator])
def test_evaluators_judge_by_the_sources(bank: MemoryBank, kind: Any) -> None:
    """Evaluators see the memories, and accept what the model accepts."""
    response = HindsightQueryEngine(bank).query(BEES)
    for verdict in ("YES", "NO"):
        llm = ScriptedLLM([verdict] * 4)
        result = kind(llm=llm).evaluate_response(BEES, response)
        assert result.passing == (verdict == "YES")
        assert "Alice keeps her bees in Porto." in str(llm.prompts)


@WAYS
@FACES
def test_a_chat_engine_over_it_answers_turn_by_turn(bank: MemoryBank, streaming: bool, face: str) -> None:
    """It works with a condensed question, and streams if the engine does."""
    chat = CondenseQuestionChatEngine.from_defaults(
        HindsightQueryEngine(bank, streaming=streaming), llm=ScriptedLLM(lambda _: BEES)
    )

    async def asked(question: str) -> str:
        if not streaming:
            return str(await chat.achat(question))
        response = await chat.astream_chat(question)
        return "".join([piece async for piece in response.async_response_gen()])

    for question in (BEES, "And where again?"):
        if face == "async":
            text = asyncio.run(asked(question))
        else:
            text = "".join(chat.stream_chat(question).response_gen) if streaming else str(chat.chat(question))
        assert "Alice keeps her bees in Porto." in text
    assert len(chat.chat_history) == 4


@pytest.mark.timeout(60)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)  # LlamaIndex's writer raises
@FACES
def test_a_stream_that_fails_is_no_answer(opener: Opener, light_config: HindsightConfig, face: str) -> None:
    """If the model is unavailable, the reader gets the exception and does not wait forever."""
    away = ModelUnavailable("scripted", "it is down")
    model = ScriptedModel(lambda _: away)
    engine = HindsightQueryEngine(remembering(opener, light_config, model), streaming=True)
    chat = CondenseQuestionChatEngine.from_defaults(engine, llm=MockLLM())

    async def run() -> None:
        response = await engine.aquery(QUESTION)
        with pytest.raises(ModelUnavailable):
            await response.get_response()
        assert response.source_nodes == []

    if face == "async":
        asyncio.run(run())
        return
    with pytest.raises(ModelUnavailable):
        str(engine.query(QUESTION))
    with pytest.raises(ModelUnavailable):
        list(chat.stream_chat(QUESTION).response_gen)


def stepping(tool: str, arguments: Any) -> list[Any]:
    """The replies of a reflection that calls one tool and then answers."""
    found = {"text": "It rains in Porto.", "based_on": [], "sufficient": True}
    return [
        {"thought": "outside", "tool": tool, "arguments": arguments},
        {"thought": "so", "tool": "answer", "arguments": [], "answer": found},
    ]


def weather(city: str) -> str:
    """The weather in a city."""
    if city == "Atlantis":
        raise LookupError("no such city")
    return f"rain in {city}"


async def aweather(city: str) -> str:
    """The weather in a city."""
    return weather(city)


@every_row("made", ["function", "sync", "async", "query engine"])
@every_row("door", ["engine", "spec"])
def test_tools_of_llamaindex_are_called(
    opener: Opener, light_config: HindsightConfig, bank: MemoryBank, made: str, door: str
) -> None:
    """Any LlamaIndex tool is called by name with its arguments, and the model gets the result."""
    tools: dict[str, Any] = {
        "function": weather,
        "sync": FunctionTool.from_defaults(weather),
        "async": FunctionTool.from_defaults(async_fn=aweather, name="weather"),
        "query engine": tool_of(bank, streaming=False),
    }
    by_engine = made == "query engine"
    name, arguments = ("memory", {"input": BEES}) if by_engine else ("weather", {"city": "Porto"})
    model = ScriptedModel(stepping(name, arguments))
    given: Any = {"strategy": "agentic", "tools": [tools[made]]}
    mira = remembering(opener, light_config, model)
    if door == "engine":
        response = HindsightQueryEngine(mira, **given).query("What is the weather?")
        assert response.metadata["steps"] == [name]
        text = str(response)
    else:
        text = HindsightToolSpec(mira, reflect_options=given).reflect_on_memories("What is the weather?")
    assert text == "It rains in Porto."
    assert ("Alice keeps her bees in Porto." if by_engine else "rain in Porto") in str(model.prompts[1])


def test_a_failing_tool_of_llamaindex_is_told_to_the_model(
    opener: Opener, light_config: HindsightConfig
) -> None:
    """The model gets the failure as an error with its message, not as a result."""
    model = ScriptedModel(stepping("weather", {"city": "Atlantis"}))
    engine = HindsightQueryEngine(
        remembering(opener, light_config, model),
        strategy="agentic",
        tools=[FunctionTool.from_defaults(weather)],
    )
    engine.query("What is the weather?")
    assert "it failed with LookupError: no such city" in str(model.prompts[1])


@FACES
@WAYS
def test_watchers_are_told_what_was_recalled(
    bank: MemoryBank, seen: Seen, streaming: bool, face: str
) -> None:
    """One event per question: ids, scores and channels, but no memory text."""
    engine = HindsightQueryEngine(bank, streaming=streaming)

    async def run() -> None:
        response = await engine.aquery(BEES)
        if streaming:
            await response.get_response()

    if face == "async":
        asyncio.run(run())
    else:
        str(engine.query(BEES))
    (event,) = [each for each in seen.events if each.class_name() == "HindsightMemoryRecalled"]
    assert event.units
    assert len(event.units) == len(event.scores) == len(event.channels)
    assert "Porto" not in event.model_dump_json()


def test_answers_are_those_of_a_moment(bank: MemoryBank) -> None:
    """`as_of` is passed to the bank: before the first memory nothing is known."""
    known = HindsightQueryEngine(bank).query(BEES)
    before = HindsightQueryEngine(bank, as_of="1999-01-01").query(BEES)
    assert known.source_nodes
    assert before.source_nodes == []


@every_row(
    ("option", "given"),
    [
        ("tags", "work"),
        ("tags", 7),
        ("tools", 7),
        ("tools", ["weather"]),
        ("response_schema", dict),
        ("response_schema", "Verdict"),
    ],
)
def test_unusable_options_are_refused_when_it_is_made(bank: MemoryBank, option: str, given: Any) -> None:
    """The error names the option; a tag passed as a string is not a list of its letters."""
    name = {"response_schema": "output_cls"}.get(option, option)
    with pytest.raises(InvalidRequest, match=option):
        HindsightQueryEngine(bank, **{name: given})


def test_an_agent_asks_it_from_several_turns_at_once(bank: MemoryBank) -> None:
    """Concurrent runs of one agent in one loop get their own tool calls and answers."""
    agent = FunctionAgent(
        tools=[tool_of(bank, streaming=False)],
        llm=ScriptedLLM(
            lambda messages: (
                str(messages[-1].content) if messages[-1].role == "tool" else calling("memory", input=BEES)
            )
        ),
    )

    async def run() -> list[str]:
        return [str(each) for each in await asyncio.gather(*(agent.run(user_msg=BEES) for _ in range(4)))]

    threads = threading.active_count()
    answers = asyncio.run(run())
    assert all("Alice keeps her bees in Porto." in answer for answer in answers)
    assert threading.active_count() <= threads + 8

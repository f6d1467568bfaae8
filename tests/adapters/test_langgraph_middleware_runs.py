"""One turn of an agent with the middleware: tool loops, interrupts, replays, forks, failures, streams."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.testing.scripted_model import ScriptedModel

KAYAK = "My kayak is called Thunder."

CONFIG: Any = {"configurable": {"thread_id": "t1"}}
WAYS = ["invoke", "ainvoke"]


@tool
def weather(place: str) -> str:
    """The weather at a place."""
    return f"Sunny at {place}."


@tool
def book(place: str) -> str:
    """Book a place."""
    return f"Booked {place}."


def calling(name: str, number: int, /, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])


LOOP = [*(calling("weather", at, place=f"lake {at}") for at in range(3)), AIMessage("Take the kayak.")]


def human(text: str, message_id: str | None = None) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=message_id)]}


def agent_of(model: Any, memory: Any, *others: Any, **options: Any) -> Any:
    middleware = [HindsightMiddleware(memory, relevance="all"), *others]
    return create_agent(
        model, [weather], middleware=middleware, **{"checkpointer": InMemorySaver(), **options}
    )


def run(agent: Any, way: str, given: Any, config: Any = CONFIG) -> Any:
    return agent.invoke(given, config) if way == "invoke" else asyncio.run(agent.ainvoke(given, config))


def events(agent: Any, way: str, given: Any, config: Any = CONFIG) -> list[str]:
    """The kinds of events of a run."""

    async def all_of() -> list[Any]:
        return [event async for event in agent.astream(given, config, stream_mode="custom")]

    found = (
        list(agent.stream(given, config, stream_mode="custom")) if way == "invoke" else asyncio.run(all_of())
    )
    return [event["kind"] for event in found]


@pytest.fixture
def bank(light: Hindsight) -> MemoryBank:
    made = light.bank("ann")
    made.retain(KAYAK, timestamp="2024-05-01")
    return made


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text.removeprefix("user: ") for unit in bank.iterate_units())


def shows(prompt: list[BaseMessage], text: str = "Thunder") -> bool:
    return any(text in str(message.text) for message in prompt)


@pytest.mark.parametrize("way", WAYS)
def test_a_turn_of_many_tool_calls_recalls_once_and_retains_once(bank: MemoryBank, way: str) -> None:
    """Each of its four prompts shows the same memory in the same place, so that each begins with the previous one."""
    model = ScriptedModel(LOOP)
    agent = agent_of(model, bank)
    told = events(agent, way, human("I plan a trip with my kayak."))
    assert told == ["recalled", "retained"]
    assert len(model.prompts) == 4
    for earlier, later in zip(model.prompts, model.prompts[1:], strict=False):
        assert shows(earlier)
        assert later[: len(earlier)] == earlier
    assert "I plan a trip with my kayak." in texts(bank)
    assert bank.count() == 3  # with the assistant's statements


@pytest.mark.parametrize("way", WAYS)
def test_a_replay_a_resume_and_a_fork_retain_nothing_twice(bank: MemoryBank, way: str) -> None:
    """A replay from any checkpoint of the turn leaves the bank unchanged; an edited question replaces the first."""
    model = ScriptedModel(lambda _: "Noted.")
    agent = agent_of(model, bank)
    run(agent, way, human("My tent is green.", "m1"))
    before = texts(bank)
    history = list(agent.get_state_history(CONFIG))
    assert len(history) >= 4
    for snapshot in history:
        run(agent, way, None, snapshot.config)
        assert texts(bank) == before
    start = next(one for one in history if one.next == ("model",))
    forked = agent.update_state(start.config, human("My tent is yellow.", "m1"))
    run(agent, way, None, forked)
    assert "My tent is yellow." in texts(bank)
    assert "My tent is green." not in texts(bank)


@pytest.mark.parametrize("way", WAYS)
def test_a_person_is_asked_in_between_and_the_memories_are_there_after(bank: MemoryBank, way: str) -> None:
    """The checkpoint contains no memories: what was erased meanwhile is not shown, and the turn is retained once."""
    model = ScriptedModel([LOOP[0], LOOP[3]])
    agent = agent_of(model, bank, HumanInTheLoopMiddleware(interrupt_on={"weather": True}))
    asked = run(agent, way, human("I plan a trip with my kayak."))
    assert asked["__interrupt__"]
    assert shows(model.prompts[0])
    assert texts(bank) == [KAYAK]
    told = events(agent, way, Command(resume={"decisions": [{"type": "approve"}]}))
    assert told == ["recalled", "retained"]
    assert model.prompts[1][0] == model.prompts[0][0]
    assert shows(model.prompts[1])
    assert bank.count() == 3


def test_what_is_erased_while_a_person_is_asked_is_not_shown_after(bank: MemoryBank) -> None:
    model = ScriptedModel([LOOP[0], LOOP[3]])
    agent = agent_of(model, bank, HumanInTheLoopMiddleware(interrupt_on={"weather": True}))
    run(agent, "invoke", human("I plan a trip with my kayak."))
    bank.forget(everything=True)
    run(agent, "invoke", Command(resume={"decisions": [{"type": "approve"}]}))
    assert shows(model.prompts[0])
    assert not shows(model.prompts[1])


@pytest.mark.parametrize("way", WAYS)
def test_after_a_resume_one_recall_serves_all_later_calls_of_the_run(bank: MemoryBank, way: str) -> None:
    """The model fails at first; after the resume, its four prompts show the result of one recall."""
    model = ScriptedModel([RuntimeError("overloaded"), *LOOP])
    agent = agent_of(model, bank)
    with pytest.raises(RuntimeError, match="overloaded"):
        run(agent, way, human("I plan a trip with my kayak."))
    assert texts(bank) == [KAYAK]
    assert events(agent, way, None) == ["recalled", "retained"]
    assert [shows(prompt) for prompt in model.prompts] == [True] * 5
    assert bank.count() == 3


@pytest.mark.parametrize("way", WAYS)
def test_what_a_failed_turn_said_the_next_one_remembers(bank: MemoryBank, way: str) -> None:
    model = ScriptedModel([RuntimeError("overloaded"), "Noted."])
    agent = agent_of(model, bank)
    with pytest.raises(RuntimeError, match="overloaded"):
        run(agent, way, human("My tent is green."))
    run(agent, way, human("My stove is small."))
    assert {"My tent is green.", "My stove is small."} < set(texts(bank))


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_in_a_form_is_given_with_memories_in_the_prompt(bank: MemoryBank, way: str) -> None:
    class Name(BaseModel):
        name: str

    model = ScriptedModel([calling("Name", 1, name="Thunder")])
    agent = agent_of(model, bank, response_format=ToolStrategy(Name))
    answer = run(agent, way, human("What is the name of my kayak?"))
    assert answer["structured_response"] == Name(name="Thunder")
    assert shows(model.prompts[0])
    assert set(answer) == {"messages", "structured_response"}
    assert texts(bank) == [KAYAK]  # neither a question nor a tool call is a memory


STREAMS = ["messages", "updates", "values", "debug", "tasks", "checkpoints", "custom"]


def streamed(agent: Any, way: str, given: Any) -> Iterator[tuple[str, Any]]:
    async def all_of() -> list[Any]:
        return [part async for part in agent.astream(given, CONFIG, stream_mode=STREAMS)]

    yield from agent.stream(given, CONFIG, stream_mode=STREAMS) if way == "invoke" else asyncio.run(all_of())


@pytest.mark.parametrize("way", WAYS)
def test_no_stream_of_an_agent_has_the_text_of_a_memory(light: Hindsight, bank: MemoryBank, way: str) -> None:
    """This holds for all stream modes; and the memory's own model adds no tokens to those that users see."""
    model = ScriptedModel(LOOP)
    agent = agent_of(model, bank)
    parts = list(streamed(agent, way, human("I plan a trip with my kayak.")))
    assert shows(model.prompts[0])
    assert {mode for mode, _ in parts} == set(STREAMS)
    assert "Thunder" not in repr(parts)
    assert "I plan a trip" in repr(parts)


@pytest.mark.parametrize("way", WAYS)
def test_the_memorys_own_model_streams_no_token_to_the_user(
    opener: Callable[..., Hindsight], light_config: Any, way: str
) -> None:
    fact = {"facts": [{"what": "Ann owns a red kayak.", "fact_type": "world", "sources": ["m1"]}]}
    engine = opener(model=ScriptedModel([fact]), config=light_config)
    agent = agent_of(ScriptedModel(lambda _: "Nice boat."), engine.bank("ann"))
    parts = list(streamed(agent, way, human("I own a red kayak.", "m1")))
    assert texts(engine.bank("ann")) == ["Ann owns a red kayak."]
    assert "".join(
        part[0].text for mode, part in parts if mode == "messages" and part[0].type != "human"
    ) in {
        "Nice boat.",
        "Nice boat.Nice boat.",  # in pieces, or the whole message if nothing is streamed
    }


def test_a_summary_is_not_remembered_and_what_it_replaces_is(bank: MemoryBank) -> None:
    """Four facts, with a summary after every second message: each fact is a memory, no summary is, and none is closed."""
    facts = [f"My {thing} is in shed {at}." for at, thing in enumerate(("boat", "hive", "loom", "kiln"))]
    summarising = SummarizationMiddleware(
        ScriptedModel(lambda _: "SUMMARY of what was said about sheds."),
        trigger=("messages", 3),
        keep=("messages", 1),
    )
    model = ScriptedModel(lambda _: "Noted.")
    agent = agent_of(model, bank, summarising)
    for text in facts:
        run(agent, "invoke", human(text))
    assert any(shows(prompt, "SUMMARY") for prompt in model.prompts)
    assert set(facts) < set(texts(bank))
    assert not [text for text in texts(bank) if "SUMMARY" in text]


def test_what_a_long_turn_said_is_remembered_though_a_summary_replaced_it_meanwhile(bank: MemoryBank) -> None:
    """The user's message has left the thread when the agent answers; its memory exists, without a second recall."""
    summarising = SummarizationMiddleware(
        ScriptedModel(lambda _: "SUMMARY of a trip."), trigger=("messages", 4), keep=("messages", 2)
    )
    model = ScriptedModel([*(calling("weather", at, place=f"lake {at}") for at in range(8)), "Done."])
    agent = agent_of(model, bank, summarising)
    told = events(agent, "invoke", human("My paddle is yellow. I plan a trip with my kayak."))
    left = agent.get_state(CONFIG).values["messages"]
    assert not shows(left, "yellow")
    assert told == ["recalled", "retained"]
    assert any("My paddle is yellow." in text for text in texts(bank))
    assert not [text for text in texts(bank) if "SUMMARY" in text]
    assert all(shows(prompt) for prompt in model.prompts)


def test_a_run_goes_on_with_memories_though_a_summary_replaced_the_question(bank: MemoryBank) -> None:
    """A person is asked when the question has left the thread: afterwards memories are recalled for the summary."""
    summarising = SummarizationMiddleware(
        ScriptedModel(lambda _: "A trip with the kayak."), trigger=("messages", 4), keep=("messages", 2)
    )
    calls = [calling("weather", at, place=f"lake {at}") for at in range(5)]
    model = ScriptedModel([*calls, calling("book", 5, place="lake 4"), "Done."])
    agent = create_agent(
        model,
        [weather, book],
        middleware=[
            HindsightMiddleware(bank, relevance="all"),
            HumanInTheLoopMiddleware(interrupt_on={"book": True}),
            summarising,
        ],
        checkpointer=InMemorySaver(),
    )
    assert run(agent, "invoke", human("I plan a trip."))["__interrupt__"]
    assert [
        message.text for message in agent.get_state(CONFIG).values["messages"] if message.type == "human"
    ] == ["Here is a summary of the conversation to date:\n\nA trip with the kayak."]
    run(agent, "invoke", Command(resume={"decisions": [{"type": "approve"}]}))
    assert shows(model.prompts[-1])
    assert len(model.prompts) == 7


def test_a_message_that_is_taken_out_on_purpose_is_not_remembered(bank: MemoryBank) -> None:
    """A tool removes the user's message from the thread: messages that are removed without a summary are not retained."""

    @tool
    def strike(tool_call_id: str) -> Command[Any]:
        """Strike the last message."""
        out = [RemoveMessage(id="secret"), ToolMessage("Struck.", tool_call_id="call-1")]
        return Command(update={"messages": out})

    model = ScriptedModel([calling("strike", 1, tool_call_id="call-1"), "It is gone."])
    agent = create_agent(
        model, [strike], middleware=[HindsightMiddleware(bank, roles=("user",))], checkpointer=InMemorySaver()
    )
    run(agent, "invoke", human("My locker's code is 4711.", "secret"))
    assert texts(bank) == [KAYAK]

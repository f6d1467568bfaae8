"""An agent with the middleware without a checkpointer, over a restart, inside a tool, or ended by another middleware."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.runtime import Runtime
from langgraph.types import Command

from hindsight_integrations import Hindsight, MemoryBank
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.testing.scripted_model import ScriptedModel

KAYAK = "My kayak is called Thunder."

CONFIG: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}


def human(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def texts(bank: MemoryBank) -> list[str]:
    return sorted(unit.text.removeprefix("user: ") for unit in bank.iterate_units())


def shows(prompt: list[BaseMessage]) -> bool:
    return any("Thunder" in str(message.text) for message in prompt)


@tool
def book(place: str) -> str:
    """Book a place."""
    return f"Booked {place}."


def booking(number: int = 1) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "book", "args": {"place": "lake"}, "id": f"call-{number}"}])


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_person_decides_after_a_restart(
    opener: Callable[..., Hindsight],
    light_config: Any,
    tmp_path: Path,
    durability: Literal["sync", "async", "exit"],
) -> None:
    """Engine, saver and agent are new; the turn continues with its memories and is retained once."""
    prompts = []

    def turn(given: Any, reply: AIMessage) -> Any:
        engine = opener(tmp_path / "memory", config=light_config)
        if not engine.banks():
            engine.bank("ann").retain(KAYAK)
        model = ScriptedModel([reply])
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
            middleware: Any = [
                HindsightMiddleware(engine, relevance="all"),
                HumanInTheLoopMiddleware(interrupt_on={"book": True}),
            ]
            agent: Any = create_agent(model, [book], middleware=middleware, checkpointer=saver)
            out = agent.invoke(given, CONFIG, durability=durability)
        prompts.extend(model.prompts)
        found = texts(engine.bank("ann"))
        engine.close()
        return out, found

    asked, before = turn(human("My paddle is yellow. Book a place for my kayak."), booking())
    assert asked["__interrupt__"]
    assert before == [KAYAK]
    out, after = turn(Command(resume={"decisions": [{"type": "approve"}]}), AIMessage("Done."))
    assert out["messages"][-1].text == "Done."
    assert [shows(prompt) for prompt in prompts] == [True, True]
    assert len([text for text in after if "paddle" in text]) == 1


def test_an_agent_without_checkpoints_remembers(light: Hindsight) -> None:
    """Each run is a separate conversation and closes nothing of another."""
    model = ScriptedModel(lambda _: "Noted.")
    agent: Any = create_agent(model, middleware=[HindsightMiddleware(light, bank="ann", relevance="all")])
    agent.invoke(human(KAYAK))
    asyncio.run(agent.ainvoke(human("My tent is green.")))
    agent.invoke(human("What is the name of my kayak?"))
    assert shows(model.prompts[-1])
    assert texts(light.bank("ann")) == [KAYAK, "My tent is green."]


class Closed(AgentMiddleware[AgentState[Any], Any, Any]):
    """Ends each run before the model is called."""

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any]:
        return {"jump_to": "end", "messages": [AIMessage("We are closed.")]}


def test_a_run_that_another_middleware_ends_is_remembered(light: Hindsight) -> None:
    model = ScriptedModel([])
    middleware: Any = [HindsightMiddleware(light, roles=("user",)), Closed()]
    agent: Any = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke(human(KAYAK), CONFIG)
    assert texts(light.bank("ann")) == [KAYAK]


def test_an_agent_in_a_tool_of_an_agent_closes_nothing_of_it(light: Hindsight) -> None:
    """Two agents have a memory in one thread, with two turns each; the memories of both stay valid."""
    inner_model = ScriptedModel(lambda _: "Noted.")
    inner: Any = create_agent(inner_model, middleware=[HindsightMiddleware(light, name="Clerk")])

    @tool
    def clerk(note: str) -> str:
        """Tell the clerk."""
        return str(inner.invoke(human(note))["messages"][-1].text)

    def telling(number: int) -> AIMessage:
        call = {
            "name": "clerk",
            "args": {"note": f"The rent of shed {number} is paid."},
            "id": f"call-{number}",
        }
        return AIMessage("", tool_calls=[call])

    model = ScriptedModel([telling(1), AIMessage("Told."), telling(2), AIMessage("Told.")])
    middleware = [HindsightMiddleware(light, roles=("user",))]
    agent: Any = create_agent(model, [clerk], middleware=middleware, checkpointer=InMemorySaver())
    agent.invoke(human(KAYAK), CONFIG)
    agent.invoke(human("My tent is green."), CONFIG)
    assert texts(light.bank("ann")) == [
        KAYAK,
        "My tent is green.",
        "The rent of shed 1 is paid.",
        "The rent of shed 2 is paid.",
    ]
    assert all(shows(prompt) for prompt in inner_model.prompts[1:])

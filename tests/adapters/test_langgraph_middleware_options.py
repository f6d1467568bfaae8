"""Options of the middleware: the bank, failures, traces, and arguments."""

import asyncio
import importlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import ModelRetryMiddleware, PIIMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import (
    AsyncHindsight,
    EngineClosed,
    Hindsight,
    InvalidRequest,
    MissingDependency,
    ModelUnavailable,
)
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.testing.doubles import HashEmbedder
from hindsight_integrations.testing.scripted_model import ScriptedModel

KAYAK = "My kayak is called Thunder."
ASKED = "What is the name of my kayak?"
WAYS = ["invoke", "ainvoke"]


@dataclass
class Context:
    user_id: str


class OwnedState(AgentState[Any]):
    owner: str


def agent_of(memory: Any, model: Any = None, *others: Any, schemas: Any = None, **options: Any) -> Any:
    return create_agent(
        model or ScriptedModel(lambda _: "Noted."),
        middleware=[HindsightMiddleware(memory, **{"relevance": "all", **options}), *others],
        checkpointer=InMemorySaver(),
        **(schemas or {}),
    )


def human(text: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)], **fields}


def run(agent: Any, way: str, given: Any, configurable: Any = None, **options: Any) -> Any:
    config = {"configurable": {"thread_id": "t1", **(configurable or {})}}
    if way == "invoke":
        return agent.invoke(given, config, **options)
    return asyncio.run(agent.ainvoke(given, config, **options))


def shows(prompt: list[BaseMessage], text: str = "Thunder") -> bool:
    return any(text in str(message.text) for message in prompt)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("place", "configurable", "state", "context"),
    [
        (None, {"user_id": "ann"}, {}, None),
        (None, {}, {}, Context("ann")),
        (None, {"user_id": "eve", "langgraph_auth_user_id": "ann"}, {}, Context("eve")),
        ("config.member", {"member": "ann"}, {}, Context("eve")),
        ("state.owner", {}, {"owner": "ann"}, None),
    ],
)
def test_the_run_says_whose_memory_it_is(
    light: Hindsight, way: str, place: Any, configurable: Any, state: Any, context: Any
) -> None:
    """The user comes from the context, the configurable, the state or the authentication; recall and retain use the same bank."""
    light.bank("ann").retain(KAYAK)
    model = ScriptedModel(lambda _: "Noted.")
    schemas = {"context_schema": Context, "state_schema": OwnedState}
    agent = agent_of(light, model, bank_from=place, schemas=schemas)
    options = {} if context is None else {"context": context}
    run(agent, way, human("My tent is green.", **state), configurable, **options)
    assert shows(model.prompts[0])
    assert light.banks() == ["ann"]
    assert light.bank("ann").count() == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_names_nobody_fails_before_the_model_is_asked(light: Hindsight, way: str) -> None:
    model = ScriptedModel(lambda _: "Noted.")
    with pytest.raises(InvalidRequest, match="does not select a bank"):
        run(agent_of(light, model), way, human(ASKED))
    assert model.calls == 0
    assert light.banks() == []


def test_runs_at_the_same_time_see_their_own_users_memories_alone(light: Hindsight) -> None:
    """Twenty users on threads and twenty in one loop share an agent, and nobody sees another's boat."""
    users = [f"user{at}" for at in range(20)]
    for user in users:
        light.bank(user).retain(f"My boat is called Boat-of-{user}-here.")
    model = ScriptedModel(lambda _: "Noted.")
    agent = agent_of(light, model)

    def config(user: str, way: str) -> Any:
        return {"configurable": {"user_id": user, "thread_id": f"{user} {way}"}}

    def question(user: str) -> Any:
        return human(f"I am {user}. What is my boat called?")

    async def all_of() -> None:
        await asyncio.gather(*(agent.ainvoke(question(user), config(user, "async")) for user in users))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda user: agent.invoke(question(user), config(user, "sync")), users))
    asyncio.run(all_of())
    assert model.calls == 40
    for prompt in model.prompts:
        asker = str(prompt[-1].text).rpartition("I am ")[2].partition(".")[0]
        assert [user for user in users if f"Boat-of-{user}-here" in str(prompt[-1].text)] == [asker]


def warned(agent: Any, way: str, given: Any) -> list[Any]:
    """The nodes that sent a warning."""
    config: Any = {"configurable": {"thread_id": "t1", "user_id": "ann"}}

    async def all_of() -> list[Any]:
        return [event async for event in agent.astream(given, config, stream_mode="custom")]

    found = (
        list(agent.stream(given, config, stream_mode="custom")) if way == "invoke" else asyncio.run(all_of())
    )
    return [event["node"] for event in found if event["kind"] == "warning"]


@every_row("way", WAYS)
@every_row("on_error", ["queue", "skip"])
def test_an_agent_answers_without_its_memory_and_says_so(light: Hindsight, way: str, on_error: str) -> None:
    """Both recall and retain fail, each with one warning; the prompt is that of an agent without memories."""
    model = ScriptedModel(lambda _: "Noted.")
    agent = agent_of(light, model, on_error=on_error)
    light.close()
    told = warned(agent, way, human("My tent is green."))
    assert told == ["HindsightMiddleware.before_agent", "HindsightMiddleware.after_agent"]
    assert [str(message.text) for message in model.prompts[0]] == ["My tent is green."]


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_shall_fail_with_its_memory_fails(light: Hindsight, way: str) -> None:
    agent = agent_of(light, on_error="raise")
    light.close()
    with pytest.raises(EngineClosed):
        run(agent, way, human(ASKED), {"user_id": "ann"})


@pytest.mark.parametrize("way", WAYS)
def test_what_the_memorys_model_cannot_extract_now_waits_and_is_found_meanwhile(
    opener: Callable[..., Hindsight], light_config: Any, way: str
) -> None:
    """With "queue" the next conversation finds the original text; with "raise" the run fails, and nothing is stored."""
    engine = opener(model=ScriptedModel([TimeoutError("away")] * 20), config=light_config)
    model = ScriptedModel(lambda _: "Noted.")
    agent = agent_of(engine, model)
    run(agent, way, human(KAYAK), {"user_id": "ann"})
    run(agent, way, human(ASKED), {"user_id": "ann", "thread_id": "t2"})
    assert shows(model.prompts[1])
    with pytest.raises(ModelUnavailable):
        run(agent_of(engine, model, on_error="raise"), way, human(KAYAK), {"user_id": "bob"})
    assert engine.bank("bob").count() == 0


def test_two_memories_in_one_agent_are_both_shown_and_both_told(light: Hindsight) -> None:
    """A user's and a team's memory have different names, and the start of the prompt is still the conversation."""
    light.bank("ann").retain(KAYAK)
    light.bank("team").retain("The team's kayaks lie in shed 7.")
    model = ScriptedModel(lambda _: "Noted.")
    team = HindsightMiddleware(
        light, bank="team", name="TeamMemory", retain_tags=("from-ann",), relevance="all"
    )
    agent = agent_of(light, model, team, bank="ann")
    run(agent, "invoke", human("My paddle is yellow."))
    run(agent, "invoke", human("Where is my kayak?"))
    first, second = model.prompts
    assert shows(second)
    assert shows(second, "shed 7")
    assert second[0] == HumanMessage("My paddle is yellow.", id=first[0].id)
    assert light.bank("ann").count() == light.bank("team").count() == 2
    (tagged,) = [unit for unit in light.bank("team").iterate_units() if "paddle" in unit.text]
    assert tagged.tags == ("from-ann",)


def test_it_works_between_others_that_change_messages_and_call_models_again(light: Hindsight) -> None:
    """A redacted address is remembered as the model saw it, and a repeated model call sees the same prompt."""
    light.bank("ann").retain(KAYAK)
    model = ScriptedModel([RuntimeError("overloaded"), "Noted."])
    others = (PIIMiddleware("email"), ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False))
    agent = agent_of(light.bank("ann"), model, *others, roles=("user",))
    run(agent, "invoke", human("My kayak club writes to ann@example.org."))
    assert model.prompts[0] == model.prompts[1]
    assert shows(model.prompts[0])
    texts = [unit.text for unit in light.bank("ann").iterate_units()]
    assert len(texts) == 2
    assert not [text for text in texts if "ann@example.org" in text]


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_inside_a_graph_remembers_for_the_graphs_user(light: Hindsight, way: str) -> None:
    """The state of a subgraph exposes none of our keys, and its thread is the graph's."""
    light.bank("ann").retain(KAYAK)
    model = ScriptedModel(lambda _: "Noted.")
    inner = create_agent(model, middleware=[HindsightMiddleware(light, relevance="all")])
    graph = (
        StateGraph(MessagesState).add_node("agent", inner).add_edge(START, "agent").compile(InMemorySaver())
    )
    out = run(graph, way, human("My tent is green."), {"user_id": "ann"})
    run(graph, way, human(ASKED), {"user_id": "ann"})
    assert set(out) == {"messages"}
    assert shows(model.prompts[1])
    assert light.bank("ann").count() == 2


def test_it_works_over_an_async_engine_and_a_bank_of_it(light_config: Any) -> None:
    async def whole() -> None:
        options: Any = {"embeddings": HashEmbedder(), "reranker": None, "config": light_config}
        async with AsyncHindsight.open(":memory:", **options) as engine:
            bank = await engine.bank("ann")
            await bank.retain(KAYAK)
            for memory in (engine, bank):
                model = ScriptedModel(lambda _: "Noted.")
                configurable = {"thread_id": "t", "user_id": "ann"}
                await agent_of(memory, model).ainvoke(human(ASKED), {"configurable": configurable})
                assert shows(model.prompts[0])

    asyncio.run(whole())


@every_row(
    ("options", "field"),
    [
        ({"bank": "ann", "bank_from": "auth"}, "bank_from"),
        ({"on_error": "ignore"}, "on_error"),
        ({"on_fork": "drop"}, "on_fork"),
        ({"roles": ("system",)}, "roles"),
        ({"background": True}, "background"),
        ({"timeout_s": 0}, "extraction_timeout_s"),
        ({"extract": "later"}, "extract"),
        ({"name": ""}, "name"),
        ({"name": "a:b"}, "name"),
        ({"name": "a|b"}, "name"),
    ],
)
def test_wrong_arguments_are_refused_when_it_is_made(light: Hindsight, options: Any, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        HindsightMiddleware(light, **options)


def test_an_answer_that_needs_no_memory_costs_no_change_of_the_prompt(light: Hindsight) -> None:
    model = ScriptedModel([AIMessage("Hello.")])
    out = run(agent_of(light, model, bank="ann"), "invoke", human("Hello!"))
    assert model.prompts == [out["messages"][:1]]


def test_without_langchain_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "langchain"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "hindsight_integrations.langgraph.middleware")
    adapter: Any = importlib.import_module("hindsight_integrations.langgraph")
    with pytest.raises(MissingDependency, match=r"hindsight-integrations\[langchain\]"):
        _ = adapter.HindsightMiddleware
    assert adapter.create_recall_node

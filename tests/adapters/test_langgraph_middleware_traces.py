"""Memories of a run appear in its prompts, but neither in traces of the hooks nor in the process afterwards."""

import asyncio
import copy
import gc
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import requests
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langsmith import Client, tracing_context
from table import every_row

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import HindsightMiddleware
from hindsight_integrations.langgraph.middleware import Recalled
from hindsight_integrations.testing.scripted_model import ScriptedModel

KAYAK = "My kayak is called Thunder."
ASKED = "What is the name of my kayak?"
WAYS = ["invoke", "ainvoke"]
CONFIG: Any = {"configurable": {"thread_id": "t1"}}


def agent_of(memory: Any, model: Any = None, **options: Any) -> Any:
    return create_agent(
        model or ScriptedModel(lambda _: "Noted."),
        middleware=[HindsightMiddleware(memory, **{"relevance": "all", **options})],
        checkpointer=InMemorySaver(),
    )


def human(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


def run(agent: Any, way: str, given: Any) -> Any:
    return agent.invoke(given, CONFIG) if way == "invoke" else asyncio.run(agent.ainvoke(given, CONFIG))


def shows(prompt: list[BaseMessage]) -> bool:
    return any("Thunder" in str(message.text) for message in prompt)


class Recorder(BaseTracer):
    """Collects the runs that a tracer would send."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.runs.append(run)


def every(run: Run) -> list[Run]:
    return [run, *(each for child in run.child_runs for each in every(child))]


FACT = {"facts": [{"what": "Ann owns a red kayak.", "fact_type": "world", "sources": ["m1"]}]}


@every_row("way", WAYS)
@every_row("traced", [False, True])
def test_a_tracer_sees_nothing_of_the_hooks_by_default(
    opener: Callable[..., Hindsight], light_config: Any, way: str, traced: bool
) -> None:
    """The hooks' runs are traced without messages, and without the calls of the memory's model."""
    engine, tracer = opener(model=ScriptedModel([FACT]), config=light_config), Recorder()
    agent = agent_of(engine.bank("ann"), traced=traced)
    config: Any = {"configurable": {"thread_id": "t"}, "callbacks": [tracer]}
    given = {"messages": [HumanMessage("I own a red kayak.", id="m1")]}
    if way == "invoke":
        agent.invoke(given, config)
    else:
        asyncio.run(agent.ainvoke(given, config))
    hooks = [run for run in tracer.runs[0].child_runs if run.name.startswith("HindsightMiddleware")]
    assert [run.name.partition(".")[2] for run in hooks] == ["before_agent", "after_agent"]
    assert ["kayak" in repr([(each.inputs, each.outputs) for each in every(run)]) for run in hooks] == [
        traced
    ] * 2
    assert (len(every(hooks[1])) > 1) is traced
    assert engine.bank("ann").count() == 1


class Sent(requests.Session):
    """The data that LangSmith's client would send."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[dict[str, Any]] = []

    def request(self, method: Any, url: Any, *args: Any, **options: Any) -> requests.Response:
        self.bodies.append(json.loads(options.get("data") or "{}"))
        answer = requests.Response()
        answer.status_code = 200
        answer._content = b"{}"
        return answer


@pytest.mark.parametrize("way", WAYS)
def test_langsmith_is_sent_a_memory_with_the_models_own_prompt_alone(light: Hindsight, way: str) -> None:
    light.bank("ann").retain(KAYAK)
    sent, model = Sent(), ScriptedModel(lambda _: "Noted.")
    agent = agent_of(light.bank("ann"), model)
    client = Client("http://localhost:1", api_key="none", session=sent, auto_batch_tracing=False, info={})
    with tracing_context(enabled=True, client=client):
        run(agent, way, human(ASKED))
    assert shows(model.prompts[0])
    names = {body["id"]: body["name"] for body in sent.bodies if body.get("name")}
    assert {"LangGraph", "HindsightMiddleware.before_agent", "ScriptedModel"} <= set(names.values())
    assert any("wrap_model_call" in name for name in names.values())
    telling = {body.get("name") or names[body["id"]] for body in sent.bodies if "Thunder" in json.dumps(body)}
    assert telling == {"ScriptedModel"}
    asking = {
        body.get("name") or names.get(body.get("id", "")) for body in sent.bodies if ASKED in json.dumps(body)
    }
    assert not [name for name in asking if name and name.startswith("HindsightMiddleware")]


def recalled_in_process() -> set[int]:
    gc.collect()
    return {id(each) for each in gc.get_objects() if isinstance(each, Recalled)}


def test_memories_end_with_the_run(light: Hindsight) -> None:
    """No memory of a run stays in the process, even if the run failed."""
    light.bank("ann").retain(KAYAK)
    during: list[set[int]] = []
    before = recalled_in_process()

    def answer(messages: list[BaseMessage]) -> str:
        during.append(recalled_in_process() - before)
        if len(messages) > 1:
            raise RuntimeError("overloaded")
        return "Noted."

    agent = agent_of(light.bank("ann"), ScriptedModel(answer))
    run(agent, "invoke", human("My tent is green."))
    with pytest.raises(RuntimeError, match="overloaded"):
        run(agent, "invoke", human(ASKED))
    assert [len(each) for each in during] == [1, 1]
    assert recalled_in_process() <= before


def test_whoever_writes_a_state_out_writes_no_memory() -> None:
    """JSON, a pickle, a copy and LangGraph's serialiser contain only the text with the number of memories."""
    memory: Any = {"id": "u1", "text": KAYAK}
    held = Recalled.of([memory, memory])
    written = JsonPlusSerializer().dumps_typed({"held": held})
    assert JsonPlusSerializer().loads_typed(written) == {"held": "memories: 2"}
    assert b"Thunder" not in written[1]
    assert json.dumps({"held": held}) == '{"held": "memories: 2"}'
    assert b"Thunder" not in pickle.dumps(held)
    assert type(copy.deepcopy(held)) is str

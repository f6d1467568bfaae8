"""The reflect subgraph: the answers and opinions of `bank.reflect`, visible edges and a plain state."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field
from table import every_row
from views_of_remote_work import (
    GAIN,
    LOSS,
    QUESTION,
    SCRIPTS,
    held,
    opinion,
    relation,
    remembering,
    single,
)

from hindsight_integrations import (
    AsyncHindsight,
    Hindsight,
    HindsightConfig,
    InvalidRequest,
    LedgerBusy,
    ModelUnavailable,
)
from hindsight_integrations.bank.reflect_stages import AsyncReflectStages
from hindsight_integrations.langgraph import create_reflect_subgraph
from hindsight_integrations.reflect.answer import BEST_MEMORIES
from hindsight_integrations.testing.scripted_model import ScriptedModel

Opener = Callable[..., Hindsight]

RED = f"{BEST_MEMORIES}\n- Ana's kayak is red."
ASKED: Any = {"query": QUESTION}
SURVEY = "I believe remote work pays, since those in it said in a survey that they get more done."


class Recorder(BaseTracer):
    """Collects the runs that a tracer would send."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.runs.append(run)


class Around(MessagesState):
    answer: str
    reflection: dict[str, Any]
    user: str


def within(subgraph: Any, saver: Any = None) -> Any:
    """The subgraph as a node of a chat."""
    graph = StateGraph(Around)
    graph.add_node("reflect", subgraph)
    graph.add_edge(START, "reflect")
    return graph.compile(checkpointer=saver)


def thread(name: str = "t1") -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def says(text: str, **fields: Any) -> Any:
    return {"messages": [HumanMessage(text, **fields)]}


def run(graph: Any, face: str, *given: Any, **options: Any) -> Any:
    """One run, sync or async."""
    if face == "sync":
        return graph.invoke(*given, **options)
    return asyncio.run(graph.ainvoke(*given, **options))


@every_row("face", ["sync", "async"])
@every_row("strategy", list(SCRIPTS))
def test_the_graph_does_what_the_method_does(
    opener: Opener, light_config: HindsightConfig, strategy: str, face: str
) -> None:
    """Two questions, the second of which changes the first one's opinion: text, citations, opinions, evidence rows, prompts and costs are equal."""
    script = [reply for replies in SCRIPTS[strategy] for reply in replies]
    models = [ScriptedModel(script), ScriptedModel(script)]
    banks = [remembering(opener, light_config, model) for model in models]
    graph = within(create_reflect_subgraph(banks[1], strategy=strategy), InMemorySaver())
    for _ in range(2):
        options: Any = {"strategy": strategy}
        whole, state = banks[0].reflect(QUESTION, **options), run(graph, face, says(QUESTION), thread())
        found = state["reflection"]
        assert state["answer"] == found["text"] == whole.text
        cited = [each.unit for each in whole.based_on if each.unit]
        assert [each["text"] for each in found["based_on"]] == [item.text for item in cited]
        told = [
            (each["outcome"], each["text"], each["confidence"], each["reason"]) for each in found["opinions"]
        ]
        assert told == [(each.outcome, each.text, each.confidence, each.reason) for each in whole.opinions]
        assert [(each["tool"], each["arguments"]) for each in found["steps"]] == [
            (each.tool, each.arguments) for each in whole.steps
        ]
        assert [found[cost] for cost in ("calls", "tokens_in", "tokens_out")] == [
            whole.calls,
            whole.tokens_in,
            whole.tokens_out,
        ]
    # except for the operation's name
    rows = [[(*each[:2], *each[3:]) for each in held(bank)] for bank in banks]
    assert rows[0] == rows[1]
    asked = [[[message.text for message in prompt] for prompt in model.prompts] for model in models]
    assert asked[0] == asked[1]


EDGES = {
    ("__start__", "recall"),
    ("recall", "answer"),
    ("recall", "__end__"),
    ("answer", "assess"),
    ("answer", "__end__"),
    ("assess", "commit"),
    ("assess", "__end__"),
    *(("assess", name) for name in ("form", "reinforce", "weaken", "contradict", "neutral")),
    ("commit", "__end__"),
}
STEPS = {
    ("recall", "think"),
    ("think", "tools"),
    ("tools", "think"),
    ("think", "answer"),
    ("tools", "answer"),
}


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("strategy", ["single", "agentic"])
def test_the_edges_are_the_updates_of_opinions(light: Hindsight, strategy: str, approved: bool) -> None:
    """In the Mermaid drawing, each kind of opinion change has an edge, and all lead to one commit."""
    graph = create_reflect_subgraph(light, strategy=strategy, interrupt_before_commit=approved)
    drawn = graph.get_graph()
    last = "approve" if approved else "commit"
    joins = {(name, last) for name in ("form", "reinforce", "weaken", "contradict", "neutral")}
    wanted = EDGES | joins | (STEPS if strategy == "agentic" else set())
    wanted |= {("approve", "commit")} if approved else set()
    assert {(edge.source, edge.target) for edge in drawn.edges} == wanted
    assert "assess -.-> contradict" in drawn.draw_mermaid()


def test_a_stream_shows_each_opinion_go_its_way(opener: Opener, light_config: HindsightConfig) -> None:
    """Of three opinions, one is new, one contradicts and one is known: three nodes, one commit, and events without text."""
    third = opinion(GAIN, "1")
    script = [
        single(opinion(GAIN, "1")),
        single(opinion(LOSS, "2"), opinion(SURVEY, "3"), third),
        {"relations": [relation("opposes"), relation("different", new=2)]},
    ]
    bank = remembering(opener, light_config, script)
    graph = within(create_reflect_subgraph(bank), InMemorySaver())
    graph.invoke(says(QUESTION), thread())
    parts = list(graph.stream(says(QUESTION), thread(), stream_mode=["updates", "custom"], subgraphs=True))
    updates = [name for space, kind, part in parts if space and kind == "updates" for name in part]
    assert updates[:3] == ["recall", "answer", "assess"]
    assert sorted(updates[3:-1]) == ["contradict", "form", "neutral"]
    assert updates[-1] == "commit"
    events = [part for _, kind, part in parts if kind == "custom"]
    assert {(each["kind"], each["bank"]) for each in events} == {("opinion", "mira")}
    told = {each["movement"]: each for each in events if each["committed"]}
    assert (told["contradict"]["before"], told["contradict"]["after"]) == (0.7, 0.4)
    assert (told["form"]["before"], told["form"]["after"]) == (None, 0.7)
    assert told["neutral"]["outcome"] == "known"
    assert not any(text in json.dumps(events) for text in (GAIN, LOSS, SURVEY))
    (before,) = [each for each in events if each["movement"] == "contradict" and not each["committed"]]
    assert (before["before"], before["after"]) == (0.7, 0.4)


def test_the_state_is_plain_and_ends_small(opener: Opener, light_config: HindsightConfig) -> None:
    """Every checkpoint is JSON; recalled memories and intermediate results are removed when the answer exists."""
    script = [reply for replies in SCRIPTS["agentic"] for reply in replies]
    bank = remembering(opener, light_config, script)
    graph = create_reflect_subgraph(bank, strategy="agentic", checkpointer=InMemorySaver())
    for _ in range(2):
        graph.invoke(ASKED, thread())
    for snapshot in graph.get_state_history(thread()):
        json.dumps(snapshot.values)
    values = graph.get_state(thread()).values
    kept = {name for name, value in values.items() if value}
    assert kept == {"answer", "reflection", "of_bank"}
    assert set(graph.invoke(ASKED | {"query": ""} | says(""), thread("none"))) == {"answer", "reflection"}


def test_a_typed_answer_comes_as_a_dict(opener: Opener, light_config: HindsightConfig) -> None:
    """`response_schema` works, and its result can be checkpointed."""

    class Verdict(BaseModel):
        good: bool = Field(description="whether it is")

    bank = remembering(opener, light_config, [single() | {"output": {"good": True}}])
    graph = create_reflect_subgraph(bank, response_schema=Verdict, checkpointer=InMemorySaver())
    assert graph.invoke(ASKED, thread())["reflection"]["structured"] == {"good": True}


def test_without_a_model_the_answer_is_what_is_remembered(light: Hindsight) -> None:
    """The answer is extractive and has no opinions; the agentic strategy takes no steps."""
    bank = light.bank("ana")
    bank.retain("Ana's kayak is red.")
    for strategy in ("single", "agentic"):
        graph = create_reflect_subgraph(bank, strategy=strategy)
        parts = list(graph.stream({"query": "What colour is the kayak?"}, stream_mode="updates"))
        assert [name for part in parts for name in part] == ["recall", "answer"]
        assert parts[-1]["answer"]["answer"] == RED
        assert parts[-1]["answer"]["reflection"]["extractive"]


@pytest.mark.parametrize("messages", [[], [SystemMessage("Be kind.")], [HumanMessage("")]])
def test_without_a_question_the_answer_is_empty(light: Hindsight, messages: list[Any]) -> None:
    """Without a question, nothing is recalled or answered, and the state is valid."""
    found = within(create_reflect_subgraph(light, bank="ana")).invoke({"messages": messages})
    assert (found["answer"], found["reflection"]) == ("", {})


def test_the_answer_may_be_a_message_and_keys_may_have_other_names(light: Hindsight) -> None:
    """As a message, the answer joins the conversation once, however often the turn runs; custom keys are used."""

    class Chat(MessagesState):
        said: str
        thoughts: dict[str, Any]
        topic: str

    light.bank("ana").retain("Ana's kayak is red.")
    node = create_reflect_subgraph(
        light,
        bank="ana",
        query_key="topic",
        answer_key="said",
        reflection_key="thoughts",
        as_message=True,
    )
    graph = StateGraph(Chat)
    graph.add_node("reflect", node)
    graph.add_edge(START, "reflect")
    chat = graph.compile(checkpointer=InMemorySaver())
    asked: Any = HumanMessage("What colour is the kayak?", id="q")
    for _ in range(2):
        state = run(chat, "sync", {"messages": [asked]}, thread())
    assert [message.text for message in state["messages"]] == [asked.text, RED]
    assert state["said"] == state["thoughts"]["text"] == RED


def test_the_bank_is_found_as_other_nodes_find_it(light: Hindsight) -> None:
    """The bank comes from the context, or from the state of the parent graph, which the subgraph otherwise does not see."""
    light.bank("ana").retain("Ana's kayak is red.")
    light.bank("bob").retain("Bob's kayak is blue.")
    question = says("What colour is the kayak?")

    class Context(TypedDict):
        user_id: str

    graph = StateGraph(Around, context_schema=Context)
    graph.add_node("reflect", create_reflect_subgraph(light))
    graph.add_edge(START, "reflect")
    by_context = graph.compile()
    assert "red" in by_context.invoke(question, context={"user_id": "ana"})["answer"]
    by_state = within(create_reflect_subgraph(light, bank_from="state.user"))
    assert "blue" in by_state.invoke({**question, "user": "bob"})["answer"]
    by_function = create_reflect_subgraph(light, bank=lambda _, runtime: runtime.context["user_id"])
    assert "blue" in within(by_function).invoke(question, context={"user_id": "bob"})["answer"]
    with pytest.raises(InvalidRequest, match="user_id"):
        within(create_reflect_subgraph(light)).invoke(question)


@pytest.mark.parametrize("traced", [True, False])
def test_traces_can_leave_out_what_was_remembered(light: Hindsight, traced: bool) -> None:
    """With trace_payloads=False no node's trace shows a memory."""
    tracer = Recorder()
    bank = light.bank("ana")
    bank.retain("Ana's kayak is red.")
    graph = create_reflect_subgraph(bank, trace_payloads=traced)
    graph.invoke({"query": "What colour is the kayak?"}, {"callbacks": [tracer]})
    (whole,) = tracer.runs
    nodes = {run.name: f"{run.inputs} {run.outputs}" for run in whole.child_runs}
    assert {"recall", "answer"} <= nodes.keys()
    assert ("red" in nodes["recall"], "red" in nodes["answer"]) == (traced, traced)


def test_async_engines_serve_both_apis(light_config: HindsightConfig) -> None:
    """An AsyncHindsight works under `ainvoke` and `invoke`."""

    async def asked() -> str:
        async with AsyncHindsight.open(":memory:", config=light_config) as engine:
            bank = await engine.bank("ana")
            await bank.retain("Ana's kayak is red.")
            graph = create_reflect_subgraph(engine, bank="ana")
            found = await graph.ainvoke({"query": "What colour is the kayak?"})
            return str(found["answer"])

    assert asyncio.run(asked()) == RED


@every_row("failing", ["first step", "second step", "answer", "typed form"])
def test_a_model_that_fails_before_the_answer_leaves_nothing_and_can_be_asked_again(
    opener: Opener, light_config: HindsightConfig, failing: str
) -> None:
    """The error is raised, and no opinion is formed; the run resumes where it stopped, and repeats no step."""
    down = ModelUnavailable("scripted", "down")
    steps = list(SCRIPTS["agentic"][0])
    at = {"first step": 0, "second step": 1, "answer": 2, "typed form": 3}[failing]
    options: dict[str, Any] = {}
    if failing == "typed form":

        class Verdict(BaseModel):
            good: bool = Field(description="whether it is")

        options = {"response_schema": Verdict}
        steps.insert(3, {"good": True})
    script = [*steps[:at], down, *steps[at:]]
    model = ScriptedModel(script)
    bank = remembering(opener, light_config, model)
    graph = create_reflect_subgraph(bank, strategy="agentic", checkpointer=InMemorySaver(), **options)
    with pytest.raises(ModelUnavailable):
        graph.invoke(ASKED, thread())
    assert held(bank) == []
    state = graph.invoke(None, thread())
    assert [each["outcome"] for each in state["reflection"]["opinions"]] == ["formed"]
    assert [each["tool"] for each in state["reflection"]["steps"]] == ["recall", "chronology"]
    assert model.calls == len(script)
    assert len(bank.opinions.list()) == 1


def test_a_model_that_fails_at_comparing_costs_the_opinion_and_not_the_answer(
    opener: Opener, light_config: HindsightConfig
) -> None:
    """The opinion is refused after a single request, and the answer is returned."""
    down = ModelUnavailable("scripted", "down")
    model = ScriptedModel([single(opinion(GAIN, "1")), single(opinion(LOSS, "2")), down])
    bank = remembering(opener, light_config, model)
    graph = create_reflect_subgraph(bank)
    graph.invoke(ASKED)
    before = held(bank)
    state = graph.invoke(ASKED)
    assert state["answer"] == "It has two sides."
    assert [each["outcome"] for each in state["reflection"]["opinions"]] == ["refused"]
    assert (held(bank), model.calls) == (before, 3)


@pytest.mark.parametrize("stage", ["assess", "commit"])
def test_a_memory_that_fails_after_the_answer_does_not_cost_it(
    opener: Opener, light_config: HindsightConfig, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """The answer is returned with one warning event; with on_error="raise" the run fails, and its resumption forms the opinion once."""
    bank = remembering(opener, light_config, [single(opinion(GAIN, "1"))] * 2)
    working = getattr(AsyncReflectStages, stage)

    async def busy(*_: Any, **__: Any) -> Any:
        raise LedgerBusy(Path("ledger.lock"), 7)

    asked = {"query": QUESTION}
    quiet = create_reflect_subgraph(bank, checkpointer=InMemorySaver())
    loud = create_reflect_subgraph(bank, on_error="raise", checkpointer=InMemorySaver())
    monkeypatch.setattr(AsyncReflectStages, stage, busy)
    monkeypatch.setattr(
        "hindsight_integrations.sync.ReflectStages." + stage,
        lambda face, *given, **options: asyncio.run(busy()),
    )
    events = list(quiet.stream(asked, thread(), stream_mode="custom"))
    assert [event["node"] for event in events if event["kind"] == "warning"] == [stage]
    assert quiet.get_state(thread()).values["answer"] == "It has two sides."
    with pytest.raises(LedgerBusy):
        loud.invoke(asked, thread())
    assert held(bank) == []
    monkeypatch.undo()
    assert getattr(AsyncReflectStages, stage) is working
    loud.invoke(None, thread())
    assert [each.text for each in bank.opinions.list()] == [GAIN]


@every_row(
    "options",
    [
        {"strategy": "wild"},
        {"on_error": "queue"},
        {"on_error": "later"},
        {"query_key": "underway"},
        {"answer_key": "messages"},
        {"bank_from": "state.moves"},
        {"bank_from": "nowhere"},
    ],
)
def test_a_wrong_argument_is_refused_when_the_graph_is_made(light: Hindsight, options: Any) -> None:
    """The error is raised at construction, not at run time."""
    with pytest.raises(InvalidRequest):
        create_reflect_subgraph(light, **options)

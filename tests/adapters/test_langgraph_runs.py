"""A graph's run in traces, in a drawing, and when it is cancelled."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.schemas import Run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import (
    Memory,
    create_recall_node,
    create_retain_node,
    create_settle_node,
    omit_payloads,
)
from hindsight_integrations.testing.scripted_model import ScriptedModel

LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
KAYAK = HumanMessage("I own a red kayak.", id="m1")
FACT = {"facts": [{"what": "Ann owns a red kayak.", "fact_type": "world", "sources": ["m1"]}]}


class State(MessagesState):
    memories: list[Memory]


class Recorder(BaseTracer):
    """Collects the runs that a tracer would send."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        self.runs.append(run)


def every(run: Run) -> list[Run]:
    return [run, *(each for child in run.child_runs for each in every(child))]


def chat(memory: Any, *, private: bool) -> Any:
    """recall -> retain -> settle."""
    graph: Any = StateGraph(State)
    nodes = {
        "recall": create_recall_node(memory),
        "retain": create_retain_node(memory),
        "settle": create_settle_node(memory),
    }
    for name, node in nodes.items():
        graph.add_node(name, **(omit_payloads(node) if private else {"action": node}))
    graph.add_edge(START, "recall").add_edge("recall", "retain").add_edge("retain", "settle")
    return graph.compile(InMemorySaver())


@every_row("way", ["invoke", "ainvoke"])
@every_row("private", [False, True])
def test_traces_of_the_nodes_can_leave_out_what_was_said(
    opener: Callable[..., Hindsight], way: str, private: bool
) -> None:
    """Each node is one run with the model's run below it; with the option, a single run without messages."""
    tracer, engine = Recorder(), opener(model=ScriptedModel([FACT]), config=LIGHT)
    graph = chat(engine.bank("ann"), private=private)
    config = {"configurable": {"thread_id": "t"}, "callbacks": [tracer]}
    if way == "invoke":
        graph.invoke({"messages": [KAYAK]}, config)
    else:
        asyncio.run(graph.ainvoke({"messages": [KAYAK]}, config))
    (whole,) = tracer.runs
    assert [run.name for run in whole.child_runs] == ["recall", "retain", "settle"]
    below = {run.name: every(run) for run in whole.child_runs}
    told = {name: "kayak" in f"{[(run.inputs, run.outputs) for run in runs]}" for name, runs in below.items()}
    assert told == dict.fromkeys(told, not private)
    assert (len(below["retain"]) > 1) is not private
    assert engine.bank("ann").count() == 1


def test_nodes_read_well_in_a_drawing(light: Hindsight) -> None:
    """A node without a given name is named after its action."""
    graph: Any = StateGraph(State)
    for node in (create_recall_node(light), create_retain_node(light), create_settle_node(light)):
        graph.add_node(node)
    graph.add_edge(START, "recall").add_edge("recall", "retain").add_edge("retain", "settle")
    drawn = graph.compile().get_graph().draw_mermaid()
    for line in ("recall(recall)", "retain(retain)", "recall --> retain", "retain --> settle"):
        assert line in drawn


class Hanging(ScriptedModel):
    """A model whose first answer takes very long."""

    asked: Any
    left: Any

    def __init__(self, *script: Any) -> None:
        super().__init__(script, asked=threading.Event(), left=threading.Event())

    def _next(self, messages: Any) -> Any:
        found = super()._next(messages)
        if self.calls == 1:
            self.asked.set()
            self.left.wait(30)
        return found


def test_a_run_that_is_cancelled_leaves_the_memory_untouched_and_the_next_catches_up(
    opener: Callable[..., Hindsight],
) -> None:
    """A client that disconnects during the extraction loses nothing: the next turn remembers both messages, each once."""
    second = {"facts": [*FACT["facts"], {"what": "It leaks.", "fact_type": "world", "sources": ["m2"]}]}
    model = Hanging(FACT, second)
    bank = opener(model=model, config=LIGHT).bank("ann")
    graph: Any = StateGraph(MessagesState).add_node("retain", create_retain_node(bank))
    compiled = graph.add_edge(START, "retain").compile(InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}

    async def left_by_the_client() -> None:
        run = asyncio.create_task(compiled.ainvoke({"messages": [KAYAK]}, config))
        await asyncio.to_thread(model.asked.wait, 30)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(left_by_the_client())
    assert (bank.count(), bank.tasks.list()) == (0, [])
    model.left.set()
    compiled.invoke({"messages": [HumanMessage("It leaks.", id="m2")]}, config)
    assert sorted(unit.text for unit in bank.units().units) == ["Ann owns a red kayak.", "It leaks."]


SERVER = """
import sys
from hindsight_integrations import Hindsight
Hindsight.open(sys.argv[1], model=None)
"""


def test_a_second_server_process_on_one_directory_fails_when_it_starts_and_says_what_to_do(
    opener: Callable[..., Hindsight], tmp_path: Path
) -> None:
    """The second worker of a server fails at start-up, before its first request, with a list of remedies."""
    opener(tmp_path / "memory", config=LIGHT)
    command = [sys.executable, "-c", SERVER, str(tmp_path / "memory")]
    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 1
    last = second.stderr.strip().splitlines()[-1]
    for words in ("LedgerBusy", "one process with many threads", "its own directory", "read_only=True"):
        assert words in last

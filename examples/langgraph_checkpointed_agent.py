"""A LangGraph agent that survives being killed: its steps are checkpointed, and what it learns is remembered, each once.

    pip install "hindsight-integrations[cookbooks]"
    python examples/langgraph_checkpointed_agent.py inspection

It inspects the boats of a rowing club, one after the other, and reports. Press Ctrl-C, or `kill -9` it, while it is at work;
run it again with the same folder, and it goes on where it was. Run it once more when it is done, and it reports from memory.

A script stands in for the model. To use a real one, name it in HINDSIGHT_MODEL ("openai:gpt-5-mini", with OPENAI_API_KEY set).
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from hindsight_integrations import Hindsight
from hindsight_integrations.langgraph import (
    MemoryState,
    create_recall_node,
    create_retain_node,
    with_memories,
)
from hindsight_integrations.testing import ScriptedModel

BANK = "rowing club"
THREAD: RunnableConfig = {"configurable": {"thread_id": "spring inspection", "user_id": BANK}}
TASK = "Inspect our boats. Which of them need a repair?"
# What it finds at each boat; a real agent would call a tool there.
FINDINGS = {
    "Thunder": "The hull of Thunder has a crack below the bow and needs a repair.",
    "Heron": "Heron was revarnished in April and is fit for the season.",
    "Marten": "The rudder cable of Marten is worn through and needs a repair.",
    "Curlew": "Curlew got new riggers last week and is fit for the season.",
    "Otter": "The left foot stretcher of Otter is loose and needs a repair.",
    "Swift": "Swift has been lent to the school until the end of June.",
}
PROMPT = "Answer from what you remember, and name each boat."


class State(MemoryState):
    """What was said, which boats are left, and what is remembered for the report."""

    boats: list[str]


def name_the_repairs(messages: list[BaseMessage]) -> str:
    """Stands in for a language model: it names the boats of which a memory speaks of a repair."""
    broken = [boat for boat, found in FINDINGS.items() if "repair" in found and found in messages[-1].text]
    return f"These need a repair: {', '.join(broken) or 'none that I know of'}."


def build(
    hindsight: Hindsight, saver: SqliteSaver, model: BaseChatModel, pause_s: float
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Inspect and retain, boat by boat; then recall and report. Whose memory it is, `user_id` of the config says."""

    def inspect(state: State) -> dict[str, list[str] | list[AIMessage]]:
        time.sleep(pause_s)
        boat, *left = state["boats"]
        return {"messages": [AIMessage(FINDINGS[boat])], "boats": left}

    def report(state: State) -> dict[str, list[BaseMessage]]:
        # The report is made from memory, not from the messages: these may be trimmed long before it is due.
        question = with_memories([HumanMessage(TASK)], state["memories"])
        return {"messages": [model.invoke([SystemMessage(PROMPT), *question])]}

    def next_step(state: State) -> str:
        return "inspect" if state["boats"] else "recall"

    graph = StateGraph(State)
    graph.add_node("inspect", inspect)
    graph.add_node("retain", create_retain_node(hindsight))
    graph.add_node("recall", create_recall_node(hindsight))
    graph.add_node("report", report)
    graph.add_conditional_edges(START, next_step, ["inspect", "recall"])
    graph.add_edge("inspect", "retain")
    graph.add_conditional_edges("retain", next_step, ["inspect", "recall"])
    graph.add_edge("recall", "report")
    graph.add_edge("report", END)
    return graph.compile(checkpointer=saver)


def next_input(agent: CompiledStateGraph[Any, Any, Any, Any]) -> dict[str, object] | None:
    """What to invoke the agent with: its task, or None where a checkpoint says how far it had come."""
    checkpoint = agent.get_state(THREAD)
    messages, boats = (checkpoint.values.get(key) for key in ("messages", "boats"))
    if checkpoint.next:
        print(
            f"going on with {checkpoint.next[0]}; boats left: {', '.join(boats or ()) or 'none'}", flush=True
        )
        return None
    if messages and isinstance(
        messages[-1], HumanMessage
    ):  # killed before its first step: the same task again
        return {"messages": messages[-1:], "boats": boats}
    # Once all boats are inspected none is left: asked again, it answers from memory.
    return {"messages": [HumanMessage(TASK)], "boats": [] if messages else list(FINDINGS)}


def main() -> None:
    """Begin, go on, or report again, whatever the folder says."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folder", type=Path, help="where checkpoints and memory are kept")
    arguments.add_argument(
        "--pause", type=float, default=1.0, help="seconds at each boat; time to kill it in"
    )
    given = arguments.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)

    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(name_the_repairs)
    with (
        Hindsight.open(given.folder / "memory") as hindsight,
        SqliteSaver.from_conn_string(str(given.folder / "checkpoints.sqlite")) as saver,
    ):
        agent = build(hindsight, saver, model, given.pause)
        # "sync": a step's checkpoint is on disk before the next step begins, so that a kill costs at most one step.
        steps = agent.stream(next_input(agent), THREAD, stream_mode="updates", durability="sync")
        for step in steps:
            for node, update in step.items():
                said = ((update or {}).get("messages") or [None])[-1]
                print(f"{node}: {said.text}" if said else node, flush=True)
        print(f"{hindsight.bank(BANK).count()} memories")


if __name__ == "__main__":
    main()

"""A LangGraph agent that survives a kill: its steps are checkpointed, and each thing it learns is remembered once.

    pip install "hindsight-integrations[cookbooks]"
    python examples/langgraph_checkpointed_agent.py inspection

It inspects the boats of a rowing club, one after the other, and reports. Press Ctrl-C or `kill -9` it while it runs; run it again with
the same folder, and it continues where it stopped. Run it once more after it has finished, and it reports from memory.

Without HINDSIGHT_MODEL the report is scripted: it lists the boats whose repairs are in the memories in the prompt. Set it
("openai:gpt-5-mini", with OPENAI_API_KEY) to use a real model.
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
# The result of each inspection; a real agent would call a tool.
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
    """The messages, the recalled memories and the boats that are left."""

    boats: list[str]


def scripted_reply(messages: list[BaseMessage]) -> str:
    """List the boats whose repairs are in the memories in the prompt."""
    memories = messages[-1].text
    boats = [boat for boat, finding in FINDINGS.items() if "repair" in finding and finding in memories]
    return f"These need a repair: {', '.join(boats)}." if boats else "I don't know yet."


def build(
    hindsight: Hindsight, saver: SqliteSaver, model: BaseChatModel, pause_s: float
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Inspect and retain, boat by boat; then recall and report. The `user_id` of the config selects the bank."""

    def inspect(state: State) -> dict[str, list[str] | list[AIMessage]]:
        time.sleep(pause_s)
        boat, *left = state["boats"]
        return {"messages": [AIMessage(FINDINGS[boat])], "boats": left}

    def report(state: State) -> dict[str, list[BaseMessage]]:
        # The report uses the memories, not the messages, because long threads are trimmed.
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
    """Return the input of the graph: the task, or None to continue from a checkpoint."""
    checkpoint = agent.get_state(THREAD)
    messages, boats = (checkpoint.values.get(key) for key in ("messages", "boats"))
    if checkpoint.next:
        print(
            f"continuing with {checkpoint.next[0]}; boats left: {', '.join(boats or ()) or 'none'}",
            flush=True,
        )
        return None
    if messages and isinstance(
        messages[-1], HumanMessage
    ):  # killed before its first step: start the same task again
        return {"messages": messages[-1:], "boats": boats}
    # After a finished run no boat is left, so the agent answers from memory.
    return {"messages": [HumanMessage(TASK)], "boats": [] if messages else list(FINDINGS)}


def main() -> None:
    """Start, continue or report again, depending on the state in the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the checkpoints and the memory")
    parser.add_argument(
        "--pause", type=float, default=1.0, help="seconds per boat, so that there is time to kill it"
    )
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)

    name = os.environ.get("HINDSIGHT_MODEL")
    model = ChatOpenAI(model=name.removeprefix("openai:")) if name else ScriptedModel(scripted_reply)
    with (
        Hindsight.open(arguments.folder / "memory") as hindsight,
        SqliteSaver.from_conn_string(str(arguments.folder / "checkpoints.sqlite")) as saver,
    ):
        agent = build(hindsight, saver, model, arguments.pause)
        # "sync": a step's checkpoint is on disk before the next step begins, so that a kill costs at most one step.
        steps = agent.stream(next_input(agent), THREAD, stream_mode="updates", durability="sync")
        for step in steps:
            for node, update in step.items():
                message = ((update or {}).get("messages") or [None])[-1]
                print(f"{node}: {message.text}" if message else node, flush=True)
        print(f"{hindsight.bank(BANK).count()} memories")


if __name__ == "__main__":
    main()

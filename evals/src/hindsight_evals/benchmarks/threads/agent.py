"""An agent that checkpoints its steps in SQLite and remembers its turns; it can kill itself at planned points and continue later.

    python -m threads.agent FOLDER [--turns 1000] [--window 40] [--durability sync] [--light] [--die POINT@TURN ...]

The messages of each turn are deterministic, so that a killed run can be compared with another. It prints the
number of each finished turn.
"""

# No `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import create_retain_node
from hindsight_integrations.testing.doubles import HashEmbedder

Graph = CompiledStateGraph[Any, Any, Any, Any]
Memories = Counter[tuple[str, bool]]

IN_ANSWER, BEFORE_WRITE, AFTER_WRITE, IN_LATER_NODE = (
    "answer",
    "before the write",
    "after the write",
    "later node",
)
BANK = "harbour"
CONFIG: RunnableConfig = {"configurable": {"thread_id": "log"}}


@dataclass(slots=True)
class Deaths:
    """The points at which a process kills itself, once each.

    Attributes:
        folder: the folder with a record of past kills.
        planned: (point, turn) pairs.
        turn: the current turn.
    """

    folder: Path
    planned: Sequence[tuple[str, int]] = ()
    turn: int = 0

    def at(self, point: str) -> None:
        """Kill the process if this is planned and has not happened yet."""
        death = self.folder / f"died {point} of turn {self.turn}"
        if (point, self.turn) in self.planned and not death.exists():
            death.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Agent:
    """The settings of an agent.

    Attributes:
        folder: the folder of its checkpoints and memory.
        turns: number of turns to run.
        window: number of messages in the state; older ones are removed.
        durability: LangGraph's durability: "sync", "async" or "exit".
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        deaths: (point, turn) pairs at which the process kills itself.
    """

    folder: Path
    turns: int
    window: int = 40
    durability: Any = "sync"
    light: bool = False
    deaths: Sequence[tuple[str, int]] = ()

    def run(self, done: Callable[[int], object]) -> None:
        """Run the remaining turns; call `done` with each."""
        with (
            opened(self.folder, light=self.light) as hindsight,
            SqliteSaver.from_conn_string(str(self.folder / "checkpoints.sqlite")) as saver,
        ):
            graph = conversing(
                create_retain_node(hindsight.bank(BANK)), saver, self.window, Deaths(self.folder, self.deaths)
            )
            if graph.get_state(CONFIG).next:  # continue a killed run
                graph.invoke(None, CONFIG, durability=self.durability)
            for turn in range(next_turn(graph), self.turns + 1):
                graph.invoke({"messages": [asked(turn)]}, CONFIG, durability=self.durability)
                done(turn)


def next_turn(graph: Graph) -> int:
    """Return the next turn to run.

    A run that is killed immediately after its input leaves a checkpoint without a next node, and a message
    without an answer, which the next input would discard. So that turn is run again, with the same message
    id.
    """
    messages = graph.get_state(CONFIG).values.get("messages", ())
    answered = bool(messages) and messages[-1].type == "ai"
    return turn_of(messages) + 1 if answered else max(1, turn_of(messages))


def conversing(retain: Any, saver: Any, window: int, deaths: Deaths) -> Graph:  # noqa: ANN401 - any node, any saver
    """Build a graph that answers, retains, and has a node after that.

    Args:
        retain: the node that retains; kills before and after it are in the same node, that is, between the
            commit of the memories and the next checkpoint.
        saver: the checkpointer.
        window: number of messages in the state.
        deaths: the planned kills.
    """

    def answer(state: MessagesState) -> dict[str, Any]:
        messages = state["messages"]
        deaths.turn = turn_of(messages)
        deaths.at(IN_ANSWER)
        old = [RemoveMessage(id=str(each.id)) for each in messages[:-window]]
        return {"messages": [*old, AIMessage(answer_of(deaths.turn))]}

    def before(state: MessagesState) -> MessagesState:
        deaths.turn = turn_of(state["messages"])
        deaths.at(BEFORE_WRITE)
        return state

    def after(update: dict[str, Any]) -> dict[str, Any]:
        deaths.at(AFTER_WRITE)
        return update

    def later(state: MessagesState) -> dict[str, Any]:
        deaths.turn = turn_of(state["messages"])
        deaths.at(IN_LATER_NODE)
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_node("retain", RunnableLambda(before) | retain | RunnableLambda(after))
    graph.add_node("later", later)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "retain")
    graph.add_edge("retain", "later")
    return graph.compile(checkpointer=saver)


def asked(turn: int) -> HumanMessage:
    """Return the user's message of a turn."""
    text = f"On day {turn} of the season Kari moored boat {turn * 7} at pier {turn % 90}."
    return HumanMessage(text, id=f"user-{turn}")


def answer_of(turn: int) -> str:
    """Return the answer of a turn; its message gets a new id from LangGraph each time."""
    return f"I wrote line {turn} into the log book and sent bill {turn * 3} to the owner."


def turn_of(messages: Sequence[BaseMessage]) -> int:
    """Return the last turn in the conversation; 0 before the first."""
    ids = [str(each.id) for each in messages if each.type == "human"]
    return int(ids[-1].removeprefix("user-")) if ids else 0


def opened(folder: Path, *, light: bool) -> Hindsight:
    """Open the engine with hash vectors, so that the embedder is not measured."""
    exact = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
    config = HindsightConfig(storage=exact) if light else HindsightConfig()
    return Hindsight.open(folder / "memory", embeddings=HashEmbedder(), reranker=None, config=config)


def remembered(folder: Path, *, light: bool) -> Memories:
    """Return the number of memories for each text and validity."""
    with opened(folder, light=light) as hindsight:
        units = hindsight.bank(BANK).iterate_units(include_invalidated=True)
        return Counter((unit.text, unit.closed_at is not None) for unit in units)

"""An agent that checkpoints its steps in SQLite and remembers its turns: killed where it is told to be, it goes on when run again.

    python -m threads.agent FOLDER [--turns 1000] [--window 40] [--durability sync] [--light] [--die POINT@TURN ...]

What is said in each turn is known, so that whatever was killed can be compared with a run that was not. It says the number of
each turn that is done.
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
    """Where a process kills itself, each time once however often it comes there.

    Attributes:
        folder: which keeps what it died of.
        planned: (point, turn).
        turn: the turn under way.
    """

    folder: Path
    planned: Sequence[tuple[str, int]] = ()
    turn: int = 0

    def at(self, point: str) -> None:
        """Die here, if it is planned and has not been done."""
        death = self.folder / f"died {point} of turn {self.turn}"
        if (point, self.turn) in self.planned and not death.exists():
            death.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Agent:
    """How an agent runs.

    Attributes:
        folder: of its checkpoints and memory.
        turns: after how many it is done.
        window: how many messages stay in the state; older ones are removed.
        durability: LangGraph's: "sync", "async" or "exit".
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        deaths: (point, turn) at which its process kills itself.
    """

    folder: Path
    turns: int
    window: int = 40
    durability: Any = "sync"
    light: bool = False
    deaths: Sequence[tuple[str, int]] = ()

    def run(self, done: Callable[[int], object]) -> None:
        """Take the turns that are left; `done` is told each."""
        with (
            opened(self.folder, light=self.light) as hindsight,
            SqliteSaver.from_conn_string(str(self.folder / "checkpoints.sqlite")) as saver,
        ):
            graph = conversing(
                create_retain_node(hindsight.bank(BANK)), saver, self.window, Deaths(self.folder, self.deaths)
            )
            if graph.get_state(CONFIG).next:  # a run that was killed
                graph.invoke(None, CONFIG, durability=self.durability)
            for turn in range(next_turn(graph), self.turns + 1):
                graph.invoke({"messages": [asked(turn)]}, CONFIG, durability=self.durability)
                done(turn)


def next_turn(graph: Graph) -> int:
    """The turn to ask for.

    A run that is killed right after its input was taken leaves a checkpoint that says nothing is next, and a message
    without an answer that the next input would discard: it is asked for again, under its id.
    """
    messages = graph.get_state(CONFIG).values.get("messages", ())
    answered = bool(messages) and messages[-1].type == "ai"
    return turn_of(messages) + 1 if answered else max(1, turn_of(messages))


def conversing(retain: Any, saver: Any, window: int, deaths: Deaths) -> Graph:  # noqa: ANN401 - any node, any saver
    """A graph that answers, retains, and has a node after it.

    Args:
        retain: the node that retains; it dies before and after its work as part of the same node, so between the commit
            of the memories and the checkpoint that would say they are committed.
        saver: the checkpointer.
        window: how many messages stay in the state.
        deaths: where the process kills itself.
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
    """What the user says in a turn."""
    text = f"On day {turn} of the season Kari moored boat {turn * 7} at pier {turn % 90}."
    return HumanMessage(text, id=f"user-{turn}")


def answer_of(turn: int) -> str:
    """The answer to it; its message gets an id of LangGraph's, another one each time it is made."""
    return f"I wrote line {turn} into the log book and sent bill {turn * 3} to the owner."


def turn_of(messages: Sequence[BaseMessage]) -> int:
    """The turn that a conversation has come to; 0 before the first."""
    ids = [str(each.id) for each in messages if each.type == "human"]
    return int(ids[-1].removeprefix("user-")) if ids else 0


def opened(folder: Path, *, light: bool) -> Hindsight:
    """The engine, with vectors by hashing, so that what is measured is not the embedder."""
    exact = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)
    config = HindsightConfig(storage=exact) if light else HindsightConfig()
    return Hindsight.open(folder / "memory", embeddings=HashEmbedder(), reranker=None, config=config)


def remembered(folder: Path, *, light: bool) -> Memories:
    """Every memory's text and whether it is closed, with how often it is there."""
    with opened(folder, light=light) as hindsight:
        units = hindsight.bank(BANK).iterate_units(include_invalidated=True)
        return Counter((unit.text, unit.closed_at is not None) for unit in units)

"""The steps of each event in docs/checkpoints.md, by the event's name on that page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from checkpoint_world import Build, World, said
from langchain_core.messages import RemoveMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, RetryPolicy, interrupt

from hindsight_integrations import MemoryBank
from hindsight_integrations.langgraph import create_retain_node

Step = Callable[[World], object]


@dataclass(frozen=True)
class Row:
    """An event.

    Attributes:
        steps: the steps, in order.
        build: creates the graph's deviations from the default; called for each way of running.
    """

    steps: Sequence[Step]
    build: Callable[[], Build] = field(default=Build)


def say(*labels: str) -> Step:
    """The user sends one message in a turn."""

    def step(world: World) -> None:
        for label in labels:
            world.before.setdefault(label, world.here())
            world.run({"messages": [said(label)]})

    return step


def give(*labels: str) -> Step:
    """The client sends several messages in one turn."""
    return lambda world: world.run({"messages": [said(label) for label in labels]})


def answered(with_answer: str, to: str = "u2") -> Step:
    """From now on, this message gets that answer."""
    return lambda world: world.answers.__setitem__(to, with_answer)


def missing(value: bool) -> Step:
    """Whether the following turns skip the retain node."""
    return lambda world: setattr(world, "missing", value)


def say_again(label: str, earlier: str) -> Step:
    """Continue from before the answer to a message of the user; `earlier` are the messages before it."""

    def step(world: World) -> None:
        if world.way.durability == "exit":  # there is no checkpoint within a turn
            world.run({"messages": [said(label)]}, world.before[label])
        else:
            world.run(None, world.checkpoint("answer", f"{earlier} {label}"))

    return step


def say_from(label: str, earlier: str) -> Step:
    """Another message, from the end of the turn with these messages."""
    return lambda world: world.run({"messages": [said(label)]}, world.checkpoint("", earlier))


def from_the_beginning(label: str) -> Step:
    """Another message, from before the first; if no checkpoint is that old, with an emptied state."""

    def step(world: World) -> None:
        if world.way.durability == "exit":
            world.run({"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), said(label)]})
        else:
            world.run({"messages": [said(label)]}, world.checkpoint(START, ""))

    return step


def removed(*labels: str, then: Sequence[str] = ()) -> Step:
    """Remove the state's messages at the end of a turn, and add others."""
    gone = [RemoveMessage(id=each) for each in labels]
    return lambda world: world.update([*gone, *(said(each) for each in then)], as_node="after")


def regenerated(label: str) -> Step:
    """Remove an answer, and answer the question again."""

    def step(world: World) -> None:
        world.run(None, world.update([RemoveMessage(id=label)]))

    return step


def edited_before_its_answer(label: str, old: str, earlier: str) -> Step:
    """Change the text of the last question, and answer it again."""

    def step(world: World) -> None:
        if world.way.durability == "exit":
            world.run({"messages": [said(label)]}, world.before[old])
        else:
            where = world.checkpoint("answer", f"{earlier} {old}")
            world.run(None, world.update([said(label)], where))

    return step


def edited_in_place(label: str) -> Step:
    """Change the text of a message at the end of a turn."""
    return lambda world: world.update([said(label)], as_node="after")


def fails(*labels: str) -> Step:
    """A turn that fails with the row's error."""

    def step(world: World) -> None:
        with pytest.raises(ConnectionError):
            world.run({"messages": [said(label) for label in labels]})

    return step


def go_on(given: Any = None) -> Step:
    """Resume the run that stopped."""
    return lambda world: world.run(given)


def replay_before_retain(labels: str) -> Step:
    """From the checkpoint before the retain node; if there is none, from the end of the previous turn."""

    def step(world: World) -> None:
        if world.way.durability == "exit":
            label = labels.split()[-2]
            world.run({"messages": [said(label)]}, world.before[label])
        else:
            world.run(None, world.checkpoint("retain", labels))

    return step


def at_once(*labels: str) -> Step:
    """Several concurrent runs from one checkpoint, each with a message of the user."""
    return lambda world: world.side_by_side([{"messages": [said(label)]} for label in labels])


class Once:
    """Raises on the first call, like a lost connection."""

    def __init__(self) -> None:
        self.reached = False

    def __call__(self, update: Any) -> dict[str, Any]:
        if not self.reached:
            self.reached = True
            raise ConnectionError("lost")
        return {}


def _fails_after(node: Runnable[Any, Any]) -> Any:
    return node | RunnableLambda(Once())


def _fails_before(node: Runnable[Any, Any]) -> Any:
    lost = Once()
    return RunnableLambda(lambda state: lost(state) or state) | node


def _approved(state: Any) -> dict[str, Any]:
    interrupt("fine?")
    return {}


def _quickly() -> RetryPolicy:
    return RetryPolicy(initial_interval=0.001, jitter=False)


def _part_with_shared_messages(bank: MemoryBank) -> Any:
    part = StateGraph(MessagesState)
    part.add_node("retain part", create_retain_node(bank))
    part.add_edge(START, "retain part")
    return part.compile()


def _part_with_own_messages(bank: MemoryBank) -> Any:
    def found(state: MessagesState) -> dict[str, Any]:
        return {"messages": [said(f"w{str(state['messages'][-1].id)[1]}")]}

    part = StateGraph(MessagesState)
    part.add_node("find", found)
    part.add_node("retain part", create_retain_node(bank))
    part.add_edge(START, "find")
    part.add_edge("find", "retain part")
    compiled = part.compile()

    def asked(state: MessagesState) -> Any:
        turn = sum(each.type == "human" for each in state["messages"])
        return {"messages": [said(f"q{turn}")]}

    def run(state: MessagesState) -> dict[str, Any]:
        compiled.invoke(asked(state))
        return {}

    async def arun(state: MessagesState) -> dict[str, Any]:
        await compiled.ainvoke(asked(state))
        return {}

    return RunnableLambda(run, afunc=arun)


TWO, THREE = say("u1", "u2"), say("u1", "u2", "u3")
FORK = (TWO, say_from("f2", "u1 a1"))
EDITED = (TWO, edited_before_its_answer("e2", "u2", "u1 a1"))
RESUMED = (fails("u1"), go_on())
APPROVED = (say("u1"), go_on(Command(resume="yes")))
ROWS: dict[str, Row] = {
    "one turn": Row([say("u1")]),
    "two turns": Row([TWO]),
    "three turns": Row([THREE]),
    "retry before the write": Row([say("u1")], lambda: Build(around=_fails_before, retry=_quickly())),
    "retry after the write": Row([say("u1")], lambda: Build(around=_fails_after, retry=_quickly())),
    "resume after a later node died": Row(RESUMED, lambda: Build(after=Once())),
    "resume after the retain node died": Row(RESUMED, lambda: Build(around=_fails_after)),
    "resume after a sibling died": Row(RESUMED, lambda: Build(sibling=Once())),
    "interrupt in the same node": Row(
        APPROVED, lambda: Build(around=lambda node: node | RunnableLambda(_approved))
    ),
    "interrupt in a later node": Row(APPROVED, lambda: Build(after=_approved)),
    "stopped before retain": Row([say("u1")], lambda: Build(interrupt_before=("retain",))),
    "gone on before retain": Row([say("u1"), go_on()], lambda: Build(interrupt_before=("retain",))),
    "missed turns": Row([say("u1"), missing(True), say("u2", "u3"), missing(False), say("u4")]),
    "replay before retain": Row([TWO, replay_before_retain("u1 a1 u2 a2")]),
    "replay, same answer": Row([TWO, say_again("u2", "u1 a1")]),
    "replay, same words": Row([TWO, answered("c2"), say_again("u2", "u1 a1")]),
    "replay, other answer": Row([TWO, answered("r2"), say_again("u2", "u1 a1")]),
    "regenerate": Row([TWO, answered("r2"), regenerated("a2")]),
    "regenerate twice": Row([TWO, answered("r2"), regenerated("a2"), answered("s2"), regenerated("r2")]),
    "replay of an earlier turn": Row([THREE, answered("r2"), say_again("u2", "u1 a1")]),
    "edit of the last question": Row(EDITED),
    "edit in place": Row([TWO, edited_in_place("e2"), say("u3")]),
    "fork": Row(FORK),
    "fork, later turns": Row([THREE, say_from("f2", "u1 a1")]),
    "fork, kept": Row(FORK, lambda: Build(on_fork="keep")),
    "fork before everything": Row([TWO, from_the_beginning("f2")]),
    "back to the first branch": Row([*FORK, say_from("u3", "u1 a1 u2 a2")]),
    "back and forth": Row([*FORK, say_from("u3", "u1 a1 u2 a2"), say_from("u4", "u1 a1 f2 b2")]),
    "back to the first answer": Row(
        [TWO, answered("r2"), regenerated("a2"), say_from("u3", "u1 a1 u2 a2")],
    ),
    "back to before the edit": Row([*EDITED, say_from("u3", "u1 a1 u2 a2")]),
    "edit, kept": Row(EDITED, lambda: Build(on_fork="keep")),
    "trim, then fork": Row([TWO, removed("u1", "a1"), say("u3"), say_from("f2", "u2 a2")]),
    "fork after missed turns": Row(
        [say("u1"), missing(True), say("u2", "u3"), missing(False), say_from("f2", "u1 a1")]
    ),
    "trim": Row([TWO, removed("u1", "a1"), say("u3")]),
    "trim within": Row([TWO, removed("a1"), say("u3")]),
    "trim, then other answer": Row(
        [TWO, removed("u1", "a1"), say("u3"), answered("r2", to="u3"), say_again("u3", "u2 a2")]
    ),
    "summary of the system": Row(
        [TWO, removed(REMOVE_ALL_MESSAGES, then=("z", "u2", "a2")), say("u3")],
    ),
    "summary of a user": Row([TWO, removed(REMOVE_ALL_MESSAGES, then=("y",)), say("u3")]),
    "the last answer removed": Row([TWO, removed("a2"), say("u3")]),
    "the last turn removed": Row([TWO, removed("u2", "a2"), say("u3")]),
    "all sent again": Row([say("u1"), give("u1", "a1", "u2")]),
    "last id again, same text": Row([TWO, answered("r2"), say("u2")]),
    "last id again, other text": Row([TWO, say("e2")]),
    "same text, another id": Row([TWO, say("v2")]),
    "subgraph, shared messages": Row([TWO], lambda: Build(part=_part_with_shared_messages)),
    "subgraph, own messages": Row([TWO], lambda: Build(part=_part_with_own_messages)),
    "subgraph, other answer": Row(
        [TWO, answered("r2"), say_again("u2", "u1 a1")], lambda: Build(part=_part_with_own_messages)
    ),
    "the same turn twice at once": Row([at_once("u1", "u1")]),
    "two turns at once": Row([say("u1"), at_once("u2", "f2"), say_from("u3", "u1 a1 u2 a2")]),
}

"""The conversation of docs/checkpoints.md on a graph with a checkpointer: `invoke` or `ainvoke`, with any durability."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import RetryPolicy

from hindsight_integrations import MemoryBank
from hindsight_integrations.langgraph import create_retain_node

Graph = CompiledStateGraph[Any, Any, Any, Any]

OPINION = "I believe the night train to Oslo is reliable."
TEXT = {
    "u1": "Tilda took the night train to Oslo on 3 May 2024 and it was punctual.",
    "u2": "On 9 March 2024 the night train to Oslo stood two hours at Hamar with Jorid.",
    "u3": "Magnus paid 412 crowns for the night train to Oslo and got a seat.",
    "u4": "The night train to Oslo is painted green, says Ravn of wagon 88.",
    "e2": "On 17 January 2024 the night train to Oslo lost some minutes at Lillehammer with Sunniva.",
    "f2": "Embla praised the night train to Oslo, which came 5 minutes early on 21 August 2023.",
    "a1": "I booked the window seat 14 for Tilda in the dining car.",
    "a2": "I filed complaint 5520 with the railway company for Jorid.",
    "a3": "I wrote the 412 crowns into the travel ledger of Magnus.",
    "a4": "I looked wagon 88 up in the register of rolling stock.",
    "r2": "I called the hotline 07 and got a voucher of ninety crowns.",
    "s2": "I asked the conductor Brage for a stamped certificate.",
    "b2": "I marked the connection as preferred in profile 31.",
    "z": "So far the user and the assistant talked of travelling.",
    "y": "What was said so far: three friends went to Oslo by night train 47.",
    "q1": "Look up the platform 9 of the night train to Oslo for Yngve.",
    "w1": "I found that it leaves from the eastern hall at 22:10.",
    "q2": "Look up the luggage rule 6 of the night train to Oslo for Solveig.",
    "w2": "I found that two suitcases of 30 kilograms are carried.",
}
TEXT |= {"v2": TEXT["u2"], "c2": TEXT["a2"]}
ID = {"e2": "u2"}
VERDICT = {
    TEXT["u1"]: ("reinforce", "strong"),
    TEXT["u2"]: ("contradict", "strong"),
    TEXT["u3"]: ("reinforce", "mild"),
    TEXT["e2"]: ("weaken", "mild"),
    TEXT["f2"]: ("reinforce", "strong"),
}
_FACT = re.compile(r"^\[(\d+)\] \(.*?\) (.*)$", re.MULTILINE)


def assess(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The model: assesses each fact as on the page."""
    asked = messages[1].text
    facts = dict(_FACT.findall(asked.partition("<<<FACTS")[2].partition("FACTS>>>")[0]))
    found = []
    for opinion, pairs in re.findall(r"^opinion (\d+): (.*)$", asked, re.MULTILINE):
        for number in re.findall(r"fact (\d+)", pairs):
            fact = facts[number].removeprefix("user: ")
            kind, strength = VERDICT.get(fact, ("neutral", "mild"))
            pair = {"opinion": int(opinion), "fact": int(number), "reason": "It says so."}
            found.append(pair | {"assessment": kind, "strength": strength})
    return {"assessments": found}


def said(label: str) -> BaseMessage:
    """A message of the conversation, by its name on the page."""
    message_id = ID.get(label, label)
    if label == "z":
        return SystemMessage(TEXT[label], id=message_id)
    kind = HumanMessage if label[0] in "uefvyq" else AIMessage
    return kind(TEXT[label], id=message_id)


def label_of(message_id: str, text: str) -> str:
    """The name of a message on the page."""
    (label,) = [each for each in TEXT if ID.get(each, each) == message_id and TEXT[each] in text]
    return label


@dataclass
class Build:
    """The differences of a row's graph from START -> answer -> retain -> after -> END.

    Attributes:
        around: wraps the retain node; the result is the node called "retain".
        after: the node after it; None for no node.
        sibling: a node of the same step.
        part: a subgraph between answer and retain, created for the bank.
        retry: the retain node's retry policy.
        on_fork: the retain node's option.
        interrupt_before: nodes before which to stop.
    """

    around: Callable[[Runnable[Any, Any]], Any] = lambda node: node
    after: Callable[[Any], Any] | None = None
    sibling: Callable[[Any], Any] | None = None
    part: Callable[[MemoryBank], Any] | None = None
    retry: RetryPolicy | None = None
    on_fork: str = "supersede"
    interrupt_before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Way:
    """The way in which a row is run.

    Attributes:
        saver: "memory" or "sqlite".
        asynchronous: whether with `ainvoke` instead of `invoke`.
        durability: LangGraph's: "sync", "async" or "exit".
    """

    saver: str
    asynchronous: bool
    durability: str

    def __str__(self) -> str:
        return f"{self.saver}-{'ainvoke' if self.asynchronous else 'invoke'}-{self.durability}"


@dataclass
class World:
    """One thread of one graph, whose bank must finally contain what the page says.

    Attributes:
        way: the way of running.
        bank: the bank.
        build: the differences of the graph.
        answers: the answers to messages of the user that differ from that of the turn.
        missing: whether turns skip the retain node.
        before: the checkpoint's config before each message of the user was first sent.
        thread: the thread's config.
        meeting: the point in the answer node at which two concurrent runs wait for each other.
    """

    way: Way
    bank: MemoryBank
    build: Build
    answers: dict[str, str] = field(default_factory=dict)
    missing: bool = False
    before: dict[str, RunnableConfig] = field(default_factory=dict)
    thread: RunnableConfig = field(
        default_factory=lambda: RunnableConfig(configurable={"thread_id": "travel"})
    )
    meeting: threading.Barrier | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        if self.way.asynchronous:
            self._runner = self._stack.enter_context(asyncio.Runner())
        self.graph = self._compiled(self._saver())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def run(self, given: Any, config: RunnableConfig | None = None) -> None:
        """Run the graph on an input from a checkpoint, the latest by default."""
        where, durability = config or self.thread, cast("Any", self.way.durability)
        if self.way.asynchronous:
            self._runner.run(self.graph.ainvoke(given, where, durability=durability))
        else:
            self.graph.invoke(given, where, durability=durability)

    def side_by_side(self, givens: Sequence[Any]) -> None:
        """Run the graph concurrently on several inputs, none of which sees the others' results."""
        self.meeting = threading.Barrier(len(givens), timeout=20)
        if self.way.asynchronous:
            self._runner.run(self._gathered(givens))
        else:
            with ThreadPoolExecutor() as pool:
                list(pool.map(self.run, givens))
        self.meeting = None

    def update(
        self, messages: Sequence[BaseMessage], config: RunnableConfig | None = None, as_node: str = START
    ) -> RunnableConfig:
        """Write messages into the state as a node would; return the config of the new checkpoint."""
        values, where = {"messages": list(messages)}, config or self.thread
        if self.way.asynchronous:
            return self._runner.run(self.graph.aupdate_state(where, values, as_node))
        return self.graph.update_state(where, values, as_node)

    def here(self) -> RunnableConfig:
        """The latest checkpoint's config."""
        if self.way.asynchronous:
            return self._runner.run(self.graph.aget_state(self.thread)).config
        return self.graph.get_state(self.thread).config

    def checkpoint(self, node: str, labels: str) -> RunnableConfig:
        """The latest checkpoint with this next node ("" = none) and these messages."""
        wanted = ([node] if node else [], labels.split())
        for state in self._history():
            messages = [label_of(each.id, each.text) for each in state.values.get("messages", ())]
            if (list(state.next), messages) == wanted:
                return cast("RunnableConfig", state.config)
        raise AssertionError(f"no checkpoint before {node or 'the next turn'} with {labels}")

    def _history(self) -> list[Any]:
        if not self.way.asynchronous:
            return list(self.graph.get_state_history(self.thread))

        async def listed() -> list[Any]:
            return [state async for state in self.graph.aget_state_history(self.thread)]

        return self._runner.run(listed())

    async def _gathered(self, givens: Sequence[Any]) -> None:
        durability: Any = self.way.durability
        await asyncio.gather(
            *(self.graph.ainvoke(each, self.thread, durability=durability) for each in givens)
        )

    def _saver(self) -> Any:
        if self.way.saver == "memory":
            return InMemorySaver()
        if not self.way.asynchronous:
            return self._stack.enter_context(SqliteSaver.from_conn_string(":memory:"))
        opened = AsyncExitStack()
        self._stack.callback(lambda: self._runner.run(opened.aclose()))
        return self._runner.run(opened.enter_async_context(AsyncSqliteSaver.from_conn_string(":memory:")))

    def _answer(self, state: MessagesState) -> dict[str, Any]:
        if self.meeting:
            self.meeting.wait()
        asked = next(each for each in reversed(state["messages"]) if each.type == "human")
        label = label_of(str(asked.id), asked.text)
        usual = {"e2": "b2", "f2": "b2", "v2": "a3"}.get(label, "a" + label[1:])
        return {"messages": [said(self.answers.get(label, usual))]}

    def _compiled(self, saver: Any) -> Graph:
        build, graph = self.build, StateGraph(MessagesState)
        retain = create_retain_node(self.bank, on_fork=build.on_fork)
        graph.add_node("answer", self._answer)
        graph.add_node("retain", build.around(retain), retry_policy=build.retry)
        graph.add_node("after", RunnableLambda(build.after or (lambda state: {})))
        graph.add_edge(START, "answer")
        route = ["retain"]
        if build.sibling:
            graph.add_node("sibling", RunnableLambda(build.sibling))
            route.append("sibling")
        at = "answer"
        if build.part:
            at = "part"
            graph.add_node("part", build.part(self.bank))
            graph.add_edge("answer", "part")
        graph.add_conditional_edges(at, lambda _: ["after"] if self.missing else route, [*route, "after"])
        graph.add_edge("retain", "after")
        graph.add_edge("after", END)
        return graph.compile(checkpointer=saver, interrupt_before=list(build.interrupt_before))

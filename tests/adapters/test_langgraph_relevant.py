"""Memories in prompts of LangGraph users: none about unknown topics, and lists that are complete or marked as cut.

Written without knowledge of the code, with the packaged models.
"""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from kept_life import (
    ALL_TODOS,
    ANSWERED,
    ASKED_AT,
    DROPPED,
    FOOD,
    FOOD_LAST_WEEK,
    FOOD_THIS_WEEK,
    NEVER_MENTIONED,
    TODOS,
    busy,
    live,
    noted_todos,
)
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig, MemoryBank
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import (
    HindsightMiddleware,
    HindsightRetriever,
    HindsightStore,
    Memory,
    create_memory_tools,
    create_recall_node,
    create_retain_node,
    with_memories,
)
from hindsight_integrations.testing.doubles import FrozenClock
from hindsight_integrations.testing.scripted_model import ScriptedModel

FACES = pytest.mark.parametrize("face", ["sync", "async"])
DOORS = pytest.mark.parametrize("door", ["nodes", "middleware"])
SYSTEM = "You help."
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
Opener = Callable[..., Hindsight]
names = count()


class State(MessagesState):
    memories: list[Memory]


@pytest.fixture(scope="module")
def engine() -> Iterator[Hindsight]:
    """One engine with the models of a plain installation, because relevance depends on the embedder."""
    with Hindsight.open(":memory:", config=LIGHT, clock=FrozenClock(ASKED_AT)) as opened:
        yield opened


@pytest.fixture
def bank(engine: Hindsight) -> MemoryBank:
    return live(engine.bank(f"ines{next(names)}"))


@pytest.fixture(scope="module")
def known(engine: Hindsight) -> MemoryBank:
    """The same simulated life, for tests that only read."""
    return live(engine.bank("ines"))


class Agent:
    """An agent with nodes or middleware, sync or async, and the prompts of its model."""

    def __init__(
        self, door: str, face: str, bank: MemoryBank, *, parrots: bool = False, **options: Any
    ) -> None:
        self.face, self.parrots = face, parrots
        self.prompts: list[list[BaseMessage]] = []
        self.model = ScriptedModel(self._answer)
        self.graph: Any = (self._nodes if door == "nodes" else self._created)(bank, options)

    def ask(self, question: str, thread: str = "t1") -> str:
        """The prompt of the model's answer, from the user's message on."""
        config = {"configurable": {"thread_id": thread}}
        given = {"messages": [HumanMessage(question)]}
        if self.face == "async":
            self.state = asyncio.run(self.graph.ainvoke(given, config))
        else:
            self.state = self.graph.invoke(given, config)
        return "\n".join(str(message.text) for message in self.prompts[-1])

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        self.prompts.append(messages)
        return AIMessage(str(messages[-1].text) if self.parrots else "Noted.")

    def _nodes(self, bank: MemoryBank, options: dict[str, Any]) -> Any:
        def answer(state: State) -> dict[str, Any]:
            prompt = with_memories([SystemMessage(SYSTEM), *state["messages"]], state["memories"])
            return {"messages": [self.model.invoke(prompt)]}

        graph = StateGraph(State)
        steps: list[tuple[str, Any]] = [
            ("recall", create_recall_node(bank, **options)),
            ("answer", answer),
            ("retain", create_retain_node(bank)),
        ]
        graph.add_sequence(steps)
        graph.add_edge(START, "recall")
        return graph.compile(checkpointer=InMemorySaver())

    def _created(self, bank: MemoryBank, options: dict[str, Any]) -> Any:
        return create_agent(
            self.model,
            [],
            system_prompt=SYSTEM,
            middleware=[HindsightMiddleware(bank, **options)],
            checkpointer=InMemorySaver(),
        )


def bare(*said: str) -> str:
    """A prompt of these messages without memories."""
    return "\n".join([SYSTEM, *said])


@DOORS
@FACES
def test_memory_keeps_silent_until_it_knows_something(bank: MemoryBank, door: str, face: str) -> None:
    """A question about an unknown topic reaches the model unchanged; a later one is answered from memory, and then memory is silent again.

    The bank contains more than core memory, which would be shown as a whole.
    """
    agent = Agent(door, face, bank, include_core=False)
    assert agent.ask(NEVER_MENTIONED[0]) == bare(NEVER_MENTIONED[0])
    assert "Rovaniemi" in agent.ask("Where does my sister Vilma live?")
    assert agent.ask(NEVER_MENTIONED[1], thread="t2") == bare(NEVER_MENTIONED[1])


def test_most_questions_about_the_unknown_render_nothing_and_all_others_their_answer(
    bank: MemoryBank,
) -> None:
    """At least half of the unknown questions get no memories, and no answer is lost for it."""
    agent = Agent("middleware", "sync", bank, include_core=False)
    silent = [
        asked for at, asked in enumerate(NEVER_MENTIONED) if agent.ask(asked, thread=f"n{at}") == bare(asked)
    ]
    lost = [
        asked
        for at, (asked, word) in enumerate(ANSWERED.items())
        if word not in agent.ask(asked, thread=f"a{at}")
    ]
    assert len(silent) >= len(NEVER_MENTIONED) / 2, silent
    assert not lost


def test_a_recall_node_writes_an_empty_list_and_an_empty_text(known: MemoryBank) -> None:
    """In every output form, no memories give an empty value: no heading, no marker, no message."""
    given = {"messages": [HumanMessage(NEVER_MENTIONED[0])]}
    outputs = {
        form: create_recall_node(known, output=form, output_key="found", include_core=False).invoke(given)[
            "found"
        ]
        for form in ("memories", "text", "messages")
    }
    assert outputs == {"memories": [], "text": "", "messages": given["messages"]}


def test_a_caller_who_wants_all_gets_all(known: MemoryBank) -> None:
    """The caller's values of relevance and records take precedence over the node's defaults."""
    given = {"messages": [HumanMessage(NEVER_MENTIONED[2])]}
    everything = create_recall_node(known, relevance="all", include_core=False, output="text").invoke(given)[
        "memories"
    ]
    assert len(everything.splitlines()) == len(known.recall(NEVER_MENTIONED[2], budget="low").units) > 0
    asked = {"messages": [HumanMessage(ALL_TODOS)]}
    bare_node = create_recall_node(known, include_records=False, max_tokens=60, output="text")
    assert sum(value in bare_node.invoke(asked)["memories"] for value in TODOS.values()) < len(TODOS)


@DOORS
@FACES
def test_a_list_comes_whole_whatever_the_memories_may_cost(bank: MemoryBank, door: str, face: str) -> None:
    """The prompt contains every open to-do and no dropped one, and the list says that it is complete."""
    prompt = Agent(door, face, bank, max_tokens=60).ask(ALL_TODOS)
    assert missing_todos(prompt) == []
    assert DROPPED[0] not in prompt
    assert "canoe" not in prompt
    assert re.search(r"\bcomplete\b", prompt)


@DOORS
def test_a_sum_has_every_purchase_of_its_week(bank: MemoryBank, door: str) -> None:
    """The prompt contains each amount spent on food since Monday; amounts of last week or for other things are not presented as part of it."""
    agent = Agent(door, "sync", bank, max_tokens=60)
    prompt = agent.ask(FOOD)
    assert [value for value in FOOD_THIS_WEEK if value not in prompt] == []
    (table,) = HindsightRetriever(bank=bank).invoke(FOOD)[:1]
    assert [value for value in FOOD_THIS_WEEK if value not in table.page_content] == []
    assert [value for value in (*FOOD_LAST_WEEK, "62.00", "88.00") if value in table.page_content] == []


@DOORS
def test_a_table_that_does_not_fit_says_how_much_of_it_is_shown(engine: Hindsight, door: str) -> None:
    """Three hundred to-dos are cut, and the model is told how many of how many it sees; the number is correct."""
    bank = busy(engine.bank(f"harbour{next(names)}"))
    prompt = Agent(door, "sync", bank, max_tokens=60).ask(ALL_TODOS)
    said = re.search(r"\b(\d+) of 300\b", prompt)
    assert said, prompt[:600]
    assert 0 < int(said[1]) < 300
    assert not re.search(r"\bcomplete\b", prompt.splitlines()[0])


@DOORS
@FACES
def test_a_list_grows_and_shrinks_with_the_conversation(opener: Opener, door: str, face: str) -> None:
    """A record extracted from one thread is in the list of the next, until it is forgotten; any embedder works."""
    bank = opener(config=LIGHT, model=ScriptedModel(noted_todos)).bank("ines")
    agent = Agent(door, face, bank, max_tokens=30)
    for at, job in enumerate(["wax the skis", "mend the net", "oil the hinges"]):
        agent.ask(f"I have to {job}.", thread=f"told{at}")
    assert len(bank.records.list(kind="task")) == 3
    prompt = agent.ask(ALL_TODOS, thread="asked")
    assert [job for job in ("wax the skis", "mend the net", "oil the hinges") if job not in prompt] == []
    bank.withdraw(next(unit.id for unit in bank.iterate_units() if "net" in unit.text))
    prompt = agent.ask(ALL_TODOS, thread="asked later")
    assert "wax the skis" in prompt
    assert "mend the net" not in prompt


def test_a_checkpoint_holds_no_more_of_a_table_than_of_memories(bank: MemoryBank) -> None:
    """With the middleware, the state contains neither; with nodes, it contains those of the current turn only."""
    agent = Agent("middleware", "sync", bank)
    agent.ask(ALL_TODOS)
    assert [message.text for message in agent.state["messages"]] == [ALL_TODOS, "Noted."]
    nodes = Agent("nodes", "sync", bank, include_core=False)
    nodes.ask(ALL_TODOS)
    nodes.ask(NEVER_MENTIONED[0])
    assert nodes.state["memories"] == []


@DOORS
def test_what_is_streamed_of_a_list_has_none_of_its_rows(bank: MemoryBank, door: str) -> None:
    """Events contain ids and counts, also of tables, and can be sent as JSON."""
    graph = Agent(door, "sync", bank).graph
    given = {"messages": [HumanMessage(ALL_TODOS)]}
    events = list(graph.stream(given, {"configurable": {"thread_id": "watched"}}, stream_mode="custom"))
    assert [event["kind"] for event in events if event.get("type") == "hindsight"][:1] == ["recalled"]
    assert "plumber" not in json.dumps(events)


@DOORS
def test_a_table_that_was_shown_is_not_retained_as_news(bank: MemoryBank, door: str) -> None:
    """An agent that repeats the list adds nothing to memory."""
    before = sorted(unit.id for unit in bank.iterate_units())
    assert "plumber" in Agent(door, "sync", bank, parrots=True, max_tokens=60).ask(ALL_TODOS)
    assert sorted(unit.id for unit in bank.iterate_units()) == before


@FACES
@every_row("asked", [NEVER_MENTIONED[2], "What does Ines still have to do?", FOOD])
def test_a_given_k_is_exactly_k_memories(known: MemoryBank, face: str, asked: str) -> None:
    """A caller that asks for three documents gets three memories, however weakly they match, and no list."""
    documents = retrieved(HindsightRetriever(bank=known, k=3), asked, face)
    by_call = retrieved(HindsightRetriever(bank=known), asked, face, k=3)
    assert [document.id for document in documents] == [document.id for document in by_call]
    assert len(documents) == 3
    assert all(known.get(document.id or "") for document in documents)


@FACES
def test_without_k_a_retriever_gives_what_is_likely_to_help(known: MemoryBank, face: str) -> None:
    """Nothing for an unknown topic, less than the whole bank for a known one, and a complete list first, as one document."""
    retriever = HindsightRetriever(bank=known)
    assert retrieved(retriever, NEVER_MENTIONED[0], face) == []
    answering = retrieved(retriever, "Where does my sister Vilma live?", face)
    assert 0 < len(answering) < known.count()
    assert "Rovaniemi" in answering[0].page_content
    table, *memories = retrieved(retriever, ALL_TODOS, face)
    assert missing_todos(table.page_content) == []
    assert all(known.get(document.id or "") for document in memories)
    assert table.metadata != (memories[0].metadata if memories else None)


def test_a_store_ranks_whatever_it_has(engine: Hindsight) -> None:
    """LangGraph's store returns the nearest items."""
    store = HindsightStore(engine)
    for key, text in {
        "a": "Ines likes red apples.",
        "b": "Otso likes pears.",
        "c": "Pikku likes liver.",
    }.items():
        store.put(("memories",), key, {"text": text})
    found = store.search(("memories",), query=NEVER_MENTIONED[0], limit=3)
    assert {item.key for item in found} == {"a", "b", "c"}


def test_a_tool_says_that_it_found_nothing(known: MemoryBank) -> None:
    """A model that searches for an unknown topic is told so in words; one that asks for a list sees all of it."""
    (tool,) = create_memory_tools(known, names=["recall"])
    nothing = tool.invoke({"query": NEVER_MENTIONED[0]})
    assert "Ines" not in nothing
    assert nothing.strip()
    shown = tool.invoke({"query": ALL_TODOS})
    assert missing_todos(shown) == []


def missing_todos(text: str) -> list[str]:
    return [value for value, what in TODOS.items() if value not in text and what not in text]


def retrieved(retriever: HindsightRetriever, asked: str, face: str, **options: Any) -> list[Document]:
    if face == "async":
        return asyncio.run(retriever.ainvoke(asked, **options))
    return retriever.invoke(asked, **options)

"""A failing memory never prevents the answer: the result, the warnings and the recovery for each outage."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states and contexts
# defined here.

import asyncio
import logging
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from openai_server import Hang, OpenAIServer, ServerReply, Status
from pydantic import SecretStr
from table import every_row

from hindsight_integrations import (
    BankNotFound,
    Hindsight,
    HindsightConfig,
    HindsightError,
    InvalidRequest,
    MissingDependency,
    ModelUnavailable,
    SchemaMismatch,
)
from hindsight_integrations.config import KeywordBackend, ObservationConfig, StorageConfig, VectorBackend
from hindsight_integrations.langgraph import (
    Memory,
    create_recall_node,
    create_retain_node,
    create_settle_node,
)
from hindsight_integrations.model.units import UnitKind
from hindsight_integrations.testing.doubles import FrozenClock, HashEmbedder

LIGHT = HindsightConfig(
    storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5),
    observations=ObservationConfig(mode="off"),
)
ANN: RunnableConfig = {"configurable": {"thread_id": "t1", "user_id": "ann"}}
FIRST, SECOND = "My kayak is called Thunder.", "My canoe is called Breeze."
FACT = {"what": "Ann's kayak is called Thunder.", "fact_type": "world", "sources": ["m1"]}
BOTH_FACES = pytest.mark.parametrize("face", ["sync", "async"])


class State(MessagesState):
    memories: list[Memory]


def answer(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("Noted.")]}


def graph_of(saver: BaseCheckpointSaver[Any], *, recall: Any = None, retain: Any = None) -> Any:
    """recall -> answer -> retain; nodes that are not passed are left out."""
    graph = StateGraph(State)
    steps: list[Any] = [("recall", recall), ("answer", answer), ("retain", retain)]
    steps = [(name, node) for name, node in steps if node is not None]
    graph.add_sequence(steps)
    graph.add_edge(START, steps[0][0])
    return graph.compile(checkpointer=saver)


def run(graph: Any, face: str, text: str, **fields: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The state after a turn, and its custom events."""
    given = {"messages": [HumanMessage(text, **fields)]}

    async def over() -> list[Any]:
        return [part async for part in graph.astream(given, ANN, stream_mode=["values", "custom"])]

    parts = (
        asyncio.run(over())
        if face == "async"
        else list(graph.stream(given, ANN, stream_mode=["values", "custom"]))
    )
    return [value for mode, value in parts if mode == "values"][-1], [
        value for mode, value in parts if mode == "custom"
    ]


def warnings_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == "warning"]


def said(state: dict[str, Any]) -> list[str]:
    return [message.text for message in state["messages"]]


# Troubles of the model. Expected: units queued, found at once, found after settling; by trouble.


@pytest.fixture
def serving() -> Iterator[Callable[..., ChatOpenAI]]:
    """A ChatOpenAI for a local server that answers from a script."""
    servers: list[OpenAIServer] = []

    def serve(*replies: ServerReply, timeout: float = 0.3, max_retries: int = 0) -> ChatOpenAI:
        servers.append(OpenAIServer(list(replies)).__enter__())
        return ChatOpenAI(
            model="gpt-test",
            base_url=servers[-1].url,
            api_key=SecretStr("k"),
            max_retries=max_retries,
            timeout=timeout,
        )

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


MODEL_TROUBLES: list[Any] = [
    # expected maximum seconds, trouble, the client's settings, the node's
    pytest.param(3.0, Status(503), {}, {}, id="down"),
    pytest.param(3.0, Status(429, retry_after=7), {}, {}, id="rate-limited"),
    pytest.param(3.0, Hang(), {}, {}, id="slow"),
    pytest.param(5.0, Hang(), {"timeout": 30.0}, {"timeout_s": 0.3}, id="slower than the node waits"),
    pytest.param(5.0, Status(429, retry_after=30), {"max_retries": 2, "timeout": 30.0}, {"timeout_s": 0.3}, id="a client that retries"),
    pytest.param(3.0, Status(401), {}, {}, id="a key that expired"),
]  # fmt: skip


@BOTH_FACES
@every_row(("within", "trouble", "client", "options"), MODEL_TROUBLES)
def test_a_model_in_trouble_costs_neither_the_answer_nor_the_turn(
    opener: Callable[..., Hindsight],
    serving: Callable[..., ChatOpenAI],
    clock: FrozenClock,
    face: str,
    within: float,
    trouble: ServerReply,
    client: dict[str, Any],
    options: dict[str, Any],
) -> None:
    """The user is answered in time; the turn is found at once by its words, and a settle node extracts it once."""
    engine = opener(model=serving(trouble, {"facts": [FACT]}, **client), config=LIGHT)
    graph = graph_of(InMemorySaver(), retain=create_retain_node(engine, roles="user", **options))
    began = time.monotonic()
    state, events = run(graph, face, FIRST, id="m1")
    assert time.monotonic() - began < within
    assert said(state) == [FIRST, "Noted."]
    (told,) = [event for event in events if event["kind"] == "retained"]
    assert told["queued"]
    bank = engine.bank("ann")
    (turn,) = bank.recall("kayak").units
    assert turn.kind is UnitKind.TURN
    assert FIRST in turn.unit.text
    clock.advance(timedelta(hours=2))
    settle = create_settle_node(engine)
    given: Any = {"messages": []}
    if face == "async":
        asyncio.run(settle.ainvoke(given, ANN))
    else:
        settle.invoke(given, ANN)
    assert [unit.text for unit in bank.iterate_units()] == [FACT["what"]]


@BOTH_FACES
@every_row(
    ("raised", "remembered_next", "on_error"), [(True, 2, "raise"), (False, 2, "skip"), (False, 2, "queue")]
)
def test_what_on_error_makes_of_a_model_that_is_down(
    opener: Callable[..., Hindsight],
    serving: Callable[..., ChatOpenAI],
    clock: FrozenClock,
    face: str,
    raised: bool,
    remembered_next: int,
    on_error: str,
) -> None:
    """ "raise" fails the run, "skip" sends one warning; then the next turn retains the missed one, as queue's task does."""
    told = {"Thunder": FACT, "Breeze": {**FACT, "what": "Ann's canoe is called Breeze.", "sources": ["m2"]}}
    asked: list[str] = []

    def reply(request: Any) -> ServerReply:
        asked.append(str(request.body["messages"]))
        passage = asked[-1].rpartition("PASSAGE")[0].rpartition("PASSAGE")[2]
        facts = [fact for word, fact in told.items() if word in passage]
        return Status(503) if len(asked) == 1 else {"facts": facts}

    with OpenAIServer(reply) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key=SecretStr("k"), max_retries=0, timeout=2)
        engine = opener(model=model, config=LIGHT)
        graph = graph_of(InMemorySaver(), retain=create_retain_node(engine, roles="user", on_error=on_error))
        if raised:
            with pytest.raises(ModelUnavailable):
                run(graph, face, FIRST, id="m1")
            assert said(graph.get_state(ANN).values) == [FIRST, "Noted."]
        else:
            state, events = run(graph, face, FIRST, id="m1")
            assert said(state) == [FIRST, "Noted."]
            assert len(warnings_of(events)) == (1 if on_error == "skip" else 0)
        run(graph, face, SECOND, id="m2")
        clock.advance(timedelta(hours=2))
        engine.bank("ann").tasks.settle()
        assert engine.bank("ann").count() == remembered_next


# Outages of the memory itself. Expected: warnings of retain, warnings of recall, the error they name; by
# outage.


class Service(Embeddings):
    """Embeddings of a service that is unreachable while `error` is set."""

    def __init__(self) -> None:
        self.hashed = HashEmbedder()
        self.error: Exception | None = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.error:
            raise self.error
        vectors: list[list[float]] = self.hashed.embed_documents(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Mistaken(HashEmbedder):
    """An embedder that raises a programming error after it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None

    def embed_documents(self, texts: Any) -> Any:
        if self.error:
            raise self.error
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> Any:
        if self.error:
            raise self.error
        return super().embed_query(text)


@contextmanager
def full_disk(folder: Path, engine: Hindsight, embedder: Service) -> Iterator[None]:
    """No file can grow beyond a page."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def locked(folder: Path, engine: Hindsight, embedder: Service) -> Iterator[None]:
    """A database tool holds the ledger's write lock."""
    tool = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None, check_same_thread=False)
    tool.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        tool.execute("ROLLBACK")
        tool.close()


@contextmanager
def closed(folder: Path, engine: Hindsight, embedder: Service) -> Iterator[None]:
    """The engine was closed."""
    engine.close()
    yield


@contextmanager
def no_embeddings(folder: Path, engine: Hindsight, embedder: Service) -> Iterator[None]:
    """The embedder's service cannot be reached."""
    embedder.error = ConnectionError("refused")
    yield
    embedder.error = None


OUTAGES: list[Any] = [
    # expected warnings of retain, of recall, outage
    pytest.param(1, 0, full_disk, id="full disk"),
    pytest.param(1, 0, locked, id="ledger locked"),
    pytest.param(1, 1, closed, id="engine closed"),
    pytest.param(1, 1, no_embeddings, id="embedder down"),
]


@pytest.fixture
def reopening(
    opener: Callable[..., Hindsight], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], tuple[Hindsight, Service]]:
    """Opens the engine of one directory repeatedly, with a short lock timeout."""
    monkeypatch.setattr("hindsight_integrations.ledger.databases.BUSY_MILLISECONDS", 20)

    def open_engine() -> tuple[Hindsight, Service]:
        embedder = Service()
        return opener(tmp_path, config=LIGHT, embeddings=embedder), embedder

    return open_engine


@BOTH_FACES
@pytest.mark.parametrize("on_error", ["queue", "skip", "raise"])
@pytest.mark.parametrize(("retaining", "recalling", "outage"), OUTAGES)
def test_an_outage_of_the_memory_costs_no_answer_and_is_made_up_for(
    reopening: Callable[[], tuple[Hindsight, Service]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    face: str,
    on_error: str,
    retaining: int,
    recalling: int,
    outage: Any,
) -> None:
    """One warning says what is missing and what to do, without the user's words; the next turn remembers both."""
    saver = InMemorySaver()
    engine, embedder = reopening()
    engine.bank("ann").retain("A bank that is there already.")
    graph = graph_of(saver, retain=create_retain_node(engine, roles="user", on_error=on_error))
    with outage(tmp_path, engine, embedder), caplog.at_level(logging.WARNING, "hindsight_integrations"):
        if on_error == "raise":
            with pytest.raises(Exception):  # noqa: B017,PT011 - whatever the outage is
                run(graph, face, FIRST, id="m1")
        else:
            state, events = run(graph, face, FIRST, id="m1")
            assert said(state) == [FIRST, "Noted."]
            told = warnings_of(events)
            assert len(told) == retaining
            assert all(told[0][key] for key in ("node", "error", "missing", "remedy"))
            assert "Thunder" not in str(events) + caplog.text
            assert (
                len([line for line in caplog.records if line.name == "hindsight_integrations.langgraph"]) == 1
            )
    assert said(graph.get_state(ANN).values) == [FIRST, "Noted."]
    engine.close()
    engine, _ = reopening()
    graph = graph_of(saver, retain=create_retain_node(engine, roles="user"))
    run(graph, face, SECOND, id="m2")
    told_texts = sorted(unit.text for unit in engine.bank("ann").iterate_units())
    assert told_texts == ["A bank that is there already.", f"user: {SECOND}", f"user: {FIRST}"]


@BOTH_FACES
@pytest.mark.parametrize(("retaining", "recalling", "outage"), OUTAGES)
def test_an_outage_while_recalling_is_an_answer_without_memories(
    reopening: Callable[[], tuple[Hindsight, Service]],
    tmp_path: Path,
    face: str,
    retaining: int,
    recalling: int,
    outage: Any,
) -> None:
    """If memory cannot be read, one warning says so; if only writing fails, reading works."""
    engine, embedder = reopening()
    engine.bank("ann").retain(FIRST)
    graph = graph_of(InMemorySaver(), recall=create_recall_node(engine))
    with outage(tmp_path, engine, embedder):
        state, events = run(graph, face, "What is my kayak called?")
    assert said(state) == ["What is my kayak called?", "Noted."]
    assert len(warnings_of(events)) == recalling
    assert [memory["text"] for memory in state["memories"]] == ([] if recalling else [FIRST])


MISTAKES: list[HindsightError] = [
    InvalidRequest("k", "0", "Use 1."),
    MissingDependency("a package", "Install it."),
    BankNotFound("ann"),
    SchemaMismatch(Path("/memory"), 99, 9),
]


@BOTH_FACES
@every_row("create", [create_retain_node, create_recall_node])
@every_row("on_error", ["queue", "skip", "raise"])
@every_row("mistake", MISTAKES, ids=lambda error: type(error).__name__)
def test_mistakes_of_the_program_are_raised_by_every_node(
    opener: Callable[..., Hindsight], face: str, create: Any, on_error: str, mistake: HindsightError
) -> None:
    """What every run would meet again is no outage, whatever on_error says; the conversation is whole all the same."""
    embedder = Mistaken()
    engine = opener(config=LIGHT, embeddings=embedder)
    engine.bank("ann").retain(FIRST)
    embedder.error = mistake
    if create is create_recall_node and on_error == "queue":
        on_error = "skip"  # a recall has nothing to queue
    node = create(engine, on_error=on_error)
    graph = graph_of(InMemorySaver(), **{"retain" if create is create_retain_node else "recall": node})
    with pytest.raises(type(mistake)):
        run(graph, face, SECOND, id="m1")
    assert said(graph.get_state(ANN).values)[0] == SECOND

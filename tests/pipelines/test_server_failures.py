"""PostgreSQL that is down, full, slow, read-only or rejects calls: the errors, and the state afterwards."""

# Without `from __future__ import annotations`: LangGraph reads the annotations of the states defined here.

import asyncio
import logging
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as LlamaMemory
from llama_index.core.storage.chat_store import SimpleChatStore
from postgres_server import Databases, Server
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.errors import (
    LedgerFailed,
    LedgerReadOnly,
    LedgerUnreachable,
)
from hindsight_integrations.langgraph import MemoryState, create_recall_node, create_retain_node
from hindsight_integrations.ledger.ledger import Ledger
from hindsight_integrations.ledger.postgresql import PostgresDatabase, checked_address
from hindsight_integrations.llamaindex import HindsightMemory, HindsightMemoryBlock
from hindsight_integrations.model.clock import SystemClock
from hindsight_integrations.model.items import ItemPut
from hindsight_integrations.testing.doubles import HashEmbedder

pytestmark = pytest.mark.slow  # each starts or stops a server

LISBON, PARROT = "Alice moved to Lisbon in May 2024.", "Alice adopted a parrot named Kiwi."
LIGHT = HindsightConfig(storage=StorageConfig(keywords=KeywordBackend.FTS5))
ALICE: RunnableConfig = {"configurable": {"thread_id": "t", "user_id": "alice"}}

Opened = Callable[..., Hindsight]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens engines, and closes them at the end."""
    engines: list[Hindsight] = []

    def open_engine(address: str, **options: Any) -> Hindsight:
        given: dict[str, Any] = {"embeddings": HashEmbedder(), "reranker": None, "config": LIGHT, **options}
        engines.append(Hindsight.open(address, **given))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


@pytest.fixture
def own() -> Iterator[Server]:
    """A separate server that the test may stop."""
    with Server() as server:
        yield server


def memory_on(server: Server) -> str:
    """The address of a new database on a server."""
    execute(server.address.format("postgres"), "CREATE DATABASE memory")
    return server.address.format("memory")


def execute(address: str, *statements: str) -> None:
    """Run statements outside any transaction, as the server's operator."""
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def as_user(address: str, name: str) -> str:
    """The same database with another user."""
    return checked_address(address).set(username=name).render_as_string(hide_password=False)


def texts(engine: Hindsight, query: str) -> list[str]:
    """The texts that bank "alice" recalls, sorted."""
    return sorted(unit.text for unit in engine.bank("alice").recall(query).units)


def test_a_user_without_rights_is_told_so(databases: Databases, opened: Opened) -> None:
    """A user without the right to create tables cannot open a new memory; one who may only read can open it read-only."""
    new, used = databases.address("new", empty=True), databases.address("used")
    opened(used).bank("alice").retain(LISBON)
    execute(
        used,
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
    )
    try:
        with pytest.raises(LedgerReadOnly, match=r"permission denied for schema public.*rights"):
            opened(as_user(new, "reader"))
        with pytest.raises(LedgerReadOnly, match=r"permission denied for table .*rights"):
            opened(as_user(used, "reader")).bank("alice").retain(PARROT)
        assert texts(opened(as_user(used, "reader"), read_only=True), "Lisbon") == [LISBON]
    finally:
        execute(used, "DROP OWNED BY reader", "DROP ROLE reader")


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_server_that_is_down_costs_no_answer_of_a_graph(own: Server, opened: Opened, face: str) -> None:
    """The run continues without memories, with one warning per node; the thread's next turn retains both turns."""
    engine = opened(memory_on(own))
    engine.bank("alice").retain(LISBON)

    def answer(state: MemoryState) -> dict[str, Any]:
        return {"messages": [AIMessage("Noted.")]}

    graph = StateGraph(MemoryState)
    graph.add_node("recall", create_recall_node(engine))
    graph.add_node("answer", answer)
    graph.add_node("retain", create_retain_node(engine, roles="user"))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "retain")
    chat: Any = graph.compile(checkpointer=InMemorySaver())

    def said(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The state after a turn, and its warnings."""
        given, modes = {"messages": [HumanMessage(text)]}, ["values", "custom"]

        async def over() -> list[Any]:
            return [part async for part in chat.astream(given, ALICE, stream_mode=modes)]

        streamed = (
            asyncio.run(over()) if face == "async" else list(chat.stream(given, ALICE, stream_mode=modes))
        )
        events = [part for mode, part in streamed if mode == "custom" and part["kind"] == "warning"]
        return [part for mode, part in streamed if mode == "values"][-1], events

    own.stop()
    state, warnings = said(PARROT)
    assert state["messages"][-1].text == "Noted."
    assert state["memories"] == []
    assert [(event["node"], event["error"]) for event in warnings] == [
        ("recall", "LedgerUnreachable"),
        ("retain", "LedgerUnreachable"),
    ]
    own.start()
    state, warnings = said("Where does Alice live?")
    assert warnings == []
    assert LISBON in [memory["text"] for memory in state["memories"]]
    assert f"user: {PARROT}" in texts(engine, "parrot")


def test_a_server_that_is_down_costs_no_answer_of_llamaindex(
    own: Server, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    """Both kinds of memory keep the chat and warn; their next turn retains both."""
    engine = opened(memory_on(own))
    bank = engine.bank("alice")
    bank.retain(LISBON)
    memory = HindsightMemory(bank, session_id="s", chat_store=SimpleChatStore(), roles="user")
    block = HindsightMemoryBlock(bank)
    blocks = LlamaMemory.from_defaults(session_id="b", memory_blocks=[block])

    def say(text: str) -> list[str]:
        """Let the user write in both chats; return the prompts."""
        message = ChatMessage(role="user", content=text)
        prompts = []
        for chat in (memory, blocks):
            chat.put(message)
            prompts.append(" ".join(str(each.content) for each in chat.get(text)))
            chat.put(ChatMessage(role="assistant", content="Noted."))
        return prompts

    own.stop()
    with caplog.at_level(logging.WARNING, "hindsight_integrations"):
        assert all(PARROT in prompt for prompt in say(PARROT))
    assert "LedgerUnreachable" in caplog.text
    own.start()
    assert all(LISBON in prompt for prompt in say("Where does Alice live?"))
    memory.flush()
    assert any(PARROT in text for text in texts(engine, "parrot"))


def test_a_statement_that_takes_too_long_names_the_limit(databases: Databases, opened: Opened) -> None:
    """The server's statement timeout ends a writer that waits for its bank; with a higher limit the repeated call succeeds."""
    address = databases.address("limited")
    opened(address).bank("alice").retain(LISBON)
    execute(address, "DROP ROLE IF EXISTS hasty", "CREATE ROLE hasty LOGIN SUPERUSER")
    execute(address, "ALTER ROLE hasty SET statement_timeout = '300ms'")
    ledger = Ledger(PostgresDatabase(checked_address(address), clock=SystemClock()))
    try:
        engine = opened(as_user(address, "hasty"))
        with (
            ledger.transaction("alice"),
            pytest.raises(
                LedgerUnreachable, match=r"statement timeout; if statement_timeout ended the statement"
            ),
        ):
            engine.bank("alice").retain(PARROT)
        engine.bank("alice").retain(PARROT)
        assert PARROT in texts(engine, "parrot")
    finally:
        ledger.close()
        execute(address, "DROP ROLE hasty")


def test_transactions_are_not_left_idle(databases: Databases, opened: Opened) -> None:
    """A memory works with a server that ends transactions that are idle for a second."""
    address = databases.address("limited")
    execute(address, "DROP ROLE IF EXISTS nervous", "CREATE ROLE nervous LOGIN SUPERUSER")
    execute(address, "ALTER ROLE nervous SET idle_in_transaction_session_timeout = '1s'")
    try:
        engine = opened(as_user(address, "nervous"))
        bank = engine.bank("alice")
        bank.retain_many([f"Alice planted tree number {number}." for number in range(300)])
        engine.close()
        engine = opened(as_user(address, "nervous"))
        assert len(engine.bank("alice").recall("tree", max_tokens=100_000).units) > 200
        engine.close()
    finally:
        execute(address, "DROP ROLE nervous")


def test_more_threads_than_connections_wait_for_each_other(databases: Databases, opened: Opened) -> None:
    """Sixteen threads write and read with two connections each; all calls succeed."""
    address = databases.address("small")
    storage = StorageConfig(keywords=KeywordBackend.FTS5, vectors=VectorBackend.EXACT, connections=2)
    engine = opened(address, config=HindsightConfig(storage=storage))

    def turn(number: int) -> bool:
        bank = engine.bank(f"user {number % 5}")
        bank.retain(f"Boat number {number} is called Heron.")
        return any(f"number {number} " in unit.text for unit in bank.recall(f"boat number {number}").units)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(turn, range(64)))


def test_a_pool_that_stays_exhausted_names_the_setting(
    databases: Databases, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error of a call that gets no connection in time names the setting to raise."""
    monkeypatch.setattr("hindsight_integrations.ledger.postgresql.POOL_SECONDS", 0.2)
    address = databases.address("small")
    database = PostgresDatabase(checked_address(address), clock=SystemClock(), connections=2)
    held, done = threading.Barrier(3), threading.Event()

    def hold() -> None:
        with database.reading():
            held.wait(60)
            done.wait(60)

    with ThreadPoolExecutor(2) as pool:
        holding = [pool.submit(hold) for _ in range(2)]
        held.wait(60)
        with pytest.raises(LedgerUnreachable, match=r"StorageConfig\(connections="), database.reading():
            pass
        done.set()
        for each in holding:
            each.result(60)
    database.close()


def test_a_server_without_free_connections_is_unreachable_until_it_has_some(
    own: Server, opened: Opened
) -> None:
    """The error quotes the server, and the same engine works when others have disconnected."""
    own.stop()
    own.start("max_connections=4", "superuser_reserved_connections=0", "max_wal_senders=0")
    address = memory_on(own)
    engine = opened(address)
    engine.bank("alice").retain(LISBON)
    engine.close()
    others = [sa.create_engine(address, poolclass=sa.NullPool).connect() for _ in range(4)]
    with pytest.raises(LedgerUnreachable, match="too many clients"):
        opened(address)
    for other in others:
        other.close()
    assert texts(opened(address), "Lisbon") == [LISBON]


@contextmanager
def small_disk(server: Server, size: str) -> Iterator[Path]:
    """A separate file system of the server's user."""
    folder = server.folder / "small"
    folder.mkdir()
    subprocess.run(["/usr/bin/mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
    try:
        (folder / "space").mkdir()
        shutil.chown(folder / "space", server.folder.owner())
        yield folder
    finally:
        subprocess.run(["/usr/bin/umount", "-l", folder], check=True)


def test_a_full_disk_of_the_server_loses_nothing(own: Server, opened: Opened) -> None:
    """Writes fail with the server's message and store nothing; reads work; with space again the same calls succeed."""
    with small_disk(own, "24m") as folder:
        execute(
            own.address.format("postgres"),
            f"CREATE TABLESPACE small LOCATION '{folder / 'space'}'",
            "CREATE DATABASE memory TABLESPACE small",
        )
        engine = opened(own.address.format("memory"))
        bank = engine.bank("alice")
        bank.retain(LISBON)
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(shutil.disk_usage(folder).free - 200_000))
        stored: list[str] = []

        def fill() -> None:
            for number in range(300):
                bank.retain(f"Alice planted tree number {number}.")
                stored.append(f"Alice planted tree number {number}.")

        with pytest.raises(LedgerFailed, match=r"No space left on device.*free disk space on the server"):
            fill()
        assert bank.count() == 1 + len(stored)
        assert LISBON in texts(engine, "Where does Alice live?")
        ballast.unlink()
        bank.retain(f"Alice planted tree number {len(stored)}.")
        assert bank.count() == 2 + len(stored)
        engine.close()
        execute(own.address.format("postgres"), "DROP DATABASE memory WITH (FORCE)", "DROP TABLESPACE small")


def test_a_standby_is_read_and_refuses_to_be_written(own: Server, opened: Opened) -> None:
    """A read-only engine on a standby follows the primary; a writing one raises that the server is read-only."""
    primary = opened(memory_on(own))
    primary.bank("alice").retain(LISBON)
    with Server(standby_of=own) as standby:
        address = standby.address.format("memory")
        reader = opened(address, read_only=True)
        assert texts(reader, "Lisbon") == [LISBON]
        primary.bank("alice").retain(PARROT)
        for _ in range(10_000):
            if (found := texts(reader, "Alice")) != [LISBON]:
                break
        assert found == sorted([LISBON, PARROT])
        with pytest.raises(LedgerReadOnly, match=r"read-only transaction.*standby"):
            opened(address).bank("alice").retain("Alice adopted a cat.")
        reader.close()


@every_row("vectors, keywords", [("exact", "fts5"), ("chroma", "lucene")], ids=str)
def test_a_deleted_cache_loses_nothing(
    databases: Databases, opened: Opened, tmp_path: Path, vectors: str, keywords: str
) -> None:
    """The folder is deleted while an engine uses it: earlier and later memories are recalled, there and in a new engine."""
    address, cache = databases.address(vectors), tmp_path / vectors
    config = HindsightConfig(storage=StorageConfig(vectors=vectors, keywords=keywords))
    engine = opened(address, config=config, cache=cache)
    engine.bank("alice").retain(LISBON)
    assert texts(engine, "Lisbon") == [LISBON]
    shutil.rmtree(cache)
    engine.bank("alice").retain(PARROT)
    assert texts(engine, "Alice") == sorted([LISBON, PARROT])
    engine.close()
    engine = opened(address, config=config, cache=cache)
    assert texts(engine, "Alice") == sorted([LISBON, PARROT])


class DayAhead(SystemClock):
    """The clock of a machine that is a day ahead."""

    def now(self) -> datetime:
        return super().now() + timedelta(days=1)


def test_a_machine_a_day_ahead_follows_the_clock_of_the_server(databases: Databases, opened: Opened) -> None:
    """It takes no task or lease early, erases no item early, and dates memories by the server's clock."""
    address = databases.address("clocks")
    here, ahead = opened(address), opened(address, clock=DayAhead())
    bank = here.bank("alice")
    bank.retain(LISBON)
    bank.items.write([ItemPut(("docs",), "ticket", {"seat": 7}, ttl=timedelta(hours=1))])
    due = [engine.doctor().tasks.next_due for engine in (here, ahead)]
    assert all(delay is not None and timedelta(0) < delay <= timedelta(minutes=1) for delay in due)
    assert ahead.bank("alice").items.get([(("docs",), "ticket")]) != [None]
    ahead.bank("alice").retain(PARROT)
    first, second = sorted(bank.iterate_units(), key=lambda unit: unit.mentioned_at)
    assert second.mentioned_at - first.mentioned_at < timedelta(hours=1)

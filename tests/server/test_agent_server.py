"""`langgraph dev` with our graph and our store, and its own client: `make test-server`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "agent_server"
JOBS = 4
ANN, BOB = "ann@example.com", "bob"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def serving(
    data: Path, *, end: signal.Signals = signal.SIGTERM, isolated: bool = False, auth: str = ""
) -> Iterator[str]:
    """The address of a server with a data directory, in a copy of the example's folder; ended by a signal."""
    port, log = free_port(), data.parent / f"log-{time.monotonic_ns()}"
    app = Path(copytree(EXAMPLE, data.parent / "app", dirs_exist_ok=True))
    if auth:
        (app / "auth.py").write_text(auth)
        config = json.loads((app / "langgraph.json").read_text())
        (app / "langgraph.json").write_text(json.dumps({**config, "auth": {"path": "./auth.py:auth"}}))
    environment = {
        **os.environ,
        "HINDSIGHT_DIRECTORY": str(data),
        "LANGSMITH_TRACING": "false",
        "BG_JOB_ISOLATED_LOOPS": str(isolated).lower(),
    }
    command = [str(Path(sys.executable).with_name("langgraph")), "dev", "--no-browser", "--no-reload"]
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, "--port", str(port), "--n-jobs-per-worker", str(JOBS)],
            cwd=app,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            until_it_answers(address, server, log)
            yield address
        finally:
            with suppress(ProcessLookupError):  # it ended by itself, and until_it_answers reports why
                os.killpg(server.pid, end)
            server.wait(60)


def until_it_answers(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            break
        try:
            if httpx.get(f"{address}/ok", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(log.read_text()[-4_000:])


async def said(client: LangGraphClient, thread: str, user: str, text: str) -> str:
    """The graph's answer to one message."""
    asked: Any = {"messages": [{"role": "user", "content": text}]}
    state: Any = await client.runs.wait(thread, "agent", input=asked, context={"user_id": user})
    answer: str = state["messages"][-1]["content"]
    return answer


async def thread(client: LangGraphClient) -> str:
    return str((await client.threads.create())["thread_id"])


def keys(found: Any) -> list[str]:
    return [each["key"] for each in found["items"]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def test_memory_crosses_threads_and_restarts_but_not_users(data: Path) -> None:
    """What Ann said in one thread is known in another, after an orderly end and after SIGKILL; Bob knows nothing of it."""

    async def first(address: str) -> None:
        client = get_client(url=address)
        one, two, three = [await thread(client) for _ in range(3)]
        assert "nothing yet" in await said(client, one, ANN, "My sister Ana moved to Lisbon.")
        assert "Ana moved to Lisbon" in await said(client, two, ANN, "Where does my sister live?")
        assert "nothing yet" in await said(client, three, BOB, "Where does my sister live?")
        state = await client.threads.get_state(two)
        assert len(state["values"]["messages"]) == 2  # type: ignore[call-overload]

    async def later(address: str, visit: int) -> None:
        client = get_client(url=address)
        answer = await said(client, await thread(client), ANN, "Where does my sister live?")
        assert answer.startswith(f"Visit {visit}.")
        assert "Ana moved to Lisbon" in answer

    with serving(data) as address:
        asyncio.run(first(address))
    with serving(data, end=signal.SIGKILL) as address:
        asyncio.run(later(address, 3))
    with serving(data) as address:
        asyncio.run(later(address, 4))


def test_the_endpoints_of_the_store(data: Path) -> None:
    """Put, get, semantic search, filters as the server merges them, listing, delete; an invalid filter is the client's error."""

    async def tour(address: str) -> None:
        store = get_client(url=address).store
        await store.put_item(["docs", "x"], "k1", value={"text": "a red kayak", "n": 1})
        await store.put_item(["docs", "y"], "k2", value={"text": "a blue tent", "n": 2}, ttl=5)
        assert (await store.get_item(["docs", "x"], "k1"))["value"] == {"text": "a red kayak", "n": 1}
        assert keys(await store.search_items(["docs"], query="tent")) == ["k2", "k1"]
        both = {"$and": [{"n": {"$gte": 1}}, {"text": "a red kayak"}]}
        assert keys(await store.search_items(["docs"], filter=both)) == ["k1"]
        assert keys(await store.search_items(["docs"], limit=1, offset=1)) == ["k1"]
        assert (await store.list_namespaces())["namespaces"] == [["docs", "x"], ["docs", "y"]]
        await store.delete_item(["docs", "x"], "k1")
        assert keys(await store.search_items(["docs"], query="kayak")) == ["k2"]
        with pytest.raises(Exception, match=r"\$like is an unknown operator"):
            await store.search_items(["docs"], filter={"n": {"$like": 1}})

    async def after(address: str) -> None:
        store = get_client(url=address).store
        assert keys(await store.search_items(["docs"])) == ["k2"]

    with serving(data, end=signal.SIGKILL) as address:
        asyncio.run(tour(address))
    with serving(data) as address:
        asyncio.run(after(address))


def test_runs_on_loops_of_their_own_share_one_memory(data: Path) -> None:
    """Four concurrent jobs on isolated loops: one store per loop, one engine; every visit is counted in its user's bank."""

    async def crowd(address: str) -> list[str]:
        client = get_client(url=address)
        threads = [await thread(client) for _ in range(12)]
        await asyncio.gather(
            *(said(client, each, f"u{n}", f"My boat has the number {n}00.") for n, each in enumerate(threads))
        )
        return await asyncio.gather(
            *(said(client, each, f"u{n}", "Which number has my boat?") for n, each in enumerate(threads))
        )

    with serving(data, isolated=True) as address:
        answers = asyncio.run(crowd(address))
    assert [f"{n}00" in answer for n, answer in enumerate(answers)] == [True] * 12
    assert all(answer.startswith("Visit 2.") for answer in answers)
    logs = "".join(log.read_text() for log in data.parent.glob("log-*"))
    assert logs.count("Using custom store") > 1
    assert "BlockingError" not in logs


AUTH = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(headers: dict) -> str:
    token = headers.get(b"authorization") or headers.get("authorization") or b""
    return (token.decode() if isinstance(token, bytes) else token).removeprefix("Bearer ")
"""


def test_a_server_that_authenticates_says_whose_memory_it_is(data: Path) -> None:
    """Whatever user a client names in its context, the bank is that of the user whose token it sends."""

    async def tour(address: str) -> None:
        ann, bob = (
            get_client(url=address, headers={"Authorization": f"Bearer {user}"}) for user in (ANN, BOB)
        )
        await said(ann, await thread(ann), ANN, "My sister Ana moved to Lisbon.")
        assert "nothing yet" in await said(bob, await thread(bob), ANN, "Where does my sister live?")
        assert "Ana moved to Lisbon" in await said(ann, await thread(ann), BOB, "Where does my sister live?")

    with serving(data, auth=AUTH) as address:
        asyncio.run(tour(address))

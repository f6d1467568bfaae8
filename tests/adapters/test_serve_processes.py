"""A served memory used by several processes, some of which are killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from hindsight_integrations import Hindsight, MemoryBank, Message
from hindsight_integrations.errors import LedgerUnreachable

pytestmark = pytest.mark.slow  # each test starts processes, whose imports take seconds

CLIENTS, MESSAGES = 4, 10
LIGHT = {"HINDSIGHT_VECTORS": "exact", "HINDSIGHT_KEYWORDS": "fts5"}

# The code of one of four web workers: a graph whose nodes use the served memory.
WORKER = """
    import sys
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import START, MessagesState, StateGraph
    from hindsight_integrations import Hindsight
    from hindsight_integrations.langgraph import MemoryState, create_recall_node, create_retain_node

    url, worker, messages = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with Hindsight.connect(url) as hindsight:
        graph = StateGraph(MemoryState, input_schema=MessagesState)
        graph.add_node("recall", create_recall_node(hindsight))
        graph.add_node("answer", lambda state: {"messages": [AIMessage("Noted.")]})
        graph.add_node("retain", create_retain_node(hindsight, roles=("user",)))
        graph.add_edge(START, "recall")
        graph.add_edge("recall", "answer")
        graph.add_edge("answer", "retain")
        agent = graph.compile()
        for number in range(messages):
            text = HumanMessage(f"My box {worker}-{number} is in Porto.", id=f"{worker}-{number}")
            agent.invoke({"messages": [text]}, {"configurable": {"user_id": "shared", "thread_id": f"{worker}-{number}"}})
"""


@contextmanager
def serving(path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of a directory in a separate process, with its address."""
    command = [sys.executable, "-m", "hindsight_integrations.cli", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | LIGHT) as server:
        assert server.stdout
        try:
            found = re.search(r"http://\S+\d", server.stdout.readline())
            assert found
            yield found[0], server
        finally:
            server.kill()


def boxes(bank: MemoryBank) -> list[str]:
    """The numbers of the boxes in a bank's memories, without observations, which the worker makes from them."""
    units = bank.iterate_units(types=("world", "experience"))
    return [number for unit in units for number in re.findall(r"\d+-\d+", unit.text)]


def test_four_workers_share_one_directory(tmp_path: Path) -> None:
    """Four processes with LangGraph nodes retain into one bank: nothing is lost or duplicated, and SIGTERM ends the server."""
    with serving(tmp_path / "memory") as (url, server):
        workers = [
            subprocess.Popen([sys.executable, "-c", textwrap.dedent(WORKER), url, str(n), str(MESSAGES)])
            for n in range(CLIENTS)
        ]
        assert [worker.wait(250) for worker in workers] == [0] * CLIENTS
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    with Hindsight.open(tmp_path / "memory", read_only=True) as hindsight:
        stored = boxes(hindsight.bank("shared"))
    assert len(stored) == len(set(stored)) == CLIENTS * MESSAGES


def test_a_killed_server_has_lost_nothing_it_acknowledged(tmp_path: Path) -> None:
    """Clients retain while the server is killed; each acknowledged retain is stored once after a restart."""
    acknowledged: list[str] = []
    halfway = threading.Event()

    def client(url: str, name: int) -> None:
        with Hindsight.connect(url) as hindsight:
            bank = hindsight.bank(f"bank-{name % 2}")
            for number in range(10_000):
                box = f"{name}-{number}"
                bank.retain([Message(f"Box {box} is in Porto.", id=box)], thread=str(name))
                acknowledged.append(box)
                if len(acknowledged) >= CLIENTS * MESSAGES:
                    halfway.set()

    with serving(tmp_path / "memory") as (url, server), ThreadPoolExecutor(CLIENTS) as pool:
        running = [pool.submit(client, url, name) for name in range(CLIENTS)]
        assert halfway.wait(250)
        server.send_signal(signal.SIGKILL)
        assert [type(each.exception(60)) for each in running] == [LedgerUnreachable] * CLIENTS
    with serving(tmp_path / "memory") as (url, _), Hindsight.connect(url) as hindsight:
        stored = [box for n in range(2) for box in boxes(hindsight.bank(f"bank-{n}"))]
        assert len(stored) == len(set(stored))
        assert set(acknowledged) <= set(stored)
        assert hindsight.doctor(deep=True).damaged == {}

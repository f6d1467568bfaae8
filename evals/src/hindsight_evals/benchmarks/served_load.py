"""Latency, memory and completeness of one `hindsight-memory serve` with many clients, killed halfway.

    hindsight-evals bench served_load [--clients 50] [--banks 20] [--minutes 10] [--workers 0] [--light] [--out FILE]

Clients in five processes use `Hindsight.connect`. Each repeatedly retains a message in its bank and recalls it, without a pause,
so that the server is always busy. With `--workers 4`, the clients send their messages to a web service instead: a LangGraph
graph (recall node, retain node) in four uvicorn workers, which use `Hindsight.connect`. Halfway, the server of the memory is killed
with SIGKILL and started again on the same directory and port; the clients retry until it answers. Printed are turns per second, the
latencies of retains and recalls before and after the kill, the server's memory ten times during the run, and messages that are lost,
stored twice or not found by the next recall. `--light` uses exact vectors and FTS5.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from hindsight_evals.benchmarks.contention import summary
from hindsight_integrations import AsyncHindsight, Hindsight, MemoryBank, Message
from hindsight_integrations.errors import StorageError
from hindsight_integrations.langgraph import MemoryState, create_recall_node, create_retain_node

PROCESSES = 5
LIGHT = {"HINDSIGHT_VECTORS": "exact", "HINDSIGHT_KEYWORDS": "fts5"}
SAMPLES = 10  # number of samples of the server's memory
PAUSE_S = 0.2  # seconds before a client retries
PATIENCE_S = 300.0  # seconds until a client gives up on an answer, and the start of the web service fails
STATEMENT = "Box {} is in the cellar."


@dataclass(slots=True)
class Log:
    """The observations of a client.

    Attributes:
        retained: seconds since the start, and milliseconds, of each acknowledged retain.
        recalled: the same for each recall.
        boxes: the acknowledged boxes, by bank.
        missed: boxes that the next recall did not find.
        refused: errors that made a client retry, by name.
        workers: process ids of the workers that answered.
    """

    retained: list[tuple[float, float]] = field(default_factory=list)
    recalled: list[tuple[float, float]] = field(default_factory=list)
    boxes: dict[str, list[str]] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    workers: set[int] = field(default_factory=set)


class Said(BaseModel):
    """A message to the web service."""

    id: str
    user: str
    thread: str
    text: str


def service() -> FastAPI:
    """Create the app of one worker of the web service; SERVED_URL is the address of the memory's server."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncHindsight.connect(os.environ["SERVED_URL"]) as hindsight:
            graph = StateGraph(MemoryState, input_schema=MessagesState)
            graph.add_node("recall", create_recall_node(hindsight, max_tokens=500, on_error="raise"))
            graph.add_node("retain", create_retain_node(hindsight, roles=("user",), on_error="raise"))
            graph.add_edge(START, "recall")
            graph.add_edge("recall", "retain")
            app.state.graph = graph.compile()
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/chat")
    async def chat(said: Said) -> dict[str, Any]:
        config = {"configurable": {"user_id": said.user, "thread_id": said.thread}}
        message = HumanMessage(said.text, id=said.id)
        state = await app.state.graph.ainvoke({"messages": [message]}, config)
        return {"memories": [memory["text"] for memory in state["memories"]], "worker": os.getpid()}

    @app.exception_handler(StorageError)
    async def unavailable(_: Request, error: Exception) -> Response:
        return JSONResponse({"detail": str(error)}, 503)

    return app


@dataclass(frozen=True, slots=True)
class Direct:
    """A client's bank, used through `Hindsight.connect`."""

    bank: MemoryBank
    name: str

    def tell(self, box: str, text: str) -> None:
        """Retain a message."""
        self.bank.retain([Message(text, "Ann", id=box)], thread=self.name)

    def ask(self, question: str) -> str:
        """Return what is recalled for a question."""
        return "\n".join(unit.unit.text for unit in self.bank.recall(question, max_tokens=500).units)


@dataclass(frozen=True, slots=True)
class OverService:
    """A client of the web service."""

    http: httpx.Client
    bank: str
    name: str
    workers: set[int]

    def tell(self, box: str, text: str) -> None:
        """Send a message, which the service retains."""
        self._turn(box, text)

    def ask(self, question: str) -> str:
        """Return what the service recalls for a question, which the service retains too."""
        return "\n".join(self._turn(f"asked {question}", question))

    def _turn(self, message: str, text: str) -> list[str]:
        said = Said(id=message, user=self.bank, thread=self.name, text=text)
        answer = self.http.post("/chat", json=said.model_dump()).raise_for_status().json()
        self.workers.add(answer["worker"])
        memories: list[str] = answer["memories"]
        return memories


def client(memory: Direct | OverService, name: str, bank: str, began: float, until: float, log: Log) -> None:
    """Retain and recall until the given time."""
    number = 0
    while time.time() < until:
        box = f"{name}-{number}"
        try:
            started = time.time()
            memory.tell(box, STATEMENT.format(box))
            log.retained.append((started - began, (time.time() - started) * 1000))
            log.boxes.setdefault(bank, []).append(box)
            number += 1
            started = time.time()
            recalled = memory.ask(f"Where is box {box}?")
            log.recalled.append((started - began, (time.time() - started) * 1000))
            if STATEMENT.format(box) not in recalled:
                log.missed.append(box)
        except (StorageError, httpx.HTTPError) as error:
            log.refused[type(error).__name__] += 1
            time.sleep(PAUSE_S)


def clients(
    url: str, names: Sequence[tuple[str, str]], *, over_service: bool, began: float, until: float
) -> list[Log]:
    """Run clients, given by name and bank, in threads of this process."""
    logs = [Log() for _ in names]
    with ExitStack() as stack:
        memories: list[Direct | OverService]
        if over_service:
            http = stack.enter_context(httpx.Client(base_url=url, timeout=PATIENCE_S))
            memories = [
                OverService(http, bank, name, log.workers)
                for (name, bank), log in zip(names, logs, strict=True)
            ]
        else:
            hindsight = stack.enter_context(Hindsight.connect(url))
            memories = [Direct(hindsight.bank(bank), name) for name, bank in names]
        pool = stack.enter_context(ThreadPoolExecutor(len(names)))
        running = [
            pool.submit(client, memory, name, bank, began, until, log)
            for memory, (name, bank), log in zip(memories, names, logs, strict=True)
        ]
        for each in running:
            each.result()
    return logs


@contextmanager
def web_service(server: str, workers: int, *, light: bool) -> Iterator[str]:
    """Run the web service in uvicorn workers; yield its address when it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "hindsight_evals.benchmarks.served_load:service",
        "--factory",
        "--log-level",
        "warning",
    ]
    environment = os.environ | {"SERVED_URL": server} | (LIGHT if light else {})
    with subprocess.Popen(
        [*command, "--workers", str(workers), "--port", str(port)], env=environment
    ) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + PATIENCE_S
            while True:
                try:
                    httpx.get(f"{url}/openapi.json").raise_for_status()
                    break
                except httpx.TransportError:
                    assert process.poll() is None, "the service did not start"
                    assert time.monotonic() < deadline, "the service does not answer"
                    time.sleep(PAUSE_S)
            yield url
        finally:
            process.terminate()


class Server:
    """A server of a directory in its own process.

    Args:
        path: the directory.
        light: whether to use exact vectors and FTS5.
    """

    def __init__(self, path: Path, *, light: bool) -> None:
        self._path, self._environment = path, os.environ | (LIGHT if light else {})
        self._port = "0"
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the server, on the same port as before."""
        command = [
            sys.executable,
            "-m",
            "hindsight_integrations.cli",
            "serve",
            str(self._path),
            "--port",
            self._port,
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._environment)
        assert self._process.stdout
        found = re.search(r"http://\S+:(\d+)", self._process.stdout.readline())
        assert found, "the server did not start"
        self.url, self._port = found[0], found[1]

    def stop(self, kind: signal.Signals) -> None:
        """Send the signal and wait for the process to end."""
        assert self._process
        self._process.send_signal(kind)
        self._process.wait(120)

    def memory_mb(self) -> float:
        """Return the server's anonymous memory in MB."""
        assert self._process
        text = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(r"RssAnon:\s+(\d+)", text)
        return int(found[1]) / 1024 if found else 0.0


def boxes_of(bank: MemoryBank) -> Counter[str]:
    """Count the boxes in a bank's memories, without observations and questions."""
    units = bank.iterate_units(types=("world", "experience"))
    statement = re.compile(STATEMENT.format(r"(c\d+-\d+)"))
    return Counter(box for unit in units for box in statement.findall(unit.text))


def watched(server: Server, began: float, seconds: float) -> list[int]:
    """Kill and restart the server halfway; return samples of its memory."""
    memory = []
    for step in range(1, SAMPLES + 1):
        time.sleep(max(0.0, began + seconds * step / SAMPLES - time.time()))
        memory.append(round(server.memory_mb()))
        if step == SAMPLES // 2:
            server.stop(signal.SIGKILL)
            server.start()
    return memory


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the load and return all figures."""
    seconds = options.minutes * 60
    names = [(f"c{number}", f"bank-{number % options.banks}") for number in range(options.clients)]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "memory", light=options.light)
        server.start()
        with ExitStack() as stack:
            url = server.url
            if options.workers:
                url = stack.enter_context(web_service(url, options.workers, light=options.light))
            threads = stack.enter_context(ThreadPoolExecutor(1))
            pool = stack.enter_context(ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")))
            began = time.time() + 5  # leaves time for the imports of the processes
            watcher = threads.submit(watched, server, began, seconds)
            until = began + seconds
            work = partial(clients, url, over_service=bool(options.workers), began=began, until=until)
            parts = [names[number::PROCESSES] for number in range(PROCESSES)]
            logs = [log for part in pool.map(work, parts) for log in part]
            memory = watcher.result()
        with Hindsight.connect(server.url) as hindsight:
            stored = {bank: boxes_of(hindsight.bank(bank)) for bank in {bank for _, bank in names}}
            damaged = hindsight.doctor(deep=True).damaged
        server.stop(signal.SIGTERM)
    acknowledged = [(bank, box) for log in logs for bank, boxes in log.boxes.items() for box in boxes]
    half = seconds / 2

    def times(kind: str, *, first: bool) -> dict[str, Any]:
        return summary([ms for log in logs for at, ms in getattr(log, kind) if (at < half) is first])

    return {
        "benchmark": "served_load",
        "clients": options.clients,
        "banks": options.banks,
        "minutes": options.minutes,
        "workers that answered": len(set().union(*(log.workers for log in logs))),
        "turns a second": round(len(acknowledged) / seconds, 1),
        "retain, first half": times("retained", first=True),
        "retain, second half": times("retained", first=False),
        "recall, first half": times("recalled", first=True),
        "recall, second half": times("recalled", first=False),
        "memory of the server, MB": memory,
        "tried again": dict(sum((log.refused for log in logs), Counter())),
        "acknowledged": len(acknowledged),
        "lost": sum(not stored[bank][box] for bank, box in acknowledged),
        "doubled": sum(count > 1 for bank in stored.values() for count in bank.values()),
        "not found by the next recall": sum(len(log.missed) for log in logs),
        "damaged": len(damaged),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the load; print and write the figures; return 1 if anything was lost, stored twice or damaged."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--banks", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=0, help="uvicorn workers with LangGraph nodes")
    parser.add_argument("--light", action="store_true", help="exact vectors and FTS5")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    figures = run(options)
    print(json.dumps(figures, indent=1))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return int(bool(figures["lost"] or figures["doubled"] or figures["damaged"]))


if __name__ == "__main__":
    sys.exit(main())

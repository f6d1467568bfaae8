"""Latency, memory and completeness of one `hindsight-memory serve` with many clients, killed halfway.

    hindsight-evals bench served_load [--clients 50] [--banks 20] [--minutes 10] [--light] [--out FILE]

Clients in five processes use `Hindsight.connect`. Each repeatedly retains a message in its bank and recalls
it, without a pause, so that the server is always busy. Halfway, the server is killed with SIGKILL and started
again on the same directory and port; the clients retry until it answers. Printed are turns per second, the
latencies of retains and recalls before and after the kill, the server's memory ten times during the run, and
messages that are lost, stored twice or not found by the next recall. `--light` uses exact vectors and FTS5.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from hindsight_evals.benchmarks.contention import summary
from hindsight_integrations import Hindsight, MemoryBank, Message
from hindsight_integrations.errors import LedgerBusy, LedgerUnreachable, StorageError

PROCESSES = 5
LIGHT = {"HINDSIGHT_VECTORS": "exact", "HINDSIGHT_KEYWORDS": "fts5"}
SAMPLES = 10  # number of samples of the server's memory
PAUSE_S = 0.2  # seconds before a client retries


@dataclass(slots=True)
class Log:
    """The observations of some clients.

    Attributes:
        retained: seconds since the start, and milliseconds, of each acknowledged retain.
        recalled: the same for each recall.
        boxes: the acknowledged boxes, by bank.
        missed: boxes that the next recall did not find.
        refused: errors that made a client retry, by name.
    """

    retained: list[tuple[float, float]] = field(default_factory=list)
    recalled: list[tuple[float, float]] = field(default_factory=list)
    boxes: dict[str, list[str]] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def client(bank: MemoryBank, name: str, began: float, until: float, log: Log) -> None:
    """Retain and recall until the given time."""
    number = 0
    while time.time() < until:
        box = f"{name}-{number}"
        message = Message(f"Box {box} is in the cellar.", "Ann", id=box)
        try:
            started = time.time()
            bank.retain([message], thread=name)
            log.retained.append((started - began, (time.time() - started) * 1000))
            log.boxes.setdefault(bank.name, []).append(box)
            number += 1
            started = time.time()
            found = bank.recall(f"Where is box {box}?", max_tokens=500)
            log.recalled.append((started - began, (time.time() - started) * 1000))
            if not any(box in item.unit.text for item in found.units):
                log.missed.append(box)
        except (LedgerUnreachable, LedgerBusy, StorageError) as error:
            log.refused[type(error).__name__] += 1
            time.sleep(PAUSE_S)


def clients(url: str, names: Sequence[tuple[str, str]], began: float, until: float) -> list[Log]:
    """Run clients, given by name and bank, in threads of this process."""
    logs = [Log() for _ in names]
    with Hindsight.connect(url) as hindsight, ThreadPoolExecutor(len(names)) as pool:
        running = [
            pool.submit(client, hindsight.bank(bank), name, began, until, log)
            for (name, bank), log in zip(names, logs, strict=True)
        ]
        for each in running:
            each.result()
    return logs


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
    """Count the boxes in a bank's memories, without observations."""
    units = bank.iterate_units(types=("world", "experience"))
    return Counter(box for unit in units for box in re.findall(r"c\d+-\d+", unit.text))


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
        with (
            ThreadPoolExecutor(1) as threads,
            ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool,
        ):
            began = time.time() + 5  # leaves time for the imports of the processes
            watcher = threads.submit(watched, server, began, seconds)
            work = partial(clients, server.url, began=began, until=began + seconds)
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

"""Kill processes that share one PostgreSQL database, the server too, and cut connections; check every client's history.

    hindsight-evals bench processes [--rounds 300] [--stops 50] [--serving 2] [--working 2] [--banks 20] [--seed 7] [--out FILE]

Serving processes retain, recall and forget, and leave tasks; working processes run the tasks. Each round kills a process or
the server with SIGKILL, cuts connections, lets commits reach the server and drops their answers, or stops a process for a
while (SIGSTOP). Then, at each stop, a process is stopped at a random instant, a memory is erased and the process woken: the
receipt and what is asked later name the processes that have not confirmed; once all living ones have, no file of theirs contains
the memory. A checker then reads all
clients' logs and the database: everything acknowledged is there exactly once unless it was forgotten, nothing forgotten is
there, no read is older than an acknowledged write, and every task has had its effect once. Exits with 1 on any problem.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import count
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from socket import gethostname
from typing import Any, TextIO, TypeVar

import sqlalchemy as sa

from hindsight_evals.benchmarks.kills.child import preload
from hindsight_evals.benchmarks.kills.postgres import Proxy, Server, running
from hindsight_evals.benchmarks.kills.serving import NUMBER, WHEN, Operation, Place, Role, config, run
from hindsight_integrations import BankCopy, ExtractedFact, Hindsight, Message
from hindsight_integrations.errors import StorageError
from hindsight_integrations.ledger import tables
from hindsight_integrations.ledger.postgresql import checked_address
from hindsight_integrations.model.tasks import TaskState
from hindsight_integrations.testing.doubles import HashEmbedder

T = TypeVar("T")

DRAINING_SECONDS = 180.0
CONFIRMING_SECONDS = 60.0
MARKED = 50_001
"""Number of the first memory to erase while a process is stopped; no process retains it."""


class Disturbance(StrEnum):
    """A disturbance of a round."""

    PROCESS = "a process killed"
    SERVER = "the server killed"
    CUT = "connections cut"
    ANSWERS = "answers to commits lost"
    PAUSE = "a process stopped for a while"


@dataclass(slots=True)
class Cluster:
    """The processes, and what happened to them."""

    place: Place
    proxy: Proxy
    numbers: count[int] = field(default_factory=lambda: count(1))
    processes: dict[ForkServerProcess, Role] = field(default_factory=dict)
    disturbances: Counter[str] = field(default_factory=Counter)

    def start(self, role: Role) -> None:
        """Start a process."""
        place = Place(self.place.address, self.place.folder, self.place.banks, next(self.numbers))
        process = get_context("forkserver").Process(target=run, args=(place, role), daemon=True)
        process.start()
        self.processes[process] = role

    def kill(self, rng: random.Random) -> None:
        """Kill a process, and start another one in its role."""
        victim = rng.choice(list(self.processes))
        victim.kill()
        victim.join()
        self.start(self.processes.pop(victim))

    def pause(self, rng: random.Random) -> None:
        """Stop a serving process for a moment, during which the others write and erase."""
        serving = [process for process, role in self.processes.items() if role is Role.SERVE]
        victim = rng.choice(serving)
        if victim.pid is not None:
            os.kill(victim.pid, signal.SIGSTOP)
            time.sleep(rng.uniform(0.2, 1.0))
            os.kill(victim.pid, signal.SIGCONT)

    def revive(self) -> list[str]:
        """Replace processes that ended on their own; return their descriptions."""
        ended = [process for process in self.processes if not process.is_alive()]
        for process in ended:
            self.start(self.processes.pop(process))
        return [f"a process ended by itself with {process.exitcode}" for process in ended]


def disturb(cluster: Cluster, server: Server, rng: random.Random) -> None:
    """Cause one disturbance."""
    kind = rng.choices(list(Disturbance), (40, 5, 15, 20, 20))[0]
    cluster.disturbances[kind.value] += 1
    match kind:
        case Disturbance.PROCESS:
            cluster.kill(rng)
        case Disturbance.SERVER:
            server.kill()
        case Disturbance.CUT:
            cluster.proxy.cut(rng.choice((0.3, 1.0)), rng)
        case Disturbance.ANSWERS:
            cluster.proxy.arm(rng.randint(1, 3))
        case Disturbance.PAUSE:
            cluster.pause(rng)


def main(argv: Sequence[str] | None = None) -> int:
    """Run all rounds, then the check."""
    options = parser().parse_args(argv)
    rng, started = random.Random(options.seed), time.perf_counter()
    preload()
    with running() as server, tempfile.TemporaryDirectory() as folder:
        proxy = Proxy(server)
        cluster = Cluster(Place(server.address(proxy.port), Path(folder), options.banks, 0), proxy)
        for role, number in ((Role.SERVE, options.serving), (Role.WORK, options.working)):
            for _ in range(number):
                cluster.start(role)
        problems = _rounds(cluster, server, rng, options.rounds)
        stops = Stops(cluster, server, rng)
        problems += stops.run(options.stops)
        problems += _drained(cluster, server, options.working)
        logs = [
            json.loads(line)
            for path in sorted(Path(folder).glob("log*.jsonl"))
            for line in path.read_text().splitlines()
        ]
        problems += checked(logs, server)
        proxy.close()
    return _report(options, cluster, logs, stops, problems, time.perf_counter() - started)


class Stops:
    """Stops processes at random instants, and erases a memory while they are stopped.

    Attributes:
        awaited: how often the receipt named the stopped process as unconfirmed.
        seconds: from waking the process until all living processes had confirmed, for each stop.
        erasures: (bank, number, time of the receipt, time of waking) for each stop.
    """

    def __init__(self, cluster: Cluster, server: Server, rng: random.Random) -> None:
        self._cluster, self._server, self._rng = cluster, server, rng
        self.awaited = 0
        self.seconds: list[float] = []
        self.erasures: list[tuple[str, int, float, float]] = []

    def run(self, stops: int) -> list[str]:
        """Do all stops; return the problems."""
        folder = self._cluster.place.folder
        with (
            Hindsight.open(
                self._server.address(), embeddings=HashEmbedder(), reranker=None, config=config()
            ) as engine,
            (folder / "log0.jsonl").open("w") as log,
        ):
            marked = [
                (f"bank {number % self._cluster.place.banks}", MARKED + number) for number in range(stops)
            ]
            for bank, number in marked:
                said = f"The club lent kayak k{number}k in June."
                told = Message(said, "Ann", WHEN, id=f"m{number}")
                fact = ExtractedFact(what=said, sources=[f"m{number}"])
                _logged(
                    log,
                    Operation.RETAIN,
                    bank,
                    number,
                    partial(engine.bank(bank).retain, [told], facts=[fact]),
                )
            self._rng.shuffle(marked)
            return [problem for bank, number in marked for problem in self._stop(engine, log, bank, number)]

    def _stop(self, engine: Hindsight, log: TextIO, bank: str, number: int) -> list[str]:
        time.sleep(self._rng.uniform(0.0, 0.5))
        problems = self._cluster.revive()
        victim = self._rng.choice(list(self._cluster.processes))
        if victim.pid is None:
            return problems
        os.kill(victim.pid, signal.SIGSTOP)
        forget = partial(engine.bank(bank).forget, thread="", message=f"m{number}")
        receipt = _logged(log, Operation.FORGET, bank, number, forget)
        name = f"{gethostname()}:{victim.pid}"
        self.awaited += any(copy.process == name and not copy.confirmed for copy in receipt.copies)
        woken = time.monotonic()
        self.erasures.append((bank, number, woken, woken))
        os.kill(victim.pid, signal.SIGCONT)
        while left := [copy for copy in self._living(engine, bank) if not copy.confirmed]:
            if time.monotonic() > woken + CONFIRMING_SECONDS:
                return [*problems, f"not confirmed: {number} of {bank} by {left}"]
            time.sleep(0.05)
        self.seconds.append(time.monotonic() - woken)
        word = f"k{number}k".encode()
        folders = [Path(copy.place.partition(":")[2]) for copy in self._living(engine, bank)]
        return problems + [
            f"confirmed and still there: {number} in {file}"
            for folder in folders
            for file in folder.rglob("*")
            if word in _content(file)
        ]

    def _living(self, engine: Hindsight, bank: str) -> list[BankCopy]:
        """The copies of a bank that processes have open."""
        names = {f"{gethostname()}:{process.pid}" for process in self._cluster.processes}
        return [copy for copy in engine.copies(bank) if copy.process in names]

    def late_answers(self, logs: Sequence[dict[str, Any]]) -> int:
        """Number of answers begun before an erasure and ended after the process was woken that show the memory."""
        reads = [line for line in logs if line["op"] == Operation.READ and "seen" in line]
        return sum(
            line["begun"] < erased and line["ended"] > woken and number in line["seen"]
            for bank, number, erased, woken in self.erasures
            for line in reads
            if line["bank"] == bank
        )


def _logged(log: TextIO, operation: Operation, bank: str, number: int, call: Callable[[], T]) -> T:
    """Repeat a call until it succeeds, and log it as the serving processes do."""
    line = {"op": operation, "bank": bank, "number": number, "begun": time.monotonic()}
    log.write(json.dumps(line) + "\n")
    while True:
        try:
            value = call()
        # the stopped process holds the bank's lock until the server ends its transaction
        except StorageError:
            continue
        log.write(json.dumps(line | {"ended": time.monotonic(), "seen": []}) + "\n")
        return value


def _content(file: Path) -> bytes:
    """Return the bytes of a file; none for a folder or a file that was just deleted."""
    with suppress(OSError):
        return file.read_bytes()
    return b""


def _rounds(cluster: Cluster, server: Server, rng: random.Random, rounds: int) -> list[str]:
    problems = []
    time.sleep(3)  # until the first processes serve
    for number in range(rounds):
        time.sleep(rng.uniform(0.05, 1.0))
        disturb(cluster, server, rng)
        problems += cluster.revive()
        if number % 20 == 19:
            print(f"{number + 1} rounds, {len(problems)} processes ended by themselves", flush=True)
    return problems


def _drained(cluster: Cluster, server: Server, working: int) -> list[str]:
    """Let serving processes end and working ones finish; return the problems."""
    cluster.proxy.arm(0)
    cluster.place.stop.touch()
    end = time.monotonic() + DRAINING_SECONDS
    for process, role in list(cluster.processes.items()):
        if role is Role.SERVE:
            process.join(max(0.0, end - time.monotonic()))
    left = -1
    while time.monotonic() < end and left:
        left = _tasks_left(server)
        time.sleep(0.2)
    (cluster.place.folder / "end").touch()
    for process in cluster.processes:
        process.join(30)
        process.kill()
    return [f"{left} tasks were left behind by {working} working processes"] if left else []


def _select(server: Server, query: sa.Select[Any]) -> list[tuple[Any, ...]]:
    engine = sa.create_engine(checked_address(server.address()), poolclass=sa.NullPool)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(query)]


def _tasks_left(server: Server) -> int:
    query = (
        sa.select(sa.func.count())
        .select_from(tables.tasks)
        .where(tables.tasks.c.state != TaskState.DONE.value)
    )
    return int(_select(server, query)[0][0])


def checked(logs: Sequence[dict[str, Any]], server: Server) -> list[str]:
    """Compare the logs with the database and with each other."""
    units, banks = tables.units, tables.banks
    query = sa.select(banks.c.name, units.c["text"], units.c.kind).join_from(units, banks)
    stored = Counter[tuple[str, int]]()
    waiting = []
    for bank, text, kind in _select(server, query):
        if kind == "turn":
            waiting.append(f"still waits as a turn: {bank}, {text}")
        stored.update((bank, int(number)) for number in NUMBER.findall(text))
    return waiting + check_writes(logs, stored) + check_reads(logs)


def check_writes(logs: Sequence[dict[str, Any]], stored: Counter[tuple[str, int]]) -> list[str]:
    """Return memories that are missing, duplicated or present after being forgotten."""
    problems = []
    written, forgetting, forgotten = set(), set(), set()
    begun = set()
    for line in logs:
        key = line["bank"], line["number"]
        acknowledged = "seen" in line
        if line["op"] in (Operation.RETAIN, Operation.QUEUE):
            begun.add(key)
            if acknowledged:
                written.add(key)
        elif line["op"] == Operation.FORGET:
            forgetting.add(key)
            if acknowledged:
                forgotten.add(key)
    problems += [f"lost: {key}" for key in written - forgetting if not stored[key]]
    problems += [f"{times} times: {key}" for key, times in stored.items() if times > 1]
    problems += [f"never retained: {key}" for key in stored if key not in begun]
    return problems + [f"forgotten and still there: {key}" for key in forgotten if stored[key]]


def check_reads(logs: Sequence[dict[str, Any]]) -> list[str]:
    """Return reads that miss writes acknowledged before they began, or contain memories forgotten before."""
    acknowledged: dict[str, list[tuple[float, int]]] = defaultdict(list)
    forgotten: dict[str, dict[int, float]] = defaultdict(dict)
    forgetting: dict[str, dict[int, float]] = defaultdict(dict)
    for line in logs:
        bank, number = line["bank"], line["number"]
        if line["op"] in (Operation.RETAIN, Operation.QUEUE) and "seen" in line:
            acknowledged[bank].append((line["ended"], number))
        elif line["op"] == Operation.FORGET:
            begun = forgetting[bank].get(number, line["begun"])
            forgetting[bank][number] = min(begun, line["begun"])
            if "seen" in line:
                forgotten[bank][number] = min(forgotten[bank].get(number, line["ended"]), line["ended"])
    problems = []
    for line in logs:
        if line["op"] != Operation.READ or "seen" not in line:
            continue
        bank, seen = line["bank"], set(line["seen"])
        due = {
            number
            for ended, number in acknowledged[bank]
            if ended < line["begun"] and forgetting[bank].get(number, line["ended"]) >= line["ended"]
        }
        gone = {number for number, ended in forgotten[bank].items() if ended < line["begun"]}
        problems += [f"a read of {bank} misses {number}" for number in due - seen]
        problems += [f"a read of {bank} shows {number}, which was forgotten" for number in gone & seen]
    return problems


def _report(
    options: argparse.Namespace,
    cluster: Cluster,
    logs: Sequence[dict[str, Any]],
    stops: Stops,
    problems: list[str],
    seconds: float,
) -> int:
    done = Counter(line["op"] for line in logs if "seen" in line)
    failed = Counter(re.split(r"[:\s]", line["failed"])[0] for line in logs if "failed" in line)
    for problem in problems[:40]:
        print(problem)
    print(f"{dict(cluster.disturbances)}; {cluster.proxy.lost_answers} answers to commits lost")
    print(f"acknowledged: {dict(done)}; failed: {dict(failed)}")
    confirming = sorted(stops.seconds) or [0.0]
    print(
        f"{len(stops.erasures)} stops with an erasure: the receipt named the stopped process {stops.awaited} times; all living "
        f"processes confirmed within {confirming[-1]:.1f} s of its waking, median {confirming[len(confirming) // 2]:.1f} s; "
        f"{stops.late_answers(logs)} answers begun before an erasure showed the memory after it"
    )
    print(f"{options.rounds} rounds in {seconds:.0f} s, {len(problems)} problems")
    if options.out:
        figures = {
            "benchmark": "processes",
            "rounds": options.rounds,
            "disturbances": dict(cluster.disturbances),
            "lost_answers": cluster.proxy.lost_answers,
            "stops": len(stops.erasures),
            "stopped_processes_named": stops.awaited,
            "seconds_until_confirmed": [round(confirming[len(confirming) // 2], 2), round(confirming[-1], 2)],
            "late_answers": stops.late_answers(logs),
            "acknowledged": dict(done),
            "failed": dict(failed),
            "problems": problems,
            "seconds": round(seconds),
        }
        options.out.write_text(json.dumps(figures, indent=2) + "\n")
    return int(bool(problems))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--rounds", type=int, default=300)
    made.add_argument("--stops", type=int, default=50)
    made.add_argument("--serving", type=int, default=2)
    made.add_argument("--working", type=int, default=2)
    made.add_argument("--banks", type=int, default=20)
    made.add_argument("--seed", type=int, default=7)
    made.add_argument("--out", type=Path)
    return made


if __name__ == "__main__":
    sys.exit(main())

"""Kill workers and the processes that create tasks, and check that every task has its effect exactly once.

    hindsight-evals bench worker_kills [--tasks 1000] [--banks 300] [--kills 50] [--open 8] [--light] [--seed 7] [--out FILE]
        [--keep DIR]

The banks have five kinds of waiting work: messages for which the model returned no usable answer, messages
and passages of documents retained while the model was unavailable, observations of entities, and sentences
for the background. Two processes on one directory are killed (SIGKILL) alternately at random moments: one
that retains and has a worker, and `hindsight-memory work`. A model derives its answers from the prompt. After
each kill the ledger is checked: no effect may occur twice, and the number of finished tasks must equal the
number of effects. At the end `hindsight-memory work` runs the remaining tasks; then every input must have had
its effect once, nothing may wait, and at no time may more banks have been open than `--open` plus the one
that the writer may open. The exit code is 1 if there is any problem.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hindsight_evals.benchmarks.kills.drained import SLOWEST, Moment, Role, Task, killed
from hindsight_evals.benchmarks.kills.effects import TO_DO, effects, problems_at_the_end, problems_on_the_way
from hindsight_evals.benchmarks.kills.waiting import Item, items
from hindsight_integrations.model.tasks import TaskState


@dataclass(slots=True)
class Session:
    """A series of kills in one directory.

    Attributes:
        folder: the data directory.
        options: the command-line options.
        plan: all inputs.
        to_come: inputs that are not acknowledged yet.
        left: number of tasks waiting after the last kill.
        kills: number of kills, by role of the process.
        within: number of kills that left leased tasks.
        waiting: number of kills that left waiting tasks.
        most_open: maximum number of banks open at once.
        problems: descriptions of what was wrong.
    """

    folder: Path
    options: argparse.Namespace
    plan: Sequence[Item]
    to_come: list[Item]
    left: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    within: Counter[str] = field(default_factory=Counter)
    waiting: Counter[str] = field(default_factory=Counter)
    most_open: int = 0
    problems: list[str] = field(default_factory=list)

    def child(self, role: Role, given: Sequence[Item], moment: Moment | None) -> None:
        """Run a process of this role, and kill it at that moment or when it is idle."""
        number = self.kills.total()
        options = self.options
        left = killed(Task(self.folder, role, tuple(given), options.light, options.open, number), moment)
        self.to_come = [item for item in self.to_come if item.number not in left.acknowledged]
        self.most_open = max(self.most_open, left.most_open)
        self.problems += [f"{role} {number} failed by itself: {failure}" for failure in left.failures]
        if left.cut and not left.idle and moment is None:
            self.problems.append(f"{role} {number} ended by itself")

    def kill(self, role: Role, given: Sequence[Item], moment: Moment) -> None:
        """Kill a process, and check the ledger."""
        self.child(role, given, moment)
        self.kills[role] += 1
        seen = effects(self.folder)
        self.within[role] += seen.count(TaskState.LEASED) > 0
        self.left = seen.count(*TO_DO)
        self.waiting[role] += self.left > 0
        found = problems_on_the_way(seen, self.plan)
        self.problems += [f"after kill {self.kills.total()}, of {role}: {problem}" for problem in found]
        counts = f"{seen.count(TaskState.DONE)} tasks done, {self.left} to do"
        print(f"{self.kills.total()} kills, {counts}, {len(self.problems)} problems", flush=True)

    def finish(self) -> None:
        """Retain the inputs that were never acknowledged, and run all remaining tasks, without kills."""
        if self.to_come:
            self.child(Role.CALLER, self.to_come, None)
        self.child(Role.WORK, (), None)
        self.problems += problems_at_the_end(effects(self.folder), self.plan)
        if self.most_open > self.options.open + 1:
            self.problems.append(f"{self.most_open} banks were open at once")


def run(options: argparse.Namespace, folder: Path) -> int:
    """Run all kills, then the remaining tasks; print the figures."""
    rng, started = random.Random(options.seed), time.perf_counter()
    plan = items(options.tasks, options.banks)
    session = Session(folder / "memory", options, plan, list(plan))
    callers = (options.kills + 1) // 2
    for number in range(options.kills):
        role = Role.CALLER if number % 2 == 0 else Role.WORK
        share = -(-len(session.to_come) // (callers - number // 2))
        given = session.to_come[: 2 * share] if role is Role.CALLER else ()
        # On average, half of the items are retained before a kill; the worker's steps are in addition.
        steps = len(given) * 5 // 4 if given else session.left
        session.kill(role, given, Moment(rng.randint(0, steps), rng.uniform(0, SLOWEST[role])))
    session.finish()
    return report(session, time.perf_counter() - started)


def report(session: Session, seconds: float) -> int:
    """Print and write the figures; 1 if anything was wrong."""
    done = effects(session.folder).tasks
    print("\n".join(session.problems[:40]))
    for role in Role:
        print(
            f"{role}: {session.kills[role]} kills, {session.within[role]} of them while tasks were leased, "
            f"{session.waiting[role]} left work behind"
        )
    by_kind = Counter(dict.fromkeys({kind for _, kind, _ in done}, 0))
    for (_, kind, _), count in done.items():
        by_kind[kind] += count
    given = Counter(str(item.work) for item in session.plan)
    print(f"tasks: {dict(by_kind)}; inputs: {dict(given)}")
    print(
        f"{done.total()} tasks over {session.options.banks} banks, {session.kills.total()} kills, "
        f"{session.most_open} banks open at most, {len(session.problems)} problems, {seconds:.0f} s"
    )
    if session.options.out:
        figures = {
            "benchmark": "worker_kills",
            "kills": session.kills,
            "while leased": session.within,
            "left work": session.waiting,
            "tasks": by_kind,
            "most open": session.most_open,
            "seconds": round(seconds, 1),
            "problems": session.problems,
        }
        session.options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if session.problems else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--tasks", type=int, default=1000, help="inputs that leave a task each")
    add("--banks", type=int, default=300)
    add("--kills", type=int, default=50)
    add("--open", type=int, default=8, help="how many banks may be open")
    add("--light", action="store_true", help="exact numpy and FTS5 instead of Chroma and Lucene")
    add("--seed", type=int, default=7)
    add("--out", type=Path, help="write the figures and problems here as JSON")
    add("--keep", type=Path, help="keep the directory here")
    options = parser.parse_args(argv)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        return run(options, options.keep)
    with tempfile.TemporaryDirectory(prefix="hindsight-worker-", ignore_cleanup_errors=True) as folder:
        return run(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())

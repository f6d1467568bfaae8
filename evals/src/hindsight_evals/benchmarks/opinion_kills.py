"""Kill a process around the commit of a model's assessment, and check that each opinion changes exactly once.

    hindsight-evals bench opinion_kills [--kills 100] [--banks 0] [--light] [--seed 7] [--out FILE]

In each of many banks, facts are retained, a reflection forms an opinion from them, and two rounds of evidence
are retained and assessed. After a run without kills, the run is repeated in another directory, where the
process is killed (SIGKILL) in each settle after the assessment and before, during or after its commit, as
many times as `--kills` says, and also in every third reflection and retain. The next process repeats a killed
step. Before and after each step, the bank must have the same content as without kills: facts, opinions,
evidence, and all confidences. The exit code is 1 if there is any problem.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from hindsight_evals.benchmarks.kills.believed import ROUNDS, Held, Step, Verb, plan
from hindsight_evals.benchmarks.kills.believing import Left, Moment, Task, killed

BEYOND = 1.3  # multiple of the usual duration, so that some kills come after the commit
EVERY = 3  # every how many retains and reflections are killed


@dataclass(slots=True)
class Kills:
    """The run with kills.

    Attributes:
        folder: its data directory.
        steps: the plan.
        undisturbed: the content of each step's bank after it, without kills.
        spans: duration in seconds of the part of a step in which kills happen.
        light: exact numpy and FTS5 instead of Chroma and Lucene.
        rng: selects the moments.
        struck: number of kills by operation.
        lost: number of kills that came before the end of the step, which was then repeated.
        problems: descriptions of what was wrong.
    """

    folder: Path
    steps: Sequence[Step]
    undisturbed: Mapping[int, Held]
    spans: Mapping[Verb, float]
    light: bool
    rng: random.Random
    struck: Counter[Verb] = field(default_factory=Counter)
    lost: Counter[Verb] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def run(self, targets: Sequence[int]) -> None:
        """Run all steps, with one kill in each target."""
        position, number = 0, 1
        for target in targets:
            verb = self.steps[target].verb
            # To the fourth power, because the part before the commit is short.
            moment = Moment(target, BEYOND * self.spans[verb] * self.rng.random() ** 4)
            left = killed(Task(self.folder, self.steps, position, self.light, number), moment)
            self.struck[verb] += 1
            self.lost[verb] += left.next == target
            self._look(left, number)
            position, number = left.next, number + 1
            if self.problems and left.failure:
                return
        self._look(
            killed(Task(self.folder, self.steps, position, self.light, number), None), number, last=True
        )

    def _look(self, left: Left, number: int, *, last: bool = False) -> None:
        found = [f"it failed by itself: {left.failure}"] if left.failure else []
        for place, held in left.before.items():
            until = self.undisturbed[place]
            since = self._before(place)
            if not (since.within(held) and held.within(until)):
                found.append(f"before {self.steps[place]}: {held}, not from {since} to {until}")
        for place, held in left.after.items():
            if held != self.undisturbed[place]:
                found.append(f"after {self.steps[place]}: {held}, not {self.undisturbed[place]}")
        if last and left.next < len(self.steps):
            found.append(f"it ended before {self.steps[left.next]}")
        self.problems += [f"process {number}: {problem}" for problem in found]

    def _before(self, place: int) -> Held:
        earlier = [each for each in range(place) if self.steps[each].bank == self.steps[place].bank]
        return self.undisturbed[earlier[-1]] if earlier else Held((), ())


def run(options: argparse.Namespace, folder: Path) -> int:
    """Run without and with kills; print and write the figures; return 1 if anything was wrong."""
    started = time.perf_counter()
    steps = plan(options.banks or -(-options.kills // ROUNDS))
    undisturbed = killed(Task(folder / "undisturbed", steps, 0, options.light, 0), None)
    if undisturbed.failure or undisturbed.next < len(steps):
        print(f"undisturbed, step {undisturbed.next}: {undisturbed.failure}")
        return 1
    spans = {
        verb: median(undisturbed.seconds[place] for place, step in enumerate(steps) if step.verb is verb)
        for verb in Verb
    }
    kills = Kills(
        folder / "killed", steps, undisturbed.after, spans, options.light, random.Random(options.seed)
    )
    kills.run(_targets(steps, options.kills))
    return report(options, kills, time.perf_counter() - started)


def report(options: argparse.Namespace, kills: Kills, seconds: float) -> int:
    """Print and write the figures; 1 if anything was wrong."""
    last = {step.bank: kills.undisturbed[place] for place, step in enumerate(kills.steps)}
    rows = [row for held in last.values() for _, _, log in held.opinions for row in log]
    print("\n".join(kills.problems[:20]))
    for verb in Verb:
        span = kills.spans[verb] * 1000
        print(
            f"{verb}: {kills.struck[verb]} kills within {BEYOND * span:.0f} ms, {kills.lost[verb]} before it was done"
        )
    print(
        f"{kills.struck.total()} kills over {len(last)} banks: {len(rows)} rows of evidence, {len(kills.problems)} problems, "
        f"{seconds:.0f} s"
    )
    if options.out:
        figures = {
            "benchmark": "opinion_kills",
            "kills": kills.struck,
            "before it was done": kills.lost,
            "opinions": sum(len(held.opinions) for held in last.values()),
            "rows": len(rows),
            "seconds": round(seconds, 1),
            "problems": kills.problems,
        }
        options.out.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if kills.problems else 0


def _targets(steps: Sequence[Step], kills: int) -> list[int]:
    """Return the numbers of the steps to kill: `kills` settles, and every third of the other steps."""
    settles = [place for place, step in enumerate(steps) if step.verb is Verb.SETTLE][:kills]
    others = [place for place, step in enumerate(steps) if step.verb is not Verb.SETTLE][::EVERY]
    return sorted({*settles, *(place for place in others if place < max(settles, default=0))})


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--kills", type=int, default=100, help="in settles; a third of the other steps is killed besides")
    add("--banks", type=int, default=0, help="0 takes as many as the kills need")
    add("--light", action="store_true", help="exact numpy and FTS5 instead of Chroma and Lucene")
    add("--seed", type=int, default=7)
    add("--out", type=Path, help="write the figures and problems here as JSON")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="hindsight-opinions-", ignore_cleanup_errors=True) as folder:
        return run(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())

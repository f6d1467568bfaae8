"""Compare runs of `locomo_retrieval --out`: the benefit of each part, and whether a difference is significant.

    hindsight-evals bench locomo_table RUN.json ... [--conversations conv-30,conv-42] [--categories 1,3] [--key audit]
    hindsight-evals bench locomo_table NEW.json ... --against OLD.json
    hindsight-evals bench locomo_table RUN.json ... --against bm25

A figure is the mean share of covered evidence over questions, in percent. The first form prints a line for
each run, with the difference from plain RRF in the same run in brackets; runs are named by their reranker,
their texts and their disabled parts. With --against, each run's figures are compared with those of another
run or of a plain system in the same run, with the difference and its 95 % interval (paired bootstrap over
questions, seeded, 10,000 resamples). To compare with and without a reranker, use the second form; to compare
category 5 with BM25, use `--categories 5 --against bm25`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from hindsight_evals.benchmarks.locomo.coverage import Mode, NotAudited, Slice, System
from hindsight_evals.benchmarks.locomo.dataset import ANSWERABLE, Key
from hindsight_evals.benchmarks.locomo.runs import Run, RunsDiffer, gain, load_run
from hindsight_evals.benchmarks.locomo.table import number, render
from hindsight_evals.datasets.locomo import Category

PLAIN = (System.VECTOR, System.BM25, System.RRF)


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table for each mode."""
    options = _parser().parse_args(argv)
    runs = [load_run(path).of(options.conversations) for path in options.results]
    try:
        for mode in Mode:
            part = Slice(mode, options.categories, options.key)
            measured = [run for run in runs if run.budgets(mode)]
            for table in _tables(measured, part, options):
                print(table, end="\n\n")
    except (RunsDiffer, NotAudited) as unlike:
        sys.exit(str(unlike))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("results", type=Path, nargs="+")
    add("--conversations", type=lambda text: frozenset(text.split(",")), help="all by default")
    add("--categories", type=_categories, default=ANSWERABLE, help="1,2,3,4 by default")
    add("--key", type=Key, choices=tuple(Key), default=Key.RAW, help="audit: of runs made with --audit")
    add("--against", help=f"another run's file, or of the same run {', '.join(PLAIN)}")
    return parser


def _categories(text: str) -> frozenset[Category]:
    return frozenset(Category(int(part)) for part in text.split(","))


def _tables(runs: Sequence[Run], part: Slice, options: argparse.Namespace) -> list[str]:
    if not runs:
        return []
    if options.against is None:
        return [_side_by_side(runs, part)]
    if options.against in PLAIN:
        return [_compared(run, run, System(options.against), part) for run in runs]
    old = load_run(Path(options.against)).of(options.conversations)
    return [_compared(run, old, System.OURS, part) for run in runs]


def _side_by_side(runs: Sequence[Run], part: Slice) -> str:
    """Render the plain systems of the first run, then ours of every run."""
    budgets = runs[0].budgets(part.mode)
    rows = [[system, *_over_plain(runs[0], system, part, budgets)] for system in PLAIN]
    rows += [[run.name, *_over_plain(run, System.OURS, part, budgets)] for run in runs]
    return render("", [f"{part.mode}, % (and points over rrf)", *map(str, budgets)], rows).strip("\n")


def _over_plain(run: Run, system: System, part: Slice, budgets: Sequence[int]) -> list[str]:
    covered = [_covered(run, system, part, budget) for budget in budgets]
    plain = [_covered(run, System.RRF, part, budget) for budget in budgets]
    return [f"{ours:.1f} ({ours - theirs:+.1f})" for ours, theirs in zip(covered, plain, strict=True)]


def _covered(run: Run, system: System, part: Slice, budget: int) -> float:
    return mean(run.shares(part, system, budget).values())


def _compared(new: Run, old: Run, system: System, part: Slice) -> str:
    """Render both figures, their difference in points and its interval, by budget."""
    budgets = [budget for budget in new.budgets(part.mode) if budget in old.budgets(part.mode)]
    pairs = [(new.shares(part, System.OURS, budget), old.shares(part, system, budget)) for budget in budgets]
    gains = [gain(*pair) for pair in pairs]
    questions = max((each.questions for each in gains), default=0)
    rows = [
        [_name_of(old, system), *(number(mean(theirs.values())) for _, theirs in pairs)],
        [new.name, *(number(mean(ours.values())) for ours, _ in pairs)],
        ["gain", *(number(each.mean, signed=True) for each in gains)],
        ["95 %", *(f"[{number(each.low, signed=True)}, {number(each.high, signed=True)}]" for each in gains)],
    ]
    corrected = ", corrected key" if part.key is Key.AUDIT else ""
    header = [f"{part.mode}, %, {questions} questions{corrected}", *map(str, budgets)]
    return render("", header, rows).strip("\n")


def _name_of(run: Run, system: System) -> str:
    return f"against {run.name}" if system is System.OURS else system


if __name__ == "__main__":
    main()

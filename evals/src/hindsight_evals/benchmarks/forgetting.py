"""The forgetting cases through our own engine, with what was served where a case fails.

    hindsight-evals bench forgetting [--cases FOLDER] [--forms extracted,plain] [--half worked-on|held-out|all] [--show]

Each case has a bank of its own: its sessions are retained one by one, its question asked at the end, and it is passed where all
that holds is served as true and nothing else is (`evals/forgetting`). Printed are the cases passed by family and form, beside
them how many fail because something is gone that holds, and how many because something is served that does not. --cases reads
other files in the format of `cases.toml`. --show prints every failure, for reading by hand.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hindsight_evals.episode import Episode, Item
from hindsight_evals.forgetting.cases import (
    ForgettingCase,
    Form,
    blind_cases,
    episode_of,
    forgetting_cases,
    read_cases,
)
from hindsight_evals.memory_system import Context
from hindsight_evals.metrics.stating import stated
from hindsight_evals.peers.hindsight import HindsightSystem
from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend

BUDGET = 2048
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
HALVES = {"worked-on": False, "held-out": True, "all": None}


@dataclass(frozen=True)
class Outcome:
    """What became of a case: what is missing, what is served though it no longer holds, and the context."""

    missing: tuple[Item, ...]
    leaked: tuple[Item, ...]
    context: Context


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table for each form."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, help="folder of *.toml; all packaged cases by default")
    parser.add_argument("--forms", default="extracted,plain")
    parser.add_argument("--half", choices=HALVES, default="worked-on")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args(argv)
    cases = (*forgetting_cases(), *blind_cases())
    if options.cases:
        cases = tuple(case for path in sorted(options.cases.glob("*.toml")) for case in read_cases(path))
    half = HALVES[options.half]
    cases = tuple(case for case in cases if half in {None, case.held_out})
    for name in options.forms.split(","):
        form = Form(name)
        with Hindsight.open(":memory:", config=LIGHT, reranker=None) as engine:
            outcomes = [(case, outcome_of(engine, episode_of(case, form))) for case in cases]
        print_table(name, outcomes)
        for case, outcome in outcomes if options.show else ():
            show(case, form, outcome)


def outcome_of(engine: Hindsight, episode: Episode) -> Outcome:
    """Retain a case's sessions and ask its question."""
    system = HindsightSystem(engine.bank(episode.name))
    for session in episode.sessions:
        system.retain(session)
    (question,) = episode.questions
    context = system.recall(question.text, moment=question.moment, max_tokens=BUDGET)
    missing = tuple(item for item in question.items if item.valid and not stated(context, item))
    leaked = tuple(item for item in question.items if not item.valid and stated(context, item))
    return Outcome(missing, leaked, context)


def print_table(form: str, outcomes: list[tuple[ForgettingCase, Outcome]]) -> None:
    """Cases passed by family."""
    cases, passed, missing, leaked = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for case, outcome in outcomes:
        for family in (case.family, "all"):
            cases[family] += 1
            passed[family] += not outcome.missing and not outcome.leaked
            missing[family] += bool(outcome.missing)
            leaked[family] += bool(outcome.leaked)
    print(f"{form:24} passed         missing  served though gone")
    for family, count in cases.items():
        share = passed[family] / count
        print(
            f"  {family:22} {passed[family]:3} of {count:3} {share:4.0%} {missing[family]:5} {leaked[family]:8}"
        )


def show(case: ForgettingCase, form: Form, outcome: Outcome) -> None:
    """A failed case for people."""
    if not outcome.missing and not outcome.leaked:
        return
    print(f"\n{form} {case.id}: {case.question}")
    for told in case.told:
        print(f"  - {told.user if form is Form.PLAIN else told.fact}   {list(told.invalidates)}")
    for name, items in (("missing", outcome.missing), ("leaked", outcome.leaked)):
        print(*(f"  {name}: {item.text}" for item in items), sep="\n") if items else None
    for served in outcome.context.served:
        print(f"  > {served.text}   {list(served.withdrawn) or ''}")


if __name__ == "__main__":
    main()

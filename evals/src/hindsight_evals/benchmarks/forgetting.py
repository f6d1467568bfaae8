"""The forgetting cases with our engine, with the recalled context of failed cases.

    hindsight-evals bench forgetting [--cases FOLDER] [--forms extracted,plain] [--half worked-on|held-out|all] [--show]

Each case has its own bank: its sessions are retained one by one, and its question is asked at the end. A case
passes if all true values are recalled as true and no others are (`evals/forgetting`). The table shows the
cases passed by family and form, and how many fail because a true value is missing or because an outdated one
is recalled. --cases reads other files in the format of `cases.toml`. --show prints all failures.
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
    """The result of a case: missing values, values recalled although they are no longer true, and the context."""

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
    """Print the cases passed by family."""
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
    """Print a failed case."""
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

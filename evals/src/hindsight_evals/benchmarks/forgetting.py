"""The forgetting cases through our own engine, with what was served where a case fails.

    hindsight-evals bench forgetting [--cases FOLDER] [--forms extracted,plain,decided] [--half worked-on|held-out|all] [--show]

Each case has a bank of its own: its sessions are retained one by one, its question asked at the end, and it is passed where all
that holds is served as true and nothing else is (`evals/forgetting`). Printed are the cases passed by family and form, beside
them how many fail because something is gone that holds, and how many because something is served that does not. --cases reads
other files in the format of `cases.toml`. "decided" is extracted with a scripted decision model, which says yes where the memory
states what the case says ends with that session; how often it was asked is printed. --show prints every failure, for reading by hand.
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
from hindsight_integrations.ports.decision_model import Decisions, YesNoQuestion
from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.stems import content_stems

BUDGET = 2048
LIGHT = HindsightConfig(storage=StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5))
DECIDED = "decided"
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
        form = Form.EXTRACTED if name == DECIDED else Form(name)
        script = ScriptedDecisions()
        decisions = script if name == DECIDED else None
        with Hindsight.open(":memory:", config=LIGHT, reranker=None, decision_model=decisions) as engine:
            outcomes = []
            for case in cases:
                script.case = case
                outcomes.append((case, outcome_of(engine, episode_of(case, form))))
        print_table(name, outcomes)
        if decisions:
            print(f"  asked {script.questions} questions in {script.calls} calls")
        for case, outcome in outcomes if options.show else ():
            show(case, form, outcome)


class ScriptedDecisions:
    """Says by a case's key which memories a session ends: those that state what is gone of an earlier session."""

    name = "scripted"

    def __init__(self) -> None:
        """Nothing asked so far."""
        self.case: ForgettingCase | None = None
        self.calls = self.questions = 0

    async def decide(self, questions: Sequence[YesNoQuestion]) -> Decisions:
        """The key's answers."""
        self.calls += 1
        self.questions += len(questions)
        return Decisions(tuple(self._ends(dict(question.texts)) for question in questions))

    def _ends(self, texts: dict[str, str]) -> bool:
        assert self.case is not None
        told = [_folded(told.fact) for told in self.case.told]
        memory, by = (
            next(n for n, fact in enumerate(told) if fact in text or text in fact)
            for text in (_folded(texts["Memory"]), _folded(texts["Said later"]))
        )
        return memory in ended_by(self.case, by, texts["No longer holds"])


def ended_by(case: ForgettingCase, by: int, statement: str) -> set[int]:
    """Sessions of which a statement of a later one ends something.

    A case says what is gone, and not by which statement: where it has as many statements, in order, each ends one; else each
    ends what it has the most words of, of what is told before it.
    """
    stated = [(n, each) for n, told in enumerate(case.told) for each in told.invalidates]
    gone = sorted(case.gone, key=lambda item: item.session)
    if len(stated) == len(gone) and all(item.session < n for (n, _), item in zip(stated, gone, strict=True)):
        return {item.session for own, item in zip(stated, gone, strict=True) if own == (by, statement)}
    before = [item for item in gone if item.session < by]
    shared = [
        len(_words(statement) & _words(f"{item.text} {case.told[item.session].fact}")) for item in before
    ]
    most = max(shared, default=0)
    return {item.session for item, count in zip(before, shared, strict=True) if count == most}


def _words(text: str) -> frozenset[str]:
    return content_stems(text, ENGLISH)


def _folded(text: str) -> str:
    return " ".join(text.split(" | ", maxsplit=1)[0].casefold().split())


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

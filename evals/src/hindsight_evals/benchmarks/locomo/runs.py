"""Read the runs written by `locomo_retrieval --out`, and compare two of them question by question."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from hindsight_evals.benchmarks.locomo.coverage import Mode, Outcome, Slice, System
from hindsight_evals.datasets.locomo import Category
from hindsight_evals.metrics.intervals import Difference, paired_difference
from hindsight_integrations.model.requests import TextForm

Asked: TypeAlias = tuple[str, int]
"""A conversation, and the number of a question in it."""


class RunsDiffer(Exception):
    """The two runs have different questions and cannot be compared."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the settings of our recall, and all outcomes.

    Attributes:
        name: the reranker, the form of the texts and the disabled parts, in words.
    """

    name: str
    outcomes: tuple[Outcome, ...]

    def of(self, conversations: frozenset[str] | None) -> Run:
        """Return the run restricted to some conversations; None means all."""
        if conversations is None:
            return self
        return Run(self.name, tuple(each for each in self.outcomes if each.conversation in conversations))

    def budgets(self, mode: Mode) -> list[int]:
        """Return the budgets measured in a mode, in tokens, ascending; empty if the mode was not measured."""
        return sorted({each.budget for each in self.outcomes if each.mode is mode})

    def shares(self, part: Slice, system: System, budget: int) -> dict[Asked, float]:
        """Return the share of each question's evidence, in percent."""
        return {
            (each.conversation, each.question): 100 * each.by(part.key)
            for each in self.outcomes
            if (each.mode, each.system, each.budget) == (part.mode, system, budget)
            and each.category in part.categories
        }


def load_run(path: Path) -> Run:
    """Read one file written by `locomo_retrieval --out`."""
    written = json.loads(path.read_text(encoding="utf-8"))
    return Run(_name(written), tuple(map(_outcome, written["outcomes"])))


def gain(new: Mapping[Asked, float], old: Mapping[Asked, float]) -> Difference:
    """Return the difference of new from old in points, paired by question, with its 95 % interval.

    Raises:
        RunsDiffer: the runs have different questions.
    """
    if alone := new.keys() ^ old.keys():
        conversation, number = min(alone)
        raise RunsDiffer(
            f"question {number} of {conversation} is in one run only: measure both over the same conversations, "
            "or choose those they share with --conversations"
        )
    asked = sorted(new)
    return paired_difference([new[each] for each in asked], [old[each] for each in asked])


def _name(written: Mapping[str, Any]) -> str:
    ranked = "reranked" if written["reranker"] else "not reranked"
    compact = ", compact" if written.get("text") == TextForm.COMPACT else ""
    return ranked + compact + _silenced(written["without"])


def _silenced(parts: Iterable[str]) -> str:
    return f", without {names}" if (names := ", ".join(parts)) else ""


def _outcome(row: Mapping[str, Any]) -> Outcome:
    typed = {
        "mode": Mode(row["mode"]),
        "system": System(row["system"]),
        "category": Category(row["category"]),
    }
    return Outcome(**{**row, **typed})

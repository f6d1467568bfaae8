"""Runs written by `locomo_retrieval --out`, read again, and two of them compared question by question."""

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
    """Two runs that were not asked the same questions cannot be compared."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how ours was set up, and every outcome.

    Attributes:
        name: the reranker, the form of the texts and the parts it was without, in words.
    """

    name: str
    outcomes: tuple[Outcome, ...]

    def of(self, conversations: frozenset[str] | None) -> Run:
        """The same run over some of its conversations; None means all."""
        if conversations is None:
            return self
        return Run(self.name, tuple(each for each in self.outcomes if each.conversation in conversations))

    def budgets(self, mode: Mode) -> list[int]:
        """Budgets measured in a mode, in tokens, ascending; empty where the mode was not measured."""
        return sorted({each.budget for each in self.outcomes if each.mode is mode})

    def shares(self, part: Slice, system: System, budget: int) -> dict[Asked, float]:
        """The share of each question's evidence, in percent."""
        return {
            (each.conversation, each.question): 100 * each.by(part.key)
            for each in self.outcomes
            if (each.mode, each.system, each.budget) == (part.mode, system, budget)
            and each.category in part.categories
        }


def load_run(path: Path) -> Run:
    """Read one file of `locomo_retrieval --out`."""
    written = json.loads(path.read_text(encoding="utf-8"))
    return Run(_name(written), tuple(map(_outcome, written["outcomes"])))


def gain(new: Mapping[Asked, float], old: Mapping[Asked, float]) -> Difference:
    """Points of new over old with their 95 % interval, paired by question.

    Raises:
        RunsDiffer: one was asked what the other was not.
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

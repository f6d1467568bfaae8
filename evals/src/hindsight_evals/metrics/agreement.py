"""Agreement of judges: Cohen's kappa (Cohen 1960; Memora appendix C, figure 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations


def cohens_kappa(one: Sequence[bool], other: Sequence[bool]) -> float | None:
    """Compute kappa in [-1, 1], the agreement beyond chance: 1 for judges who always agree, 0 for chance.

    Kappa is undefined (None) if there are no answers, or if both judges always gave the same single answer.

    Args:
        one: a judge's answers.
        other: another judge's answers to the same questions, in the same order.
    """
    count = len(one)
    if not count:
        return None
    agreed = sum(a is b for a, b in zip(one, other, strict=True)) / count
    yes_one, yes_other = sum(one) / count, sum(other) / count
    by_chance = yes_one * yes_other + (1 - yes_one) * (1 - yes_other)
    return None if by_chance == 1 else (agreed - by_chance) / (1 - by_chance)


def pairwise_kappa(answers: Mapping[str, Mapping[str, bool]]) -> dict[tuple[str, str], float | None]:
    """Compute kappa of each pair of judges over the questions that both answered.

    Args:
        answers: by judge, then by question.
    """
    found = {}
    for one, other in combinations(sorted(answers), 2):
        shared = sorted(answers[one].keys() & answers[other].keys())
        found[one, other] = cohens_kappa(
            [answers[one][asked] for asked in shared], [answers[other][asked] for asked in shared]
        )
    return found

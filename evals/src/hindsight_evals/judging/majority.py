"""The majority of several judges (Memora appendix C)."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.results import Judgment


def majority(judgments: Sequence[Judgment], *, expected: bool = True) -> bool:
    """Return whether more than half of the parsed judgments have the expected reply.

    False in a tie, and if no reply could be parsed.

    Args:
        judgments: one for each judge.
        expected: the reply that meets the criterion.
    """
    votes = [judgment.yes is expected for judgment in judgments if judgment.yes is not None]
    return 2 * sum(votes) > len(votes)

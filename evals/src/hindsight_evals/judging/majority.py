"""What several judges come to (Memora appendix C)."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_evals.results import Judgment


def majority(judgments: Sequence[Judgment], *, expected: bool = True) -> bool:
    """Whether more than half of the judges who gave a readable answer gave the one expected.

    Conservative: a tie is not met, and neither is what no judge could be read on.

    Args:
        judgments: one a judge.
        expected: the answer that meets what was asked.
    """
    votes = [judgment.yes is expected for judgment in judgments if judgment.yes is not None]
    return 2 * sum(votes) > len(votes)

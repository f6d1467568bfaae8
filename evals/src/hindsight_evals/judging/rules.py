"""Which rule judges a question: by the dataset's own name of its sort."""

from __future__ import annotations

from collections.abc import Mapping

from hindsight_evals.episode import Question
from hindsight_evals.prompts.judge import JudgeRule

RULES: Mapping[tuple[str, str], JudgeRule] = {
    ("longmemeval", "temporal-reasoning"): JudgeRule.TEMPORAL,
    ("longmemeval", "knowledge-update"): JudgeRule.UPDATE,
    ("longmemeval", "single-session-preference"): JudgeRule.PREFERENCE,
    ("locomo", "2 temporal"): JudgeRule.TEMPORAL,
}
"""By dataset and kind; all else must contain the reference (paper A.4.1)."""


def rule_of(question: Question, dataset: str) -> JudgeRule:
    """The rule that makes an answer to a question correct."""
    if not question.answerable:
        return JudgeRule.ABSTENTION
    return RULES.get((dataset, question.kind), JudgeRule.CONTAINS)

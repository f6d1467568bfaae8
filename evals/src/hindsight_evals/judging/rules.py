"""The rule by which a question is judged, depending on the dataset's name for its kind."""

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
"""Rules by dataset and kind; in all other cases the answer must contain the reference (paper A.4.1)."""


def rule_of(question: Question, dataset: str) -> JudgeRule:
    """Return the rule for a correct answer to a question."""
    if not question.answerable:
        return JudgeRule.ABSTENTION
    return RULES.get((dataset, question.kind), JudgeRule.CONTAINS)

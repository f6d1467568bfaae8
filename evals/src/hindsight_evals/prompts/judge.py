"""Judge prompts: one yes-or-no question about a response (Memora appendix C), and correctness by question kind (A.4)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from hindsight_evals.prompts import template
from hindsight_integrations.model.facts import bare
from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole
from hindsight_integrations.prompts.rendering import fenced

# maximum tokens of a verdict, which needs about 100; the rest is for models that reason first
MOST_TOKENS = 4_096


class JudgeRule(StrEnum):
    """Rule for a correct answer; each has a template."""

    CONTAINS = "contains"
    """Single- and multi-session questions (A.4.1), and LoCoMo's."""
    TEMPORAL = "temporal"
    """Temporal reasoning: off-by-one counts as correct (A.4.2)."""
    UPDATE = "update"
    """Knowledge updates: the earlier value may be named besides the current one (A.4.3)."""
    PREFERENCE = "preference"
    """Preferences, against a rubric (A.4.4)."""
    ABSTENTION = "abstention"
    """Unanswerable questions (A.4.5)."""


class AnswerVerdict(BaseModel):
    """A judge's answer."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    explanation: str = Field(description="why, in a sentence or two", json_schema_extra={"maxLength": 600})
    correct: bool


def judge_answer_prompt(
    question: str, reference: str, answer: str, *, rule: JudgeRule
) -> Prompt[AnswerVerdict]:
    """Render the prompt for one answer.

    Args:
        question: the question.
        reference: the correct answer; for preferences the rubric, for unanswerable questions the explanation.
        answer: the answer to judge.
        rule: the rule for a correct answer.
    """
    rules = (template("judge_answer"), template(f"judge_{rule}"), template("judge_ending"))
    parts = (
        fenced("QUESTION", [question]),
        fenced("REFERENCE", [reference]),
        fenced("ANSWER", [answer]),
    )
    return Prompt(
        name=f"judge_{rule}",
        messages=(
            PromptMessage(PromptRole.SYSTEM, "\n\n".join(rules)),
            PromptMessage(PromptRole.USER, "\n\n".join(parts)),
        ),
        schema=AnswerVerdict,
        most_tokens=MOST_TOKENS,
    )


class CriterionVerdict(BaseModel):
    """A judge's answer."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    explanation: str = Field(description="why, in a sentence", json_schema_extra={"maxLength": 600})
    yes: bool = Field(description="the answer to the question")
    confidence: float = Field(ge=0.0, le=1.0)


def judge_criterion_prompt(criterion: str, response: str) -> Prompt[CriterionVerdict]:
    """Render the prompt for one question about one response.

    Args:
        criterion: the question.
        response: the response to judge.
    """
    user = f"The question: {' '.join(criterion.split())}\n\n{fenced('RESPONSE', [response])}"
    return Prompt(
        name="judge_criterion",
        messages=(
            PromptMessage(PromptRole.SYSTEM, template("judge_criterion")),
            PromptMessage(PromptRole.USER, user),
        ),
        schema=CriterionVerdict,
        most_tokens=MOST_TOKENS,
    )

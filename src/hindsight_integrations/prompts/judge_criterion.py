"""The prompt that asks one yes-or-no question about a response (Memora appendix C), and its answer schema."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.facts import bare
from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole
from hindsight_integrations.prompts.rendering import fenced, template

MOST_TOKENS = 4_096  # of a verdict: it has about 100; the rest is for models that think aloud first


# The prompts that judge an answer against a reference, by the sort of question (paper A.4), and their answer
# schema.
class JudgeRule(StrEnum):
    """What makes an answer correct: a template each."""

    CONTAINS = "contains"
    """Single- and multi-session questions (A.4.1), and LoCoMo's."""
    TEMPORAL = "temporal"
    """Temporal reasoning: off by one is no error (A.4.2)."""
    UPDATE = "update"
    """Knowledge updates: what held before may be named beside what holds (A.4.3)."""
    PREFERENCE = "preference"
    """Preferences, against a rubric (A.4.4)."""
    ABSTENTION = "abstention"
    """Questions that nobody can answer (A.4.5)."""


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
        question: what was asked.
        reference: the right answer; of a preference the rubric, of an unanswerable question why it is that.
        answer: what is judged.
        rule: what makes it correct.
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
        response: what is judged.
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

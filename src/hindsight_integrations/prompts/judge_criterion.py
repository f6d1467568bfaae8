"""The prompt that asks one yes-or-no question about a response (Memora appendix C), and its answer schema."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.answer_schemas import bare
from hindsight_integrations.ports.language_model import Prompt, PromptMessage, Role
from hindsight_integrations.prompts.judge_answer import MOST_TOKENS
from hindsight_integrations.prompts.rendering import fenced, template


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
            PromptMessage(Role.SYSTEM, template("judge_criterion")),
            PromptMessage(Role.USER, user),
        ),
        schema=CriterionVerdict,
        most_tokens=MOST_TOKENS,
    )

"""The prompt that asks yes-or-no questions about texts, several at once (decision 169), and its answer."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.answer_schemas import bare
from hindsight_integrations.ports.decision_model import YesNoQuestion
from hindsight_integrations.ports.language_model import Prompt, PromptMessage, Role
from hindsight_integrations.prompts.rendering import fenced, template

MOST_QUESTIONS = 40  # of one prompt: eight statements with five memories each
MOST_TOKENS = 4_096  # of an answer: 40 answers have about 800; the rest is for models that think aloud first


class AnsweredQuestion(BaseModel):
    """One answer as a model writes it."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    number: int = Field(description="number of the question")
    yes: bool = Field(description="the answer to it")


class AnsweredQuestions(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    answers: list[AnsweredQuestion] = Field(
        description="one for each question", json_schema_extra={"maxItems": MOST_QUESTIONS}
    )


def decide_prompt(questions: Sequence[YesNoQuestion]) -> Prompt[AnsweredQuestions]:
    """Render the prompt. Its system message is the same for every bank, so that services can cache it.

    Args:
        questions: their numbers count from 1.
    """
    return Prompt(
        name="decide",
        messages=(
            PromptMessage(Role.SYSTEM, template("decide")),
            PromptMessage(
                Role.USER, "\n\n".join(_rendered(number, each) for number, each in enumerate(questions, 1))
            ),
        ),
        schema=AnsweredQuestions,
        most_tokens=MOST_TOKENS,
    )


def _rendered(number: int, question: YesNoQuestion) -> str:
    lines = (f"{label}: {' '.join(text.split())}" for label, text in question.texts)
    return f"{number}. {question.asked}\n{fenced('TEXTS', lines)}"

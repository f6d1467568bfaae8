"""The evaluation prompt that answers a question from served memories, identical for every evaluated system."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from hindsight_evals.prompts import template
from hindsight_integrations.model.facts import bare
from hindsight_integrations.models.protocols import Prompt, PromptMessage, PromptRole
from hindsight_integrations.prompts.rendering import fenced


class ReaderAnswer(BaseModel):
    """A reader's answer."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    answer: str = Field(min_length=1, description="the answer, or that it is not known")


def answer_question_prompt(question: str, notes: Iterable[str], *, moment: datetime) -> Prompt[ReaderAnswer]:
    """Render the prompt for one question.

    Args:
        question: the question.
        notes: the served texts, best first.
        moment: when it was asked.
    """
    numbered = (f"[{number}] {note}" for number, note in enumerate(notes, 1))
    asked = f"The question, asked on {moment:%A, %B} {moment.day}, {moment.year}: {question}"
    return Prompt(
        name="answer_question",
        messages=(
            PromptMessage(PromptRole.SYSTEM, template("answer_question")),
            PromptMessage(PromptRole.USER, f"{fenced('NOTES', numbered)}\n\n{asked}"),
        ),
        schema=ReaderAnswer,
    )

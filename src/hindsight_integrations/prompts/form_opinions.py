"""The prompt that extracts the opinions of a finished answer (paper section A.2, reworded), and its answer schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hindsight_integrations.model.facts import bare
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.answered_opinions import MOST_OPINIONS, AnsweredOpinion, opinions_of
from hindsight_integrations.prompts.memories import memory_line
from hindsight_integrations.prompts.rendering import fenced, prompt_messages, template

# Token limit of an answer: five opinions take about 600; the rest is for reasoning.
MOST_TOKENS = 4_096


class AnsweredOpinions(BaseModel):
    """The opinions a model finds in an answer."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    opinions: list[AnsweredOpinion] = Field(
        description="opinions of your own that the answer holds; mostly none",
        json_schema_extra={"maxItems": MOST_OPINIONS},
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a model wrote
        return {"opinions": opinions_of(given.get("opinions"))} if isinstance(given, Mapping) else given


def form_opinions_prompt(
    question: str, answer: str, memories: Iterable[tuple[str, RecalledUnit]]
) -> Prompt[AnsweredOpinions]:
    """Create the prompt that extracts the opinions in a finished answer.

    Args:
        question: the question.
        answer: the answer.
        memories: the memories that support the answer, each with its number in the answer's prompt.
    """
    parts = (
        "The question:\n" + fenced("QUESTION", [question]),
        "The memories your answer stands on:\n"
        + fenced("MEMORIES", [memory_line(number, item) for number, item in memories]),
        "Your answer:\n" + fenced("ANSWER", [answer]),
    )
    messages = prompt_messages(template("form_opinions"), parts)
    return Prompt("form_opinions", messages, AnsweredOpinions, most_tokens=MOST_TOKENS)

"""The answering prompt of reflect (paper sections 5.4.2, 6.1 and A.2, in our own words), and the schema of its answer.

The system message has the rules, which are the same for every bank, so that all prompts share a prefix, then the agent's
profile and the operator's rules. The user message has the memories, then the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hindsight_integrations.model.facts import bare
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.reflections import MemoryTiers
from hindsight_integrations.models.protocols import MOST_ANSWER_TOKENS, Prompt
from hindsight_integrations.prompts.answered_opinions import (
    MOST_OPINIONS,
    AnsweredOpinion,
    opinions_of,
    texts_of,
)
from hindsight_integrations.prompts.character import verbalize
from hindsight_integrations.prompts.memories import day, shown_tiers
from hindsight_integrations.prompts.rendering import fenced, one_line, prompt_messages, template
from hindsight_integrations.prompts.typed_answer import with_output

THINKING_TOKENS = 4_096  # tokens in addition to the answer, for opinions and reasoning
UNSURE = 0.1  # value of `RecallResult.confidence` below which the memories hardly match the question


class Answer(BaseModel):
    """An answer, the memories it is based on, and the opinions it proposes."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    text: str = Field(
        min_length=1,
        description="the answer, addressed to whoever asked",
        json_schema_extra={"maxLength": 40_000},
    )
    based_on: list[str] = Field(
        description="the numbers of the memories it stands on", json_schema_extra={"maxItems": 100}
    )
    sufficient: bool = Field(description="whether the memories have what the answer needs")
    opinions: list[AnsweredOpinion] = Field(
        description="opinions of your own that the answer holds, without those among your beliefs",
        json_schema_extra={"maxItems": MOST_OPINIONS},
    )

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a model wrote
        if not isinstance(given, dict):
            return given
        return {
            **given,
            "based_on": texts_of(given.get("based_on", [])),
            "sufficient": given.get("sufficient", True),
            "opinions": opinions_of(given.get("opinions")),
        }


@dataclass(frozen=True, slots=True)
class PromptQuestion:
    """A question for a model.

    Attributes:
        text: the question.
        at: time of the question (aware UTC).
        context: the caller's description of the situation; may be empty.
    """

    text: str
    at: datetime
    context: str = ""


def answer_prompt(
    asked: PromptQuestion,
    tiers: MemoryTiers,
    profile: BankProfile,
    directives: Sequence[str] = (),
    *,
    max_answer_tokens: int = 2048,
    output: type[BaseModel] | None = None,
) -> Prompt[Answer]:
    """Render a question with its memories, to be answered in the character of a profile.

    Args:
        asked: the question.
        tiers: the recalled memories.
        profile: the agent's profile.
        directives: the operator's rules.
        max_answer_tokens: token limit of the answer's text.
        output: schema of a structured answer; see `with_output`.
    """
    return Prompt(
        name="answer",
        messages=prompt_messages(system_message("answer", profile, directives), question_parts(asked, tiers)),
        schema=Answer if output is None else with_output(Answer, output),
        most_tokens=max(MOST_ANSWER_TOKENS, max_answer_tokens + THINKING_TOKENS),
    )


def system_message(rules: str, profile: BankProfile, directives: Sequence[str], *, tools: str = "") -> str:
    """Build the system message: the template's rules, the tools, the agent's profile and the operator's rules."""
    parts = [template(rules), *([tools] if tools else []), verbalize(profile)]
    if directives:
        listed = [f"- {one_line(each)}" for each in directives]
        parts.append(f"{template('directives')}\n\n{fenced('RULES', listed)}")
    return "\n\n".join(parts)


def question_parts(asked: PromptQuestion, tiers: MemoryTiers) -> list[str]:
    """Build the user message of an answering prompt: situation, memories, question."""
    parts = [f"About the situation:\n{fenced('CONTEXT', [asked.context])}"] if asked.context else []
    parts += shown_tiers(tiers) or ["No memories were found."]
    if tiers.recalled.units and tiers.recalled.confidence < UNSURE:
        parts.append("It is doubtful whether these memories have the answer; judge by what they say.")
    return [*parts, f"Today is {day(asked.at)}.\nQuestion: {asked.text}"]

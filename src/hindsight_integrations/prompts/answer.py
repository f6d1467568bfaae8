"""The answering prompt of reflect: rules, who the agent is, memories, question (paper section 5.4.2).

The rules come first and are the same for every bank, so that a prefix of every prompt is byte for byte the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.recalled import RecalledUnit
from hindsight_integrations.ports.language_model import Prompt, PromptMessage, Role
from hindsight_integrations.prompts.character import verbalize
from hindsight_integrations.prompts.rendering import fenced, template


class Answer(BaseModel):
    """An answer and the memories it stands on."""

    model_config = ConfigDict(frozen=True)

    text: str = Field(min_length=1, description="the answer, addressed to whoever asked")
    based_on: list[str] = Field(default_factory=list, description="ids of the memories it stands on")


def answer_prompt(query: str, units: Sequence[RecalledUnit], profile: BankProfile) -> Prompt[Answer]:
    """Render the question with what was recalled for it, to be answered in the character of a profile."""
    system = f"{template('answer')}\n\n{verbalize(profile)}"
    memories = fenced("MEMORIES", map(memory_line, units)) if units else "No memories were found."
    return Prompt(
        name="answer",
        messages=(
            PromptMessage(Role.SYSTEM, system),
            PromptMessage(Role.USER, f"{memories}\n\nQuestion: {query}"),
        ),
        schema=Answer,
    )


def memory_line(recalled: RecalledUnit) -> str:
    """One memory with its id, network and date."""
    unit = recalled.unit
    moment = unit.occurred.start if unit.occurred else unit.mentioned_at
    return f"[{unit.id}] ({unit.fact_type}, {moment:%A, %B %d, %Y}) {recalled.text}"

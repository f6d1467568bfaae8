"""The prompt that compares an answer's opinions with those the agent holds (paper section 5.4.2), and its answer schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.facts import bare, one_of
from hindsight_integrations.model.opinions import EvidenceStrength
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.rendering import fenced, numbered, prompt_messages, template

MOST_PAIRS = 25  # maximum number of pairs per prompt: five new opinions with five existing ones each
# Token limit of an answer: 25 relations take about 1,500; the rest is for reasoning.
MOST_TOKENS = 6_144


class Relation(StrEnum):
    """The relation of a new opinion to a held one."""

    SAME = "same"
    REFINES = "refines"
    OPPOSES = "opposes"
    DIFFERENT = "different"


class AnsweredRelation(BaseModel):
    """One relation as a model writes it."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    new: int = Field(description="number of the new opinion")
    held: int = Field(description="number of the opinion held")
    relation: Annotated[Relation, one_of(Relation)] = Field(
        description="how the new one relates to the one held"
    )
    strength: Annotated[EvidenceStrength, one_of(EvidenceStrength)] = Field(
        description="how much the new one says for or against the one held"
    )
    reason: str = Field(description="why, in one short sentence", json_schema_extra={"maxLength": 200})


class AnsweredRelations(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    relations: list[AnsweredRelation] = Field(
        description="one for each pair that was asked for", json_schema_extra={"maxItems": MOST_PAIRS}
    )


@dataclass(frozen=True, slots=True)
class NewOpinion:
    """An opinion to compare.

    Attributes:
        text: the opinion.
        held: numbers of the held opinions to compare it with.
    """

    text: str
    held: tuple[int, ...]


def relate_opinions_prompt(new: Sequence[NewOpinion], held: Sequence[str]) -> Prompt[AnsweredRelations]:
    """Render the prompt. Its system message is the same for every bank, so that services can cache it.

    Args:
        new: the new opinions, numbered from 1.
        held: texts of the held opinions, numbered from 1.
    """
    asked = (f"new {number} with held {', '.join(map(str, each.held))}" for number, each in enumerate(new, 1))
    parts = (
        f"Held:\n{fenced('HELD', numbered(held))}",
        f"New:\n{fenced('NEW', numbered(each.text for each in new))}",
        f"Compare: {'; '.join(asked)}.",
    )
    return Prompt(
        name="relate_opinions",
        messages=prompt_messages(template("relate_opinions"), parts),
        schema=AnsweredRelations,
        most_tokens=MOST_TOKENS,
    )

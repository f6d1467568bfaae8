"""The prompt that assesses facts as evidence of opinions: Assess(o, f) of paper section 5.5, and its answer schema.

The rules come first and are the same for every bank; the agent's profile follows; opinions and facts come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.facts import bare, one_of
from hindsight_integrations.model.opinions import Assessment, Conviction, EvidenceStrength
from hindsight_integrations.model.profile import BankProfile
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.character import verbalize
from hindsight_integrations.prompts.observe import fact_line
from hindsight_integrations.prompts.rendering import fenced, one_line, prompt_messages, template

MOST_PAIRS = 20  # maximum number of pairs per prompt, which small models still answer completely
# Token limit of an answer: twenty assessments take about 2,500; the rest is for reasoning.
MOST_TOKENS = 8_192


class AnsweredAssessment(BaseModel):
    """One assessment as a model writes it."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    opinion: int = Field(description="number of the opinion")
    fact: int = Field(description="number of the fact")
    assessment: Annotated[Assessment, one_of(Assessment)] = Field(
        description="what the fact means for the opinion"
    )
    strength: Annotated[EvidenceStrength, one_of(EvidenceStrength)] = Field(description="how much it says")
    reason: str = Field(description="why, in one sentence", json_schema_extra={"maxLength": 200})
    restates: list[int] = Field(
        default_factory=list,
        description="numbers of earlier facts of the same source that it only says again",
        json_schema_extra={"maxItems": 3},
    )
    rewording: str = Field(
        default="",
        description="the whole opinion anew, where it must be worded otherwise; else empty",
        json_schema_extra={"maxLength": 600},
    )


class AnsweredAssessments(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    assessments: list[AnsweredAssessment] = Field(
        description="one for each pair that was asked for", json_schema_extra={"maxItems": MOST_PAIRS}
    )


@dataclass(frozen=True, slots=True)
class AskedOpinion:
    """An opinion and the facts to assess as its evidence.

    Attributes:
        text: the current wording.
        conviction: its confidence in words.
        since: when this wording was adopted.
        pairs: numbers of the facts to assess, each with the numbers of earlier facts from the same source.
    """

    text: str
    conviction: Conviction
    since: datetime
    pairs: tuple[tuple[int, tuple[int, ...]], ...]


def assess_evidence_prompt(
    opinions: Sequence[AskedOpinion], facts: Sequence[MemoryUnit], profile: BankProfile
) -> Prompt[AnsweredAssessments]:
    """Render the prompt for some opinions and the facts that may be evidence for them.

    Args:
        opinions: the opinions, numbered from 1.
        facts: new and earlier facts, oldest first, numbered from 1.
        profile: the profile of the assessing agent.
    """
    parts = (
        "Your opinions, numbered:\n"
        + fenced("OPINIONS", (_opinion_line(number, each) for number, each in enumerate(opinions, 1))),
        "The facts, numbered, the oldest first:\n"
        + fenced("FACTS", (fact_line(number, fact) for number, fact in enumerate(facts, 1))),
        "Assess these pairs:\n" + "\n".join(_asked(number, each) for number, each in enumerate(opinions, 1)),
    )
    return Prompt(
        name="assess_evidence",
        messages=prompt_messages(f"{template('assess_evidence')}\n\n{verbalize(profile)}", parts),
        schema=AnsweredAssessments,
        most_tokens=MOST_TOKENS,
    )


def _opinion_line(number: int, opinion: AskedOpinion) -> str:
    since = opinion.since
    held = f"worded on {since:%A, %B} {since.day}, {since.year}; {opinion.conviction} conviction"
    return f"[{number}] ({held}) {one_line(opinion.text)}"


def _asked(number: int, opinion: AskedOpinion) -> str:
    """Format the pairs of one opinion: "opinion 1: fact 3; fact 4 (may say again: 1, 2)"."""
    named = (
        f"fact {fact}" + (f" (may say again: {', '.join(map(str, earlier))})" if earlier else "")
        for fact, earlier in opinion.pairs
    )
    return f"opinion {number}: {'; '.join(named)}"

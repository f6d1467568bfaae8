"""The prompt that summarises an entity, independent of the profile (paper section A.3, in our own words), and its schema."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.config import MOST_OBSERVATIONS
from hindsight_integrations.model.time import readable_time
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.rendering import fenced, one_line, prompt_messages, template

# Token limit of an answer: seven observations take about 700; the rest is for reasoning.
MOST_TOKENS = 4_096


class AnsweredObservation(BaseModel):
    """One observation as a model writes it."""

    model_config = ConfigDict(frozen=True)

    # Local servers' grammars enforce these bounds, which stops repetitive small models.
    text: str = Field(
        description="the observation: one or two plain sentences in the third person",
        # above the limit of `Checker`, so that a truncated text is rejected
        json_schema_extra={"maxLength": 500},
    )
    facts: list[int] = Field(
        description="the numbers of the facts it tells of, at least one", json_schema_extra={"maxItems": 100}
    )


class AnsweredObservations(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True)

    observations: list[AnsweredObservation] = Field(
        description="the observations, the most telling first",
        json_schema_extra={"maxItems": MOST_OBSERVATIONS},
    )


def observe_prompt(
    name: str, facts: Sequence[MemoryUnit], *, fewest: int, most: int
) -> Prompt[AnsweredObservations]:
    """Render the prompt for the facts of one entity.

    The system message is the same for every entity, so that services can cache it; variable parts follow it.

    Args:
        name: the entity's name.
        facts: the facts, oldest first, numbered from 1.
        fewest: minimum number of observations.
        most: maximum number of observations.
    """
    lines = (fact_line(number, fact) for number, fact in enumerate(facts, 1))
    parts = (
        "The entity:\n" + fenced("ENTITY", [one_line(name)]),
        "The facts, numbered, the oldest first:\n" + fenced("FACTS", lines),
        f"Write {fewest} to {most} observations." if fewest < most else f"Write {_counted(most)}.",
    )
    return Prompt(
        name="observe",
        messages=prompt_messages(template("observe"), parts),
        schema=AnsweredObservations,
        most_tokens=MOST_TOKENS,
    )


def fact_line(number: int, fact: MemoryUnit) -> str:
    """Format a fact on one line: number, time of mention, event time and text."""
    when = readable_time(None, fact.mentioned_at)
    if fact.occurred:
        when = f"{when}; {readable_time(fact.occurred, fact.mentioned_at)}"
    return f"[{number}] ({when}) {one_line(fact.text)}"


def _counted(number: int) -> str:
    return "one observation" if number == 1 else f"{number} observations"

"""The prompt that asks which memories are invalidated by statements that quote no memory, and its answer schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from hindsight_integrations.model.facts import bare
from hindsight_integrations.model.units import MemoryUnit
from hindsight_integrations.models.protocols import Prompt
from hindsight_integrations.prompts.rendering import fenced, one_line, prompt_messages, template

MOST_STATEMENTS = 8  # maximum number per prompt
MOST_CANDIDATES = 8  # maximum number of memories per statement
# Token limit of an answer, which takes about 300; the rest is for reasoning.
MOST_TOKENS = 4_096


@dataclass(frozen=True, slots=True)
class OpenStatement:
    """A statement that is no longer true, and the memories that it may mean.

    Attributes:
        text: the statement.
        by: the memory that says that it is no longer true.
        candidates: the memories that it may mean, nearest first.
    """

    text: str
    by: MemoryUnit
    candidates: tuple[MemoryUnit, ...]


class AnsweredEnding(BaseModel):
    """The memories that one statement ends."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    statement: int = Field(description="number of the statement")
    memories: list[int] = Field(
        description="numbers of the memories it ends", json_schema_extra={"maxItems": MOST_CANDIDATES}
    )


class AnsweredEndings(BaseModel):
    """The answer to the prompt."""

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    endings: list[AnsweredEnding] = Field(
        description="one for each statement that ends a memory",
        json_schema_extra={"maxItems": MOST_STATEMENTS},
    )


def end_memories_prompt(statements: Sequence[OpenStatement]) -> Prompt[AnsweredEndings]:
    """Render the prompt. Its system message is the same for every bank, so that services can cache it.

    Args:
        statements: the statements, numbered from 1; all candidates share one numbering (`numbered_candidates`).
    """
    numbers = {unit.id: number for number, unit in numbered_candidates(statements).items()}
    asked = (
        f"{number}. {one_line(each.text)} (said: {one_line(each.by.text)}; may mean: "
        f"{', '.join(f'[{numbers[unit.id]}]' for unit in each.candidates)})"
        for number, each in enumerate(statements, 1)
    )
    shown = (
        f"[{number}] ({unit.mentioned_at:%A, %B %d, %Y}) {one_line(unit.text)}"
        for number, unit in numbered_candidates(statements).items()
    )
    parts = (
        "Statements that no longer hold:\n" + fenced("STATEMENTS", asked),
        "Memories:\n" + fenced("MEMORIES", shown),
    )
    return Prompt(
        name="end_memories",
        messages=prompt_messages(template("end_memories"), parts),
        schema=AnsweredEndings,
        most_tokens=MOST_TOKENS,
    )


def numbered_candidates(statements: Sequence[OpenStatement]) -> dict[int, MemoryUnit]:
    """Return the distinct candidates of all statements by number, from 1."""
    units = {unit.id: unit for each in statements for unit in each.candidates}
    return dict(enumerate(units.values(), 1))

"""The lines of an archive about what a bank was given: standing questions with their answers, and directives."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from hindsight_integrations.model.mental_models import RefreshTrigger
from hindsight_integrations.validation.archive_values import (
    MAX_STORED,
    ArchiveLine,
    Id,
    Micros,
    Tags,
    Text,
    one_of,
    storable,
)
from hindsight_integrations.validation.limits import MAX_NAME, MAX_TOKENS


def one_line(text: str) -> str:
    """Refuse a name nobody could ask for."""
    if len(text.splitlines()) > 1:
        raise ValueError("it has several lines, and could not be asked for")
    return storable(text)


Words = Annotated[str, Field(min_length=1, max_length=MAX_STORED)]


class MentalModelLine(ArchiveLine):
    """A standing question with its answer.

    Attributes:
        checked: nothing in the bank changed since changes were last looked at.
    """

    key: ClassVar = ("model_id",)
    model_id: Id
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(one_line)]
    question: Words
    tags: Tags
    refreshes: Annotated[str, one_of(RefreshTrigger)]
    max_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS)]
    created_at: Micros
    text: Text
    extractive: Literal[0, 1]
    refreshed_at: Micros | None
    withdrawn: Literal[0, 1]
    checked: Literal[0, 1]

    @model_validator(mode="after")
    def _answered(self) -> Self:
        if self.text and (self.refreshed_at is None or self.withdrawn):
            raise ValueError("it has a text, but was never answered, or the answer was withdrawn")
        return self


class MentalModelGroundLine(ArchiveLine):
    """A memory that the writer of a mental model's text was shown, and whether the text stands on it."""

    key: ClassVar = ("model", "unit")
    refers: ClassVar = {"model": "mental_model", "unit": "unit"}
    model: Id
    unit: Id
    cited: Literal[0, 1]


class DirectiveLine(ArchiveLine):
    """A rule of whoever runs the bank."""

    key: ClassVar = ("directive_id",)
    directive_id: Id
    text: Words
    tags: Tags
    created_at: Micros

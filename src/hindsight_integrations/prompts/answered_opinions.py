"""Lenient schema of the opinions in a model's answer (paper section A.5.2); `reflect/opinions` validates them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hindsight_integrations.model.facts import bare

MOST_OPINIONS = 5  # maximum number of opinions per answer


def text_of(given: object) -> str:
    """Return a string unchanged, and an empty string for anything else."""
    return given if isinstance(given, str) else ""


def texts_of(given: object) -> list[str]:
    """Return the texts of a list, numbers as text; a single value becomes a list."""
    items = given if isinstance(given, list) else [given]
    return [str(item) for item in items if isinstance(item, str | int) and not isinstance(item, bool)]


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        return float(given)
    except (ValueError, OverflowError):
        return None


class AnsweredOpinion(BaseModel):
    """One opinion as a model writes it.

    A part that is missing or has the wrong type becomes empty, so that the rest can be read.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra=bare)

    # Local servers' grammars enforce these bounds, which stops repetitive small models.
    opinion: Annotated[str, BeforeValidator(text_of)] = Field(
        description='the judgement in the first person with its reason inside: "I think ... because ..."',
        json_schema_extra={"maxLength": 600},
    )
    confidence: Annotated[float | None, BeforeValidator(_number)] = Field(
        description="how firmly it is held, from 0 to 1",
        json_schema_extra={"minimum": 0, "maximum": 1},
    )
    reasoning: Annotated[str, BeforeValidator(text_of)] = Field(
        description="why it is held, in a sentence", json_schema_extra={"maxLength": 600}
    )
    based_on: Annotated[list[str], BeforeValidator(texts_of)] = Field(
        description="the numbers of the memories it stands on, at least one",
        json_schema_extra={"maxItems": 50},
    )
    entities: Annotated[list[str], BeforeValidator(texts_of)] = Field(
        description="names of whom and what it is about, as the memories write them",
        json_schema_extra={"maxItems": 20},
    )

    @model_validator(mode="before")
    @classmethod
    def _with_missing_parts(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a model wrote
        # Not defaults, because the schema must require every part.
        return {name: given.get(name) for name in cls.model_fields} if isinstance(given, dict) else given


def opinions_of(given: object) -> list[object]:
    """Return the items of a list that can be opinions."""
    return (
        [item for item in given if isinstance(item, dict | AnsweredOpinion)]
        if isinstance(given, list)
        else []
    )

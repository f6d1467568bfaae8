"""Lenient parsing of the extraction prompt's answer: an invalid fact, or part of one, does not affect the others.

The model gets the strict schema of `ExtractedFact`; only the parsing is lenient.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic_core import CoreSchema, core_schema

from hindsight_integrations.model.facts import ExtractedFact, FactPart, Text, list_of, texts_of
from hindsight_integrations.model.text import clean_text

DEEPEST = 8  # maximum nesting of values; a fact's JSON has four levels

NEEDED = frozenset({"what", "fact_type", "sources", "fact"})
"""Fields without which a fact may be wrong; other invalid fields are dropped."""

F = TypeVar("F", bound=BaseModel)

Location: TypeAlias = "tuple[int | str, ...]"


@dataclass(frozen=True, slots=True)
class AnsweredItem(Generic[F]):
    """One item of a model's list of facts.

    Attributes:
        fact: the fact without its unreadable parts; None if it is invalid.
        excerpt: the unparsed item, shortened, for reports.
        problems: the reasons why the item, or parts of it, were dropped.
    """

    fact: F | None
    excerpt: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadLeniently:
    """Annotation of `AnsweredItem`: parses its fact leniently, and gives it the fact's JSON schema.

    Attributes:
        schema: the fact's schema.
    """

    schema: type[BaseModel]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            partial(read_fact, optional=self.schema.model_fields.keys() - NEEDED | {"record"}),
            handler.generate_schema(self.schema),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda answered: answered.fact.model_dump(mode="json") if answered.fact else None
            ),
        )


def some_fit(items: list[AnsweredItem[F]]) -> list[AnsweredItem[F]]:
    """Return the items, unless none of them is a valid fact, so that the model is asked again.

    Raises:
        ValueError: no item is a valid fact.
    """
    if items and not any(item.fact for item in items):
        raise ValueError(f"none of them fits the schema: {items[0].problems[0]}")
    return items


AnsweredFact: TypeAlias = Annotated[AnsweredItem[ExtractedFact], ReadLeniently(ExtractedFact)]


def read_fact(
    value: object, strict: core_schema.ValidatorFunctionWrapHandler, *, optional: Set[str]
) -> AnsweredItem[Any]:
    """Parse one item of the list, without characters that cannot be stored; never raises for a model's output.

    Args:
        value: the item as written.
        strict: validator of the fact's schema.
        optional: fields that may be dropped.
    """
    if isinstance(value, AnsweredItem):
        return value
    excerpt = clean_text(str(value)[:200])
    cleaned = _cleaned(value)
    try:
        return AnsweredItem(strict(cleaned), excerpt)
    except ValidationError as error:
        problems = _problems(error)
        reduced = _without(cleaned, [item["loc"] for item in error.errors(include_url=False)], optional)
    try:
        return AnsweredItem(strict(reduced), excerpt, problems)
    except ValidationError as error:
        return AnsweredItem(None, excerpt, _problems(error))


def _problems(error: ValidationError) -> tuple[str, ...]:
    found = error.errors(include_url=False)
    return tuple(f"{'.'.join(map(str, item['loc'])) or 'fact'}: {item['msg']}" for item in found[:5])


def _without(value: object, places: list[Location], optional: Set[str]) -> object:
    """Remove the invalid optional parts: single list items if possible, else the whole field."""
    if not isinstance(value, dict):
        return value
    fields = dict(value)
    for name in {place[0] for place in places if place} & optional:
        items = {place[1] for place in places if place[0] == name and len(place) > 1}
        held = fields.pop(name, None)
        if isinstance(held, list) and items and all(isinstance(item, int) for item in items):
            fields[name] = [item for number, item in enumerate(held) if number not in items]
    return fields


def _cleaned(value: object, depth: int = 0) -> object:
    """Remove control characters and lone surrogates from texts at any level."""
    if isinstance(value, str):
        return clean_text(value)
    if depth > DEEPEST:
        return None
    if isinstance(value, Mapping):
        return {str(key): _cleaned(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
    return value


class AskedToForget(FactPart):
    """What a person asks the memory to forget."""

    what: Text = Field(default="", description="a few words, without the value")
    memories: Annotated[list[int], BeforeValidator(list_of)] = Field(default_factory=list)
    sources: Annotated[list[str], BeforeValidator(texts_of)] = Field(default_factory=list)


def _readable(value: object) -> list[AskedToForget]:
    """Return the valid requests; invalid ones are dropped, so that they do not invalidate the facts."""
    requests = []
    for each in list_of(value):
        with suppress(ValidationError):
            requests.append(AskedToForget.model_validate(each))
    return requests


class ExtractedFacts(BaseModel):
    """The answer to the extraction prompt."""

    model_config = ConfigDict(frozen=True)

    facts: Annotated[list[AnsweredFact], AfterValidator(some_fit)]
    forget_requested: Annotated[list[AskedToForget], BeforeValidator(_readable)] = Field(default_factory=list)

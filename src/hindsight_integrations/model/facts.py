"""The schema of extracted facts: the paper's A.5.1 plus `sources`, `changes`, `adds_to`, `invalidates` and `records`.

It is the response schema for language models, the format of facts supplied by a caller, and the output of the
verbatim extractor. Validation accepts common mistakes of models (null for an empty string, unknown entity types), but not
those that would create a false memory (fact type, relation, strengths).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from hindsight_integrations.errors import shown
from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.model.links import CausalRelation
from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.units import FactType


def bare(schema: dict[str, Any]) -> None:
    """Remove titles and docstrings from a schema, since they would cost tokens in every request."""
    for part in (schema, *schema["properties"].values()):
        part.pop("title", None)
    schema.pop("description", None)


def one_of(choices: type[StrEnum]) -> WithJsonSchema:
    """Return the schema of an enumeration: only its values, without the docstring."""
    return WithJsonSchema({"enum": [choice.value for choice in choices], "type": "string"})


def _list_if_none(value: object) -> object:
    return [] if value is None else value


def list_of(value: object) -> Sequence[object]:
    """Convert a single value to a list of one, and None to an empty list."""
    if value is None:
        return []
    return value if isinstance(value, list | tuple) else [value]


def texts_of(value: object) -> object:
    """Convert a single value to a list of one, and integers to text, since models write ids as numbers."""
    return [
        str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in list_of(value)
    ]


def _fact_type(value: object) -> object:
    """Convert a network's name or alias; return anything else unchanged, for the validator to reject."""
    try:
        return FactType(value)  # type: ignore[arg-type] # it rejects unknown names itself
    except ValueError:
        return value


def _number_if_numeric(value: object) -> object:
    """Convert a number written as text, so that it can be added up; Decimal keeps 3.41 exact."""
    if value is None or (isinstance(value, str) and not value.strip()):
        raise ValueError("there is none")
    if not isinstance(value, str):
        return value
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    return number if number.is_finite() else value


Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]


REFUSE_UNKNOWN_KEYS: Final = "refuse unknown keys"
"""The validation context for a caller's facts; without it, unknown keys are ignored, as in a model's facts."""

UNKNOWN_KEYS: Final = "unknown_keys"
"""The type of the validation error for unknown keys; its context has `keys` and `allowed`."""

MOST_KEYS_SHOWN = 5


class FactPart(BaseModel):
    """Base class of facts and their parts: lenient validation, and a JSON schema without titles and docstrings."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True, json_schema_extra=bare)

    OTHER_NAMES: ClassVar[Mapping[str, str]] = {}
    """Wrong field names that callers often use, mapped to the right ones, for the suggestion in the error."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, value: object, info: ValidationInfo) -> object:
        if info.context != REFUSE_UNKNOWN_KEYS or not isinstance(value, Mapping):
            return value
        allowed = list(cls.model_fields)
        accepted = {*allowed, *cls._aliases()}
        unknown = [key for key in value if key not in accepted]
        if not unknown:
            return value
        keys = ", ".join(cls._with_suggestion(key, allowed) for key in unknown[:MOST_KEYS_SHOWN])
        plural = "" if len(unknown) == 1 else "s"
        more = ", ..." if len(unknown) > MOST_KEYS_SHOWN else ""
        raise PydanticCustomError(
            UNKNOWN_KEYS,
            "{keys}",
            {"keys": f"unknown key{plural} {keys}{more}", "allowed": ", ".join(allowed)},
        )

    @classmethod
    def _aliases(cls) -> set[str]:
        aliases = (field.validation_alias for field in cls.model_fields.values())
        return {
            name
            for alias in aliases
            if isinstance(alias, AliasChoices)
            for name in alias.choices
            if isinstance(name, str)
        }

    @classmethod
    def _with_suggestion(cls, key: object, allowed: Sequence[str]) -> str:
        """Format an unknown key with the field that was probably meant."""
        lowered = key.strip().lower() if isinstance(key, str) else ""
        likely = cls.OTHER_NAMES.get(lowered) or next(iter(get_close_matches(lowered, allowed, 1, 0.7)), "")
        return f"{shown(key)} (did you mean {likely!r}?)" if likely else shown(key)


class ExtractedEntity(FactPart):
    """A named entity as it appears in the text."""

    OTHER_NAMES = {"name": "text", "entity": "text", "kind": "type"}

    text: str = Field(description="the name as written, without titles or articles")
    type: Annotated[EntityType, one_of(EntityType)] = EntityType.OTHER


_EntityOrName = Annotated[
    ExtractedEntity, BeforeValidator(lambda value: {"text": value} if isinstance(value, str) else value)
]
"""An entity, or only its name as text."""


class ExtractedCausalRelation(FactPart):
    """A causal relation of this fact to another fact in the same answer."""

    target_fact_index: int = Field(ge=0, description="position of the other fact in the list, from 0")
    relation_type: Annotated[CausalRelation, one_of(CausalRelation)]
    strength: float = Field(default=1.0, ge=0.0, le=1.0)


def renumbered(
    claims: Iterable[ExtractedCausalRelation], places: Mapping[int, int]
) -> list[ExtractedCausalRelation]:
    """Move the targets of causal claims to new positions; omit claims about facts without a new position.

    Args:
        claims: the claims of one fact.
        places: the new position of each fact, by its old position.
    """
    return [
        claim.model_copy(update={"target_fact_index": places[claim.target_fact_index]})
        for claim in claims
        if claim.target_fact_index in places
    ]


class MemoryChange(StrEnum):
    """The change of a memory by a fact."""

    ENDS = "ends"
    """The memory is no longer valid."""
    REPLACES = "replaces"
    """The fact replaces the memory and restates everything that is still valid."""
    REMOVES = "removes"
    """Items of a document are no longer valid."""


def _require_number(schema: dict[str, Any]) -> None:
    """Make the number of the memory a required field in the schema for models."""
    bare(schema)
    schema["properties"]["memory"].pop("default")
    schema["required"] = ["memory", "change"]


class NamedMemory(FactPart):
    """A reference to a memory.

    A model uses the number shown to it; a caller uses `unit_id`, or `sources`: the ids of the messages it was
    made from.
    """

    memory: Annotated[int | None, Field(ge=1), WithJsonSchema({"minimum": 1, "type": "integer"})] = Field(
        default=None, description="number of the memory, as shown in square brackets"
    )
    unit_id: SkipJsonSchema[Text] = ""
    sources: SkipJsonSchema[Annotated[list[str], BeforeValidator(texts_of)]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        if sum((self.memory is not None, bool(self.unit_id), bool(self.sources))) != 1:
            raise ValueError("name the memory by one of `memory`, `unit_id` and `sources`")
        return self


class ExtractedChange(NamedMemory):
    """A memory that has ended or changed."""

    model_config = ConfigDict(json_schema_extra=_require_number)

    change: Annotated[MemoryChange, one_of(MemoryChange)]
    items: Annotated[list[int], BeforeValidator(list_of)] = Field(
        default_factory=list,
        description="with `removes`: numbers of the items, 2 for the one shown as 1.2",
    )
    removed: Annotated[list[str], BeforeValidator(texts_of)] = Field(
        default_factory=list,
        description="with `replaces`: what of the memory no longer holds, in its words",
    )


_MemoryOrNumber = Annotated[
    NamedMemory | None,
    BeforeValidator(
        lambda value: {"memory": value} if isinstance(value, int) and not isinstance(value, bool) else value
    ),
    WithJsonSchema({"anyOf": [{"minimum": 1, "type": "integer"}, {"type": "null"}]}),
]
"""A reference to a memory; a model writes only the memory's number."""


EXTRACTED_TYPES = (FactType.WORLD, FactType.EXPERIENCE, FactType.OPINION)
"""The networks whose facts a model extracts; observations are derived from facts or supplied by a caller."""


class ExtractedRecord(FactPart):
    """A value worth adding up or listing: an expense, a step count, a to-do, a preference."""

    OTHER_NAMES = {
        "amount": "value",
        "currency": "unit",
        "measure": "unit",
        "number": "value",
        "quantity": "value",
        "type": "kind",
    }

    # Any kind is accepted, and mapped to a known one (`canonical_kind`); the schema for models lists these.
    kind: str = Field(json_schema_extra={"enum": [kind.value for kind in RecordKind]})
    category: Text = ""
    value: Annotated[Decimal | str, BeforeValidator(_number_if_numeric)]
    unit: Text = ""


class ExtractedFact(FactPart):
    """One narrative fact with its five dimensions, time, entities and provenance (paper A.1, A.5.1)."""

    OTHER_NAMES = {
        "content": "what",
        "date": "occurred_start",
        "fact": "what",
        "source": "sources",
        "text": "what",
        "timestamp": "occurred_start",
        "type": "fact_type",
    }

    what: str = Field(min_length=1, description="complete account; of a document its head, without the items")
    when: Text = ""
    where: Text = ""
    who: Text = ""
    why: Text = ""
    fact_type: Annotated[
        FactType,
        BeforeValidator(_fact_type),
        WithJsonSchema({"enum": [kind.value for kind in EXTRACTED_TYPES], "type": "string"}),
    ] = FactType.WORLD
    occurred_start: str | None = Field(default=None, description="ISO date: 2023, 2023-05 or 2023-05-07")
    occurred_end: str | None = Field(default=None, description="ISO date of the last day")
    entities: Annotated[list[_EntityOrName], BeforeValidator(_list_if_none)] = Field(default_factory=list)
    causal_relations: Annotated[list[ExtractedCausalRelation], BeforeValidator(_list_if_none)] = Field(
        default_factory=list
    )
    sources: Annotated[list[str], BeforeValidator(texts_of)] = Field(
        default_factory=list, description="ids of messages"
    )
    changes: Annotated[list[ExtractedChange], BeforeValidator(_list_if_none)] = Field(default_factory=list)
    adds_to: _MemoryOrNumber = Field(default=None, description="number of the document shown")
    invalidates: Annotated[list[str], BeforeValidator(texts_of)] = Field(
        default_factory=list, description="full sentences"
    )
    lasting: Annotated[bool, BeforeValidator(bool)] = False
    # Only for a caller's opinions; not in the schema for models.
    confidence: SkipJsonSchema[float | None] = Field(default=None, ge=0.0, le=1.0)
    # A single record as `record` is accepted, too, as in the benchmarks' data sets.
    records: Annotated[list[ExtractedRecord], BeforeValidator(list_of)] = Field(
        default_factory=list, validation_alias=AliasChoices("records", "record")
    )

    @property
    def narrative(self) -> str:
        """The text of the memory: `what`, `when` and `why`. Who and where are part of `what` (paper A.1)."""
        parts = [self.what, f"When: {self.when}" if self.when else "", self.why]
        return " | ".join(part for part in parts if part)

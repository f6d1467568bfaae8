"""The lines of an archive about items: where each lies, what it holds, and how long."""

from __future__ import annotations

import json
import re
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.model.namespaces import namespace_from
from hindsight_integrations.validation.archive_values import ArchiveLine, Micros
from hindsight_integrations.validation.items import (
    LONGEST_NAME,
    LONGEST_VALUE,
    MOST_LABELS,
    checked_key,
    checked_namespace,
    value_text,
)

_LABELS = re.compile(r"([^.]+\.)+")


def _namespace(text: str) -> str:
    """Refuse what is not labels, each ended by a dot."""
    if not _LABELS.fullmatch(text):
        raise ValueError("it is not labels, each ended by a dot")
    try:
        checked_namespace(namespace_from(text))
    except InvalidRequest as error:
        raise ValueError(error.reason) from error
    return text


def _key(text: str) -> str:
    try:
        return checked_key(text)
    except InvalidRequest as error:
        raise ValueError(error.reason) from error


def _value(text: str) -> str:
    """Refuse what is not a JSON object."""
    try:
        return value_text(json.loads(text))
    except (InvalidRequest, RecursionError, json.JSONDecodeError) as error:
        raise ValueError("it is no JSON object that an item may hold") from error


NamespaceText = Annotated[
    str, Field(max_length=3 * MOST_LABELS * (LONGEST_NAME + 1)), AfterValidator(_namespace)
]
ItemName = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_key)]


class ItemLine(ArchiveLine):
    """An item."""

    key: ClassVar = ("namespace", "item_key")
    namespace: NamespaceText
    item_key: ItemName
    value: Annotated[str, Field(max_length=LONGEST_VALUE), AfterValidator(_value)]
    created_at: Micros
    updated_at: Micros
    ttl: Annotated[int, Field(gt=0, le=2**62)] | None
    expires_at: Micros | None

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if (self.ttl is None) != (self.expires_at is None):
            raise ValueError("ttl and expires_at come together")
        return self

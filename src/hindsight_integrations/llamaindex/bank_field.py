"""The bank as a field of LlamaIndex's components: an open one, or the words by which it is found again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from hindsight_integrations import AsyncMemoryBank, BankReference, InvalidRequest, MemoryBank, bank_at
from hindsight_integrations.errors import shown


def open_bank(given: object) -> AsyncMemoryBank:
    """The bank a component was given, in its async face.

    Args:
        given: a bank of either face, or its reference, also as the mapping that JSON has of it.

    Raises:
        InvalidRequest: it is none of these.
        BankNotOpen: no open engine of this process has the directory that a reference means.
        BankNotFound: the directory has no such bank (any more).
    """
    if isinstance(given, MemoryBank):
        return given.asynchronous
    if isinstance(given, AsyncMemoryBank):
        return given
    if isinstance(given, Mapping) and set(given) == {"place", "bank"}:
        given = BankReference(str(given["place"]), str(given["bank"]))
    if isinstance(given, BankReference):
        return bank_at(given)
    raise InvalidRequest(
        "bank", f"{shown(given)} is not a bank", "Pass engine.bank(name), awaited if it is async."
    )


def reference_of(bank: AsyncMemoryBank) -> dict[str, str]:
    """What a serialised component keeps of its bank, as JSON has it."""
    reference = bank.reference
    return {"place": reference.place, "bank": reference.bank}


BankField = Annotated[
    Any,
    PlainValidator(open_bank),
    PlainSerializer(reference_of),
    WithJsonSchema(
        {"type": "object", "properties": {"place": {"type": "string"}, "bank": {"type": "string"}}}
    ),
]
"""A pydantic field that takes either face of a bank or its reference, holds the async face, and is stored as the reference."""

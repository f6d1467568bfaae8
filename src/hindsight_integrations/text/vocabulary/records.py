"""Records in the bank's words: what a model or a caller wrote, as one of the kinds, units and numbers. Pure."""

from __future__ import annotations

from decimal import Decimal

from hindsight_integrations.model.records import Record, RecordKind, canonical_kind
from hindsight_integrations.text.vocabulary.amounts import canonical_amount
from hindsight_integrations.text.vocabulary.units import canonical_unit, purpose

MONEY = frozenset({RecordKind.EXPENSE, RecordKind.INCOME})
_AMOUNTS = MONEY | {RecordKind.QUANTITY, RecordKind.GOAL}
"""Kinds whose text is read as an amount; of others it is words ("7 Samurai")."""


def canonical_record(kind: str, category: str, value: Decimal | str, unit: str) -> Record:
    """The record that somebody's words for it mean; its category is resolved against the bank's when it is stored.

    Args:
        kind: in any spelling; one that nobody knows is OTHER, with the kind as category where none is given.
        category: the finer sort as it was given, may be empty.
        value: a number, or text that may be an amount ("$3.41").
        unit: as it was given, may be empty.
    """
    known, finer = canonical_kind(kind, category)
    finer = finer or " ".join(purpose(unit).split())
    money = known in MONEY
    if known in _AMOUNTS:
        value, unit = canonical_amount(value, unit, money=money)
    else:
        unit = canonical_unit(unit)
    return Record(known, value, finer, unit, stated=finer)


def unit_of(record: Record) -> str:
    """The unit of a record's value in the one spelling, also of records stored before there was one."""
    return canonical_unit(record.unit, money=record.kind in MONEY)

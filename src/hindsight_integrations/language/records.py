"""Normalise records from a model or caller: kind, category, amount and unit.

Amounts look like "$3.41", "3,41 EUR", "1,200 steps" or "8k"; other values remain text.
"""

from __future__ import annotations

import re
from decimal import Decimal

from hindsight_integrations.language.units import (
    LONGEST,
    canonical_unit,
    currency_of,
    is_counted,
    may_be_written,
    physical_symbol,
    purpose,
)
from hindsight_integrations.model.records import Record, RecordKind, canonical_kind

_NUMBER = r"\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)*"
_AMOUNT = re.compile(
    rf"(?P<sign>[-+\u2212]?)\s*(?P<before>[^\d\s.,+\u2212-][^\d.,+\u2212-]*?)?\s*(?P<inner>[-+\u2212]?)\s*"
    rf"(?P<number>{_NUMBER})\s?(?P<scale>(?:k|K|M|m|mn|mio\.?|million)(?![^\W\d_]))?\s*(?P<after>[^\d]*)"
)
_GROUPS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")  # 1,200 and 1,200.50
_INDIAN_GROUPS = re.compile(r"[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d+)?")  # 1,00,000
_DOTTED_GROUPS = re.compile(
    r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}"
)  # 1.200,50 and 1.200.300
_THOUSAND, _MILLION = Decimal(1000), Decimal(1_000_000)


def canonical_amount(value: Decimal | str, unit: str, *, money: bool = False) -> tuple[Decimal | str, str]:
    """Parse a value into a number and a canonical unit; text that is not a single amount is returned unchanged.

    Not parsed: two amounts ("3 USD or 2.80 EUR"), ranges, fractions and approximations ("8-10", "120/80", "~5"), a unit
    that conflicts with `unit`, and a "k" of anything but money or counts ("5k" may be a race).

    Args:
        value: a number or text.
        unit: the unit as written, possibly empty.
        money: whether the value is known to be money.
    """
    given = canonical_unit(unit, money=money)
    if isinstance(value, Decimal) or len(value) > LONGEST:
        return value, given
    found = _AMOUNT.fullmatch(" ".join(value.split(" ")).strip())
    if found is None or (found["sign"] and found["inner"]):
        return value, given
    before, scale, after = (found["before"] or "").strip(), found["scale"] or "", found["after"].strip()
    if scale == "m" and not after and not before and not currency_of(given.partition("/")[0]):
        scale, after = "", "m"  # "m" means metres, unless the value is money
    number, known = read_number(found["number"]), _agreed(_own_unit(before, after, given, money=money), given)
    scaled = None if number is None or known is None else _scaled(number, scale, known)
    if scaled is None or known is None:
        return value, given
    return (-scaled if "-" in f"{found['sign']}{found['inner']}".replace("\u2212", "-") else scaled), known


def read_number(text: str) -> Decimal | None:
    """Parse an unsigned number; None if it is not one.

    A comma before three digits is a thousands separator ("1,200" is 1200) unless the number starts with 0; before any
    other number of digits it is a decimal comma ("3,41"). A point is a decimal point ("1.200" is 1.2) unless a comma or a
    second point follows ("1.200,50", "1.200.300").
    """
    digits = re.sub(r"[ \u00a0\u202f'\u2019]", "", text)
    if _GROUPS.fullmatch(digits) or _INDIAN_GROUPS.fullmatch(digits):
        return Decimal(digits.replace(",", ""))
    if _DOTTED_GROUPS.fullmatch(digits):
        return Decimal(digits.replace(".", "").replace(",", "."))
    plain = digits.replace(",", ".")
    return Decimal(plain) if plain.count(".") <= 1 else None


def _own_unit(before: str, after: str, given: str, *, money: bool) -> str | None:
    """Return the unit written before or after an amount; empty if there is none; None if that text is not a unit."""
    over = given.partition("/")[0]
    ahead = (
        over
        if before and may_be_written(over, before)
        else currency_of(before, money=money)
        if before
        else ""
    )
    if ahead is None or not after:
        return ahead
    unit = over if may_be_written(over, after) else canonical_unit(after, money=money)
    if ahead:
        return f"{ahead}{unit}" if unit.startswith("/") else (ahead if unit == ahead else None)
    known = unit.partition("/")[0]
    return unit if currency_of(known) or physical_symbol(known) or _one_word(after) else None


def _agreed(own: str | None, given: str) -> str | None:
    """Return the common unit, preferring the one with a denominator; None if they conflict."""
    if own is None or not own or not given:
        return None if own is None else own or given
    longer, shorter = (own, given) if len(own) > len(given) else (given, own)
    return longer if longer == shorter or longer.startswith(f"{shorter}/") else None


def _one_word(text: str) -> bool:
    return re.fullmatch(r"[^\W\d_]+(?:(?:/| per | an? )[^\W\d_]+)?", text) is not None


def _scaled(number: Decimal, scale: str, unit: str) -> Decimal | None:
    over = unit.partition("/")[0]
    if not scale:
        return number
    if currency_of(over):
        return number * (_THOUSAND if scale in "kK" else _MILLION)
    return number * _THOUSAND if scale in "kK" and is_counted(over) else None


MONEY = frozenset({RecordKind.EXPENSE, RecordKind.INCOME})
_AMOUNTS = MONEY | {RecordKind.QUANTITY, RecordKind.GOAL}
"""Kinds whose text is parsed as an amount; other kinds keep text ("7 Samurai")."""


def canonical_record(kind: str, category: str, value: Decimal | str, unit: str) -> Record:
    """Build a record from its unnormalised parts; its category is resolved against the bank's when it is stored.

    Args:
        kind: the kind in any spelling; an unknown kind becomes OTHER, and its name is used as the category if `category` is empty.
        category: the category as written, possibly empty.
        value: a number, or text that may be an amount ("$3.41").
        unit: the unit as written, possibly empty.
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
    """Return the canonical unit of a record's value."""
    return canonical_unit(record.unit, money=record.kind in MONEY)

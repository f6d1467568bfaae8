"""Units of records: one spelling for one unit, and how values of one unit are those of another. Pure."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from hindsight_integrations.model.aggregates import WIDE
from hindsight_integrations.model.records import is_plural, plural
from hindsight_integrations.text.vocabulary.currencies import currency_of
from hindsight_integrations.text.vocabulary.physical_units import physical_symbol, size

_BLANK = re.compile(r"\s+")
_ASIDE = re.compile(
    r"\([^()]*\)|\b(?:maximum|max|minimum|at (?:most|least)|or (?:less|more))\b\.?", re.IGNORECASE
)
_PURPOSE = re.compile(r"\s(?:on|for)\s+(?P<purpose>\S.*)$", re.IGNORECASE)
_PERIOD = r"(?:second|minute|hour|day|night|week|month|quarter|year)"
_PER = re.compile(rf"\s*/\s*|(?:^|\s+)(?:per|each|every|an?(?=\s+{_PERIOD}\b))\s+", re.IGNORECASE)
_ADVERBS = {
    "hourly": "h",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annually": "year",
    "annual": "year",
}
_ADVERB = re.compile(
    rf"^(?P<first>{'|'.join(_ADVERBS)})\s+|\s+(?P<last>{'|'.join(_ADVERBS)})$", re.IGNORECASE
)
_COUNTABLE = re.compile(r"[a-z]*[aeiou][a-z]*")
LONGEST = 100  # characters of a unit or an amount that is read; what is longer is prose
_LONGEST_COUNTED = 3  # words of something counted whose last is put in the plural


@lru_cache(maxsize=4096)
def canonical_unit(unit: str, *, money: bool = False) -> str:
    """One spelling for one unit: "USD", "km", "min", "steps", "USD/week", "steps/day"; empty stays empty.

    Money is its ISO 4217 code, a physical unit its symbol; anything else is something counted, in small letters and the
    plural. What a rate is for ("USD/week on coffee"), and whether it is a maximum, is left out. Idempotent.

    Args:
        unit: as written.
        money: it is known to be money, so that "pound" is no weight.
    """
    if len(unit) > LONGEST:
        return unit
    text = _bare(unit)
    if adverb := _ADVERB.search(text):
        period = _ADVERBS[(adverb["first"] or adverb["last"]).lower()]
        return f"{canonical_unit(_ADVERB.sub('', text, count=1), money=money)}/{period}"
    over, per, under = _split(text)
    if per:
        return f"{canonical_unit(over, money=money)}/{_one(under)}"
    return _single(text, money=money)


def purpose(unit: str) -> str:
    """What a unit says it is for: "coffee" of "USD/week on coffee"; empty where it says nothing."""
    found = _PURPOSE.search(_blanks(_ASIDE.sub(" ", unit))) if len(unit) <= LONGEST else None
    return found["purpose"] if found else ""


def is_counted(unit: str) -> bool:
    """Whether a canonical unit is neither money nor physical: something counted, such as steps."""
    return bool(unit) and currency_of(unit) is None and physical_symbol(unit) is None


def same_measure(unit: str) -> str:
    """What values must share to be added: a currency, a dimension, or the unit itself where nothing converts to it.

    Args:
        unit: canonical.
    """
    over, slash, under = unit.partition("/")
    measured = None if currency_of(over) else size(over)
    return f"{measured[0]}{slash}{under}" if measured else unit


def factor(unit: str, wanted: str) -> Fraction:
    """How many of one canonical unit another one is, exactly.

    Raises:
        ValueError: they do not share their measure (`same_measure`).
    """
    if unit == wanted:
        return Fraction(1)
    one, other = size(unit.partition("/")[0]), size(wanted.partition("/")[0])
    if one is None or other is None or one[0] != other[0]:
        raise ValueError(f"{unit!r} is not a number of {wanted!r}")
    return one[1] / other[1]


def _bare(unit: str) -> str:
    """Without asides and what it is for; what then stands at an end may be one again."""
    text = _blanks(_PURPOSE.sub("", _blanks(_ASIDE.sub(" ", unit))))
    return text if text == unit else _bare(text)


def _split(text: str) -> tuple[str, str, str]:
    found = _PER.search(text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _one(text: str) -> str:
    """A denominator: one of it, so nothing counted is put in the plural."""
    text = _blanks(text)
    over, per, under = _split(text)
    if per:
        return f"{_one(over)}/{_one(under)}"
    return currency_of(text) or physical_symbol(text) or _lowered(text)


def _single(text: str, *, money: bool) -> str:
    known = currency_of(text, money=money) or physical_symbol(text)
    if known or not text:
        return known or ""
    words = _lowered(text).split()
    head = words.index("of") - 1 if "of" in words[1:] else len(words) - 1  # glasses of water
    if (
        len(words) <= _LONGEST_COUNTED
        and not any(map(is_plural, words))
        and _COUNTABLE.fullmatch(words[head])
    ):
        words[head] = plural(words[head])
    return " ".join(words)


def _lowered(text: str) -> str:
    """In small letters, but for signs (XP, mmHg) and for a capitalised word that is no English plural: "Schritte"."""
    last = text.rsplit(" ", maxsplit=1)[-1]
    sign = (
        len(text) == 1
        or (text.isupper() and len(text) <= 3)
        or (" " not in text and text[1:] != text[1:].lower())
    )
    if (sign and not is_plural(text.lower())) or (last[:1].isupper() and not is_plural(last.lower())):
        return text
    return text.lower()


def _blanks(text: str) -> str:
    return _BLANK.sub(" ", text).strip(" .,;:")


def converted(value: Decimal, unit: str, wanted: str) -> Decimal:
    """A value in another canonical unit: exact where it has a finite number of digits, else to the 28 of Decimal's context."""
    if unit == wanted:
        return value
    ratio = factor(unit, wanted)
    with localcontext(WIDE):
        return value * ratio.numerator / ratio.denominator

"""Normalise the units of records (currencies, physical units, counts), and convert between units.

Names of currencies and units come from the CLDR (via babel), short forms and definitions from pint, symbols from the SI
brochure and its table of units accepted for use with the SI. Only the units listed here are recognised, so that "points"
are not typographic points, "hands" are not lengths, and "calories", which usually mean kilocalories, are not converted.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.aggregates import WIDE
from hindsight_integrations.model.records import is_plural, plural, singular_key

if TYPE_CHECKING:
    from pint import UnitRegistry


_UNITS = {  # symbols by CLDR name
    "duration-second": "s",
    "duration-minute": "min",
    "duration-hour": "h",
    "duration-day": "day",
    "duration-week": "week",
    "duration-month": "month",
    "duration-year": "year",
    "length-millimeter": "mm",
    "length-centimeter": "cm",
    "length-meter": "m",
    "length-kilometer": "km",
    "length-mile": "mi",
    "length-yard": "yd",
    "length-foot": "ft",
    "length-inch": "in",
    "mass-gram": "g",
    "mass-kilogram": "kg",
    "mass-tonne": "t",
    "volume-milliliter": "ml",
    "volume-liter": "l",
    "volume-cubic-meter": "m³",
    "area-square-meter": "m²",
    "area-square-kilometer": "km²",
    "area-hectare": "ha",
    "energy-kilocalorie": "kcal",
    "energy-kilojoule": "kJ",
    "energy-kilowatt-hour": "kWh",
    "power-watt": "W",
    "power-kilowatt": "kW",
    "digital-megabyte": "MB",
    "digital-gigabyte": "GB",
    "digital-terabyte": "TB",
    "temperature-celsius": "°C",
    "temperature-fahrenheit": "°F",
    "concentr-percent": "%",
}


def _locales() -> list[str]:
    """Return the codes of the language packs that the CLDR knows."""
    from babel.localedata import exists

    return [code for code in LANGUAGES if exists(code)]


@cache
def unit_names() -> Mapping[str, str]:
    """Return the symbols of units by case-folded full name, singular and plural."""
    from babel.units import format_unit

    found: dict[str, str] = {}
    for locale in _locales():
        for unit, symbol in _UNITS.items():
            for number in (1, 2):
                written = format_unit(number, unit, length="long", locale=locale)
                name = " ".join(re.sub(r"\d", "", written).casefold().split())
                found.setdefault(name, symbol)
    return found


@cache
def currency_names() -> Mapping[str, str]:
    """Return ISO 4217 codes by case-folded name, singular and plural; ambiguous names are omitted."""
    named: dict[str, set[str]] = {}
    for name, code in _names():
        named.setdefault(name.casefold(), set()).add(code)
    return {name: codes.pop() for name, codes in named.items() if len(codes) == 1}


def _names() -> Iterator[tuple[str, str]]:
    from babel.numbers import get_currency_name

    for locale in _locales():
        for code in currency_codes():
            for count in (None, 1, 2):
                name = get_currency_name(code, count=count, locale=locale)
                if name != code:
                    yield name, code


@cache
def currency_codes() -> frozenset[str]:
    """Return all ISO 4217 codes, including past currencies, without metals, funds and test codes."""
    from babel.numbers import list_currencies

    funds = {code for code in list_currencies() if code.startswith("X")} - {"XAF", "XCD", "XOF", "XPF"}
    return frozenset(list_currencies()) - funds


@cache
def currency_symbols() -> Mapping[str, str]:
    """Return ISO 4217 codes by English symbol: "$" is the US dollar, "CA$" the Canadian dollar."""
    from babel import Locale

    symbols = Locale.parse("en").currency_symbols
    return {symbol: code for code, symbol in symbols.items() if symbol != code and code in currency_codes()}


def currency_of_country(country: str) -> str | None:
    """Return the ISO 4217 code of an ISO 3166 country's currency, or None."""
    from babel.numbers import get_territory_currencies

    found = get_territory_currencies(country) if country.isascii() else []
    return str(found[0]) if found else None


_BARE = {  # names without a country, with the most common currency; "peso" and "franc" are too ambiguous
    "dollar": "USD",
    "dólar": "USD",
    "buck": "USD",
    "yen": "JPY",
    "yuan": "CNY",
    "rupee": "INR",
}
_BARE_MONEY = {
    "pound": "GBP",
    "quid": "GBP",
    "sterling": "GBP",
    "pound sterling": "GBP",
    "libra": "GBP",
    "pfund": "GBP",
}
"""Names that also denote weights; used only for known money."""
_OF_COUNTRY = re.compile(r"([A-Z]{2})\$")


def currency_of(name: str, *, money: bool = False) -> str | None:
    """Return the ISO 4217 code of a currency, or None.

    "$" is the US dollar. Codes must be in capitals; in lower case only common ones count ("usd"), since others are words
    ("all", "cup", "pen", "try").

    Args:
        name: symbol, code or name in a language with a language pack.
        money: whether it is known to be money; any lower-case code and "pound" then count too.
    """
    if name in currency_codes():
        return name
    if found := currency_symbols().get(name):
        return found
    if dollar := _OF_COUNTRY.fullmatch(name):
        return currency_of_country(dollar[1])
    code, folded = name.upper(), name.casefold()
    if code in currency_codes() and (money or code in currency_symbols().values()):
        return code
    return (
        currency_names().get(folded)
        or _BARE.get(singular_key(folded))
        or (_BARE_MONEY.get(singular_key(folded)) if money else None)
    )


def may_be_written(code: str, sign: str) -> bool:
    """Return whether a bare sign may denote this currency: Canadians write "$" for Canadian dollars.

    Args:
        code: ISO 4217 code.
        sign: the sign as written.
    """
    own = next((symbol for symbol, known in currency_symbols().items() if known == code), "")
    return sign in currency_symbols() and own.endswith(sign)


_PREFIXES = {"": "", "nano": "n", "micro": "µ", "milli": "m", "centi": "c", "deci": "d", "kilo": "k"}
_PREFIXES |= {"mega": "M", "giga": "G", "tera": "T", "peta": "P"}
_ROOTS = {  # (symbol, symbols of allowed prefixes) by pint's name
    "second": ("s", "nµm"),
    "minute": ("min", ""),
    "hour": ("h", ""),
    "day": ("day", ""),
    "week": ("week", ""),
    "month": ("month", ""),
    "year": ("year", ""),
    "meter": ("m", "nµmcdk"),
    "mile": ("mi", ""),
    "yard": ("yd", ""),
    "foot": ("ft", ""),
    "inch": ("in", ""),
    "gram": ("g", "nµmk"),
    "metric_ton": ("t", ""),
    "pound": ("lb", ""),
    "ounce": ("oz", ""),
    "liter": ("l", "µmcd"),
    "hectare": ("ha", ""),
    "joule": ("J", "kM"),
    "calorie": ("cal", "k"),
    "watt_hour": ("Wh", "kMG"),
    "watt": ("W", "mkMG"),
    "volt": ("V", "mk"),
    "ampere": ("A", "m"),
    "hertz": ("Hz", "kMG"),
    "byte": ("B", "kMGTP"),
    "degree_Celsius": ("°C", ""),
    "degree_Fahrenheit": ("°F", ""),
    "percent": ("%", ""),
    "mile_per_hour": ("mi/h", ""),
    "kilometer_per_hour": ("km/h", ""),
}
_WITHOUT_SIZE = frozenset({"degree_Celsius", "degree_Fahrenheit", "percent"})
"""Units that are never converted, because the zero of a temperature scale is arbitrary."""
_NEVER_BARE = frozenset({"calorie"})  # usually means kilocalorie
_NO_SYMBOLS = frozenset({"a"})  # the SI symbol of the year, but also an English word
_CALENDAR = {"month": 1, "year": 12}  # in months, because a month is not a fixed number of days
_POWER = re.compile(r"(m|dm|cm|mm|km)(?:\^?([23])|([²³]))")
_SUPERSCRIPTS = {"2": "²", "3": "³", "²": "²", "³": "³"}
_EXPONENTS = {"²": 2, "³": 3}

_lock = threading.Lock()


@cache
def _registry() -> UnitRegistry[Fraction]:
    from pint import UnitRegistry

    return UnitRegistry(non_int_type=Fraction)


@lru_cache(maxsize=4096)
def physical_symbol(name: str) -> str | None:
    """Return the symbol of a physical unit (SI, "min", "h", "l", "mi", "lb", "day", "week", "month", "year", ...), or None.

    Args:
        name: a full name in a language with a language pack, an English short form, or a symbol. Case matters only if two
            units differ by case alone.
    """
    if power := _POWER.fullmatch(name):
        return power[1] + _SUPERSCRIPTS[power[2] or power[3]]
    if found := unit_names().get(name.casefold()):
        return found
    if name in _NO_SYMBOLS or not re.fullmatch(r"[^\W\d_]+|°\w+|%", name):
        return None
    spellings = dict.fromkeys(
        (name, name.lower(), name.lower().removesuffix("s")) if len(name) > 1 else (name,)
    )
    return next(filter(None, map(_parsed, spellings)), None)


def _parsed(name: str) -> str | None:
    with _lock:
        readings = _registry().parse_unit_name(name) if name else ()
    for prefix, root, _ in readings:
        symbol, allowed = _ROOTS.get(root, ("", ""))
        bare = not prefix and root not in _NEVER_BARE
        if symbol and (bare or (prefix in _PREFIXES and prefix and _PREFIXES[prefix] in allowed)):
            return _PREFIXES[prefix] + symbol
    return None


@lru_cache(maxsize=256)
def size(symbol: str) -> tuple[str, Fraction] | None:
    """Return a unit's dimension and its exact size in base units; None if it cannot be converted.

    Args:
        symbol: a symbol returned by `physical_symbol`.
    """
    if symbol in _CALENDAR:
        return "months", Fraction(_CALENDAR[symbol])
    if (power := _EXPONENTS.get(symbol[-1:])) and (one := size(symbol[:-1])):
        return f"[length]{power}", one[1] ** power
    name = _pint_names().get(symbol)
    if name is None:
        return None
    with _lock:
        registry = _registry()
        base = registry.Quantity(Fraction(1), name).to_base_units()
        measured = "".join(f"{dimension}{power}" for dimension, power in sorted(base.dimensionality.items()))
    return measured or str(base.units), Fraction(base.magnitude)


@cache
def _pint_names() -> dict[str, str]:
    """Return pint's names of the convertible units by symbol."""
    found = {}
    for root, (symbol, allowed) in _ROOTS.items():
        if root in _WITHOUT_SIZE or root in _CALENDAR or "/" in symbol:
            continue
        for prefix, letter in _PREFIXES.items():
            if letter in allowed:
                found[letter + symbol] = prefix + root
    return found


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
LONGEST = 100  # maximum number of characters of a unit or an amount
_LONGEST_COUNTED = 3  # maximum number of words of a counted thing that is converted to the plural


@lru_cache(maxsize=4096)
def canonical_unit(unit: str, *, money: bool = False) -> str:
    """Return the canonical spelling of a unit: "USD", "km", "min", "steps", "USD/week", "steps/day"; empty stays empty.

    Money becomes its ISO 4217 code, a physical unit its symbol, and anything else a count in lower-case plural. A rate's
    purpose ("USD/week on coffee") and words such as "maximum" are dropped. Idempotent.

    Args:
        unit: the unit as written.
        money: whether it is known to be money, so that "pound" is not a weight.
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
    """Return a unit's purpose: "coffee" in "USD/week on coffee"; empty if there is none."""
    found = _PURPOSE.search(_blanks(_ASIDE.sub(" ", unit))) if len(unit) <= LONGEST else None
    return found["purpose"] if found else ""


def is_counted(unit: str) -> bool:
    """Return whether a canonical unit is a count, such as steps: neither money nor physical."""
    return bool(unit) and currency_of(unit) is None and physical_symbol(unit) is None


def same_measure(unit: str) -> str:
    """Return the key that is equal for units whose values can be summed: a currency, a dimension, or the unit itself.

    Args:
        unit: a canonical unit.
    """
    over, slash, under = unit.partition("/")
    measured = None if currency_of(over) else size(over)
    return f"{measured[0]}{slash}{under}" if measured else unit


def factor(unit: str, wanted: str) -> Fraction:
    """Return the exact factor from one canonical unit to another.

    Raises:
        ValueError: the units have different measures (`same_measure`).
    """
    if unit == wanted:
        return Fraction(1)
    one, other = size(unit.partition("/")[0]), size(wanted.partition("/")[0])
    if one is None or other is None or one[0] != other[0]:
        raise ValueError(f"{unit!r} does not convert to {wanted!r}")
    return one[1] / other[1]


def _bare(unit: str) -> str:
    """Remove all qualifiers ("max.", parentheses) and purposes ("on coffee") from a unit."""
    text = _blanks(_PURPOSE.sub("", _blanks(_ASIDE.sub(" ", unit))))
    return text if text == unit else _bare(text)


def _split(text: str) -> tuple[str, str, str]:
    found = _PER.search(text)
    return (text[: found.start()], found[0], text[found.end() :]) if found else (text, "", "")


def _one(text: str) -> str:
    """Return the canonical form of a rate's denominator, in the singular."""
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
    """Convert a unit to lower case, unless it is a symbol (mmHg) or a capitalised word other than an English plural."""
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
    """Convert a value to another canonical unit; exact if the result has finitely many digits, else with 28 digits."""
    if unit == wanted:
        return value
    ratio = factor(unit, wanted)
    with localcontext(WIDE):
        return value * ratio.numerator / ratio.denominator

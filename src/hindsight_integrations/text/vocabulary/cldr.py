"""Names of currencies and of units in English, German and Spanish, from the CLDR as babel ships it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

LOCALES = ("en", "de", "es")

_UNITS = {  # CLDR's unit -> symbol
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


@cache
def unit_names() -> Mapping[str, str]:
    """Symbol by case-folded name in full, singular and plural."""
    from babel.units import format_unit

    found: dict[str, str] = {}
    for locale in LOCALES:
        for unit, symbol in _UNITS.items():
            for number in (1, 2):
                written = format_unit(number, unit, length="long", locale=locale)
                name = " ".join(re.sub(r"\d", "", written).casefold().split())
                found.setdefault(name, symbol)
    return found


@cache
def currency_names() -> Mapping[str, str]:
    """ISO 4217 code by case-folded name, singular and plural; a name of two currencies is none."""
    named: dict[str, set[str]] = {}
    for name, code in _names():
        named.setdefault(name.casefold(), set()).add(code)
    return {name: codes.pop() for name, codes in named.items() if len(codes) == 1}


def _names() -> Iterator[tuple[str, str]]:
    from babel.numbers import get_currency_name

    for locale in LOCALES:
        for code in currency_codes():
            for count in (None, 1, 2):
                name = get_currency_name(code, count=count, locale=locale)
                if name != code:
                    yield name, code


@cache
def currency_codes() -> frozenset[str]:
    """Every ISO 4217 code, of past currencies too; not those of metals, funds and tests."""
    from babel.numbers import list_currencies

    funds = {code for code in list_currencies() if code.startswith("X")} - {"XAF", "XCD", "XOF", "XPF"}
    return frozenset(list_currencies()) - funds


@cache
def currency_symbols() -> Mapping[str, str]:
    """ISO 4217 code by the symbol English writes for it: "$" is the US dollar, "CA$" the Canadian one."""
    from babel import Locale

    symbols = Locale.parse("en").currency_symbols
    return {symbol: code for code, symbol in symbols.items() if symbol != code and code in currency_codes()}


def currency_of_country(country: str) -> str | None:
    """ISO 4217 code of the money of an ISO 3166 country; None where that is unknown."""
    from babel.numbers import get_territory_currencies

    found = get_territory_currencies(country) if country.isascii() else []
    return str(found[0]) if found else None

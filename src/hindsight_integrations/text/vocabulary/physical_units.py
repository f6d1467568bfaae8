"""Units of time, length, mass and the like: their symbols, and what one is in terms of another.

Names and definitions are pint's, and in full the CLDR's; symbols are those of the SI brochure and its table of units
accepted with the SI. Which units are read at all is said here, so that "points" are no
typographic points, "hands" no lengths and "calories", which are mostly thousands of them, are not converted.
"""

from __future__ import annotations

import re
import threading
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from hindsight_integrations.text.vocabulary.cldr import unit_names

if TYPE_CHECKING:
    from pint import UnitRegistry

_PREFIXES = {"": "", "nano": "n", "micro": "µ", "milli": "m", "centi": "c", "deci": "d", "kilo": "k"}
_PREFIXES |= {"mega": "M", "giga": "G", "tera": "T", "peta": "P"}
_ROOTS = {  # pint's unit -> (symbol, symbols of the prefixes it is read with)
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
"""Equal to themselves alone: a temperature has no zero to add from."""
_NEVER_BARE = frozenset({"calorie"})  # of food it means a kilocalorie
_NO_SYMBOLS = frozenset({"a"})  # a word, though SI's sign of the year
_CALENDAR = {"month": 1, "year": 12}  # a month is no number of days
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
    """The symbol of a unit: SI's, "min", "h", "l", "mi", "lb" and the like, "day", "week", "month", "year"; else None.

    Args:
        name: a name in full in English, German or Spanish, an English short form, or a symbol. Case counts only where two
            units differ by it alone.
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
    """What is measured, and how much of it one of a unit is, exactly; None where units like it cannot be converted.

    Args:
        symbol: as `physical_symbol` gives it.
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
    """Pint's name by our symbol, of units that can be converted."""
    found = {}
    for root, (symbol, allowed) in _ROOTS.items():
        if root in _WITHOUT_SIZE or root in _CALENDAR or "/" in symbol:
            continue
        for prefix, letter in _PREFIXES.items():
            if letter in allowed:
                found[letter + symbol] = prefix + root
    return found

"""How a rule's pattern becomes a regular expression: named fragments, flexible blanks, careful borders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from hindsight_integrations.text.time_expressions.words import NEVER, Words

YEAR = "(?:1[5-9]|20|21)[0-9]{2}"
_DOT = r"(?:\.(?= ?['0-9]|,))?"  # of an abbreviation, not of a sentence


def any_of(words: Iterable[str]) -> str:
    """A pattern of several words, the longest first."""
    found = sorted(words, key=len, reverse=True)
    return "|".join(map(re.escape, found)).replace(r"\ ", " ").replace(r"\-", "-") if found else NEVER


def fragments(words: Words) -> dict[str, str]:
    """The named fragments that a language's patterns are made of."""
    number = rf"[0-9]{{1,3}}(?:[{words.thousands}][0-9]{{3}})+|[0-9]{{1,6}}|{any_of(words.numbers)}"
    day = rf"[0-9]{{1,2}}(?:{words.day_suffix})?|{any_of(words.day_numbers)}"
    return {
        "month": rf"(?:{any_of(words.months)})(?![^\W0-9_]){_DOT}",
        "clear_month": any_of(words.clear_months),
        "weekday": rf"(?:{any_of(words.weekdays)})\b{_DOT}",
        "clear_weekday": any_of(words.clear_weekdays),
        "unit": rf"(?:{any_of(words.units)})\b{_DOT}",
        "short_unit": any_of(words.short_units),
        "number": number,
        "amount": rf"{words.amount}|{number}",
        "which": any_of(words.which),
        "season": any_of(words.seasons),
        "ordinal": any_of(words.ordinals),
        "portion": any_of(words.portions),
        "day_part": any_of(words.day_parts),
        "decade_word": any_of(words.decades),
        "near": any_of(words.near),
        "near_part": any_of(words.near_parts),
        "part_name": any_of(words.part_names),
        "century": any_of(words.centuries),
        "piece": any_of(words.pieces),
        "holiday": any_of(words.holidays),
        "year": YEAR,
        "day": day,
        "tail": f"(?:{words.tail})?",
    }


_PLACEHOLDER = re.compile(r"\{([a-z_]+)(2?)\}")
_AFTER = r"(?!\w|%|[.,:/-][0-9])"  # a number that goes on is another number
TIME = "{time}"


def compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """The regular expression of a rule's pattern.

    `{name}` is a captured fragment (`{name2}` a second one), a blank any white space, and `{time}` at the end says
    that another time phrase must begin there; the rule reads it itself.

    Raises:
        KeyError: if a placeholder names no fragment.
    """
    after = "(?=[\\w'])" if pattern.endswith(TIME) else _AFTER
    filled = _PLACEHOLDER.sub(
        lambda found: f"(?P<{found[1]}{found[2]}>{parts[found[1]]})", pattern.removesuffix(TIME)
    )
    flexible = re.sub(r" ([?*])", r"\\s\1", filled).replace(" ", r"\s+")
    return re.compile(f"(?:{flexible}){after}", re.IGNORECASE)


@cache
def regex(pattern: str, *, exact: bool = False) -> re.Pattern[str]:
    """A pattern of a language's tables, compiled once; `exact` minds capitals."""
    return re.compile(pattern, 0 if exact else re.IGNORECASE)


def word(text: str) -> str:
    """A matched word as the tables spell it: small, one blank between parts, no full stop."""
    return " ".join(text.lower().split()).rstrip(".")


_FOLDED = str.maketrans(
    "\u2019\u2018\u02bc\u2013\u2014\u2212\u2011\u2010\u017f\u212a\u0130\u0131\u00a0", "'''-----skii "
)


def folded(text: str) -> str:
    """The text with typographic quotes, dashes and look-alike letters made plain; offsets stay the same."""
    return text.translate(_FOLDED)

"""How a rule's pattern becomes a regular expression: named fragments, flexible blanks, careful borders."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hindsight_integrations.tempr.time_expressions import english


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_NUMBER = rf"[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{1,6}}|{_any(english.NUMBERS)}"
_YEAR = "(?:1[5-9]|20|21)[0-9]{2}"
_DOT = r"(?:\.(?= ['0-9]|,))?"  # of an abbreviation, not of a sentence
_WHICH = _any(english.WHICH)
FRAGMENTS = {
    "month": rf"(?:{_any(english.MONTHS)})\b{_DOT}",
    "clear_month": _any(english.CLEAR_MONTHS),
    "weekday": rf"(?:{_any(english.WEEKDAYS)})\b{_DOT}",
    "clear_weekday": _any(english.CLEAR_WEEKDAYS),
    "unit": _any(english.UNITS),
    "amount": rf"(?:a |the )?(?:couple|few|several)(?: of)?|{_NUMBER}",
    "number": _NUMBER,
    "which": _WHICH,
    "season": _any(english.SEASONS),
    "ordinal": _any(english.ORDINALS),
    "portion": _any(english.PORTIONS),
    "day_part": _any(english.DAY_PARTS),
    "decade_word": _any(english.DECADE_WORDS),
    "year": _YEAR,
    "day": "[0-3]?[0-9]",
    "nth": "(?:st|nd|rd|th)?",
    # A year behind a month, season or holiday: "2023", ", 2023", "of 2023", "'23", "last year", "of next year".
    "tail": rf"(?:,? (?:of |in the year )?{_YEAR}|,{_YEAR}|,? (?:of )?'[0-9]{{2}}|,? (?:of )?(?:last|this|next|the current) year)?",
}

_PLACEHOLDER = re.compile(r"\{([a-z_]+)(2?)\}")
_AFTER = r"(?!\w|%|[.,:/-][0-9])"  # a number that goes on is another number
_TIME = "{time}"


def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a rule's pattern.

    `{name}` is a captured fragment (`{name2}` a second one), a blank any white space, and `{time}` at the end says
    that another time phrase must begin there; the rule reads it itself.

    Raises:
        KeyError: if a placeholder names no fragment.
    """
    after = "(?=[\\w'])" if pattern.endswith(_TIME) else _AFTER
    filled = _PLACEHOLDER.sub(
        lambda found: f"(?P<{found[1]}{found[2]}>{FRAGMENTS[found[1]]})", pattern.removesuffix(_TIME)
    )
    flexible = re.sub(r" ([?*])", r"\\s\1", filled).replace(" ", r"\s+")
    return re.compile(f"(?:{flexible}){after}", re.IGNORECASE)


def word(text: str) -> str:
    """A matched word as the tables spell it: small, one blank between parts, no full stop."""
    return " ".join(text.lower().split()).rstrip(".")


_FOLDED = str.maketrans("\u2019\u2018\u2013\u2014\u2212\u017f\u212a\u0130\u0131\u00a0", "''- -skii ")


def folded(text: str) -> str:
    """The text with typographic quotes, dashes and look-alike letters made plain; offsets stay the same."""
    return text.translate(_FOLDED)

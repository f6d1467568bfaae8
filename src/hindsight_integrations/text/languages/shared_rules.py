"""Patterns and tables of time that are the same in several languages; each adds the words around them."""

from __future__ import annotations

END = r"(?=\s*(?:$|[?.!,;:)]))"  # of a clause
ANY_YEAR = "(?P<year>1[0-9]{3}|20[0-9]{2})"  # behind "in", which needs a year less near
DECADE = "(?P<decade>(?:1[5-9]|20)[0-9]0)"

ISO_DAY = (
    r"{year}(?P<mark>[-/.])(?P<m>[01]?[0-9])(?P=mark)(?P<d>[0-9]{1,2})"
    r"(?:(?:T| )[0-2]?[0-9]:[0-5][0-9](?::[0-9.]+)?Z?)?"
)
ISO_MONTH = r"{year}[-/](?P<m>[0-9]{2})"
ISO_WEEK = r"{year}-?(?-i:W)(?P<number>[0-9]{2})(?:-[1-7])?"
DAY_DOT_MONTH = r"(?P<d>[0-9]{1,2})\.(?P<m>[0-9]{1,2})\."
DAY_DOT_BLANK_MONTH = r"(?P<d>[0-9]{1,2})\.\s?(?P<m>[0-9]{1,2})\."
WINTER_YEARS = "{year} ?[/-] ?(?:20)?[0-9]{2}"
SHORT_WINTER_YEARS = "'?(?P<y>[0-9]{2})/'?[0-9]{2}"

EARLY, MID, LATE = (0, 1, 3), (1, 2, 3), (2, 3, 3)  # thirds of a time: first and last, of how many


def not_after(words: str) -> str:
    """A pattern that refuses a phrase behind any of these words, which blanks part."""
    return "".join(rf"(?<!\b{word}\x20)" for word in words.split())

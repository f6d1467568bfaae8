"""Holidays by their English names. Add one by adding a row; spellings with and without apostrophes follow."""

from __future__ import annotations

from hindsight_integrations.text.time_expressions.calendar import MONDAY, SUNDAY, easter
from hindsight_integrations.text.time_expressions.meanings.holidays import (
    THANKSGIVING,
    fixed,
    moved,
    named,
    nth,
)

_NAMES = named(
    (fixed(12, 31), "new year's eve, nye"),
    (fixed(1, 1), "new year's day, new year's, new year"),
    (nth(1, MONDAY, 3), "martin luther king day, martin luther king jr. day, mlk day, mlk"),
    (fixed(2, 14), "valentine's day, valentine's"),
    (nth(2, MONDAY, 3), "presidents' day, president's day"),
    (fixed(3, 17), "st patrick's day, st paddy's day"),
    (fixed(4, 1), "april fools' day, april fool's day"),
    (moved(easter, -47), "mardi gras, shrove tuesday"),
    (moved(easter, -46), "ash wednesday"),
    (moved(easter, -7), "palm sunday"),
    (moved(easter, -3), "maundy thursday"),
    (moved(easter, -2), "good friday"),
    (easter, "easter sunday, easter day, easter"),
    (moved(easter, 1), "easter monday"),
    (moved(easter, 39), "ascension day"),
    (moved(easter, 49), "pentecost"),
    (moved(easter, 50), "whit monday"),
    (fixed(4, 22), "earth day"),
    (fixed(5, 1), "may day"),
    (fixed(5, 5), "cinco de mayo"),
    (nth(5, SUNDAY, 2), "mother's day"),
    (nth(5, MONDAY, -1), "memorial day"),
    (nth(6, SUNDAY, 3), "father's day"),
    (fixed(6, 19), "juneteenth"),
    (fixed(7, 1), "canada day"),
    (fixed(7, 4), "independence day, fourth of july, 4th of july, july 4th, july 4"),
    (fixed(7, 14), "bastille day"),
    (nth(9, MONDAY, 1), "labor day, labour day"),
    (nth(10, MONDAY, 2), "columbus day, indigenous people's day"),
    (fixed(10, 31), "halloween"),
    (fixed(11, 5), "guy fawkes night, bonfire night"),
    (fixed(11, 11), "veteran's day, remembrance day"),
    (THANKSGIVING, "thanksgiving day, thanksgiving"),
    (moved(THANKSGIVING, 1), "black friday"),
    (moved(THANKSGIVING, 4), "cyber monday"),
    (fixed(12, 24), "christmas eve"),
    (fixed(12, 25), "christmas day, christmas"),
    (fixed(12, 26), "boxing day"),
)  # fmt: skip


def _spellings(name: str) -> set[str]:
    """A name with and without its apostrophe, and with what may stand for one of its words."""
    names = {name, name.replace("'", ""), name.replace("'s", "s'"), name.replace("s'", "s")}
    for long, short in (("christmas", "xmas"), ("st ", "st. "), ("st ", "saint "), ("jr. ", "")):
        names |= {other.replace(long, short) for other in names if other.startswith(long) or long == "jr. "}
    return names


HOLIDAYS = {spelling: day for name, day in _NAMES.items() for spelling in _spellings(name)}

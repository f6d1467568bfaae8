"""Holidays by their German names. Add one by adding a row; spellings without umlauts follow."""

from __future__ import annotations

from hindsight_integrations.text.languages.de.spelling import spelled
from hindsight_integrations.text.time_expressions.calendar import (
    SUNDAY,
    Span,
    day_span,
    easter,
    weekday_before,
)
from hindsight_integrations.text.time_expressions.meanings.holidays import (
    THANKSGIVING,
    fixed,
    moved,
    named,
    nth,
)


def _last_advent(year: int) -> Span:
    """The fourth Sunday of Advent, the last before Christmas Day."""
    return weekday_before(day_span(year, 12, 25).start, SUNDAY)


_NAMES = named(
    (fixed(1, 1), "neujahr, neujahrstag"),
    (fixed(1, 6), "dreikönigstag, heilige drei könige"),
    (fixed(2, 14), "valentinstag"),
    (moved(easter, -52), "weiberfastnacht"),
    (moved(easter, -48), "rosenmontag"),
    (moved(easter, -47), "faschingsdienstag, fastnacht"),
    (moved(easter, -46), "aschermittwoch"),
    (fixed(3, 8), "weltfrauentag, frauentag"),
    (moved(easter, -7), "palmsonntag"),
    (moved(easter, -3), "gründonnerstag"),
    (moved(easter, -2), "karfreitag"),
    (moved(easter, -1), "karsamstag, ostersamstag"),
    (easter, "ostern, oster, ostersonntag"),
    (moved(easter, 1), "ostermontag"),
    (fixed(4, 30), "walpurgisnacht"),
    (fixed(5, 1), "tag der arbeit, maifeiertag"),
    (nth(5, SUNDAY, 2), "muttertag"),
    (moved(easter, 39), "christi himmelfahrt, himmelfahrt, vatertag"),
    (moved(easter, 49), "pfingsten, pfingst, pfingstsonntag"),
    (moved(easter, 50), "pfingstmontag"),
    (moved(easter, 60), "fronleichnam"),
    (fixed(8, 15), "mariä himmelfahrt"),
    (fixed(10, 3), "tag der deutschen einheit"),
    (nth(10, SUNDAY, 1), "erntedank, erntedankfest"),
    (fixed(10, 31), "reformationstag, halloween"),
    (fixed(11, 1), "allerheiligen"),
    (fixed(11, 2), "allerseelen"),
    (fixed(11, 11), "martinstag, sankt martin"),
    (moved(_last_advent, -32), "buß- und bettag"),
    (moved(_last_advent, -35), "volkstrauertag"),
    (moved(_last_advent, -28), "totensonntag"),
    (moved(_last_advent, -21), "ersten advent, 1. advent"),
    (moved(_last_advent, -14), "zweiten advent, 2. advent"),
    (moved(_last_advent, -7), "dritten advent, 3. advent"),
    (_last_advent, "vierten advent, 4. advent"),
    (THANKSGIVING, "thanksgiving"),
    (moved(THANKSGIVING, 1), "black friday"),
    (moved(THANKSGIVING, 4), "cyber monday"),
    (fixed(12, 6), "nikolaus, nikolaustag"),
    (fixed(12, 24), "heiligabend, heilig abend, heiligen abend"),
    (fixed(12, 25), "weihnachten, weihnachts, weihnachtstag"),
    (fixed(12, 26), "stephanstag, stefanitag"),
    (fixed(12, 31), "silvester, silvesterabend, jahreswechsel"),
)  # fmt: skip
for _first, _second in (("1.", "2."), ("ersten", "zweiten"), ("erster", "zweiter"), ("erste", "zweite")):
    for _day in ("weihnachtstag", "weihnachtsfeiertag", "feiertag"):
        _NAMES |= {f"{_first} {_day}": fixed(12, 25), f"{_second} {_day}": fixed(12, 26)}

HOLIDAYS = spelled(_NAMES)

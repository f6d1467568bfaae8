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
from hindsight_integrations.text.time_expressions.meanings.holidays import THANKSGIVING, fixed, moved, nth
from hindsight_integrations.text.time_expressions.words import YearlyTime


def _last_advent(year: int) -> Span:
    """The fourth Sunday of Advent, the last before Christmas Day."""
    return weekday_before(day_span(year, 12, 25).start, SUNDAY)


_NAMES: dict[str, YearlyTime] = {
    "neujahr": fixed(1, 1),
    "neujahrstag": fixed(1, 1),
    "dreikönigstag": fixed(1, 6),
    "heilige drei könige": fixed(1, 6),
    "valentinstag": fixed(2, 14),
    "weiberfastnacht": moved(easter, -52),
    "rosenmontag": moved(easter, -48),
    "faschingsdienstag": moved(easter, -47),
    "fastnacht": moved(easter, -47),
    "aschermittwoch": moved(easter, -46),
    "weltfrauentag": fixed(3, 8),
    "frauentag": fixed(3, 8),
    "palmsonntag": moved(easter, -7),
    "gründonnerstag": moved(easter, -3),
    "karfreitag": moved(easter, -2),
    "karsamstag": moved(easter, -1),
    "ostersamstag": moved(easter, -1),
    "ostern": easter,
    "oster": easter,
    "ostersonntag": easter,
    "ostermontag": moved(easter, 1),
    "walpurgisnacht": fixed(4, 30),
    "tag der arbeit": fixed(5, 1),
    "maifeiertag": fixed(5, 1),
    "muttertag": nth(5, SUNDAY, 2),
    "christi himmelfahrt": moved(easter, 39),
    "himmelfahrt": moved(easter, 39),
    "vatertag": moved(easter, 39),
    "pfingsten": moved(easter, 49),
    "pfingst": moved(easter, 49),
    "pfingstsonntag": moved(easter, 49),
    "pfingstmontag": moved(easter, 50),
    "fronleichnam": moved(easter, 60),
    "mariä himmelfahrt": fixed(8, 15),
    "tag der deutschen einheit": fixed(10, 3),
    "erntedank": nth(10, SUNDAY, 1),
    "erntedankfest": nth(10, SUNDAY, 1),
    "reformationstag": fixed(10, 31),
    "halloween": fixed(10, 31),
    "allerheiligen": fixed(11, 1),
    "allerseelen": fixed(11, 2),
    "martinstag": fixed(11, 11),
    "sankt martin": fixed(11, 11),
    "buß- und bettag": moved(_last_advent, -32),
    "volkstrauertag": moved(_last_advent, -35),
    "totensonntag": moved(_last_advent, -28),
    "ersten advent": moved(_last_advent, -21),
    "1. advent": moved(_last_advent, -21),
    "zweiten advent": moved(_last_advent, -14),
    "2. advent": moved(_last_advent, -14),
    "dritten advent": moved(_last_advent, -7),
    "3. advent": moved(_last_advent, -7),
    "vierten advent": _last_advent,
    "4. advent": _last_advent,
    "thanksgiving": THANKSGIVING,
    "black friday": moved(THANKSGIVING, 1),
    "cyber monday": moved(THANKSGIVING, 4),
    "nikolaus": fixed(12, 6),
    "nikolaustag": fixed(12, 6),
    "heiligabend": fixed(12, 24),
    "heilig abend": fixed(12, 24),
    "heiligen abend": fixed(12, 24),
    "weihnachten": fixed(12, 25),
    "weihnachts": fixed(12, 25),
    "weihnachtstag": fixed(12, 25),
    "stephanstag": fixed(12, 26),
    "stefanitag": fixed(12, 26),
    "silvester": fixed(12, 31),
    "silvesterabend": fixed(12, 31),
    "jahreswechsel": fixed(12, 31),
}
for _first, _second in (("1.", "2."), ("ersten", "zweiten"), ("erster", "zweiter"), ("erste", "zweite")):
    for _day in ("weihnachtstag", "weihnachtsfeiertag", "feiertag"):
        _NAMES |= {f"{_first} {_day}": fixed(12, 25), f"{_second} {_day}": fixed(12, 26)}

HOLIDAYS = spelled(_NAMES)

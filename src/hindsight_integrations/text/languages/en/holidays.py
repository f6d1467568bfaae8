"""Holidays by their English names. Add one by adding a row; spellings with and without apostrophes follow."""

from __future__ import annotations

from hindsight_integrations.text.time_expressions.calendar import MONDAY, SUNDAY, easter
from hindsight_integrations.text.time_expressions.meanings.holidays import THANKSGIVING, fixed, moved, nth
from hindsight_integrations.text.time_expressions.words import YearlyTime

_NAMES: dict[str, YearlyTime] = {
    "new year's eve": fixed(12, 31),
    "new year's day": fixed(1, 1),
    "new year's": fixed(1, 1),
    "new year": fixed(1, 1),
    "nye": fixed(12, 31),
    "martin luther king day": nth(1, MONDAY, 3),
    "martin luther king jr. day": nth(1, MONDAY, 3),
    "mlk day": nth(1, MONDAY, 3),
    "mlk": nth(1, MONDAY, 3),
    "valentine's day": fixed(2, 14),
    "valentine's": fixed(2, 14),
    "presidents' day": nth(2, MONDAY, 3),
    "president's day": nth(2, MONDAY, 3),
    "st patrick's day": fixed(3, 17),
    "st paddy's day": fixed(3, 17),
    "april fools' day": fixed(4, 1),
    "april fool's day": fixed(4, 1),
    "mardi gras": moved(easter, -47),
    "shrove tuesday": moved(easter, -47),
    "ash wednesday": moved(easter, -46),
    "palm sunday": moved(easter, -7),
    "maundy thursday": moved(easter, -3),
    "good friday": moved(easter, -2),
    "easter sunday": easter,
    "easter day": easter,
    "easter monday": moved(easter, 1),
    "easter": easter,
    "ascension day": moved(easter, 39),
    "pentecost": moved(easter, 49),
    "whit monday": moved(easter, 50),
    "earth day": fixed(4, 22),
    "may day": fixed(5, 1),
    "cinco de mayo": fixed(5, 5),
    "mother's day": nth(5, SUNDAY, 2),
    "memorial day": nth(5, MONDAY, -1),
    "father's day": nth(6, SUNDAY, 3),
    "juneteenth": fixed(6, 19),
    "canada day": fixed(7, 1),
    "independence day": fixed(7, 4),
    "fourth of july": fixed(7, 4),
    "4th of july": fixed(7, 4),
    "july 4th": fixed(7, 4),
    "july 4": fixed(7, 4),
    "bastille day": fixed(7, 14),
    "labor day": nth(9, MONDAY, 1),
    "labour day": nth(9, MONDAY, 1),
    "columbus day": nth(10, MONDAY, 2),
    "indigenous people's day": nth(10, MONDAY, 2),
    "halloween": fixed(10, 31),
    "guy fawkes night": fixed(11, 5),
    "bonfire night": fixed(11, 5),
    "veteran's day": fixed(11, 11),
    "remembrance day": fixed(11, 11),
    "thanksgiving day": THANKSGIVING,
    "thanksgiving": THANKSGIVING,
    "black friday": moved(THANKSGIVING, 1),
    "cyber monday": moved(THANKSGIVING, 4),
    "christmas eve": fixed(12, 24),
    "christmas day": fixed(12, 25),
    "christmas": fixed(12, 25),
    "boxing day": fixed(12, 26),
}


def _spellings(name: str) -> set[str]:
    """A name with and without its apostrophe, and with what may stand for one of its words."""
    names = {name, name.replace("'", ""), name.replace("'s", "s'"), name.replace("s'", "s")}
    for long, short in (("christmas", "xmas"), ("st ", "st. "), ("st ", "saint "), ("jr. ", "")):
        names |= {other.replace(long, short) for other in names if other.startswith(long) or long == "jr. "}
    return names


HOLIDAYS = {spelling: day for name, day in _NAMES.items() for spelling in _spellings(name)}

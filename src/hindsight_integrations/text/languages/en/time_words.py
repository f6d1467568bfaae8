"""English words of time, as data.

Fragments are regular expressions; the grammar ignores case and lets any white space stand for a blank.
"""

from __future__ import annotations

from hindsight_integrations.text.languages.en.decoys import (
    AIM,
    ANNOUNCES,
    ASKS_AHEAD,
    ASKS_BACK,
    CLAUSE,
    DECOYS,
    FUTURE,
    HOLIDAY_THINGS,
    NAME_AFTER,
    NUMBERED,
    PAST,
    PERSON,
    PHRASAL,
    PRESENT,
    QUANTITY,
    SEASON_THINGS,
    THINGS_OF_YEAR,
    VERBAL_LAST,
    YEAR_AFTER,
)
from hindsight_integrations.text.languages.en.holidays import HOLIDAYS
from hindsight_integrations.text.languages.shared_rules import EARLY, LATE, MID
from hindsight_integrations.text.time_expressions.calendar import Unit
from hindsight_integrations.text.time_expressions.patterns import YEAR, any_of
from hindsight_integrations.text.time_expressions.words import Which, Words

_MONTHS = {
    "january": 1, "jan": 1, "february": 2, "feb": 2, "febuary": 2, "march": 3, "mar": 3, "april": 4, "apr": 4,
    "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9,
    "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}  # fmt: skip
_WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "wensday": 2, "wednsday": 2, "thrusday": 3, "mon": 0, "tues": 1, "tue": 1, "weds": 2, "wed": 2, "thurs": 3,
    "thur": 3, "thu": 3, "fri": 4, "sat": 5, "sun": 6,
}  # fmt: skip
_UNITS = {
    "minute": Unit.MINUTE, "min": Unit.MINUTE, "hour": Unit.HOUR, "hr": Unit.HOUR, "day": Unit.DAY,
    "night": Unit.DAY, "week": Unit.WEEK, "wk": Unit.WEEK, "weekend": Unit.WEEKEND, "wkend": Unit.WEEKEND,
    "fortnight": Unit.WEEK, "month": Unit.MONTH, "mth": Unit.MONTH, "quarter": Unit.QUARTER, "qtr": Unit.QUARTER,
    "year": Unit.YEAR, "yr": Unit.YEAR, "decade": Unit.DECADE,
}  # fmt: skip
_PLURALS = {f"{name}s": unit for name, unit in _UNITS.items()} | {
    "mos": Unit.MONTH,
    "centuries": Unit.CENTURY,
}
_SMALL = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_NUMBERS = _SMALL | _TENS | {
    "a": 1, "an": 1, "ten": 10, "eleven": 11, "twelve": 12, "a dozen": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "a hundred": 100,
    "one hundred": 100, "half a dozen": 6,
    **{f"{tens} {one}": _TENS[tens] + _SMALL[one] for tens in _TENS for one in _SMALL},
    **{f"{tens}-{one}": _TENS[tens] + _SMALL[one] for tens in _TENS for one in _SMALL},
}  # fmt: skip
_DAYS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth",
    "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first",
)  # fmt: skip
_DAY_NUMBERS = {name: number for number, name in enumerate(_DAYS, start=1)}
_DAY_NUMBERS |= {name.replace("-", " "): number for name, number in _DAY_NUMBERS.items()}
_ORDINALS = {
    "first": 1, "1st": 1, "opening": 1, "second": 2, "2nd": 2, "latter": 2, "third": 3, "3rd": 3, "fourth": 4,
    "4th": 4, "fifth": 5, "5th": 5, "last": -1, "final": -1,
}  # fmt: skip
# (first, last, of): "early" is a third; "the beginning" and "the end" of a year are quarters [tests/unit/time_table].
_PORTIONS = {
    "early": EARLY, "early part of": EARLY, "mid": MID, "middle of": MID, "late": LATE, "latter part of": LATE,
    "later part of": LATE, "beginning of": EARLY, "start of": EARLY, "end of": LATE, "close of": LATE,
}  # fmt: skip
_YEAR_PORTIONS = {
    "beginning of": (0, 1, 4), "start of": (0, 1, 4), "end of": (3, 4, 4), "close of": (3, 4, 4),
}  # fmt: skip
# Hours of the day, end possibly on the next one. Customary, no source.
_DAY_PARTS = {
    "morning": (5, 12), "noon": (11, 14), "midday": (11, 14), "lunchtime": (11, 14), "lunch time": (11, 14),
    "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30), "nite": (18, 30),
}  # fmt: skip
_WHICH = {
    "last": Which.LAST, "previous": Which.LAST, "prior": Which.LAST, "this past": Which.LAST, "past": Which.LAST,
    "this last": Which.LAST, "most recent": Which.LAST, "this": Which.THIS, "this current": Which.THIS,
    "the current": Which.THIS, "current": Which.THIS, "next": Which.NEXT,
    "coming": Which.NEXT, "upcoming": Which.NEXT, "this coming": Which.NEXT, "this upcoming": Which.NEXT,
    "this next": Which.NEXT,
}  # fmt: skip
_NEAR = {
    "today": 0, "yesterday": -1, "tomorrow": 1, "day before yesterday": -2, "the day before yesterday": -2,
    "day after tomorrow": 2, "the day after tomorrow": 2, "tommorow": 1, "tommorrow": 1, "tomorow": 1, "tmrw": 1,
    "tmr": 1, "yday": -1, "2day": 0, "2morrow": 1,
}  # fmt: skip
_TAIL_YEARS = {
    "last year": -1, "the previous year": -1, "the past year": -1, "this past year": -1, "this year": 0,
    "the current year": 0, "the same year": 0, "next year": 1, "the coming year": 1, "the year before last": -2,
    "the year after next": 2,
}  # fmt: skip
_COUNT = "|".join(("[0-9]{1,2}", *_SMALL, "an?", "ten"))
# What names the year: "2023", ", 2023", "of 2023", "'23", "-2023", "last year", "of next year", "two years ago".
_TAIL = (
    rf",? ?(?:of |in |in the year |back in )?{YEAR}|[-/]{YEAR}|,? ?(?:of |in )?'[0-9]{{2}}"
    rf"|,? (?:of |in )?(?:{any_of(_TAIL_YEARS)})|,? (?:{_COUNT}) (?:years?|yrs?) (?:ago|back)"
)

_SHORT_UNITS = {
    "h": Unit.HOUR, "hr": Unit.HOUR, "hrs": Unit.HOUR, "d": Unit.DAY, "w": Unit.WEEK, "wk": Unit.WEEK,
    "wks": Unit.WEEK, "mo": Unit.MONTH, "mos": Unit.MONTH, "y": Unit.YEAR, "yr": Unit.YEAR, "yrs": Unit.YEAR,
    "min": Unit.MINUTE, "mins": Unit.MINUTE,
}  # fmt: skip
_DECADES = {
    "twenties": 1920, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960, "seventies": 1970,
    "eighties": 1980, "nineties": 1990, "noughties": 2000,
}  # fmt: skip

WORDS = Words(
    months=_MONTHS,
    clear_months=frozenset(
        {"january", "february", "febuary", "july", "september", "october", "november", "december"}
    ),
    name_months=frozenset({"april", "may", "june", "august", "jan", "mar", "apr", "jun", "aug"}),
    verb_months=frozenset({"may", "march", "mar"}),
    weekdays=_WEEKDAYS,
    clear_weekdays=frozenset(
        word for word in _WEEKDAYS if word.endswith("day") or word in {"tues", "weds", "thurs", "thur"}
    ),
    units=_UNITS | _PLURALS | {"mo": Unit.MONTH, "century": Unit.CENTURY},
    plurals=frozenset(_PLURALS),
    multiples={"fortnight": 2, "fortnights": 2},
    short_units=_SHORT_UNITS,
    numbers=_NUMBERS,
    # How far "a couple" and "a few" reach when they are "ago" [customary]; "several" continues the series.
    vague={"couple": (1, 3), "few": (2, 5), "several": (3, 7)},
    amount="(?:a |the )?(?:couple|few|several)(?: of)?",
    ordinals=_ORDINALS,
    day_suffix="st|nd|rd|th",
    day_numbers=_DAY_NUMBERS,
    seasons={
        "spring": 3, "springtime": 3, "summer": 6, "summertime": 6, "autumn": 9, "fall": 9, "winter": 12,
        "wintertime": 12,
    },
    decades=_DECADES,
    portions=_PORTIONS,
    year_portions=_YEAR_PORTIONS,
    day_parts=_DAY_PARTS,
    which=_WHICH,
    coming=frozenset(name for name in _WHICH if name.endswith("coming")),
    near=_NEAR,
    near_parts={
        "this": 0, "today": 0, "last": -1, "yesterday": -1, "tomorrow": 1, "tmrw": 1, "tommorow": 1, "tomorow": 1,
    },
    before=frozenset({"before", "prior to", "preceding", "leading up to", "ahead of", "up to"}),
    behind=frozenset({"after", "following", "from"}),
    earlier=frozenset({"earlier", "so far", "thus far", "to date"}),
    pieces={"half": 2, "third": 3, "quarter": 4},
    holidays=HOLIDAYS,
    tail=_TAIL,
    tail_years=_TAIL_YEARS,
    years_ago=rf"\b({_COUNT}) (?:years?|yrs?) (?:ago|back)",
    connector=(
        r"\s*,?\s*(?:and|to|through to|through|thru|up to|up until|until|till|til|&|-|\.\.\.?)\s*"
        r"(?:(?:on|in|about|around)\s+)?(?=[\w'])"
    ),
    now=r"(?:right\s+)?now\b|(?:the\s+)?present\b(?:\s+day\b)?|date\b",
    future=FUTURE,
    asks_ahead=ASKS_AHEAD,
    asks_back=ASKS_BACK,
    announces=ANNOUNCES,
    past=PAST,
    present=PRESENT,
    aim=AIM,
    clause=CLAUSE,
    verbal_last=VERBAL_LAST,
    phrasal=PHRASAL,
    things_of_year=THINGS_OF_YEAR,
    month_introducers=frozenset({
        "in", "during", "throughout", "since", "until", "till", "back in", "over", "my", "our", "the", "their", "your",
        *(f"{done} {into}" for done in ("planned", "scheduled", "booked", "set", "due") for into in ("for", "in")),
    }),
    person_after=PERSON,
    no_year=r",? ?[0-9]{4}(?![0-9:])",
    holiday_things=HOLIDAY_THINGS,
    season_things=SEASON_THINGS,
    quantity_after=QUANTITY,
    numbered_before=NUMBERED,
    year_after=YEAR_AFTER,
    name_goes_on=NAME_AFTER,
    part_names=dict.fromkeys(("tonight", "tonite", "2nite"), (0, 18, 30)),
    whatever=frozenset(
        ["happened", "happen", "happening", "happens", "going", "new", "up", "else", "did", "do", "does", "done", "doing", "went", "tell", "show", "remember", "remind", "said", "say", "anything", "everything", "something", "things", "stuff", "events"]
    ),
    decoys=DECOYS,
)  # fmt: skip

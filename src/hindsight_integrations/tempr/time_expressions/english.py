"""English words of time, as data. Another language is another module of this shape.

Fragments are regular expressions without groups; the grammar wraps each in a group named after it, ignores case and
lets any white space stand for a blank.
"""

from __future__ import annotations

from hindsight_integrations.tempr.time_expressions.calendar import Unit

MONTHS = {
    "january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5,
    "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9,
    "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}  # fmt: skip
CLEAR_MONTHS = ("january", "february", "july", "september", "october", "november", "december")
NAME_MONTHS = frozenset({"april", "may", "june", "august", "jan", "mar", "apr", "jun", "aug"})  # also people
VERB_MONTHS = frozenset(
    {"may", "march", "mar"}
)  # also words: written small they need a year or a preposition

WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "mon": 0, "tues": 1, "tue": 1, "wed": 2, "thurs": 3, "thur": 3, "thu": 3, "fri": 4, "sat": 5, "sun": 6,
}  # fmt: skip
CLEAR_WEEKDAYS = tuple(word for word in WEEKDAYS if word.endswith("day"))

UNITS = {
    "minute": Unit.MINUTE, "minutes": Unit.MINUTE, "hour": Unit.HOUR, "hours": Unit.HOUR,
    "day": Unit.DAY, "days": Unit.DAY, "night": Unit.DAY, "nights": Unit.DAY, "week": Unit.WEEK,
    "weeks": Unit.WEEK, "weekend": Unit.WEEKEND, "weekends": Unit.WEEKEND, "fortnight": Unit.WEEK,
    "fortnights": Unit.WEEK, "month": Unit.MONTH, "months": Unit.MONTH, "quarter": Unit.QUARTER,
    "quarters": Unit.QUARTER, "year": Unit.YEAR, "years": Unit.YEAR, "decade": Unit.DECADE,
    "decades": Unit.DECADE, "century": Unit.CENTURY, "centuries": Unit.CENTURY,
}  # fmt: skip
MULTIPLES = {"fortnight": 2, "fortnights": 2}

NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a dozen": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "eighteen": 18, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "ninety": 90, "a hundred": 100, "half a dozen": 6,
}  # fmt: skip
# How far "a couple" and "a few" reach when they are "ago" [notes/upstream 7.1]; "several" continues the series.
VAGUE = {"couple": (1, 3), "few": (2, 5), "several": (3, 7)}

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month, northern hemisphere
ORDINALS = {
    "first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5,
    "5th": 5, "last": -1, "final": -1,
}  # fmt: skip
DECADE_WORDS = {
    "twenties": 1920, "thirties": 1930, "forties": 1940, "fifties": 1950, "sixties": 1960, "seventies": 1970,
    "eighties": 1980, "nineties": 1990, "noughties": 2000,
}  # fmt: skip

# (first, last, of): which parts of how many. "Early" is a third; the "end" of a year its last quarter.
PORTIONS = {
    "early": (0, 1, 3), "mid": (1, 2, 3), "late": (2, 3, 3), "middle of": (1, 2, 3),
    "beginning of": (0, 1, 4), "start of": (0, 1, 4), "end of": (3, 4, 4),
}  # fmt: skip
SHORT_PORTIONS = {"beginning of": (0, 1, 3), "start of": (0, 1, 3), "end of": (2, 3, 3)}  # of a month or less

# Hours of the day, end possibly on the next one. Customary, no source.
DAY_PARTS = {
    "morning": (5, 12), "noon": (11, 14), "lunchtime": (11, 14), "afternoon": (12, 18), "evening": (17, 24),
    "night": (18, 30),
}  # fmt: skip

LAST, THIS, NEXT = -1, 0, 1
WHICH = {
    "last": LAST, "previous": LAST, "this past": LAST, "this last": LAST, "this": THIS, "this current": THIS,
    "the current": THIS, "current": THIS, "next": NEXT, "coming": NEXT, "upcoming": NEXT, "this coming": NEXT,
    "this upcoming": NEXT,
}  # fmt: skip

# In front of a time these make it a habit or a greeting, not a time.
NOT_AFTER = r"\b(?:every|each|per|any|happy|merry|good)\s+(?:other\s+|single\s+|the\s+)?$"
# In front of "last three days" without an article they make "last" a verb ("did it last three days").
VERBAL_LAST = (
    r"\b(?:did|do|does|will|would|can|could|should|to|not|\w+n't)\b(?!.*\b(?:in|over|during|the|for)\s*$)"
)
FUTURE = (
    r"\b(?:will|won't|shall|going to|(?:am|are|is) going|(?:is|are) (?:on|set for)|gonna|plan|plans|planning|scheduled|booked for|upcoming|due|looking forward"
    r"|can't wait|hope to|hoping to|about to|moved to|move it to|rescheduled|see you)\b|\w'll\b|'(?:m|re|s) going"
)
# After a number these make it a quantity, not a year.
QUANTITIES = (
    r"(?:people|persons?|items?|files?|words?|lines?|pages?|pieces?|steps?|rows?|points?|records?|messages?|users?"
    r"|dollars?|euros?|pounds?|bucks|usd|eur|miles?|km|kilomet\w+|met(?:er|re)s?|feet|kg|grams?|calories|kcal"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|mb|gb|kb|bytes?|tokens?|percent|votes?|units?"
    r"|seats?|tickets?|plants?|copies|times|degrees|watts?|volts?|rpm|hz|requests?|connections?|ports?|or|vs)"
)
# After "the 2023" these make it a year.
DATED_NOUNS = (
    r"(?:trip|vacation|holiday|season|budget|election|conference|report|meeting|festival|race|marathon|tax|taxes"
    r"|plan|plans|goals|review|summit|harvest|wedding|reunion|tour|fair|show|competition|tournament|campaign)"
)
NAME_ACTS = (  # after "before August" these make August a person
    r"(?:\w+ed|left|came|went|was|is|had|has|got|said|told|gave|took|met|bought|sold|made|did|does|can|could|will)"
)

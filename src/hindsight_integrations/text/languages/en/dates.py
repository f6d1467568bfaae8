"""The phrases of English that name days, months and years: "5 May 2023", "last Friday", "in the nineties"."""

from __future__ import annotations

from hindsight_integrations.text.languages.shared_rules import (
    ANY_YEAR,
    DAY_DOT_BLANK_MONTH,
    DAY_DOT_MONTH,
    DECADE,
    END,
    ISO_DAY,
    ISO_MONTH,
    not_after,
)
from hindsight_integrations.text.time_expressions.grammar import Rule
from hindsight_integrations.text.time_expressions.meanings import days, months, years

IN = "(?:in |during |over |throughout |on |at |for |from |around |about |towards? |near )?"
ALL = "(?:all (?:of |through )?|(?:the )?(?:whole|entire) (?:of )?)?"
TO = r"(?: ?- ?| to | through | thru | until | till | up to )"
TO_OR_AND = rf"(?:{TO}(?:the )?| and (?:the )?| & )"
_BEGINS = (
    r"(?=\s*(?:$|[?.!,;:)]|(?:i|we|he|she|they|you|it|did|was|were|is|at|by|for|who|what|when|where)\b))"
)
_JOINS = r"(?=\s*(?:$|[?.!,;:)]|-|(?:to|and|until|till|through|of|i|we|he|she|they|you|it|did|was|were|at|by|who|what)\b))"
_DATED_NOUNS = (
    r"(?:trips?|vacations?|holidays?|budgets?|elections?|conferences?|reports?|meetings?|festivals?|races?|marathon|tax"
    r"|taxes|plans?|goals|reviews?|summit|harvest|wedding|reunion|tour|fair|competition|tournament|campaign|invoices?"
    r"|bills?|statements?|numbers|figures|results|photos?|pictures?|sales|expenses|newsletter|retro|release|issue"
    r"|edition|payroll|rent|offsite|notes?|entries|entry|diary|journal|minutes|deadline|visit|payments?|earnings)"
)
_EVENTS = (  # nouns in the plural or in capitals that happen; any other in small letters and the singular may too
    r"(?:(?:(?-i:[A-Z][\w']+) ){0,2}(?:earthquake|tsunami|hurricane|election|crash|campaign|ad|attacks?|war|merger|trip|conference|marathon"
    r"|summit|festival|reunion|expedition|uprising|referendum|trial|concert|gala|wedding)|layoffs|resolutions|protests|riots|floods|fires|storms|talks|cuts|interviews|exams|finals|crisis|olympics|olympic games|world cup"
    r"|euros|playoffs|world series|super bowl|grand prix|games|awards|oscars|renovations|celebrations|wildfires|works)"
)
_WEEKDAY = r"(?:on |from |of |for |around |about )?(?:{weekday},? (?:the )?)?"
# Small abbreviations that are words too open a message only in front of a subject or a question ("sun i went").
_LINE_START = r"(?:(?<![^\n])|(?<=[.!?]\x20))"
_OPENING = r"(?:mon|tues?|weds?|thurs?|thu|fri|sat|sun)"
_ME = "(?:i|we|he|she|they|you)"
_SPEAKS = rf"(?=\s*[,:-]?\s+(?:{_ME}|who|what|where|(?:did|didn't|was|were) {_ME})\b)"
_NOT_OF_THING = not_after(
    "order invoice id number no. ticket code pin account serial part case pr user version build"
)
_MONTH_AHEAD = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\b"
DAYS: tuple[Rule, ...] = (
    Rule(r"{near}", days.near_day),
    Rule(
        r"{number} {unit} ago,? (?:on )?(?:{near}|(?:to )?(?:this|the) (?:very |same )?(?:day|date))",
        days.near_day_ago,
    ),
    Rule(
        r"(?:on )?(?:this (?:very |same )?(?:day|date)|the same day|today),?(?: of| in| back in)? ?{tail}",
        days.this_day_then,
    ),
    Rule(
        r"(?:at |around |about |by )?(?:this|the same) (?:very |same )?(?:time|point),?(?: of| in| back in)? ?{tail}",
        days.this_time_then,
    ),
    Rule(r"(?:on |by )?(?:the )?{which} {weekday}", days.which_weekday),
    Rule(r"(?:on )?(?:the )?{clear_weekday} before last", days.weekday_before_last),
    Rule(rf"(?:on )?{{weekday}} (?:just gone|gone|last|past){END}", days.last_weekday),
    Rule(r"(?:on )?(?:the )?{weekday},?(?: of| in)? (?:the )?{which} (?:week|wk)\b", days.weekday_of_week),
    Rule(r"on (?:the )?{clear_weekday}(?!'s [a-z]+ing\b| off)", days.plain_weekday),
    Rule(r"on {weekday}(?!'s| off)", days.named_weekday),
    Rule(r"{clear_weekday}(?!')", days.named_weekday),
    Rule(r"{clear_weekday}'s(?= (?-i:[a-z]))", days.plain_weekday),
    Rule(
        rf"(?:from )?{{weekday}}{TO}{{weekday2}}(?!,? (?:of |in )?(?:the )?(?:last|this|next|previous|past|coming|[0-9]|{_MONTH_AHEAD}))",
        days.two_weekdays,
    ),
    Rule(
        rf"(?:from )?{{weekday}}{TO}{{weekday2}},? (?:of |in )?(?:the )?{{which}} (?:week|wk)\b",
        days.weekdays_of_week,
    ),
    Rule(rf"{_LINE_START}(?P<weekday>{_OPENING}){_SPEAKS}", days.plain_weekday),
    Rule(rf"{_LINE_START}(?P<weekday>mon|tue|thu|fri|wed|sat)(?=\s*:| -)", days.plain_weekday),
    Rule(
        r"{weekday}(?= (?:early |late )?(?:morning|lunchtime|afternoon|evening|night|nite)\b)",
        days.named_weekday,
    ),
    Rule(
        rf"(?<!the\x20)(?-i:(?P<weekday>mon|tues?|weds|thurs?|thu|fri))(?={END}|{_SPEAKS})",
        days.plain_weekday,
    ),
    Rule(r"(?:the )?{weekday}", days.plain_weekday, weak=True),
    Rule("(?:on )?" + ISO_DAY, days.iso_day),
    Rule(
        _NOT_OF_THING
        + r"(?:on )?(?P<year>(?:19|20)[0-9]{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12][0-9]|3[01])",
        days.iso_day,
    ),
    Rule("(?:in )?" + ISO_MONTH, days.iso_month),
    Rule(r"(?:in )?(?P<m>0?[1-9]|1[0-2])/{year}", days.iso_month),
    Rule("(?:on )?" + DAY_DOT_BLANK_MONTH + r"\s?(?P<y>[0-9]{4})", days.day_first),
    Rule("(?:on|from|since|until|before|after|by) " + DAY_DOT_MONTH + "(?P<y>[0-9]{2})", days.day_first),
    Rule(
        r"(?:on )?(?P<m>[0-9]{1,2})(?P<mark>[/-])(?P<d>[0-9]{1,2})(?P=mark)(?P<y>[0-9]{4})", days.in_figures
    ),
    Rule(r"(?:on )?(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})/(?P<y>[0-9]{2})", days.in_figures),
    Rule(r"on (?!24/7)(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})(?! of)", days.in_figures),
    Rule(r"(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})", days.in_figures, weak=True),
    Rule(rf"on the {{day}}{_BEGINS}", days.day_of_month),
    Rule(rf"the (?P<day>[0-9]{{1,2}}(?:st|nd|rd|th)){_JOINS}", days.day_of_month, weak=True),
    Rule(r"(?:on )?{weekday},? the {day}(?! of)", days.day_of_month),
    Rule(r"(?:(?:on )?the )?{day} (?:of )?{which} month", days.day_of_which_month),
)
DAYS_OF_MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_WEEKDAY}{{month}}(?: |-| ?,? the )?{{day}}{{tail}}", months.month_then_day),
    Rule(
        rf"{_WEEKDAY}(?:the )?(?P<day>[0-9]{{1,2}}(?:st|nd|rd|th)?)(?: |-|)(?:day )?(?:of )?{{month}}{{tail}}",
        months.month_and_day,
    ),
    Rule(rf"{_WEEKDAY}(?:the )?{{day}} (?:day )?of {{month}}{{tail}}", months.month_and_day),
    Rule(
        rf"{_WEEKDAY}(?:the )?(?P<day>[0-9]{{1,2}}(?:st|nd|rd|th)?)(?: |-)(?:of )?{{month}},?(?: |-)(?P<y>[0-9]{{2}}){_BEGINS}",
        months.short_dated,
    ),
    Rule(rf"{_WEEKDAY}{{month}}-(?P<day>[0-9]{{1,2}})-(?P<y>[0-9]{{2}})", months.short_dated),
    Rule(rf"(?:in )?{{month}},? (?P<y>3[2-9]|[4-9][0-9]){_BEGINS}", months.short_dated),
    Rule(rf"(?:from |between )?(?:the )?{{month}} {{day}}{TO_OR_AND}{{day2}}{{tail}}", months.month_and_days),
    Rule(
        rf"(?:from |between )?(?:the )?{{day}}{TO_OR_AND}{{day2}} (?:of )?{{month}}{{tail}}",
        months.month_and_days,
    ),
)
MONTHS: tuple[Rule, ...] = (
    Rule(r"{month}{tail}", months.month, weak=True),
    Rule(
        r"(?P<intro>in|during|throughout|over|back in|through|for|from|of|around|about) (?:all of )?(?P<the>the )?(?:month of )?"
        r"{month}{tail}",
        months.introduced_month,
    ),
    Rule(
        r"(?P<intro>(?:planned|scheduled|booked|set|due) (?:for|in)) (?P<the>the )?{month}{tail}(?! ?[0-9])",
        months.introduced_month,
    ),
    Rule(rf"(?P<intro>my|our|their|your)(?P<the>) {{month}}{{tail}}{END}", months.introduced_month),
    Rule(
        rf"(?P<intro>my|our|their|your|the)(?P<the>) {{month}}{{tail}}(?= {_DATED_NOUNS}\b)",
        months.introduced_month,
    ),
    Rule(r"(?:in )?{month}{tail}", months.month_of_year),
    Rule(IN + ALL + r"the month of {month}{tail}", months.month),
    Rule(r"{clear_month}(?!'s)", months.clear_month),
    Rule(r"{clear_month}'s(?= (?-i:[a-z]))", months.clear_month),
    Rule(r"(?:in )?{which} {month}", months.which_month),
    Rule(rf"(?:from |in |between )?{{month}}{TO}{{month2}}{{tail}}", months.two_months),
    Rule(r"(?:in|during|for|from) {month} (?:and|&) {month2}{tail}", months.two_months),
)
YEARS: tuple[Rule, ...] = (
    Rule(r"{year}", years.year, weak=True),
    Rule(
        r"(?:back in|in|during|throughout|for|from|(?<!class\x20)of|around|circa|ca\.?|within) "
        + ALL
        + r"(?:year )?{year}",
        years.year,
    ),
    Rule(r"(?:all|(?:the )?whole|(?:the )?entire) (?:of |through )?(?:the )?(?:year )?{year}", years.year),
    Rule("in " + ANY_YEAR, years.any_year),
    Rule(r"{year}(?=[?!.\s]*$)", years.final_year),
    Rule(IN + ALL + r"(?:the )?(?:calendar |fiscal )?year {year}", years.named_year),
    Rule(r"(?:in )?FY ?{year}", years.named_year),
    Rule(rf"(?:the|my|our|his|her|their|your) {{year}}(?= (?:\w+ )?{_DATED_NOUNS}\b)", years.year),
    Rule(
        rf"(?:(?:in|during|for|from|at|of) )?(?:the|my|our|his|her|their|your|that) {{year}}(?= (?:(?-i:[a-z-]+(?<!s))\b|{_EVENTS}\b))",
        years.year_of_thing,
    ),
    Rule(r"{year}'s(?= (?-i:[a-z]))", years.year),
    Rule(
        r"(?:in|from|between|during|over|for|of) {year}(?: ?- ?| to | and | through | thru | until ){year2}",
        years.two_years,
    ),
    Rule(r"{year}(?: ?- ?| to | through ){year2}", years.bare_two_years),
    Rule(r"(?:in|during|from|of|for) {year}[-/](?P<y>[0-9]{2})", years.split_year),
    Rule(r"'(?P<y>[0-9]{2})", years.two_digit_year, weak=True),
    Rule(r"(?:back in|in|during|throughout|of|since) '(?P<y>[0-9]{2})", years.two_digit_year),
    Rule(IN + "(?:the )?" + DECADE + "'?s", years.decade),
    Rule(IN + r"(?:the )?'(?P<y>[0-9]0)'?s", years.short_decade),
    Rule(r"(?:in |during |throughout |from )?the (?P<y>[0-9]0)'?s", years.short_decade),
    Rule(r"(?:the )?(?P<y>[0-9]0)'?s", years.short_decade, weak=True),
    Rule(r"(?:in |during |throughout |from )?the (?:(?:roaring|swinging) )?{decade_word}", years.word_decade),
    Rule(r"{decade_word}", years.word_decade, weak=True),
    Rule(IN + r"the {day} century", years.century),
    Rule(r"(?P<day>[0-9]{1,2}(?:st|nd|rd|th)) century", years.century),
)

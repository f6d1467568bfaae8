"""The phrases of time of English: patterns, and what they mean. Teach it a phrase by adding a rule."""

from __future__ import annotations

from hindsight_integrations.text.languages.en.time_words import WORDS
from hindsight_integrations.text.languages.shared_rules import (
    ANY_YEAR,
    DAY_DOT_BLANK_MONTH,
    DAY_DOT_MONTH,
    DECADE,
    END,
    ISO_DAY,
    ISO_MONTH,
    ISO_WEEK,
    SHORT_WINTER_YEARS,
    WINTER_YEARS,
    not_after,
)
from hindsight_integrations.text.times import meanings
from hindsight_integrations.text.times.calendar import Unit
from hindsight_integrations.text.times.grammar import Continuation, Level, Rule, TimeRules

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
    Rule(r"{near}", meanings.near_day),
    Rule(
        r"{number} {unit} ago,? (?:on )?(?:{near}|(?:to )?(?:this|the) (?:very |same )?(?:day|date))",
        meanings.near_day_ago,
    ),
    Rule(
        r"(?:on )?(?:this (?:very |same )?(?:day|date)|the same day|today),?(?: of| in| back in)? ?{tail}",
        meanings.this_day_then,
    ),
    Rule(
        r"(?:at |around |about |by )?(?:this|the same) (?:very |same )?(?:time|point),?(?: of| in| back in)? ?{tail}",
        meanings.this_time_then,
    ),
    Rule(r"(?:on |by )?(?:the )?{which} {weekday}", meanings.which_weekday),
    Rule(r"(?:on )?(?:the )?{clear_weekday} before last", meanings.weekday_before_last),
    Rule(rf"(?:on )?{{weekday}} (?:just gone|gone|last|past){END}", meanings.last_weekday),
    Rule(
        r"(?:on )?(?:the )?{weekday},?(?: of| in)? (?:the )?{which} (?:week|wk)\b", meanings.weekday_of_week
    ),
    Rule(r"on (?:the )?{clear_weekday}(?!'s [a-z]+ing\b| off)", meanings.plain_weekday),
    Rule(r"on {weekday}(?!'s| off)", meanings.named_weekday),
    Rule(r"{clear_weekday}(?!')", meanings.named_weekday),
    Rule(r"{clear_weekday}'s(?= (?-i:[a-z]))", meanings.plain_weekday),
    Rule(
        rf"(?:from )?{{weekday}}{TO}{{weekday2}}(?!,? (?:of |in )?(?:the )?(?:last|this|next|previous|past|coming|[0-9]|{_MONTH_AHEAD}))",
        meanings.two_weekdays,
    ),
    Rule(
        rf"(?:from )?{{weekday}}{TO}{{weekday2}},? (?:of |in )?(?:the )?{{which}} (?:week|wk)\b",
        meanings.weekdays_of_week,
    ),
    Rule(rf"{_LINE_START}(?P<weekday>{_OPENING}){_SPEAKS}", meanings.plain_weekday),
    Rule(rf"{_LINE_START}(?P<weekday>mon|tue|thu|fri|wed|sat)(?=\s*:| -)", meanings.plain_weekday),
    Rule(
        r"{weekday}(?= (?:early |late )?(?:morning|lunchtime|afternoon|evening|night|nite)\b)",
        meanings.named_weekday,
    ),
    Rule(
        rf"(?<!the\x20)(?-i:(?P<weekday>mon|tues?|weds|thurs?|thu|fri))(?={END}|{_SPEAKS})",
        meanings.plain_weekday,
    ),
    Rule(r"(?:the )?{weekday}", meanings.plain_weekday, weak=True),
    Rule("(?:on )?" + ISO_DAY, meanings.iso_day),
    Rule(
        _NOT_OF_THING
        + r"(?:on )?(?P<year>(?:19|20)[0-9]{2})(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12][0-9]|3[01])",
        meanings.iso_day,
    ),
    Rule("(?:in )?" + ISO_MONTH, meanings.iso_month),
    Rule(r"(?:in )?(?P<m>0?[1-9]|1[0-2])/{year}", meanings.iso_month),
    Rule("(?:on )?" + DAY_DOT_BLANK_MONTH + r"\s?(?P<y>[0-9]{4})", meanings.day_first),
    Rule("(?:on|from|since|until|before|after|by) " + DAY_DOT_MONTH + "(?P<y>[0-9]{2})", meanings.day_first),
    Rule(
        r"(?:on )?(?P<m>[0-9]{1,2})(?P<mark>[/-])(?P<d>[0-9]{1,2})(?P=mark)(?P<y>[0-9]{4})",
        meanings.in_figures,
    ),
    Rule(r"(?:on )?(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})/(?P<y>[0-9]{2})", meanings.in_figures),
    Rule(r"on (?!24/7)(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})(?! of)", meanings.in_figures),
    Rule(r"(?P<m>[0-9]{1,2})/(?P<d>[0-9]{1,2})", meanings.in_figures, weak=True),
    Rule(rf"on the {{day}}{_BEGINS}", meanings.day_of_month),
    Rule(rf"the (?P<day>[0-9]{{1,2}}(?:st|nd|rd|th)){_JOINS}", meanings.day_of_month, weak=True),
    Rule(r"(?:on )?{weekday},? the {day}(?! of)", meanings.day_of_month),
    Rule(r"(?:(?:on )?the )?{day} (?:of )?{which} month", meanings.day_of_which_month),
)
DAYS_OF_MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_WEEKDAY}{{month}}(?: |-| ?,? the )?{{day}}{{tail}}", meanings.month_then_day),
    Rule(
        rf"{_WEEKDAY}(?:the )?(?P<day>[0-9]{{1,2}}(?:st|nd|rd|th)?)(?: |-|)(?:day )?(?:of )?{{month}}{{tail}}",
        meanings.month_and_day,
    ),
    Rule(rf"{_WEEKDAY}(?:the )?{{day}} (?:day )?of {{month}}{{tail}}", meanings.month_and_day),
    Rule(
        rf"{_WEEKDAY}(?:the )?(?P<day>[0-9]{{1,2}}(?:st|nd|rd|th)?)(?: |-)(?:of )?{{month}},?(?: |-)(?P<y>[0-9]{{2}}){_BEGINS}",
        meanings.short_dated,
    ),
    Rule(rf"{_WEEKDAY}{{month}}-(?P<day>[0-9]{{1,2}})-(?P<y>[0-9]{{2}})", meanings.short_dated),
    Rule(rf"(?:in )?{{month}},? (?P<y>3[2-9]|[4-9][0-9]){_BEGINS}", meanings.short_dated),
    Rule(
        rf"(?:from |between )?(?:the )?{{month}} {{day}}{TO_OR_AND}{{day2}}{{tail}}", meanings.month_and_days
    ),
    Rule(
        rf"(?:from |between )?(?:the )?{{day}}{TO_OR_AND}{{day2}} (?:of )?{{month}}{{tail}}",
        meanings.month_and_days,
    ),
)
MONTHS: tuple[Rule, ...] = (
    Rule(r"{month}{tail}", meanings.month, weak=True),
    Rule(
        r"(?P<intro>in|during|throughout|over|back in|through|for|from|of|around|about) (?:all of )?(?P<the>the )?(?:month of )?"
        r"{month}{tail}",
        meanings.introduced_month,
    ),
    Rule(
        r"(?P<intro>(?:planned|scheduled|booked|set|due) (?:for|in)) (?P<the>the )?{month}{tail}(?! ?[0-9])",
        meanings.introduced_month,
    ),
    Rule(rf"(?P<intro>my|our|their|your)(?P<the>) {{month}}{{tail}}{END}", meanings.introduced_month),
    Rule(
        rf"(?P<intro>my|our|their|your|the)(?P<the>) {{month}}{{tail}}(?= {_DATED_NOUNS}\b)",
        meanings.introduced_month,
    ),
    Rule(r"(?:in )?{month}{tail}", meanings.month_of_year),
    Rule(IN + ALL + r"the month of {month}{tail}", meanings.month),
    Rule(r"{clear_month}(?!'s)", meanings.clear_month),
    Rule(r"{clear_month}'s(?= (?-i:[a-z]))", meanings.clear_month),
    Rule(r"(?:in )?{which} {month}", meanings.which_month),
    Rule(rf"(?:from |in |between )?{{month}}{TO}{{month2}}{{tail}}", meanings.two_months),
    Rule(r"(?:in|during|for|from) {month} (?:and|&) {month2}{tail}", meanings.two_months),
)
YEARS: tuple[Rule, ...] = (
    Rule(r"{year}", meanings.year, weak=True),
    Rule(
        r"(?:back in|in|during|throughout|for|from|(?<!class\x20)of|around|circa|ca\.?|within) "
        + ALL
        + r"(?:year )?{year}",
        meanings.year,
    ),
    Rule(r"(?:all|(?:the )?whole|(?:the )?entire) (?:of |through )?(?:the )?(?:year )?{year}", meanings.year),
    Rule("in " + ANY_YEAR, meanings.any_year),
    Rule(r"{year}(?=[?!.\s]*$)", meanings.final_year),
    Rule(IN + ALL + r"(?:the )?(?:calendar |fiscal )?year {year}", meanings.named_year),
    Rule(r"(?:in )?FY ?{year}", meanings.named_year),
    Rule(rf"(?:the|my|our|his|her|their|your) {{year}}(?= (?:\w+ )?{_DATED_NOUNS}\b)", meanings.year),
    Rule(
        rf"(?:(?:in|during|for|from|at|of) )?(?:the|my|our|his|her|their|your|that) {{year}}(?= (?:(?-i:[a-z-]+(?<!s))\b|{_EVENTS}\b))",
        meanings.year_of_thing,
    ),
    Rule(r"{year}'s(?= (?-i:[a-z]))", meanings.year),
    Rule(
        r"(?:in|from|between|during|over|for|of) {year}(?: ?- ?| to | and | through | thru | until ){year2}",
        meanings.two_years,
    ),
    Rule(r"{year}(?: ?- ?| to | through ){year2}", meanings.bare_two_years),
    Rule(r"(?:in|during|from|of|for) {year}[-/](?P<y>[0-9]{2})", meanings.split_year),
    Rule(r"'(?P<y>[0-9]{2})", meanings.two_digit_year, weak=True),
    Rule(r"(?:back in|in|during|throughout|of|since) '(?P<y>[0-9]{2})", meanings.two_digit_year),
    Rule(IN + "(?:the )?" + DECADE + "'?s", meanings.decade),
    Rule(IN + r"(?:the )?'(?P<y>[0-9]0)'?s", meanings.short_decade),
    Rule(r"(?:in |during |throughout |from )?the (?P<y>[0-9]0)'?s", meanings.short_decade),
    Rule(r"(?:the )?(?P<y>[0-9]0)'?s", meanings.short_decade, weak=True),
    Rule(
        r"(?:in |during |throughout |from )?the (?:(?:roaring|swinging) )?{decade_word}", meanings.word_decade
    ),
    Rule(r"{decade_word}", meanings.word_decade, weak=True),
    Rule(IN + r"the {day} century", meanings.century),
    Rule(r"(?P<day>[0-9]{1,2}(?:st|nd|rd|th)) century", meanings.century),
)


_PART, _RANGE = Level.PART, Level.RANGE
_SIDE = "(?P<side>before|after|prior to|preceding|following|leading up to)"
_NOT_OF = r"(?! (?:of|before|after|prior to|following|preceding)\b)"
_GLUED = "(?P<amount>[0-9]{1,3}) ?{short_unit}"
_OVER = "(?:in|over|during|within|for|throughout|from|of|since)"
_PAST = rf"(?P<intro>(?:{_OVER} )?(?:the |these |this |my |our )?(?:very )?)(?:(?P<last>last)|past|previous|prior)"
_ABOUT = "(?:about |around |roughly |some |approximately |almost |nearly |exactly |just |over |more than )?"
_COUNTED: tuple[Rule, ...] = (
    Rule(_ABOUT + r"{amount}[ -]{unit} (?:ago|back\b(?! to)|earlier than now)", meanings.ago),
    Rule(rf"{_GLUED} ago", meanings.ago),
    Rule(r"(?:between |from )?{amount}(?: to | or | and | ?- ?){amount2} {unit} ago", meanings.between_ago),
    Rule(r"an? {unit} or (?:two|so) ago", meanings.one_or_two_ago),
    Rule(r"{amount} {unit} ago,? (?:on )?{weekday}", meanings.weekday_of_week_ago),
    Rule(r"{number} {clear_weekday}s? ago", meanings.weekdays_ago),
    Rule(r"{number} {season}s? ago", meanings.occurrences_ago),
    Rule(r"{number} {holiday}(?:e?s)? ago", meanings.occurrences_ago),
    Rule(r"(?:a half|half an?)(?P<number>)[ -]{unit} ago", meanings.half_ago),
    Rule(r"{number} {unit} and a half ago", meanings.half_ago),
    Rule(r"{number} and a half {unit} ago", meanings.half_ago),
    Rule(r"{amount} {unit} from (?:now|today)", meanings.ahead),
    Rule(r"in {amount} {unit}'?s?'? time", meanings.ahead),
    Rule(r"in {amount} {unit}(?! of)", meanings.announced),
    Rule(rf"{_PAST} {{amount}}[ -]{{unit}}(?! of)", meanings.past),
    Rule(rf"{_PAST} {_GLUED}(?! of)", meanings.past),
    Rule(rf"(?:{_OVER} )?(?:the )?(?:next|coming|following) {{amount}} {{unit}}(?! of)", meanings.coming),
    Rule(
        rf"(?:{_OVER} (?:(?:the |this )?past|(?:the|this) last)|(?:the|this) past) {{unit}}(?! of)",
        meanings.past_one,
    ),
    Rule(r"past {unit}(?! of)", meanings.past_one),
    Rule(r"the other (?:day|night|week)", meanings.other_day),
)
_CALENDAR: tuple[Rule, ...] = (
    Rule(IN + ALL + rf"{{which}} {{unit}}{_NOT_OF}", meanings.which_unit),
    Rule(IN + r"the {unit} before last", meanings.unit_before_last),
    Rule(IN + r"the {unit} after next", meanings.unit_after_next),
    Rule(r"the (?:current )?{unit}", meanings.the_unit, weak=True),
    Rule(rf"(?:over|at|on|during|for) the (?:weekend|wkend){_NOT_OF}", meanings.the_weekend),
    Rule(IN + r"(?:the same|this(?: same)?) {unit},?(?: of| in| back in)? ?{tail}", meanings.same_unit),
    Rule(IN + r"(?-i:Q)(?P<number>[0-9])(?:,? |-|/|)(?:of )?{tail}", meanings.quarter),
    Rule(IN + r"(?P<number>[1-4])(?-i:Q)(?:,? |-|/|)(?:of )?{tail}", meanings.quarter),
    Rule(IN + r"{year}(?: |-|/|)(?-i:Q)(?P<number>[0-9])", meanings.quarter),
    Rule(r"(?:in|during|for|over) the {ordinal} quarter(?! of| in)(?P<tail>)", meanings.quarter),
    Rule(IN + r"(?-i:H)(?P<number>[12])(?:,? |-|/|)(?:of )?{tail}", meanings.half),
    Rule(IN + r"{year}(?: |-|/|)(?-i:H)(?P<number>[12])", meanings.half),
    Rule(IN + ISO_WEEK, meanings.iso_week),
    Rule(
        IN + r"(?:calendar |iso )?(?:week|wk|cw|w) ?(?P<number>[0-9]{1,2})(?: of|,| in)? {year}",
        meanings.iso_week,
    ),
    Rule(IN + r"(?:calendar|iso) week (?P<number>[0-9]{1,2}){tail}", meanings.iso_week),
    *(
        Rule(rf"(?:the )?(?:{unit}[ -]to[ -]date|{letter}td)", meanings.to_date(unit))
        for letter, unit in (("y", Unit.YEAR), ("q", Unit.QUARTER), ("m", Unit.MONTH), ("w", Unit.WEEK))
    ),
)
_SEASON = r"{season}(?:time)?(?: (?:break|vacation|holidays?|season))?"
_SEASONS: tuple[Rule, ...] = (
    Rule(r"(?:the )?{season}{tail}", meanings.season, weak=True),
    Rule(rf"(?:in|during|over|throughout)(?: the)? {_SEASON}{{tail}}", meanings.season),
    Rule(IN + r"(?:the )?{season}{tail}", meanings.dated_season),
    Rule(IN + ALL + rf"(?:the )?{{which}} {_SEASON}", meanings.which_season),
    Rule(IN + r"(?:the )?(?P<tail>(?:1[5-9]|20)[0-9]{2}) {season}", meanings.dated_season),
    Rule(IN + r"the {season} before last", meanings.season_before_last),
    Rule(IN + r"(?:the )?{season} (?:of )?" + WINTER_YEARS, meanings.split_winter),
    Rule(IN + r"(?:the )?{season} (?:of )?" + SHORT_WINTER_YEARS, meanings.split_winter),
)
_HOLIDAYS: tuple[Rule, ...] = (
    Rule(
        r"(?:on |at |over |during |for )?(?:the )?{holiday}(?!'s)(?: (?:dinner|lunch|party|parade|celebrations?|break|holidays?|trip|vacation))?{tail}",
        meanings.holiday,
    ),
    Rule(
        r"(?:on |at |over |during |for |from )?(?:the )?(?P<tail>(?:1[5-9]|20)[0-9]{2}) {holiday}",
        meanings.holiday,
    ),
    Rule(r"(?:on |at |over |during |for )?{which} {holiday}(?!'s)", meanings.which_holiday),
    Rule(r"(?:on |at |over |during |for )?the {holiday} before last", meanings.holiday_before_last),
    Rule(IN + r"(?:the |this )?{holiday} {unit}{tail}", meanings.holiday_unit),
)
_DAY_PARTS: tuple[Rule, ...] = (
    Rule(r"(?:earlier |late |early |later )?{near_part},? (?:early |late )?{day_part}", meanings.near_part),
    Rule(r"(?:at |in the |on the )?{day_part} (?:of )?{near}", meanings.part_of_near),
    Rule(r"(?:earlier |later )?{part_name}", meanings.named_part),
    Rule(r"(?:the )?{day_part} before last", meanings.part_before_last),
    Rule(
        r"(?:on |in |at |late |early )?(?:the )?{day_part} (?P<side>of|before|after|on) {time}",
        meanings.part_of_day,
        _PART,
    ),
)
_PARTS: tuple[Rule, ...] = (
    Rule(IN + r"(?:the )?(?:very )?{portion}(?:-| )(?:in )?{time}", meanings.some_part, _PART),
    Rule(IN + r"(?:the )?{ordinal} {piece} (?:of )?{time}", meanings.piece, _PART),
    Rule(IN + r"(?:the )?{ordinal} (?:{amount} )?{unit} (?:of|in) {time}", meanings.nth_unit, _PART),
    Rule(IN + r"(?:the )?{ordinal} {weekday} (?:of|in) {time}", meanings.nth_day, _PART),
    Rule(IN + r"(?:the )?(?P<unit>weekend|week) (?:of|containing|with) {time}", meanings.unit_of_day, _PART),
    Rule(IN + r"(?:the )?week (?:starting|beginning|commencing)(?: on)? {time}", meanings.week_from, _PART),
    Rule(IN + r"(?:the )?week ending(?: on)? {time}", meanings.week_to, _PART),
    Rule(
        r"(?P<side>earlier|later|(?:the )?rest of|(?:the )?remainder of|so far|thus far|to date)(?: in)? {time}",
        meanings.rest,
        _PART,
    ),
    Rule(
        rf"{_ABOUT}{{amount}} {{unit}} (?P<side>before|after|prior to|following|from) {{time}}",
        meanings.counted_from,
        _PART,
    ),
    Rule(
        rf"{IN}the (?:last )?{{amount}} {{unit}} (?:right |just )?{_SIDE} {{time}}",
        meanings.stretch_beside,
        _PART,
    ),
    Rule(
        rf"{IN}(?:the |last |the last ){{unit}} (?:right |just )?{_SIDE} {{time}}",
        meanings.unit_beside,
        _PART,
    ),
    Rule(
        rf"{IN}(?:the |last |the last )?{{weekday}} (?:right |just )?{_SIDE} {{time}}",
        meanings.weekday_beside,
        _PART,
    ),
)
_FILLED = (
    r"(?:about |around |roughly |at least |sometime (?:in )?|some time (?:in )?|on |in |as early as )?{time}"
)
_RANGES: tuple[Rule, ...] = (
    Rule(rf"(?:ever )?since {_FILLED}", meanings.since, _RANGE),
    Rule(r"starting (?:in |on |from |with )?{time}", meanings.since, _RANGE),
    Rule(rf"(?:any ?time )?(?:after|later than) {_FILLED}", meanings.after, _RANGE),
    Rule(rf"(?:any ?time )?(?:before|prior to|earlier than) {_FILLED}", meanings.before, _RANGE),
    Rule(
        rf"(?:until|till|til|up until|up till|up to(?: and including)?|as of|by|no later than) {_FILLED}",
        meanings.until,
        _RANGE,
    ),
    Rule(r"(?:(?:any ?time |sometime )?between|from) (?:about |around )?{time}", meanings.between, _RANGE),
)

TIME_RULES = TimeRules(
    code="en",
    words=WORDS,
    rules=(
        *DAYS, *DAYS_OF_MONTHS, *MONTHS, *YEARS, *_COUNTED, *_CALENDAR, *_SEASONS, *_HOLIDAYS, *_DAY_PARTS, *_PARTS, *_RANGES
    ),
    continuations=(
        Continuation(r",? (?:in the |at |at the )?(?:early |late )?{day_part}", meanings.part_behind_day, _PART),
        Continuation(r",? (?:on )?(?:the )?{weekday}", meanings.weekday_behind_week, _PART),
        Continuation(r",? on the {day}", meanings.day_behind_month, _PART),
        Continuation(r"(?:'s)?,? (?:in |during |around |at |over |on )?(?:the )?{time}", meanings.in_year, _PART),
        Continuation(r",? (?:so far|thus far|to date)", meanings.so_far, _PART),
        Continuation(
            r"(?: to | through to | through | thru | up to | up until | until | till | ?- ?| ?\.\.\.? ?)(?:on |in |about |around )?{time}",
            meanings.joined,
            _RANGE
        ),
        Continuation(rf",? (?:onwards?|and (?:later|after|beyond)|on{END})", meanings.onwards, _RANGE)
    ),
)  # fmt: skip

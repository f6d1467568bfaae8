"""The phrases of time of English: patterns, and what they mean. Teach it a phrase by adding a rule."""

from __future__ import annotations

from hindsight_integrations.text.languages.en.dates import ALL, DAYS, DAYS_OF_MONTHS, IN, MONTHS, YEARS
from hindsight_integrations.text.languages.en.time_words import WORDS
from hindsight_integrations.text.languages.shared_rules import END, ISO_WEEK, SHORT_WINTER_YEARS, WINTER_YEARS
from hindsight_integrations.text.time_expressions.calendar import Unit
from hindsight_integrations.text.time_expressions.grammar import Continuation, Level, Rule, TimeRules
from hindsight_integrations.text.time_expressions.meanings import (
    anchored,
    calendar_units,
    day_parts,
    days,
    holidays,
    offsets,
    parts,
    ranges,
    seasons,
)

_PART, _RANGE = Level.PART, Level.RANGE
_SIDE = "(?P<side>before|after|prior to|preceding|following|leading up to)"
_NOT_OF = r"(?! (?:of|before|after|prior to|following|preceding)\b)"
_GLUED = "(?P<amount>[0-9]{1,3}) ?{short_unit}"
_OVER = "(?:in|over|during|within|for|throughout|from|of|since)"
_PAST = rf"(?P<intro>(?:{_OVER} )?(?:the |these |this |my |our )?(?:very )?)(?:(?P<last>last)|past|previous|prior)"
_ABOUT = "(?:about |around |roughly |some |approximately |almost |nearly |exactly |just |over |more than )?"
_COUNTED: tuple[Rule, ...] = (
    Rule(_ABOUT + r"{amount}[ -]{unit} (?:ago|back\b(?! to)|earlier than now)", offsets.ago),
    Rule(rf"{_GLUED} ago", offsets.ago),
    Rule(r"(?:between |from )?{amount}(?: to | or | and | ?- ?){amount2} {unit} ago", offsets.between_ago),
    Rule(r"an? {unit} or (?:two|so) ago", offsets.one_or_two_ago),
    Rule(r"{amount} {unit} ago,? (?:on )?{weekday}", offsets.weekday_of_week_ago),
    Rule(r"{number} {clear_weekday}s? ago", offsets.weekdays_ago),
    Rule(r"{number} {season}s? ago", offsets.occurrences_ago),
    Rule(r"{number} {holiday}(?:e?s)? ago", offsets.occurrences_ago),
    Rule(r"(?:a half|half an?)(?P<number>)[ -]{unit} ago", offsets.half_ago),
    Rule(r"{number} {unit} and a half ago", offsets.half_ago),
    Rule(r"{number} and a half {unit} ago", offsets.half_ago),
    Rule(r"{amount} {unit} from (?:now|today)", offsets.ahead),
    Rule(r"in {amount} {unit}'?s?'? time", offsets.ahead),
    Rule(r"in {amount} {unit}(?! of)", offsets.announced),
    Rule(rf"{_PAST} {{amount}}[ -]{{unit}}(?! of)", offsets.past),
    Rule(rf"{_PAST} {_GLUED}(?! of)", offsets.past),
    Rule(rf"(?:{_OVER} )?(?:the )?(?:next|coming|following) {{amount}} {{unit}}(?! of)", offsets.coming),
    Rule(
        rf"(?:{_OVER} (?:(?:the |this )?past|(?:the|this) last)|(?:the|this) past) {{unit}}(?! of)",
        offsets.past_one,
    ),
    Rule(r"past {unit}(?! of)", offsets.past_one),
    Rule(r"the other (?:day|night|week)", offsets.other_day),
)
_CALENDAR: tuple[Rule, ...] = (
    Rule(IN + ALL + rf"{{which}} {{unit}}{_NOT_OF}", calendar_units.which_unit),
    Rule(IN + r"the {unit} before last", calendar_units.unit_before_last),
    Rule(IN + r"the {unit} after next", calendar_units.unit_after_next),
    Rule(r"the (?:current )?{unit}", calendar_units.the_unit, weak=True),
    Rule(rf"(?:over|at|on|during|for) the (?:weekend|wkend){_NOT_OF}", calendar_units.the_weekend),
    Rule(IN + r"(?:the same|this(?: same)?) {unit},?(?: of| in| back in)? ?{tail}", calendar_units.same_unit),
    Rule(IN + r"(?-i:Q)(?P<number>[0-9])(?:,? |-|/|)(?:of )?{tail}", calendar_units.quarter),
    Rule(IN + r"(?P<number>[1-4])(?-i:Q)(?:,? |-|/|)(?:of )?{tail}", calendar_units.quarter),
    Rule(IN + r"{year}(?: |-|/|)(?-i:Q)(?P<number>[0-9])", calendar_units.quarter),
    Rule(r"(?:in|during|for|over) the {ordinal} quarter(?! of| in)(?P<tail>)", calendar_units.quarter),
    Rule(IN + r"(?-i:H)(?P<number>[12])(?:,? |-|/|)(?:of )?{tail}", calendar_units.half),
    Rule(IN + r"{year}(?: |-|/|)(?-i:H)(?P<number>[12])", calendar_units.half),
    Rule(IN + ISO_WEEK, calendar_units.iso_week),
    Rule(
        IN + r"(?:calendar |iso )?(?:week|wk|cw|w) ?(?P<number>[0-9]{1,2})(?: of|,| in)? {year}",
        calendar_units.iso_week,
    ),
    Rule(IN + r"(?:calendar|iso) week (?P<number>[0-9]{1,2}){tail}", calendar_units.iso_week),
    *(
        Rule(rf"(?:the )?(?:{unit}[ -]to[ -]date|{letter}td)", calendar_units.to_date(unit))
        for letter, unit in (("y", Unit.YEAR), ("q", Unit.QUARTER), ("m", Unit.MONTH), ("w", Unit.WEEK))
    ),
)
_SEASON = r"{season}(?:time)?(?: (?:break|vacation|holidays?|season))?"
_SEASONS: tuple[Rule, ...] = (
    Rule(r"(?:the )?{season}{tail}", seasons.season, weak=True),
    Rule(rf"(?:in|during|over|throughout)(?: the)? {_SEASON}{{tail}}", seasons.season),
    Rule(IN + r"(?:the )?{season}{tail}", seasons.dated_season),
    Rule(IN + ALL + rf"(?:the )?{{which}} {_SEASON}", seasons.which_season),
    Rule(IN + r"(?:the )?(?P<tail>(?:1[5-9]|20)[0-9]{2}) {season}", seasons.dated_season),
    Rule(IN + r"the {season} before last", seasons.season_before_last),
    Rule(IN + r"(?:the )?{season} (?:of )?" + WINTER_YEARS, seasons.split_winter),
    Rule(IN + r"(?:the )?{season} (?:of )?" + SHORT_WINTER_YEARS, seasons.split_winter),
)
_HOLIDAYS: tuple[Rule, ...] = (
    Rule(
        r"(?:on |at |over |during |for )?(?:the )?{holiday}(?!'s)(?: (?:dinner|lunch|party|parade|celebrations?|break|holidays?|trip|vacation))?{tail}",
        holidays.holiday,
    ),
    Rule(
        r"(?:on |at |over |during |for |from )?(?:the )?(?P<tail>(?:1[5-9]|20)[0-9]{2}) {holiday}",
        holidays.holiday,
    ),
    Rule(r"(?:on |at |over |during |for )?{which} {holiday}(?!'s)", holidays.which_holiday),
    Rule(r"(?:on |at |over |during |for )?the {holiday} before last", holidays.holiday_before_last),
    Rule(IN + r"(?:the |this )?{holiday} {unit}{tail}", holidays.holiday_unit),
)
_DAY_PARTS: tuple[Rule, ...] = (
    Rule(r"(?:earlier |late |early |later )?{near_part},? (?:early |late )?{day_part}", day_parts.near_part),
    Rule(r"(?:at |in the |on the )?{day_part} (?:of )?{near}", day_parts.part_of_near),
    Rule(r"(?:earlier |later )?{part_name}", day_parts.named_part),
    Rule(r"(?:the )?{day_part} before last", day_parts.part_before_last),
    Rule(
        r"(?:on |in |at |late |early )?(?:the )?{day_part} (?P<side>of|before|after|on) {time}",
        day_parts.part_of_day,
        _PART,
    ),
)
_PARTS: tuple[Rule, ...] = (
    Rule(IN + r"(?:the )?(?:very )?{portion}(?:-| )(?:in )?{time}", parts.some_part, _PART),
    Rule(IN + r"(?:the )?{ordinal} {piece} (?:of )?{time}", parts.piece, _PART),
    Rule(IN + r"(?:the )?{ordinal} (?:{amount} )?{unit} (?:of|in) {time}", parts.nth_unit, _PART),
    Rule(IN + r"(?:the )?{ordinal} {weekday} (?:of|in) {time}", parts.nth_day, _PART),
    Rule(IN + r"(?:the )?(?P<unit>weekend|week) (?:of|containing|with) {time}", parts.unit_of_day, _PART),
    Rule(IN + r"(?:the )?week (?:starting|beginning|commencing)(?: on)? {time}", parts.week_from, _PART),
    Rule(IN + r"(?:the )?week ending(?: on)? {time}", parts.week_to, _PART),
    Rule(
        r"(?P<side>earlier|later|(?:the )?rest of|(?:the )?remainder of|so far|thus far|to date)(?: in)? {time}",
        parts.rest,
        _PART,
    ),
    Rule(
        rf"{_ABOUT}{{amount}} {{unit}} (?P<side>before|after|prior to|following|from) {{time}}",
        anchored.counted_from,
        _PART,
    ),
    Rule(
        rf"{IN}the (?:last )?{{amount}} {{unit}} (?:right |just )?{_SIDE} {{time}}",
        anchored.stretch_beside,
        _PART,
    ),
    Rule(
        rf"{IN}(?:the |last |the last ){{unit}} (?:right |just )?{_SIDE} {{time}}",
        anchored.unit_beside,
        _PART,
    ),
    Rule(
        rf"{IN}(?:the |last |the last )?{{weekday}} (?:right |just )?{_SIDE} {{time}}",
        anchored.weekday_beside,
        _PART,
    ),
)
_FILLED = (
    r"(?:about |around |roughly |at least |sometime (?:in )?|some time (?:in )?|on |in |as early as )?{time}"
)
_RANGES: tuple[Rule, ...] = (
    Rule(rf"(?:ever )?since {_FILLED}", ranges.since, _RANGE),
    Rule(r"starting (?:in |on |from |with )?{time}", ranges.since, _RANGE),
    Rule(rf"(?:any ?time )?(?:after|later than) {_FILLED}", ranges.after, _RANGE),
    Rule(rf"(?:any ?time )?(?:before|prior to|earlier than) {_FILLED}", ranges.before, _RANGE),
    Rule(
        rf"(?:until|till|til|up until|up till|up to(?: and including)?|as of|by|no later than) {_FILLED}",
        ranges.until,
        _RANGE,
    ),
    Rule(r"(?:(?:any ?time |sometime )?between|from) (?:about |around )?{time}", ranges.between, _RANGE),
)

TIME_RULES = TimeRules(
    code="en",
    words=WORDS,
    rules=(
        *DAYS, *DAYS_OF_MONTHS, *MONTHS, *YEARS, *_COUNTED, *_CALENDAR, *_SEASONS, *_HOLIDAYS, *_DAY_PARTS, *_PARTS, *_RANGES
    ),
    continuations=(
        Continuation(r",? (?:in the |at |at the )?(?:early |late )?{day_part}", day_parts.part_behind_day, _PART),
        Continuation(r",? (?:on )?(?:the )?{weekday}", days.weekday_behind_week, _PART),
        Continuation(r",? on the {day}", days.day_behind_month, _PART),
        Continuation(r"(?:'s)?,? (?:in |during |around |at |over |on )?(?:the )?{time}", ranges.in_year, _PART),
        Continuation(r",? (?:so far|thus far|to date)", calendar_units.so_far, _PART),
        Continuation(
            r"(?: to | through to | through | thru | up to | up until | until | till | ?- ?| ?\.\.\.? ?)(?:on |in |about |around )?{time}",
            ranges.joined,
            _RANGE
        ),
        Continuation(rf",? (?:onwards?|and (?:later|after|beyond)|on{END})", ranges.onwards, _RANGE)
    ),
)  # fmt: skip

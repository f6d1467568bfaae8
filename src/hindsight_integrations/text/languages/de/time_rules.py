"""The phrases of time of German: patterns, and what they mean. Teach it a phrase by adding a rule."""

from __future__ import annotations

from hindsight_integrations.text.languages.de.time_words import WORDS
from hindsight_integrations.text.languages.shared_rules import (
    ANY_YEAR,
    DAY_DOT_BLANK_MONTH,
    DECADE,
    ISO_DAY,
    ISO_MONTH,
    ISO_WEEK,
    SHORT_WINTER_YEARS,
    WINTER_YEARS,
    not_after,
)
from hindsight_integrations.text.times import meanings
from hindsight_integrations.text.times.calendar import Unit
from hindsight_integrations.text.times.grammar import Continuation, Level, Rule, TimeRules, any_of

END = r"(?=\s*(?:$|[?!,;:)]|\.(?:\s|$)))"
_SHORT_DAY = r"(?:(?:mo|di|mi|do|fr|sa|so)\.?,? )?"
_WEEKDAY = rf"(?:am |an |vom |zum |der |dem |den |des |fur |fuer )?{_SHORT_DAY}(?:{{weekday}},? (?:den |dem |der )?)?(?:den |dem |der )?"
_ON = "(?:am |an diesem |vom |zum |fur |fuer |fur den |fuer den |den |der |des )?"
_TO = r"(?: ?- ?| bis | bis zum | bis zu | und | und dem | bis einschl(?:iesl|iessl)ich )"
_NOT_MORNING = not_after(
    "am jeden guten der den dem des eines diesen ein einen schonen gegen vom zum fruhen frischen jedem"
)
_PART_OF_DAY = "(?P<day_part>morgen|fruh|vormittag|mittag|nachmittag|abend|nacht)"

DAYS: tuple[Rule, ...] = (
    Rule(rf"{_NOT_MORNING}(?!(?<=\w\x20)(?-i:Morgen)\b){{near}}", meanings.near_day),
    Rule(r"{near} vor (?:genau )?{number} {unit}", meanings.near_day_ago),
    Rule(r"(?:genau )?{near} vor genau {number} {unit}", meanings.near_day_ago),
    Rule(r"(?:an |am )?(?:diesem|demselben|selben|gleichen|heutigen) tag,?{tail}", meanings.this_day_then),
    Rule(r"(?:um|zu) (?:diese|dieser|die gleiche|die selbe|dieselbe) zeit,?{tail}", meanings.this_time_then),
    Rule(
        r"(?:im |in )?(?P<tail>(?:letzte|vorige|vergangene|vorletzte)[sn] jahr|vor (?:[0-9]{1,2}|einem|zwei|drei|vier|funf|zehn) jahre?n?),? (?:um|zu) (?:diese|dieser|die gleiche|dieselbe) zeit",
        meanings.this_time_then,
    ),
    Rule(rf"{_ON}{{which}} {{weekday}}", meanings.which_weekday),
    Rule(r"(?:am |den |vom )?vorletzte[nr]? {weekday}", meanings.weekday_before_last),
    Rule(rf"{_ON}{{weekday}},? (?:in |der |in der |von |vom )?{{which}} woche", meanings.weekday_of_week),
    Rule(
        r"(?:von |vom |zwischen )?{weekday}(?: bis | und | ?- ?){weekday2},? (?:in |der |in der )?{which} woche",
        meanings.weekdays_of_week,
    ),
    Rule(
        r"(?:von |vom |zwischen )?{weekday}(?: bis | bis zum | und | ?- ?){weekday2}(?! (?:letzte|diese|nachste|naechste|vorige|vergangene))",
        meanings.two_weekdays,
    ),
    Rule(r"(?:am|vom|zum|fur|fuer) (?:kommenden )?{weekday}", meanings.plain_weekday),
    Rule(r"{weekday}(?!-)", meanings.plain_weekday),
    Rule(rf"(?:am )?{{which}} {{clear_weekday}}{_PART_OF_DAY}", meanings.weekday_part),
    Rule(rf"(?:am |vom )?{{clear_weekday}}{_PART_OF_DAY}", meanings.weekday_part),
    Rule("(?:am |vom |zum )?" + ISO_DAY, meanings.iso_day),
    Rule("(?:im |in )?" + ISO_MONTH, meanings.iso_month),
    Rule(r"(?:im |in )?(?P<m>0?[1-9]|1[0-2])[/.]{year}", meanings.iso_month),
    Rule(rf"{_WEEKDAY}{DAY_DOT_BLANK_MONTH}\s?(?P<y>[0-9]{{4}}|[0-9]{{2}})", meanings.day_first),
    Rule(
        rf"{_WEEKDAY}(?P<d>[0-9]{{1,2}})(?P<mark>[/-])(?P<m>[0-9]{{1,2}})(?P=mark)(?P<y>[0-9]{{4}})",
        meanings.in_figures,
    ),
    Rule(
        r"(?:am |vom |zum |der |fur den |fuer den )(?:{weekday},? (?:den |dem |der )?)?"
        + DAY_DOT_BLANK_MONTH
        + "(?! ?[0-9])",
        meanings.day_month,
    ),
    Rule(DAY_DOT_BLANK_MONTH + "(?! ?[0-9])", meanings.day_month, weak=True),
    Rule(r"(?:am |vom |der |des )?{day} (?:des )?{which} monats?", meanings.day_of_which_month),
    Rule(
        r"(?:am |vom )(?P<day>[0-9]{1,2})\.(?! ?(?:[0-9]|(?-i:[A-Z])))(?! (?:jan|feb|mar|apr|mai|jun|jul|aug|sep|okt|nov|dez))",
        meanings.day_of_month,
    ),
    Rule(
        r"(?:am |vom ){weekday},? (?:den |dem |der )(?P<day>[0-9]{1,2})\.(?! ?(?:[0-9]|(?-i:[A-Z])))",
        meanings.day_of_month,
    ),
    Rule(r"(?P<day>[0-9]{1,2})\.(?! ?(?:[0-9]|(?-i:[A-Z])))", meanings.day_of_month, weak=True),
)
DAYS_OF_MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_WEEKDAY}{{day}} ?{{month}}{{tail}}", meanings.month_and_day),
    Rule(rf"{_ON}{{which}} {{day}} {{month}}", meanings.which_month_and_day),
    Rule(
        rf"(?:vom |von |zwischen dem |zwischen |am |der |die |den )?{{day}}{_TO}(?:zum |dem |den )?{{day2}} ?{{month}}{{tail}}",
        meanings.month_and_days,
    ),
)
MONTHS: tuple[Rule, ...] = (
    Rule(r"{month}{tail}", meanings.month, weak=True),
    Rule(
        r"(?:im|den ganzen|den|wahrend des|waehrend des|uber den|fur(?! a)|fuer(?! a)|vom|des)(?: ganzen)?(?: monats?)? {month}{tail}",
        meanings.month,
    ),
    Rule(r"{month}{tail}", meanings.month_of_year),
    Rule(r"(?:im |in diesem |vom )?{which} {month}", meanings.which_month),
    Rule(r"(?:von |zwischen |im |in )?{month}(?: bis | und | ?- ?){month2}{tail}", meanings.two_months),
)
_YEARS_LONG = "(?:[- ]?jahren?s?)?"
YEARS: tuple[Rule, ...] = (
    Rule(r"{year}", meanings.year, weak=True),
    Rule(
        r"(?:im jahre?|in|anno|des jahres|vom jahr|das jahr|das ganze jahr|wahrend|waehrend|aus dem jahr|aus|ganz) {year}",
        meanings.year,
    ),
    Rule(r"von {year}(?! bis| und| ?-)", meanings.year),
    Rule(r"im jahre? (?P<year>[0-9]{4})", meanings.named_year),
    Rule("in " + ANY_YEAR, meanings.any_year),
    Rule(r"{year}(?!:| ?- ?[0-9])", meanings.final_year),
    Rule(
        r"(?<!\S\s)(?<!\S){year}(?= (?:war|habe|hatte|bin|wurde|hat|haben|waren|ging|fuhr|kam)\b)",
        meanings.year,
    ),
    Rule(r"(?:von |zwischen |in den jahren )?{year}(?: bis | und | ?- ?){year2}", meanings.bare_two_years),
    Rule(r"(?:von|zwischen|in den jahren) {year}(?: bis | und | ?- ?){year2}", meanings.two_years),
    Rule(
        r"(?:in|saison|in der saison|schuljahr|im schuljahr|von) {year}/(?P<y>[0-9]{2})", meanings.split_year
    ),
    Rule(
        rf"(?:in den |aus den |der |die |den |wahrend der |waehrend der ){DECADE}ern?{_YEARS_LONG}",
        meanings.decade,
    ),
    Rule(rf"{DECADE}ern?{_YEARS_LONG}", meanings.decade, weak=True),
    Rule(
        rf"(?:in den |aus den |die |wahrend der |waehrend der )'?(?P<y>[1-9]0)ern?{_YEARS_LONG}(?![- ]?(?:zone|schein|pack|bereich|karte|kurve|bus|bahn|linie))",
        meanings.short_decade,
    ),
    Rule(rf"'?(?P<y>[1-9]0)ern?{_YEARS_LONG}", meanings.short_decade, weak=True),
    Rule(
        rf"(?:in den |aus den |der |die |den |wahrend der |waehrend der )(?:goldenen |wilden )?{{decade_word}}{_YEARS_LONG}",
        meanings.word_decade,
    ),
    Rule(rf"{{decade_word}}{_YEARS_LONG}", meanings.word_decade, weak=True),
    Rule(r"(?:im |das |des |dem )?{day} (?:jahrhunderts?|jh\.?)", meanings.century),
)


_PART, _RANGE = Level.PART, Level.RANGE
_ORDINAL = rf"(?P<ordinal>{any_of(name for name in WORDS.ordinals if not name.isdigit())}|[1-6](?=\.))\.?"
_IN = (
    "(?:im lauf(?:e)? (?:der |des )?|im |in |am |an |wahrend |waehrend |von |vom |uber |ueber |fur |fuer |zum |zur |ganze |ganzen )?"
    "(?:der |den |dem |des |das |die )?(?:ganze[ns]? |gesamte[ns]? )?"
)
_ABOUT = "(?:etwa |ungefahr |ungefaehr |circa |ca\\. |rund |uber |ueber |knapp |gut |fast |genau |mehr als |schon |erst |so |gerade mal )*"
_COUNTED: tuple[Rule, ...] = (
    Rule(rf"vor {_ABOUT}{{amount}} {{unit}}", meanings.ago),
    Rule(r"vor {amount} ?{short_unit}", meanings.ago),
    Rule(rf"{_ABOUT}{{amount}} {{unit}} her", meanings.ago),
    Rule(r"vor (?:etwa )?{amount}(?: oder | bis | und | ?- ?){amount2} {unit}", meanings.between_ago),
    Rule(r"vor ein(?:er|em|en) {unit} oder zwei", meanings.one_or_two_ago),
    Rule(r"(?:am )?{weekday} vor {amount} {unit}", meanings.weekday_of_week_ago),
    Rule(r"vor {amount} {unit},? am {weekday}", meanings.weekday_of_week_ago),
    Rule(r"vor {number} {season}n?", meanings.occurrences_ago),
    Rule(r"vor ein(?:em|er) halben (?P<number>){unit}", meanings.half_ago),
    Rule(r"vor (?P<number>anderthalb|eineinhalb|zweieinhalb|dreieinhalb) {unit}", meanings.half_ago),
    Rule(r"in (?:genau |etwa |ungefahr )?{amount} {unit}", meanings.expected),
    Rule(
        rf"{_IN}(?P<intro>)(?P<last>)(?:letzten|vergangenen|letzte|letzter) {{amount}} {{unit}}(?! (?:im|des|der|vom|von)\b)",
        meanings.past,
    ),
    Rule(
        rf"{_IN}(?P<intro>)(?P<last>){{amount}} (?:letzten|vergangenen) {{unit}}(?! (?:im|des|der)\b)",
        meanings.past,
    ),
    Rule(
        rf"{_IN}(?:nachsten|naechsten|kommenden|folgenden) {{amount}} {{unit}}(?! (?:im|des|der)\b)",
        meanings.coming,
    ),
)
_CALENDAR: tuple[Rule, ...] = (
    Rule(rf"{_IN}{{which}} {{unit}}", meanings.which_unit),
    Rule(r"heuer", meanings.running(Unit.YEAR)),
    Rule(rf"{_IN}vorletzte[nrsm]? {{unit}}", meanings.unit_before_last),
    Rule(rf"{_IN}(?:ubernachste|uebernaechste)[nrsm]? {{unit}}", meanings.unit_after_next),
    Rule(
        r"am wochenende|ubers wochenende|uebers wochenende|(?:uber|ueber) das wochenende|(?:furs|fuers) wochenende",
        meanings.the_weekend,
    ),
    Rule(r"(?:des |der |dem |den |das |die |im |in der )?{unit}", meanings.the_unit, weak=True),
    Rule(
        rf"{_IN}(?:diese[rnms]? |(?:der|die|das)selbe[n]? |gleichen )?{{unit}},?{{tail}}",
        meanings.same_unit,
    ),
    Rule(rf"{_IN}(?-i:Q)(?P<number>[0-9])(?:,? |-|/|){{tail}}", meanings.quarter),
    Rule(rf"{_IN}{{year}}[ /-]?(?-i:Q)(?P<number>[0-9])", meanings.quarter),
    Rule(
        rf"{_IN}{_ORDINAL} (?:quartals?|vierteljahr(?:es|s)?|jahresviertels?)(?: des jahres)?{{tail}}",
        meanings.quarter,
    ),
    Rule(
        rf"{_IN}{_ORDINAL} (?:halbjahr(?:es|s)?|jahreshalfte|jahreshaelfte)(?: des jahres)?{{tail}}",
        meanings.half,
    ),
    Rule(rf"{_IN}(?-i:H)(?P<number>[12])(?:,? |-|/|){{year}}", meanings.half),
    Rule(
        rf"{_IN}woche (?P<number>[0-9]{{1,2}})(?: /|/| im jahr| in| des jahres)? ?{{year}}",
        meanings.iso_week,
    ),
    Rule(
        rf"{_IN}(?:kw|kalenderwoche) ?(?P<number>[0-9]{{1,2}})(?: /|/| im jahr| in)?{{tail}}",
        meanings.iso_week,
    ),
    Rule(
        rf"{_IN}(?P<number>[0-9]{{1,2}})\. ?(?:kw|kalenderwoche)(?: des jahres)?{{tail}}",
        meanings.iso_week,
    ),
    Rule(_IN + ISO_WEEK, meanings.iso_week),
)
_SEASON = "{season}(?:ferien|urlaub)?"
_SEASONS: tuple[Rule, ...] = (
    Rule(r"(?:der |des |dem |den |im )?{season}{tail}", meanings.season, weak=True),
    Rule(
        rf"(?:im|in den|wahrend des|waehrend des|den ganzen|uber den|ueber den|im ganzen) {_SEASON}{{tail}}",
        meanings.season,
    ),
    Rule(rf"{_IN}{_SEASON}{{tail}}", meanings.dated_season),
    Rule(rf"{_IN}{{which}} {_SEASON}", meanings.which_season),
    Rule(rf"{_IN}vorletzte[nrsm]? {{season}}", meanings.season_before_last),
    Rule(rf"{_IN}{{season}} {WINTER_YEARS}", meanings.split_winter),
    Rule(rf"{_IN}{{season}} {SHORT_WINTER_YEARS}", meanings.split_winter),
)
_AT = "(?:zu |an |am |uber |ueber |zum |zur |fur |fuer |wahrend |der |dem |den |auf )?(?:der |dem |den )?"
_HOLIDAYS: tuple[Rule, ...] = (
    Rule(rf"{_AT}{{holiday}}{{tail}}", meanings.holiday),
    Rule(rf"{_AT}{{which}} {{holiday}}", meanings.which_holiday),
    Rule(rf"{_AT}vorletzte[nrsm]? {{holiday}}", meanings.holiday_before_last),
    Rule(
        r"(?:am |in der |an )?(?P<holiday>oster|pfingst|weihnachts)(?P<unit>wochenende|woche){tail}",
        meanings.holiday_unit,
    ),
)
_DAY_PARTS: tuple[Rule, ...] = (
    Rule(
        r"(?:in der |am |an )?{near_part},? (?:am |in der |gegen |fruh am |spat am )?{day_part}",
        meanings.near_part,
    ),
    Rule(r"(?:am |in der )?{day_part} (?:von )?{near}", meanings.part_of_near),
    Rule(
        r"(?:am |in der |an dem |den |die )?(?:fruhen |spaten )?{day_part} (?P<side>des|der|vom|von|am|vor|nach|zum|zu|auf den|auf)(?: dem| der| den)? {time}",
        meanings.part_of_day,
        _PART,
    ),
)
_SIDE = "(?P<side>vor|nach)(?: dem| der| den)?"
_PARTS: tuple[Rule, ...] = (
    Rule(
        r"(?:im |in diesem |diesen )?(?P<portion>fruh|frueh|hoch|spat|spaet)(?=sommer|herbst|winter|fruhling){time}",
        meanings.some_part,
        _PART,
    ),
    Rule(
        r"(?:zu |gegen |am |zum )?(?P<portion>anfang|beginn|start|mitte|ende|ausgang|schluss) (?:der |des |vom |von |dem |den )?{time}",
        meanings.some_part,
        _PART,
    ),
    Rule(
        r"(?:am |zum |zu |um |gegen )?(?P<unit>jahres|monats|wochen|quartals)(?P<portion>anfang|beginn|start|mitte|schluss){tail}",
        meanings.part_of_unit,
    ),
    Rule(
        r"(?:am |zum |zu |um |gegen )?(?P<unit>jahres|monats|quartals)(?P<portion>ende){tail}",
        meanings.part_of_unit,
    ),
    Rule(rf"{_IN}{_ORDINAL} {{clear_month}}(?P<unit>woche|wochenende|tag){{tail}}", meanings.unit_of_month),
    Rule(rf"{_IN}{_ORDINAL} {{clear_month}}{{piece}}{{tail}}", meanings.piece_of_month),
    Rule(rf"{_IN}{_ORDINAL} {{piece}} (?:der |des |vom |von |im )?{{time}}", meanings.piece, _PART),
    Rule(
        rf"{_IN}{_ORDINAL} (?:{{amount}} )?{{unit}} (?:im |des |in |der |vom |von |in diesem )?{{time}}",
        meanings.nth_unit,
        _PART,
    ),
    Rule(rf"{_IN}{{amount}} {_ORDINAL} {{unit}} (?:im |des |in |der )?{{time}}", meanings.nth_unit, _PART),
    Rule(rf"{_IN}{_ORDINAL} {{weekday}} (?:im |des |in |der )?{{time}}", meanings.nth_day, _PART),
    Rule(
        rf"{_IN}(?P<unit>wochenende|woche) (?:vom|des|um den|um|mit dem|von|der|am)(?: dem)? {{time}}",
        meanings.unit_of_day,
        _PART,
    ),
    Rule(rf"{_IN}woche ab (?:dem )?{{time}}", meanings.week_from, _PART),
    Rule(
        r"(?P<side>fruher|frueher|bisher|bislang|spater|spaeter)(?: noch)? (?:in |im )?{time}",
        meanings.rest,
        _PART,
    ),
    Rule(
        rf"{_IN}(?P<side>rest|verbleibenden|bisherigen) (?:des |der |von |vom )?{{time}}",
        meanings.rest,
        _PART,
    ),
    Rule(rf"{_ABOUT}{{amount}} {{unit}} {_SIDE} {{time}}", meanings.counted_from, _PART),
    Rule(
        rf"(?:in den |die |der |wahrend der )(?:letzten |ersten )?{{amount}} {{unit}} (?:direkt |unmittelbar )?{_SIDE} {{time}}",
        meanings.stretch_beside,
        _PART,
    ),
    Rule(rf"{_IN}{{unit}} (?:direkt |unmittelbar )?{_SIDE} {{time}}", meanings.unit_beside, _PART),
    Rule(rf"{_IN}{{weekday}} (?:direkt |unmittelbar )?{_SIDE} {{time}}", meanings.weekday_beside, _PART),
    Rule(r"(?:am )?(?:vorabend|vortag) (?:von |des |der |vom |zu )?{time}", meanings.eve_of, _PART),
)
_RANGES: tuple[Rule, ...] = (
    Rule(r"(?:seit|ab)(?: dem| der| den)? {time}", meanings.since, _RANGE),
    Rule(r"(?:nach|spater als|spaeter als)(?: dem| der)? {time}", meanings.after, _RANGE),
    Rule(r"(?:vor|fruher als|frueher als)(?: dem| der)? {time}", meanings.before, _RANGE),
    Rule(
        r"bis(?: spatestens| spaetestens| einschliesslich| einschlieslich)?(?: zum| zur| zu)? {time}",
        meanings.until,
        _RANGE,
    ),
    Rule(r"(?:zwischen|von|vom|ab)(?: dem| der| den)? {time}", meanings.between, _RANGE),
)

TIME_RULES = TimeRules(
    code="de",
    words=WORDS,
    rules=(
        *DAYS, *DAYS_OF_MONTHS, *MONTHS, *YEARS, *_COUNTED, *_CALENDAR, *_SEASONS, *_HOLIDAYS, *_DAY_PARTS, *_PARTS, *_RANGES
    ),
    continuations=(
        Continuation(r",? ?(?:am |in der |gegen )?(?:fruhen |spaten )?{day_part}", meanings.part_behind_day, _PART),
        Continuation(r",? (?:am )?{weekday}", meanings.weekday_behind_week, _PART),
        Continuation(r",? am {day}", meanings.day_behind_month, _PART),
        Continuation(r",? (?:im |in |an |zu |am |wahrend )?(?:der |des |dem )?{time}", meanings.in_year, _PART),
        Continuation(r",? (?:bisher|bislang|bis jetzt|bis heute)", meanings.so_far, _PART),
        Continuation(r"(?: bis (?:zum |zur |zu |einschliesslich |am |dem )?| ?- ?){time}", meanings.joined, _RANGE),
        Continuation(rf",? (?:an|aufwarts){END}", meanings.onwards, _RANGE)
    ),
)  # fmt: skip

"""The phrases of German that name days, months and years: "8. Mai 2023", "letzten Freitag", "in den Neunzigern"."""

from __future__ import annotations

from hindsight_integrations.text.languages.shared_rules import (
    ANY_YEAR,
    DAY_DOT_BLANK_MONTH,
    DECADE,
    ISO_DAY,
    ISO_MONTH,
    not_after,
)
from hindsight_integrations.text.time_expressions.grammar import Rule
from hindsight_integrations.text.time_expressions.meanings import day_parts, days, months, years

END = r"(?=\s*(?:$|[?!,;:)]|\.(?:\s|$)))"
_SHORT_DAY = r"(?:(?:mo|di|mi|do|fr|sa|so)\.?,? )?"
_WEEKDAY = rf"(?:am |an |vom |zum |der |dem |den |des |fur |fuer )?{_SHORT_DAY}(?:{{weekday}},? (?:den |dem |der )?)?(?:den |dem |der )?"
_ON = "(?:am |an diesem |vom |zum |fur |fuer |fur den |fuer den |den |der |des )?"
_TO = r"(?: ?- ?| bis | bis zum | bis zu | und | und dem | bis einschl(?:iesl|iessl)ich )"
_NOT_MORNING = not_after(
    "am jeden guten der den dem des eines diesen ein einen schonen gegen vom zum fruhen frischen jedem"
)
_PARTS = "(?P<day_part>morgen|fruh|vormittag|mittag|nachmittag|abend|nacht)"

DAYS: tuple[Rule, ...] = (
    Rule(rf"{_NOT_MORNING}(?!(?<=\w\x20)(?-i:Morgen)\b){{near}}", days.near_day),
    Rule(r"{near} vor (?:genau )?{number} {unit}", days.near_day_ago),
    Rule(r"(?:genau )?{near} vor genau {number} {unit}", days.near_day_ago),
    Rule(r"(?:an |am )?(?:diesem|demselben|selben|gleichen|heutigen) tag,?{tail}", days.this_day_then),
    Rule(r"(?:um|zu) (?:diese|dieser|die gleiche|die selbe|dieselbe) zeit,?{tail}", days.this_time_then),
    Rule(
        r"(?:im |in )?(?P<tail>(?:letzte|vorige|vergangene|vorletzte)[sn] jahr|vor (?:[0-9]{1,2}|einem|zwei|drei|vier|funf|zehn) jahre?n?),? (?:um|zu) (?:diese|dieser|die gleiche|dieselbe) zeit",
        days.this_time_then,
    ),
    Rule(rf"{_ON}{{which}} {{weekday}}", days.which_weekday),
    Rule(r"(?:am |den |vom )?vorletzte[nr]? {weekday}", days.weekday_before_last),
    Rule(rf"{_ON}{{weekday}},? (?:in |der |in der |von |vom )?{{which}} woche", days.weekday_of_week),
    Rule(
        r"(?:von |vom |zwischen )?{weekday}(?: bis | und | ?- ?){weekday2},? (?:in |der |in der )?{which} woche",
        days.weekdays_of_week,
    ),
    Rule(
        r"(?:von |vom |zwischen )?{weekday}(?: bis | bis zum | und | ?- ?){weekday2}(?! (?:letzte|diese|nachste|naechste|vorige|vergangene))",
        days.two_weekdays,
    ),
    Rule(r"(?:am|vom|zum|fur|fuer) (?:kommenden )?{weekday}", days.plain_weekday),
    Rule(r"{weekday}(?!-)", days.plain_weekday),
    Rule(rf"(?:am )?{{which}} {{clear_weekday}}{_PARTS}", day_parts.weekday_part),
    Rule(rf"(?:am |vom )?{{clear_weekday}}{_PARTS}", day_parts.weekday_part),
    Rule("(?:am |vom |zum )?" + ISO_DAY, days.iso_day),
    Rule("(?:im |in )?" + ISO_MONTH, days.iso_month),
    Rule(r"(?:im |in )?(?P<m>0?[1-9]|1[0-2])[/.]{year}", days.iso_month),
    Rule(rf"{_WEEKDAY}{DAY_DOT_BLANK_MONTH}\s?(?P<y>[0-9]{{4}}|[0-9]{{2}})", days.day_first),
    Rule(
        rf"{_WEEKDAY}(?P<d>[0-9]{{1,2}})(?P<mark>[/-])(?P<m>[0-9]{{1,2}})(?P=mark)(?P<y>[0-9]{{4}})",
        days.in_figures,
    ),
    Rule(
        r"(?:am |vom |zum |der |fur den |fuer den )(?:{weekday},? (?:den |dem |der )?)?"
        + DAY_DOT_BLANK_MONTH
        + "(?! ?[0-9])",
        days.day_month,
    ),
    Rule(DAY_DOT_BLANK_MONTH + "(?! ?[0-9])", days.day_month, weak=True),
    Rule(r"(?:am |vom |der |des )?{day} (?:des )?{which} monats?", days.day_of_which_month),
    Rule(
        r"(?:am |vom )(?P<day>[0-9]{1,2})\.(?! ?(?:[0-9]|(?-i:[A-Z])))(?! (?:jan|feb|mar|apr|mai|jun|jul|aug|sep|okt|nov|dez))",
        days.day_of_month,
    ),
    Rule(
        r"(?:am |vom ){weekday},? (?:den |dem |der )(?P<day>[0-9]{1,2})\.(?! ?(?:[0-9]|(?-i:[A-Z])))",
        days.day_of_month,
    ),
    Rule(r"(?P<day>[0-9]{1,2})\.(?! ?(?:[0-9]|(?-i:[A-Z])))", days.day_of_month, weak=True),
)
DAYS_OF_MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_WEEKDAY}{{day}} ?{{month}}{{tail}}", months.month_and_day),
    Rule(rf"{_ON}{{which}} {{day}} {{month}}", months.which_month_and_day),
    Rule(
        rf"(?:vom |von |zwischen dem |zwischen |am |der |die |den )?{{day}}{_TO}(?:zum |dem |den )?{{day2}} ?{{month}}{{tail}}",
        months.month_and_days,
    ),
)
MONTHS: tuple[Rule, ...] = (
    Rule(r"{month}{tail}", months.month, weak=True),
    Rule(
        r"(?:im|den ganzen|den|wahrend des|waehrend des|uber den|fur(?! a)|fuer(?! a)|vom|des)(?: ganzen)?(?: monats?)? {month}{tail}",
        months.month,
    ),
    Rule(r"{month}{tail}", months.month_of_year),
    Rule(r"(?:im |in diesem |vom )?{which} {month}", months.which_month),
    Rule(r"(?:von |zwischen |im |in )?{month}(?: bis | und | ?- ?){month2}{tail}", months.two_months),
)
_YEARS_LONG = "(?:[- ]?jahren?s?)?"
YEARS: tuple[Rule, ...] = (
    Rule(r"{year}", years.year, weak=True),
    Rule(
        r"(?:im jahre?|in|anno|des jahres|vom jahr|das jahr|das ganze jahr|wahrend|waehrend|aus dem jahr|aus|ganz) {year}",
        years.year,
    ),
    Rule(r"von {year}(?! bis| und| ?-)", years.year),
    Rule(r"im jahre? (?P<year>[0-9]{4})", years.named_year),
    Rule("in " + ANY_YEAR, years.any_year),
    Rule(r"{year}(?!:| ?- ?[0-9])", years.final_year),
    Rule(
        r"(?<!\S\s)(?<!\S){year}(?= (?:war|habe|hatte|bin|wurde|hat|haben|waren|ging|fuhr|kam)\b)", years.year
    ),
    Rule(r"(?:von |zwischen |in den jahren )?{year}(?: bis | und | ?- ?){year2}", years.bare_two_years),
    Rule(r"(?:von|zwischen|in den jahren) {year}(?: bis | und | ?- ?){year2}", years.two_years),
    Rule(r"(?:in|saison|in der saison|schuljahr|im schuljahr|von) {year}/(?P<y>[0-9]{2})", years.split_year),
    Rule(
        rf"(?:in den |aus den |der |die |den |wahrend der |waehrend der ){DECADE}ern?{_YEARS_LONG}",
        years.decade,
    ),
    Rule(rf"{DECADE}ern?{_YEARS_LONG}", years.decade, weak=True),
    Rule(
        rf"(?:in den |aus den |die |wahrend der |waehrend der )'?(?P<y>[1-9]0)ern?{_YEARS_LONG}(?![- ]?(?:zone|schein|pack|bereich|karte|kurve|bus|bahn|linie))",
        years.short_decade,
    ),
    Rule(rf"'?(?P<y>[1-9]0)ern?{_YEARS_LONG}", years.short_decade, weak=True),
    Rule(
        rf"(?:in den |aus den |der |die |den |wahrend der |waehrend der )(?:goldenen |wilden )?{{decade_word}}{_YEARS_LONG}",
        years.word_decade,
    ),
    Rule(rf"{{decade_word}}{_YEARS_LONG}", years.word_decade, weak=True),
    Rule(r"(?:im |das |des |dem )?{day} (?:jahrhunderts?|jh\.?)", years.century),
)

"""The phrases of Spanish that name days, months and years: "8 de mayo de 2023", "el viernes pasado", "los noventa"."""

from __future__ import annotations

from hindsight_integrations.text.languages.es.time_words import TAIL_YEARS
from hindsight_integrations.text.languages.shared_rules import (
    ANY_YEAR,
    DAY_DOT_MONTH,
    DECADE,
    END,
    ISO_DAY,
    ISO_MONTH,
    not_after,
)
from hindsight_integrations.text.time_expressions.grammar import Rule
from hindsight_integrations.text.time_expressions.meanings import days, months, years
from hindsight_integrations.text.time_expressions.patterns import any_of

PRE = (  # "which" in front of its noun
    r"(?P<which>(?:est[eao]s? )?(?:pasad[oa]s?|proxim[oa]s?|ultim[oa]s?|venider[oa]s?)|est[ea]|estos|estas|presente|actual)"
)
POST = (  # and behind it
    r"(?P<which>pasad[oa]s?|proxim[oa]s?|venider[oa]s?|anterior|entrante|que viene|que vienen|que entra|que paso|recien pasado|actual|en curso"
    r"|que acaba de pasar|corriente)"
)
_SMALL = r"(?-i:(?=[a-z]))"  # names of months and weekdays are in small letters, people's are not
_FULL = "(?P<month>enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre)"
_FULL2 = _FULL.replace("month", "month2")
_NOT_NAMED = not_after("del buena misma aquella mi la una cada el media esta toda tu")
_EL = r"(?:(?-i:el|El(?= [a-z]))|del|al|este mismo)"
_WEEKDAY = r"(?:(?:el |del |al )?{weekday},? (?:dia )?|(?:el |del |al )?dia |el )?"
_TO = r"(?: a(?: el)? | al | hasta(?: el)? | y(?: el)? | ?- ?)"
_DAY_SLASH_MONTH = "(?P<d>[0-9]{1,2})/(?P<m>[0-9]{1,2})"
_NUMBER_DAY = r"(?P<day>[0-9]{1,2}(?:\u00ba|\u00b0|ro|er|o)?)"

DAYS: tuple[Rule, ...] = (
    Rule(rf"{_NOT_NAMED}{{near}}(?: mism[oa])?", days.near_day),
    Rule(r"{near},? hace {number} {unit}", days.near_day_ago),
    Rule(
        r"hace {number} {unit},? (?:(?:(?:tal|un) dia )?(?:como )?{near}|(?:este|en este|el) mismo dia)",
        days.near_day_ago,
    ),
    Rule(
        r"(?:(?:tal|un|en un|en tal) dia como hoy|este mismo dia|el mismo dia|en este dia|el dia de hoy|hoy|este dia),?{tail}",
        days.this_day_then,
    ),
    Rule(r"(?:por|en|a) est[ao]s (?:mismas )?(?:fechas|alturas|epoca|tiempo),?{tail}", days.this_time_then),
    Rule(
        rf"(?:el )?(?P<tail>{any_of(TAIL_YEARS)}|hace (?:[0-9]{{1,2}}|un|dos|tres|cuatro|cinco|diez) anos?),?"
        r" (?:por|en|a) est[ao]s (?:mismas )?(?:fechas|alturas)",
        days.this_time_then,
    ),
    Rule(rf"(?:{_EL} )?{{weekday}} {POST}", days.which_weekday),
    Rule(rf"(?:el |del |al |en )?{PRE} {{weekday}}", days.which_weekday),
    Rule(r"(?:el |del )?{weekday} antepasado", days.weekday_before_last),
    Rule(rf"(?:{_EL} )?{{weekday}},? (?:de|en) (?:la )?semana {POST}", days.weekday_of_week),
    Rule(rf"(?:{_EL} )?{{weekday}},? (?:de|en) (?:la )?{PRE} semana", days.weekday_of_week),
    Rule(
        rf"(?:del?|desde|entre)(?: el)? {{weekday}}{_TO}{{weekday2}},? (?:de|en) la semana {POST}",
        days.weekdays_of_week,
    ),
    Rule(
        rf"(?:del?|desde|entre)(?: el)? {{weekday}}{_TO}{{weekday2}},? (?:de|en) (?:la )?{PRE} semana",
        days.weekdays_of_week,
    ),
    Rule(
        rf"(?:del?|desde|entre)(?: el)? {{weekday}}{_TO}{{weekday2}}(?! (?:de|pasad|[0-9]))",
        days.two_weekdays,
    ),
    Rule(rf"{_EL} {{weekday}}", days.named_weekday),
    Rule(
        rf"(?<!los\x20)(?<!cada\x20){_SMALL}{{weekday}}(?= (?:por|en|a) la (?:manana|tarde|noche)\b)",
        days.plain_weekday,
    ),
    Rule(r"{weekday}", days.plain_weekday, weak=True),
    Rule("(?:el )?(?:dia )?" + ISO_DAY, days.iso_day),
    Rule("(?:en )?" + ISO_MONTH, days.iso_month),
    Rule(r"(?:en |de )?(?P<m>0?[1-9]|1[0-2])/{year}", days.iso_month),
    Rule(
        rf"{_WEEKDAY}(?P<d>[0-9]{{1,2}})(?P<mark>[-/])(?P<m>[0-9]{{1,2}})(?P=mark)(?P<y>[0-9]{{4}}|[0-9]{{2}})",
        days.in_figures,
    ),
    Rule(_WEEKDAY + DAY_DOT_MONTH + "(?P<y>[0-9]{4})", days.day_first),
    Rule("(?:el|del|al) (?:dia )?" + DAY_DOT_MONTH + "(?P<y>[0-9]{2})", days.day_first),
    Rule("(?:el|del|al)(?: dia)? (?!24/7)" + _DAY_SLASH_MONTH + "(?! de)", days.in_figures),
    Rule(_DAY_SLASH_MONTH, days.in_figures, weak=True),
    Rule(rf"(?:el |del |al )?(?:dia )?{{day}} del mes {POST}", days.day_of_which_month),
    Rule(rf"(?:el |del |al )?(?:dia )?{{day}} del? {PRE} mes", days.day_of_which_month),
    Rule(rf"(?:el |del )dia {_NUMBER_DAY}{END}", days.day_of_month),
    Rule(rf"(?:el|del) (?P<day>[1-9]|[12][0-9]|3[01]){END}", days.day_of_month, weak=True),
    Rule(
        r"(?:el |del |este ){weekday},? (?:dia )?(?P<day>[0-9]{1,2})(?! (?:de|del)\b)(?![:/.h])",
        days.day_of_month,
    ),
)
DAYS_OF_MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_WEEKDAY}(?<!\bla\x20){{day}} de (?:el mes de )?{{month}}{{tail}}", months.month_and_day),
    Rule(rf"{_WEEKDAY}(?<!\bla\x20)(?P<day>[0-9]{{1,2}})(?: |-|/|){{month}}{{tail}}", months.month_and_day),
    Rule(rf"{_WEEKDAY}{_FULL} (?P<day>[0-9]{{1,2}})(?:,|\b){{tail}}", months.month_and_day),
    Rule(
        rf"{_WEEKDAY}(?P<day>[0-9]{{1,2}})[-/ ](?:de )?{{month}}[-/ ](?:de )?(?P<y>[0-9]{{2}}){END}",
        months.short_dated,
    ),
    Rule(rf"(?:el )?{PRE} (?:dia )?{{day}} de {{month}}", months.which_month_and_day),
    Rule(rf"(?:el )?{{day}} de {{month}} {POST}", months.which_month_and_day),
    Rule(
        rf"(?:del |desde el |entre el |entre los dias |el |los dias |los )?(?:dia |dias )?{{day}}{_TO}{{day2}} de {{month}}{{tail}}",
        months.month_and_days,
    ),
)
MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_FULL}{{tail}}", months.month, weak=True),
    Rule(rf"(?:en|durante|a lo largo de|todo)(?: todo)?(?: el)?(?: mes de)? {_FULL}{{tail}}", months.month),
    Rule(rf"(?:de|por|para|hacia)(?: el)?(?: mes de)? {_SMALL}{_FULL}{{tail}}", months.month),
    Rule(rf"(?:el |del )?mes de {_FULL}{{tail}}", months.month),
    Rule(r"{month}{tail}", months.month_of_year),
    Rule(rf"(?:en |de |el |del |este )?(?:mes de )?{PRE} (?:mes de )?{_FULL}", months.which_month),
    Rule(rf"(?:en |de |el |del )?(?:mes de )?{_FULL} {POST}", months.which_month),
    Rule(
        r"(?:de|desde|entre|en|durante) {month}(?: a | al | hasta | y | ?- ?){month2}{tail}",
        months.two_months,
    ),
    Rule(rf"{_FULL}(?: ?- ?| a | hasta ){_FULL2}{{tail}}", months.two_months),
)
YEARS: tuple[Rule, ...] = (
    Rule(r"(?:el )?(?:ano )?{year}", years.year, weak=True),
    Rule(
        r"(?:en|durante|de|del|todo|a lo largo de|a lo largo del|hacia|para|por|sobre|allá por)(?: todo)?(?: el)?(?: ano)? {year}",
        years.year,
    ),
    Rule("en " + ANY_YEAR, years.any_year),
    Rule(r"{year}(?=[?!.\s]*$)", years.final_year),
    Rule(r"(?:en |durante |del? )?(?:el )?ano (?P<year>[0-9]{4})", years.named_year),
    Rule(r"(?:en |del? )?(?:el )?ano '?(?P<y>[0-9]{2})", years.two_digit_year),
    Rule(rf"(?:en el|del) '?(?P<y>[5-9][0-9]){END}", years.two_digit_year),
    Rule(r"(?:en el |del |el )?'(?P<y>[0-9]{2})", years.two_digit_year),
    Rule(
        r"(?:entre|del?|desde|en|durante)(?: el| los)?(?: anos?)? {year}(?: y(?: el)? | al? | hasta(?: el)? | ?- ?){year2}",
        years.two_years,
    ),
    Rule(r"{year}(?: ?- ?| al? ){year2}", years.bare_two_years),
    Rule(
        r"(?:en|del?|durante|la temporada|el curso)(?: el| la| el curso| la temporada)? {year}[-/](?P<y>[0-9]{2})",
        years.split_year,
    ),
    Rule(r"(?:en |durante |del? )?(?:la )?decada (?:de (?:los )?(?:anos )?|del )'?" + DECADE, years.decade),
    Rule(r"(?:en |durante |del? )?los anos " + DECADE, years.decade),
    Rule(r"(?:en|durante|de) los (?P<decade>2000)(?! [a-z])", years.decade),
    Rule(r"los (?P<decade>2000)(?! [a-z])", years.decade, weak=True),
    Rule(
        r"(?:en |durante |del? )?(?:la )?decada (?:de (?:los )?(?:anos )?|del )'?(?P<y>[0-9]0)",
        years.short_decade,
    ),
    Rule(r"(?:en |durante |del? )?los anos '?(?P<y>[0-9]0)", years.short_decade),
    Rule(rf"(?:en|durante|de) los '?(?P<y>[2-9]0)s?{END}", years.short_decade),
    Rule(r"(?:los )?'?(?P<y>[0-9]0)s?(?! (?:anos|euros|dias))", years.short_decade, weak=True),
    Rule(
        r"(?:en |durante |del? )?(?:la )?decada (?:de (?:los )?(?:anos )?|del ){decade_word}",
        years.word_decade,
    ),
    Rule(
        r"(?:en |durante |del? )?los (?:anos |locos anos |felices anos |locos |felices ){decade_word}",
        years.word_decade,
    ),
    Rule(rf"(?:en|durante|de) los {{decade_word}}{END}", years.word_decade),
    Rule(r"(?:los )?{decade_word}(?! (?:anos|euros|dias|y)\b)", years.word_decade, weak=True),
    Rule(r"(?:en |durante |del? )?(?:el )?(?:siglo|s\.) {century}", years.century),
    Rule(r"(?:en |durante |del? )?(?:el )?siglo (?P<day>[0-9]{1,2})", years.century),
)

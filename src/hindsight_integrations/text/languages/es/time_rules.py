"""The phrases of time of Spanish: patterns, and what they mean. Teach it a phrase by adding a rule."""

from __future__ import annotations

from hindsight_integrations.text.languages.es.time_words import TAIL_YEARS, WORDS
from hindsight_integrations.text.languages.shared_rules import (
    ANY_YEAR,
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
from hindsight_integrations.text.times.grammar import Continuation, Level, Rule, TimeRules, any_of

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
    Rule(rf"{_NOT_NAMED}{{near}}(?: mism[oa])?", meanings.near_day),
    Rule(r"{near},? hace {number} {unit}", meanings.near_day_ago),
    Rule(
        r"hace {number} {unit},? (?:(?:(?:tal|un) dia )?(?:como )?{near}|(?:este|en este|el) mismo dia)",
        meanings.near_day_ago,
    ),
    Rule(
        r"(?:(?:tal|un|en un|en tal) dia como hoy|este mismo dia|el mismo dia|en este dia|el dia de hoy|hoy|este dia),?{tail}",
        meanings.this_day_then,
    ),
    Rule(
        r"(?:por|en|a) est[ao]s (?:mismas )?(?:fechas|alturas|epoca|tiempo),?{tail}", meanings.this_time_then
    ),
    Rule(
        rf"(?:el )?(?P<tail>{any_of(TAIL_YEARS)}|hace (?:[0-9]{{1,2}}|un|dos|tres|cuatro|cinco|diez) anos?),?"
        r" (?:por|en|a) est[ao]s (?:mismas )?(?:fechas|alturas)",
        meanings.this_time_then,
    ),
    Rule(rf"(?:{_EL} )?{{weekday}} {POST}", meanings.which_weekday),
    Rule(rf"(?:el |del |al |en )?{PRE} {{weekday}}", meanings.which_weekday),
    Rule(r"(?:el |del )?{weekday} antepasado", meanings.weekday_before_last),
    Rule(rf"(?:{_EL} )?{{weekday}},? (?:de|en) (?:la )?semana {POST}", meanings.weekday_of_week),
    Rule(rf"(?:{_EL} )?{{weekday}},? (?:de|en) (?:la )?{PRE} semana", meanings.weekday_of_week),
    Rule(
        rf"(?:del?|desde|entre)(?: el)? {{weekday}}{_TO}{{weekday2}},? (?:de|en) la semana {POST}",
        meanings.weekdays_of_week,
    ),
    Rule(
        rf"(?:del?|desde|entre)(?: el)? {{weekday}}{_TO}{{weekday2}},? (?:de|en) (?:la )?{PRE} semana",
        meanings.weekdays_of_week,
    ),
    Rule(
        rf"(?:del?|desde|entre)(?: el)? {{weekday}}{_TO}{{weekday2}}(?! (?:de|pasad|[0-9]))",
        meanings.two_weekdays,
    ),
    Rule(rf"{_EL} {{weekday}}", meanings.named_weekday),
    Rule(
        rf"(?<!los\x20)(?<!cada\x20){_SMALL}{{weekday}}(?= (?:por|en|a) la (?:manana|tarde|noche)\b)",
        meanings.plain_weekday,
    ),
    Rule(r"{weekday}", meanings.plain_weekday, weak=True),
    Rule("(?:el )?(?:dia )?" + ISO_DAY, meanings.iso_day),
    Rule("(?:en )?" + ISO_MONTH, meanings.iso_month),
    Rule(r"(?:en |de )?(?P<m>0?[1-9]|1[0-2])/{year}", meanings.iso_month),
    Rule(
        rf"{_WEEKDAY}(?P<d>[0-9]{{1,2}})(?P<mark>[-/])(?P<m>[0-9]{{1,2}})(?P=mark)(?P<y>[0-9]{{4}}|[0-9]{{2}})",
        meanings.in_figures,
    ),
    Rule(_WEEKDAY + DAY_DOT_MONTH + "(?P<y>[0-9]{4})", meanings.day_first),
    Rule("(?:el|del|al) (?:dia )?" + DAY_DOT_MONTH + "(?P<y>[0-9]{2})", meanings.day_first),
    Rule("(?:el|del|al)(?: dia)? (?!24/7)" + _DAY_SLASH_MONTH + "(?! de)", meanings.in_figures),
    Rule(_DAY_SLASH_MONTH, meanings.in_figures, weak=True),
    Rule(rf"(?:el |del |al )?(?:dia )?{{day}} del mes {POST}", meanings.day_of_which_month),
    Rule(rf"(?:el |del |al )?(?:dia )?{{day}} del? {PRE} mes", meanings.day_of_which_month),
    Rule(rf"(?:el |del )dia {_NUMBER_DAY}{END}", meanings.day_of_month),
    Rule(rf"(?:el|del) (?P<day>[1-9]|[12][0-9]|3[01]){END}", meanings.day_of_month, weak=True),
    Rule(
        r"(?:el |del |este ){weekday},? (?:dia )?(?P<day>[0-9]{1,2})(?! (?:de|del)\b)(?![:/.h])",
        meanings.day_of_month,
    ),
)
DAYS_OF_MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_WEEKDAY}(?<!\bla\x20){{day}} de (?:el mes de )?{{month}}{{tail}}", meanings.month_and_day),
    Rule(rf"{_WEEKDAY}(?<!\bla\x20)(?P<day>[0-9]{{1,2}})(?: |-|/|){{month}}{{tail}}", meanings.month_and_day),
    Rule(rf"{_WEEKDAY}{_FULL} (?P<day>[0-9]{{1,2}})(?:,|\b){{tail}}", meanings.month_and_day),
    Rule(
        rf"{_WEEKDAY}(?P<day>[0-9]{{1,2}})[-/ ](?:de )?{{month}}[-/ ](?:de )?(?P<y>[0-9]{{2}}){END}",
        meanings.short_dated,
    ),
    Rule(rf"(?:el )?{PRE} (?:dia )?{{day}} de {{month}}", meanings.which_month_and_day),
    Rule(rf"(?:el )?{{day}} de {{month}} {POST}", meanings.which_month_and_day),
    Rule(
        rf"(?:del |desde el |entre el |entre los dias |el |los dias |los )?(?:dia |dias )?{{day}}{_TO}{{day2}} de {{month}}{{tail}}",
        meanings.month_and_days,
    ),
)
MONTHS: tuple[Rule, ...] = (
    Rule(rf"{_FULL}{{tail}}", meanings.month, weak=True),
    Rule(rf"(?:en|durante|a lo largo de|todo)(?: todo)?(?: el)?(?: mes de)? {_FULL}{{tail}}", meanings.month),
    Rule(rf"(?:de|por|para|hacia)(?: el)?(?: mes de)? {_SMALL}{_FULL}{{tail}}", meanings.month),
    Rule(rf"(?:el |del )?mes de {_FULL}{{tail}}", meanings.month),
    Rule(r"{month}{tail}", meanings.month_of_year),
    Rule(rf"(?:en |de |el |del |este )?(?:mes de )?{PRE} (?:mes de )?{_FULL}", meanings.which_month),
    Rule(rf"(?:en |de |el |del )?(?:mes de )?{_FULL} {POST}", meanings.which_month),
    Rule(
        r"(?:de|desde|entre|en|durante) {month}(?: a | al | hasta | y | ?- ?){month2}{tail}",
        meanings.two_months,
    ),
    Rule(rf"{_FULL}(?: ?- ?| a | hasta ){_FULL2}{{tail}}", meanings.two_months),
)
YEARS: tuple[Rule, ...] = (
    Rule(r"(?:el )?(?:ano )?{year}", meanings.year, weak=True),
    Rule(
        r"(?:en|durante|de|del|todo|a lo largo de|a lo largo del|hacia|para|por|sobre|allá por)(?: todo)?(?: el)?(?: ano)? {year}",
        meanings.year,
    ),
    Rule("en " + ANY_YEAR, meanings.any_year),
    Rule(r"{year}(?=[?!.\s]*$)", meanings.final_year),
    Rule(r"(?:en |durante |del? )?(?:el )?ano (?P<year>[0-9]{4})", meanings.named_year),
    Rule(r"(?:en |del? )?(?:el )?ano '?(?P<y>[0-9]{2})", meanings.two_digit_year),
    Rule(rf"(?:en el|del) '?(?P<y>[5-9][0-9]){END}", meanings.two_digit_year),
    Rule(r"(?:en el |del |el )?'(?P<y>[0-9]{2})", meanings.two_digit_year),
    Rule(
        r"(?:entre|del?|desde|en|durante)(?: el| los)?(?: anos?)? {year}(?: y(?: el)? | al? | hasta(?: el)? | ?- ?){year2}",
        meanings.two_years,
    ),
    Rule(r"{year}(?: ?- ?| al? ){year2}", meanings.bare_two_years),
    Rule(
        r"(?:en|del?|durante|la temporada|el curso)(?: el| la| el curso| la temporada)? {year}[-/](?P<y>[0-9]{2})",
        meanings.split_year,
    ),
    Rule(
        r"(?:en |durante |del? )?(?:la )?decada (?:de (?:los )?(?:anos )?|del )'?" + DECADE, meanings.decade
    ),
    Rule(r"(?:en |durante |del? )?los anos " + DECADE, meanings.decade),
    Rule(r"(?:en|durante|de) los (?P<decade>2000)(?! [a-z])", meanings.decade),
    Rule(r"los (?P<decade>2000)(?! [a-z])", meanings.decade, weak=True),
    Rule(
        r"(?:en |durante |del? )?(?:la )?decada (?:de (?:los )?(?:anos )?|del )'?(?P<y>[0-9]0)",
        meanings.short_decade,
    ),
    Rule(r"(?:en |durante |del? )?los anos '?(?P<y>[0-9]0)", meanings.short_decade),
    Rule(rf"(?:en|durante|de) los '?(?P<y>[2-9]0)s?{END}", meanings.short_decade),
    Rule(r"(?:los )?'?(?P<y>[0-9]0)s?(?! (?:anos|euros|dias))", meanings.short_decade, weak=True),
    Rule(
        r"(?:en |durante |del? )?(?:la )?decada (?:de (?:los )?(?:anos )?|del ){decade_word}",
        meanings.word_decade,
    ),
    Rule(
        r"(?:en |durante |del? )?los (?:anos |locos anos |felices anos |locos |felices ){decade_word}",
        meanings.word_decade,
    ),
    Rule(rf"(?:en|durante|de) los {{decade_word}}{END}", meanings.word_decade),
    Rule(r"(?:los )?{decade_word}(?! (?:anos|euros|dias|y)\b)", meanings.word_decade, weak=True),
    Rule(r"(?:en |durante |del? )?(?:el )?(?:siglo|s\.) {century}", meanings.century),
    Rule(r"(?:en |durante |del? )?(?:el )?siglo (?P<day>[0-9]{1,2})", meanings.century),
)


_PART, _RANGE = Level.PART, Level.RANGE
_IN = "(?:en |durante |de |por |para |a lo largo de |todo |toda |todo )?(?:toda |todo )?(?:el |la |los |las |del |al )?"
_ABOUT = "(?:unos |unas |casi |como |ya |mas de |menos de |mas o menos |aproximadamente |alrededor de |cosa de |cerca de |justo |exactamente |apenas |solo |ya hace |hace )*"
_ONE = r"(?P<unit>hora|semana|quincena|mes|trimestre|ano|decada|lustro|siglo)"
_OVER = "(?:en |durante |de |a lo largo de |por |para )?"
_COUNTED: tuple[Rule, ...] = (
    Rule(rf"hace {_ABOUT}{{amount}} {{unit}}(?: atras)?(?! y medi)", meanings.ago),
    Rule(rf"hara {_ABOUT}{{amount}} {{unit}}", meanings.ago),
    Rule(rf"{_ABOUT}{{amount}} {{unit}} atras", meanings.ago),
    Rule(r"hace {amount} ?{short_unit}", meanings.ago),
    Rule(r"hace (?:entre )?{amount}(?: o | a | y | ?- ?|, ){amount2} {unit}", meanings.between_ago),
    Rule(r"hace un[ao]? {unit} o dos", meanings.one_or_two_ago),
    Rule(r"(?:el |del )?{weekday} de hace {amount} {unit}", meanings.weekday_of_week_ago),
    Rule(r"hace {amount} {unit},? el {weekday}", meanings.weekday_of_week_ago),
    Rule(r"hace {number} {weekday}s?", meanings.weekdays_ago),
    Rule(r"hace {number} {season}s?", meanings.occurrences_ago),
    Rule(r"hace {number} {holiday}", meanings.occurrences_ago),
    Rule(r"hace medi[oa](?P<number>) {unit}", meanings.half_ago),
    Rule(r"hace {number} {unit} y medi[oa]", meanings.half_ago),
    Rule(r"hace (?P<number>){unit} y medi[oa]", meanings.half_ago),
    Rule(r"(?:dentro de|de aqui a|en el plazo de) {amount} {unit}", meanings.ahead),
    Rule(r"en {amount} {unit}(?! de)", meanings.expected),
    Rule(
        rf"{_OVER}(?P<intro>)(?P<last>)(?:est[ao]s |l[oa]s )?(?:ultim[oa]s|pasad[oa]s) {{amount}} {{unit}}(?! del? (?!ahora|hoy))",
        meanings.past,
    ),
    Rule(
        rf"{_OVER}(?P<intro>)(?P<last>)(?:est[ao]s |l[oa]s ){{amount}} (?:ultim[oa]s|pasad[oa]s) {{unit}}(?! de)",
        meanings.past,
    ),
    Rule(
        rf"{_OVER}(?P<intro>)(?P<last>)(?:est[ao]s |l[oa]s ){{amount}} {{unit}} (?:pasad[oa]s|anteriores|previ[oa]s|ultim[oa]s)(?! al?\b| del?\b)",
        meanings.past,
    ),
    Rule(rf"{_OVER}l[oa]s (?:proxim[oa]s|siguientes) {{amount}} {{unit}}(?! de)", meanings.coming),
    Rule(rf"{_OVER}l[oa]s {{amount}} (?:proxim[oa]s|siguientes) {{unit}}(?! de)", meanings.coming),
    Rule(
        rf"{_OVER}l[oa]s {{amount}} {{unit}} (?:que vienen|siguientes|proxim[oa]s)(?! al?\b| del?\b)",
        meanings.coming,
    ),
    Rule(rf"{_OVER}(?:el |la |est[ea] )ultim[oa] {_ONE}(?! del?\b)", meanings.past_one),
    Rule(r"(?:el otro dia|la otra noche|la otra tarde|la otra manana)", meanings.other_day),
)
_WEEKEND = "(?P<unit>finde|fin de semana)"
_CALENDAR: tuple[Rule, ...] = (
    Rule(_IN + rf"{{unit}} {POST}(?! al?\b| del?\b)", meanings.which_unit),
    Rule(
        _IN
        + r"(?P<which>(?:est[ea] )?(?:pasad[oa]|proxim[oa])|est[ea]|presente) (?:mism[oa] )?{unit}(?! del?\b)",
        meanings.which_unit,
    ),
    Rule(_IN + rf"(?P<which>ultimo) {_WEEKEND}(?! de)", meanings.which_unit),
    Rule(
        _IN + r"{unit} (?:antepasad[oa]|trasanterior|anterior al? (?:pasad[oa]|ultim[oa]))",
        meanings.unit_before_last,
    ),
    Rule(
        _IN + r"{unit} (?:despues|siguiente) (?:de la|del|a la|al) (?:proxim[oa]|que viene)",
        meanings.unit_after_next,
    ),
    Rule(_IN + r"{unit} que viene no,? la (?:otra|siguiente)", meanings.unit_after_next),
    Rule(r"(?:el |la )?{unit}", meanings.the_unit, weak=True),
    Rule(
        r"(?:en |durante |por |para )?(?:el finde|el fin de semana|del finde|del fin de semana)(?! del?\b| que\b| siguiente| anterior| antes| despues| posterior)",
        meanings.the_weekend,
    ),
    Rule(_IN + r"(?:est[ea] )?(?:mism[oa] )?{unit},?{tail}", meanings.same_unit),
    Rule(_IN + r"(?-i:Q)(?P<number>[1-4])(?:,? |-|/|)(?:del? )?{tail}", meanings.quarter),
    Rule(
        r"(?:en |de |del |el |en el |durante el )?(?-i:T)(?P<number>[1-4])(?:,? |-|/|)(?:del? )?{year}",
        meanings.quarter,
    ),
    Rule(r"(?:en el |del |durante el )(?-i:T)(?P<number>[1-4])(?P<tail>)", meanings.quarter),
    Rule(
        r"(?:en |de |del |el |en el |durante el )?(?P<number>[1-4])(?-i:[QT])(?:,? |-|/|)(?:del? )?{year}",
        meanings.quarter,
    ),
    Rule(_IN + r"{year}(?: |-|/|)(?:Q|T)(?P<number>[1-4])", meanings.quarter),
    Rule(_IN + r"{ordinal} trimestre{tail}", meanings.quarter),
    Rule(_IN + r"{ordinal} semestre{tail}", meanings.half),
    Rule(_IN + r"(?:H|S)(?P<number>[12])(?:,? |-|/|)(?:del? )?{year}", meanings.half),
    Rule(_IN + ISO_WEEK, meanings.iso_week),
    Rule(
        _IN + r"semana (?:numero |n\u00ba )?(?P<number>[0-9]{1,2})(?: del?| en)?(?: ano)? {year}",
        meanings.iso_week,
    ),
    Rule(
        _IN + r"semana (?:numero |n\u00ba |iso )?(?P<number>[0-9]{1,2})(?P<tail>) de este ano",
        meanings.iso_week,
    ),
)
_SEASON = r"(?:vacaciones de |temporada de |epoca de )?(?:la )?{season}"
_SEASONS: tuple[Rule, ...] = (
    Rule(r"(?:el |la |del )?{season}{tail}", meanings.season, weak=True),
    Rule(
        rf"(?:en|durante|a lo largo de|todo|toda)(?: todo| toda)?(?: el| la| las)? {_SEASON}{{tail}}",
        meanings.season,
    ),
    Rule(rf"{_IN}{_SEASON}{{tail}}", meanings.dated_season),
    Rule(_IN + rf"{{season}} {POST}", meanings.which_season),
    Rule(_IN + rf"{PRE} {{season}}", meanings.which_season),
    Rule(_IN + r"{season} antepasad[oa]", meanings.season_before_last),
    Rule(_IN + r"{season} (?:del? )?" + WINTER_YEARS, meanings.split_winter),
    Rule(_IN + r"{season} (?:del? )?" + SHORT_WINTER_YEARS, meanings.split_winter),
    Rule(_IN + r"{season} (?:entre |del? )?{year} y (?:20)?[0-9]{2}", meanings.split_winter),
)
_FEAST = r"(?:en |por |para |durante |a |el |la |las |los )?(?:el |la |las |los )?(?:dia de(?:l| la| los)? |vacaciones de |fiestas de |puente de(?:l| la)? |noche de |fiesta de )?"
_HOLIDAYS: tuple[Rule, ...] = (
    Rule(_FEAST + r"{holiday}{tail}", meanings.holiday),
    Rule(_FEAST + rf"{{holiday}} {POST}", meanings.which_holiday),
    Rule(
        r"(?:en |por |para |durante |de )?(?:el |la |l[oa]s )?" + PRE + r" (?:dia de(?:l| la)? )?{holiday}",
        meanings.which_holiday,
    ),
    Rule(_FEAST + r"{holiday} antepasad[oa]s?", meanings.holiday_before_last),
    Rule(
        r"(?:en |durante |por )?(?:la |el )?{unit} de(?:l)? (?:dia de )?{holiday}{tail}",
        meanings.holiday_unit,
    ),
)
_NEAR_DAY = "(?P<near_part>hoy|ayer|anteayer|antier|antes de ayer|manana|pasado manana)"
_BY = "(?:por la |en la |a la |de la |al |a |de )?"
_DAY_PARTS: tuple[Rule, ...] = (
    Rule(rf"(?<!la\x20){_NEAR_DAY},? {_BY}{{day_part}}", meanings.near_part),
    Rule(r"(?:en )?(?P<near_part>esta|este) (?:misma )?{day_part}", meanings.near_part),
    Rule(
        r"(?:en |de |durante )?(?:la )?(?P<near_part>pasada) (?P<day_part>noche|madrugada)",
        meanings.near_part,
    ),
    Rule(
        r"(?:en |de |durante )?(?:la )?(?P<day_part>noche|madrugada) (?P<near_part>pasada)",
        meanings.near_part,
    ),
    Rule(r"(?:en |por |durante )?(?:la |el |al )?{day_part} de {near}", meanings.part_of_near),
    Rule(r"(?:en )?{part_name}", meanings.named_part),
    Rule(
        r"(?:en |por |durante )?(?:la |el |al )?{day_part} (?P<side>antes|despues|anterior|siguiente)? ?(?:del?|al?) (?:la |el )?{time}",
        meanings.part_of_day,
        _PART,
    ),
)
_SIDE = "(?P<side>antes|despues|anterior|anteriores|siguientes?|posterior|posteriores|previ[oa]s?) (?:del?|al?)(?: la| el)?"
_PARTS: tuple[Rule, ...] = (
    Rule(
        _IN + r"(?:a )?(?!fin(?:es)? de semana){portion} (?:del?|de la|de los) {time}",
        meanings.some_part,
        _PART,
    ),
    Rule(
        r"(?:a |al |en el )?(?!fin(?:es)? de semana){portion} (?:del?|de la) {time}",
        meanings.some_part,
        _PART,
    ),
    Rule(_IN + r"{ordinal} {piece} (?:del?|de la|de los) {time}", meanings.piece, _PART),
    Rule(_IN + r"{ordinal} (?:{amount} )?{unit} (?:del?|en|de la|de los) {time}", meanings.nth_unit, _PART),
    Rule(_IN + r"{amount} {ordinal} {unit} (?:del?|en|de la) {time}", meanings.nth_unit, _PART),
    Rule(_IN + r"{ordinal} {weekday} (?:del?|en) {time}", meanings.nth_day, _PART),
    Rule(
        _IN
        + r"(?P<unit>semana|finde|fin de semana) (?:del?|con|que incluye|que contiene)(?: el| la)?(?: dia)? {time}",
        meanings.unit_of_day,
        _PART,
    ),
    Rule(
        _IN
        + r"semana que (?:empieza|empezo|empezaba|comienza|comenzo|comenzaba|arranca|arranco)(?: el)? {time}",
        meanings.week_from,
        _PART,
    ),
    Rule(
        _IN
        + r"semana que (?:termina|termino|terminaba|acaba|acabo|acababa|finaliza|finalizo)(?: el)? {time}",
        meanings.week_to,
        _PART,
    ),
    Rule(
        r"(?:en |durante |de |para |a |con )?(?:todo )?(?:(?P<side>lo que va|lo que llevamos|lo que llevo|lo transcurrido|lo que ha transcurrido|lo que queda|lo que resta|lo que falta"
        r"|(?:el )?resto)) (?:del?|de la) {time}",
        meanings.rest,
        _PART,
    ),
    Rule(rf"{_ABOUT}{{amount}} {{unit}} {_SIDE} {{time}}", meanings.counted_from, _PART),
    Rule(
        rf"(?:en |durante )?l[oa]s (?:ultim[oa]s )?{{amount}} {{unit}} (?:justo )?{_SIDE} {{time}}",
        meanings.stretch_beside,
        _PART,
    ),
    Rule(rf"{_IN}{{unit}} (?:justo )?{_SIDE} {{time}}", meanings.unit_beside, _PART),
    Rule(rf"{_IN}{{weekday}} (?:justo )?{_SIDE} {{time}}", meanings.weekday_beside, _PART),
    Rule(
        r"(?:en |por |para |durante )?(?:la |el )?vispera (?:del?|de la|de los) {time}",
        meanings.eve_of,
        _PART,
    ),
)
_FILLED = r"(?:mas o menos |alrededor de |aproximadamente |el dia |como )?{time}"
_RANGES: tuple[Rule, ...] = (
    Rule(rf"desde (?:que empezo |que comenzo |el inicio de )?{_FILLED}", meanings.since, _RANGE),
    Rule(r"a partir del? (?:la )?{time}", meanings.since, _RANGE),
    Rule(
        r"(?:despues del?|tras(?! (?:ano|dia|mes|semana|hora|noche)\b)|con posterioridad a|posteriores al?|posterior al?|mas tarde del?|pasad[oa])(?: la| el)? {time}",
        meanings.after,
        _RANGE,
    ),
    Rule(
        r"(?:antes del?|con anterioridad al?|previ[oa]s? al?|anterior(?:es)? al?)(?: la| el)? {time}",
        meanings.before,
        _RANGE,
    ),
    Rule(
        rf"(?:hasta|no mas tarde del?|a mas tardar(?: en)?|como muy tarde(?: en)?) (?:la |el )?{_FILLED}",
        meanings.until,
        _RANGE,
    ),
    Rule(r"(?:entre|desde|del?) (?:el |la )?{time}", meanings.between, _RANGE),
)

TIME_RULES = TimeRules(
    code="es",
    words=WORDS,
    rules=(
        *DAYS, *DAYS_OF_MONTHS, *MONTHS, *YEARS, *_COUNTED, *_CALENDAR, *_SEASONS, *_HOLIDAYS, *_DAY_PARTS, *_PARTS, *_RANGES
    ),
    continuations=(
        Continuation(r",? (?:por la |en la |a la |de la |al |de )?(?:hora de )?{day_part}", meanings.part_behind_day, _PART),
        Continuation(r",? (?:el )?{weekday}", meanings.weekday_behind_week, _PART),
        Continuation(r",? el (?:dia )?{day}", meanings.day_behind_month, _PART),
        Continuation(r",? (?:en |por |durante |a |para )?(?:el |la |las )?{time}", meanings.in_year, _PART),
        Continuation(r",? (?:hasta ahora|hasta hoy|hasta la fecha|por ahora|hasta el momento)", meanings.so_far, _PART),
        Continuation(r"(?: hasta(?: el| la)? | al? | ?- ?| ?\.\.\.? ?){time}", meanings.joined, _RANGE),
        Continuation(r",? (?:en adelante|para aca|hacia aca)", meanings.onwards, _RANGE)
    ),
)  # fmt: skip

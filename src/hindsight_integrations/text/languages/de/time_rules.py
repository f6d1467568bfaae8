"""German: the commonest forms, to show that a language is a file. Decoys and holidays are fewer than in English."""

from __future__ import annotations

from hindsight_integrations.text.time_expressions.calendar import Unit, easter
from hindsight_integrations.text.time_expressions.grammar import Continuation, Level, Rule, TimeRules
from hindsight_integrations.text.time_expressions.meanings import (
    anchored,
    calendar_units,
    day_parts,
    days,
    holidays,
    months,
    offsets,
    parts,
    ranges,
    seasons,
    years,
)
from hindsight_integrations.text.time_expressions.meanings.holidays import fixed, moved
from hindsight_integrations.text.time_expressions.patterns import any_of
from hindsight_integrations.text.time_expressions.words import Decoys, Which, Words

_MONTHS = {
    "januar": 1, "jänner": 1, "jan": 1, "februar": 2, "feb": 2, "märz": 3, "maerz": 3, "april": 4, "apr": 4, "mai": 5,
    "juni": 6, "jun": 6, "juli": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sept": 9, "sep": 9,
    "oktober": 10, "okt": 10, "november": 11, "nov": 11, "dezember": 12, "dez": 12,
}  # fmt: skip
_WEEKDAYS = {
    "montag": 0, "dienstag": 1, "mittwoch": 2, "donnerstag": 3, "freitag": 4, "samstag": 5, "sonnabend": 5,
    "sonntag": 6,
}  # fmt: skip
_UNITS = {
    "minute": Unit.MINUTE, "minuten": Unit.MINUTE, "stunde": Unit.HOUR, "stunden": Unit.HOUR, "tag": Unit.DAY,
    "tage": Unit.DAY, "tagen": Unit.DAY, "woche": Unit.WEEK, "wochen": Unit.WEEK, "wochenende": Unit.WEEKEND,
    "wochenenden": Unit.WEEKEND, "monat": Unit.MONTH, "monats": Unit.MONTH, "monate": Unit.MONTH,
    "monaten": Unit.MONTH, "quartal": Unit.QUARTER, "quartals": Unit.QUARTER, "quartale": Unit.QUARTER,
    "quartalen": Unit.QUARTER, "jahr": Unit.YEAR, "jahres": Unit.YEAR, "jahre": Unit.YEAR, "jahren": Unit.YEAR,
    "jahrzehnt": Unit.DECADE, "jahrzehnten": Unit.DECADE,
}  # fmt: skip
_PLURALS = frozenset(
    {"minuten", "stunden", "tage", "tagen", "wochen", "wochenenden", "monate", "monaten", "quartale", "quartalen",
     "jahre", "jahren", "jahrzehnten"}
)  # fmt: skip
_NUMBERS = {
    "ein": 1, "einem": 1, "einer": 1, "eine": 1, "einen": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "vierzehn": 14, "zwanzig": 20,
    "dreißig": 30, "dreissig": 30,
}  # fmt: skip


def _inflected(stems: dict[str, Which]) -> dict[str, Which]:
    """As in "Letzt" to "letzte", "letzten", "letzter", "letztem", "letztes"."""
    return {stem + ending: which for stem, which in stems.items() for ending in ("e", "en", "er", "em", "es")}


_WHICH = _inflected(
    {"letzt": Which.LAST, "vergangen": Which.LAST, "vorig": Which.LAST, "dies": Which.THIS, "nächst": Which.NEXT,
     "kommend": Which.NEXT}
)  # fmt: skip
_EARLY, _MID, _LATE = (0, 1, 3), (1, 2, 3), (2, 3, 3)
_YEAR = "(?:1[5-9]|20|21)[0-9]{2}"
_TAIL_YEARS = {
    "letzten jahres": -1, "vorigen jahres": -1, "vergangenen jahres": -1, "letztes jahr": -1, "dieses jahres": 0,
    "dieses jahr": 0, "nächsten jahres": 1, "nächstes jahr": 1,
}  # fmt: skip

_DAY_PARTS = {
    "morgen": (5, 12),
    "früh": (5, 12),
    "vormittag": (5, 12),
    "mittag": (11, 14),
    "nachmittag": (12, 18),
    "abend": (17, 24),
    "nacht": (18, 30),
}  # fmt: skip
_HOLIDAYS = {
    "neujahr": fixed(1, 1),
    "silvester": fixed(12, 31),
    "karfreitag": moved(easter, -2),
    "ostern": easter,
    "ostersonntag": easter,
    "ostermontag": moved(easter, 1),
    "pfingsten": moved(easter, 49),
    "heiligabend": fixed(12, 24),
    "weihnachten": fixed(12, 25),
    "halloween": fixed(10, 31),
}  # fmt: skip

_WORDS = Words(
    months=_MONTHS,
    clear_months=frozenset(name for name in _MONTHS if len(name) > 5 and name != "august"),
    name_months=frozenset({"august", "april"}),
    weekdays=_WEEKDAYS,
    clear_weekdays=frozenset(_WEEKDAYS),
    units=_UNITS,
    plurals=_PLURALS,
    numbers=_NUMBERS,
    vague={"paar": (2, 5), "einigen": (2, 5), "mehreren": (3, 7)},
    amount="ein paar|einigen|mehreren",
    ordinals={
        "ersten": 1,
        "erste": 1,
        "zweiten": 2,
        "zweite": 2,
        "dritten": 3,
        "vierten": 4,
        "letzten": -1,
        "letzte": -1,
    },
    day_suffix=r"\.",
    seasons={"frühling": 3, "frühjahr": 3, "sommer": 6, "herbst": 9, "winter": 12},
    portions={"anfang": _EARLY, "mitte": _MID, "ende": _LATE},
    year_portions={"anfang": (0, 1, 4), "ende": (3, 4, 4)},
    day_parts=_DAY_PARTS,
    which=_WHICH,
    coming=frozenset(name for name in _WHICH if name.startswith("kommend")),
    near={"heute": 0, "gestern": -1, "vorgestern": -2, "morgen": 1, "übermorgen": 2},
    near_parts={"heute": 0, "gestern": -1, "vorgestern": -2, "morgen": 1, "letzte": -1},
    before=frozenset({"vor"}),
    behind=frozenset({"nach"}),
    pieces={"hälfte": 2, "drittel": 3},
    holidays=_HOLIDAYS,
    tail=rf",? ?(?:im jahr |des jahres )?{_YEAR}|,? ?'[0-9]{{2}}|,? (?:{any_of(_TAIL_YEARS)})",
    tail_years=_TAIL_YEARS,
    connector=r"\s*(?:und|bis|-)\s*(?:(?:zum|am|im)\s+)?(?=\w)",
    now=r"heute\b|jetzt\b",
    future=r"\b(?:werde|wirst|wird|werden|werdet)\b",
    asks_ahead=r"\b(?:werde|wirst|wird|werden|werdet|Werde|Wirst|Wird|Werden)\b|\bgeplant\b",
    asks_back=r"\b(?:war|waren|wurde|wurden|hatte|hatten)\b",
    no_year=r",? ?[0-9]{4}(?![0-9:])",
    month_introducers=frozenset({"im", "seit", "bis"}),
    quantity_after=r"\s+(?:euro|meter|kilometer|kg|gramm|leute|personen|menschen|zeilen|seiten|dateien)\b",
    numbered_before=(
        r"\b(?:zimmer|raum|seite|zeile|port|nummer|nr|film|lied|buch|gleis|linie|bus|fehler|ticket|version|modell|code"
        r"|pin|als|und|oder|mit|von|auf|ist|sind|die|der|das)\.?\s+$"
    ),
    year_after=r"[^\W\d_]{2,},?\s+$",
    decoys=Decoys(
        before=r"\b(?:jede[nrsm]?|pro|frohe|frohes|guten|schönen)\s+$",
        things_before=r"\b(?:film|lied|buch|roman|song|album|serie|frau|herr|hund|katze)\s+$",
    ),
)
_PART, _RANGE = Level.PART, Level.RANGE
_IN = "(?:im |in |in der |in den |am |an |während |von |vom |über |seit )?(?:der |den |dem |des |das )?"
_RULES: tuple[Rule, ...] = (
    Rule(r"{near}", days.near_day),
    Rule(r"(?:am )?{which} {weekday}", days.which_weekday),
    Rule(r"(?:am )?{weekday} {which} woche", days.weekday_of_week),
    Rule(r"(?:am ){weekday}", days.plain_weekday),
    Rule(r"{weekday}", days.plain_weekday, weak=True),
    Rule(r"(?:am )?{year}-(?P<m>[01]?[0-9])-(?P<d>[0-9]{1,2})", days.iso_day),
    Rule(r"(?:am )?(?P<d>[0-9]{1,2})\.\s?(?P<m>[0-9]{1,2})\.\s?(?P<y>[0-9]{4}|[0-9]{2})", days.day_first),
    Rule(r"(?:am |vom |zum )(?P<d>[0-9]{1,2})\.\s?(?P<m>[0-9]{1,2})\.(?![0-9])", days.day_month),
    Rule(r"(?:am |vom )?(?:{weekday},? (?:den |dem )?)?{day} {month}{tail}", months.month_and_day),
    Rule(r"(?:vom )?{day} ?(?:bis|-|und) ?(?:zum )?{day2} {month}{tail}", months.month_and_days),
    Rule(r"{month}{tail}", months.month, weak=True),
    Rule(r"(?P<intro>im) (?P<the>)(?:monat )?{month}{tail}", months.introduced_month),
    Rule(r"{month}{tail}", months.month_of_year),
    Rule(r"(?:im )?{which} {month}", months.which_month),
    Rule(r"{year}", years.year, weak=True),
    Rule(r"(?:im jahre? |in |seit |von ){year}", years.year),
    Rule(r"{year}(?=[?!.\s]*$)", years.final_year),
    Rule(r"(?:von |zwischen )?{year}(?: bis | ?- ?){year2}", years.bare_two_years),
    Rule(r"(?:in den )?(?P<y>[0-9]0)er(?:n|-jahren| jahren)?", years.short_decade),
    Rule(r"(?:in den )?(?P<decade>(?:1[5-9]|20)[0-9]0)er(?:n|-jahren| jahren)?", years.decade),
    Rule(r"vor (?:etwa |ungefähr )?{amount} {unit}", offsets.ago),
    Rule(r"in {amount} {unit}", offsets.announced),
    Rule(rf"{_IN}(?P<intro>)(?P<last>)(?:letzten|vergangenen) {{amount}} {{unit}}", offsets.past),
    Rule(rf"{_IN}(?:nächsten|kommenden) {{amount}} {{unit}}", offsets.coming),
    Rule(rf"{_IN}{{which}} {{unit}}", calendar_units.which_unit),
    Rule(r"am wochenende", calendar_units.the_weekend),
    Rule(r"(?:des |der ){unit}", calendar_units.the_unit, weak=True),
    Rule(rf"{_IN}(?-i:Q)(?P<number>[0-9]){{tail}}", calendar_units.quarter),
    Rule(r"(?:im ){ordinal} quartal{tail}", calendar_units.quarter),
    Rule(r"(?:in )?(?:kw|kalenderwoche|woche) ?(?P<number>[0-9]{1,2}){tail}", calendar_units.iso_week),
    Rule(rf"{_IN}{{season}}{{tail}}", seasons.season),
    Rule(rf"{_IN}{{which}} {{season}}", seasons.which_season),
    Rule(r"(?:zu |an |über |nach |vor )?{holiday}{tail}", holidays.holiday),
    Rule(r"(?:zu |an )?{which} {holiday}", holidays.which_holiday),
    Rule(r"{near_part} {day_part}", day_parts.near_part),
    Rule(r"{portion} (?:des |der )?{time}", parts.some_part, _PART),
    Rule(r"(?:in der |am |die |das )?{ordinal} {piece} (?:des |der )?{time}", parts.piece, _PART),
    Rule(
        r"(?:in der |am |die |das )?{ordinal} (?:{amount} )?{unit} (?:im |des )?{time}", parts.nth_unit, _PART
    ),
    Rule(r"(?:am )?{ordinal} {weekday} (?:im |des )?{time}", parts.nth_day, _PART),
    Rule(r"{amount} {unit} (?P<side>vor|nach) {time}", anchored.counted_from, _PART),
    Rule(r"(?:in der |die |der )?{unit} (?P<side>vor|nach) {time}", anchored.unit_beside, _PART),
    Rule(r"seit (?:dem )?{time}", ranges.since, _RANGE),
    Rule(r"nach (?:dem )?{time}", ranges.after, _RANGE),
    Rule(r"vor (?:dem )?{time}", ranges.before, _RANGE),
    Rule(r"bis (?:zum |zur |ende )?{time}", ranges.until, _RANGE),
    Rule(r"(?:zwischen|von|vom) (?:dem )?{time}", ranges.between, _RANGE),
)

TIME_RULES = TimeRules(
    code="de",
    words=_WORDS,
    rules=_RULES,
    continuations=(
        Continuation(r"(?:,? am)? ?{day_part}", day_parts.part_behind_day, _PART),
        Continuation(r",? (?:im |in |an |zu )?{time}", ranges.in_year, _PART),
        Continuation(r"(?: bis (?:zum )?| ?- ?){time}", ranges.joined, _RANGE),
    ),
)

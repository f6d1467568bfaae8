"""German words of time, as data. Tables are spelled both ways; see `spelling`."""

from __future__ import annotations

from hindsight_integrations.text.languages.de.decoys import (
    ANNOUNCES,
    ASKS_AHEAD,
    ASKS_BACK,
    DECOYS,
    HOLIDAY_THINGS,
    NUMBERED,
    PERSON,
    QUANTITY,
    SEASON_THINGS,
    YEAR_AFTER,
)
from hindsight_integrations.text.languages.de.holidays import HOLIDAYS
from hindsight_integrations.text.languages.de.spelling import FOLDING, inflected, spelled
from hindsight_integrations.text.languages.shared_rules import EARLY, LATE, MID
from hindsight_integrations.text.time_expressions.calendar import Unit
from hindsight_integrations.text.time_expressions.patterns import YEAR, any_of
from hindsight_integrations.text.time_expressions.words import Which, Words

_FULL = spelled({
    "januar": 1, "jänner": 1, "februar": 2, "feber": 2, "märz": 3, "april": 4, "mai": 5, "juni": 6, "juno": 6,
    "juli": 7, "august": 8, "september": 9, "oktober": 10, "november": 11, "dezember": 12,
})  # fmt: skip
_MONTHS = _FULL | {
    "jan": 1, "feb": 2, "mrz": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sept": 9, "sep": 9, "okt": 10, "nov": 11,
    "dez": 12,
}  # fmt: skip
_WEEKDAYS = {
    "montag": 0, "dienstag": 1, "mittwoch": 2, "donnerstag": 3, "freitag": 4, "samstag": 5, "sonnabend": 5,
    "sonntag": 6,
}  # fmt: skip
_UNITS = {
    "minute": Unit.MINUTE, "min": Unit.MINUTE, "stunde": Unit.HOUR, "std": Unit.HOUR, "tag": Unit.DAY,
    "tages": Unit.DAY, "nacht": Unit.DAY, "woche": Unit.WEEK, "wochenende": Unit.WEEKEND, "wochenendes": Unit.WEEKEND,
    "monat": Unit.MONTH, "monats": Unit.MONTH, "quartal": Unit.QUARTER, "quartals": Unit.QUARTER,
    "halbjahr": Unit.HALF, "halbjahrs": Unit.HALF, "halbjahres": Unit.HALF, "jahr": Unit.YEAR, "jahrs": Unit.YEAR,
    "jahres": Unit.YEAR, "jahrzehnt": Unit.DECADE, "jahrzehnts": Unit.DECADE, "jahrhundert": Unit.CENTURY,
    "jahrhunderts": Unit.CENTURY,
}  # fmt: skip
_PLURALS = spelled({
    "minuten": Unit.MINUTE, "stunden": Unit.HOUR, "tage": Unit.DAY, "tagen": Unit.DAY, "nächte": Unit.DAY,
    "nächten": Unit.DAY, "wochen": Unit.WEEK, "wochenenden": Unit.WEEKEND, "monate": Unit.MONTH,
    "monaten": Unit.MONTH, "quartale": Unit.QUARTER, "quartalen": Unit.QUARTER, "halbjahre": Unit.HALF,
    "halbjahren": Unit.HALF, "jahre": Unit.YEAR, "jahren": Unit.YEAR, "jahrzehnte": Unit.DECADE,
    "jahrzehnten": Unit.DECADE, "jahrhunderte": Unit.CENTURY, "jahrhunderten": Unit.CENTURY,
})  # fmt: skip
_ONES = {
    "ein": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9,
}  # fmt: skip
_TEENS = {
    "zehn": 10, "elf": 11, "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "sechzehn": 16, "siebzehn": 17,
    "achtzehn": 18, "neunzehn": 19,
}  # fmt: skip
_TENS = {
    "zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80,
    "neunzig": 90,
}  # fmt: skip
_COUNTS = _ONES | _TEENS | _TENS | {
    f"{one}und{tens}": _ONES[one] + _TENS[tens] for one in _ONES for tens in _TENS
}  # fmt: skip
_NUMBERS = spelled(
    _COUNTS
    | dict.fromkeys(("eine", "einem", "einen", "einer", "eines", "eins", "anderthalb", "eineinhalb"), 1)
    | {"zwo": 2, "zweieinhalb": 2, "dreieinhalb": 3, "hundert": 100, "ein dutzend": 12, "einem dutzend": 12}
)


def _ordinal(name: str, number: int) -> str:
    """The stem of an ordinal, as in "vierzehnt", "einundzwanzigst"."""
    special = {1: "erst", 3: "dritt", 7: "siebt", 8: "acht"}
    return special.get(number, name + ("t" if number < 20 else "st"))


_DAY_STEMS = {_ordinal(name, number): number for name, number in _COUNTS.items() if number <= 31}
_DAY_NUMBERS = spelled(inflected(_DAY_STEMS))
_ORDINALS = spelled(inflected({"erst": 1, "zweit": 2, "dritt": 3, "viert": 4, "fünft": 5, "letzt": -1})) | {
    str(number): number for number in range(1, 7)
}
_LAST, _NEXT = ("letzt", "vergangen", "vorig", "vorherig"), ("nächst", "kommend", "folgend")
_WHICH = spelled(
    inflected(
        dict.fromkeys(_LAST, Which.LAST)
        | dict.fromkeys(("dies", "laufend", "aktuell", "jetzig", "gegenwärtig", "heurig"), Which.THIS)
        | dict.fromkeys(_NEXT, Which.NEXT)
    )
)
_TAIL_YEARS = spelled({
    f"{stem}{ending} {year}": distance
    for stems, distance in (
        (("letzt", "vergangen", "vorig"), -1), (("vorletzt",), -2), (("dies", "laufend", "selb"), 0),
        (("nächst", "kommend"), 1), (("übernächst",), 2),
    )
    for stem in stems
    for ending in ("en", "es", "em")
    for year in ("jahr", "jahres", "jahrs")
})  # fmt: skip
_COUNT = "|".join(("[0-9]{1,2}", "einem", *sorted(_ONES, key=len, reverse=True), "zehn"))
# What names the year: "2023", "im Jahr 2023", "'23", "letzten Jahres", "im letzten Jahr", "vor zwei Jahren".
_TAIL = (
    rf",? ?(?:im jahre? |des jahres |in |anno |von |vom jahr )?{YEAR}|,? ?'[0-9]{{2}}|/{YEAR}"
    rf"|,? (?:des |vom |im |in |von )?(?:{any_of(_TAIL_YEARS)})|,? vor (?:{_COUNT}) jahre?n?"
    r"|,? [0-9]{2}(?=\s*(?:$|[?!,;)]))"
)
_PORTIONS = {
    "anfang": EARLY, "beginn": EARLY, "start": EARLY, "fruh": EARLY, "frueh": EARLY, "mitte": MID, "hoch": MID,
    "ende": LATE, "schluss": LATE, "ausgang": LATE, "spat": LATE, "spaet": LATE,
}  # fmt: skip
# Hours of the day, end possibly on the next one. Customary, no source.
_DAY_PARTS = spelled({
    "morgen": (5, 12), "morgens": (5, 12), "früh": (5, 12), "frühmorgens": (5, 12), "vormittag": (5, 12),
    "vormittags": (5, 12), "mittag": (11, 14), "mittags": (11, 14), "nachmittag": (12, 18), "nachmittags": (12, 18),
    "abend": (17, 24), "abends": (17, 24), "spätabends": (17, 24), "nacht": (18, 30), "nachts": (18, 30),
})  # fmt: skip
_NEAR = spelled({
    "heute": 0, "gestern": -1, "vorgestern": -2, "vorvorgestern": -3, "morgen": 1, "übermorgen": 2, "überübermorgen": 3,
    "heutigen tag": 0, "heutigen tages": 0, "gestrigen tag": -1, "gestrigen tages": -1, "morgigen tag": 1,
})  # fmt: skip
_DECADES = spelled({
    f"{stem}{ending}": first
    for stem, first in (
        ("zwanziger", 1920), ("dreißiger", 1930), ("vierziger", 1940), ("fünfziger", 1950), ("sechziger", 1960),
        ("siebziger", 1970), ("achtziger", 1980), ("neunziger", 1990), ("nuller", 2000),
    )
    for ending in ("", "n")
})  # fmt: skip

WORDS = Words(
    months=_MONTHS,
    clear_months=frozenset(_FULL),
    name_months=frozenset({"august", "april"}),
    weekdays=_WEEKDAYS,
    clear_weekdays=frozenset(_WEEKDAYS),
    units=_UNITS | _PLURALS,
    plurals=frozenset(_PLURALS),
    short_units={"h": Unit.HOUR, "std": Unit.HOUR, "min": Unit.MINUTE},
    numbers=_NUMBERS,
    thousands=".",
    # As the English "a few" and "several" reach.
    vague={"paar": (2, 5), "einige": (2, 5), "wenige": (2, 5), "mehrere": (3, 7), "etliche": (3, 7)},
    amount="(?:ein |einem |einer |den |die )?paar|einige[nr]?|wenige[nr]?|mehrere[nr]?|etliche[nr]?",
    ordinals=_ORDINALS,
    day_suffix=r"\.",
    day_numbers=_DAY_NUMBERS,
    seasons=spelled({
        "frühling": 3, "frühlings": 3, "frühjahr": 3, "frühjahrs": 3, "sommer": 6, "sommers": 6, "herbst": 9,
        "herbsts": 9, "herbstes": 9, "winter": 12, "winters": 12,
    }),
    decades=_DECADES,
    portions=_PORTIONS,
    year_portions={"anfang": (0, 1, 4), "beginn": (0, 1, 4), "start": (0, 1, 4), "ende": (3, 4, 4), "schluss": (3, 4, 4)},
    day_parts=_DAY_PARTS,
    which=_WHICH,
    coming=frozenset(name for name in _WHICH if name.startswith("kommend")),
    near=_NEAR,
    near_parts=spelled({
        "heute": 0, "gestern": -1, "vorgestern": -2, "morgen": 1, "übermorgen": 2, "letzte": -1, "letzter": -1,
        "vergangene": -1, "vergangener": -1, "diesen": 0, "diese": 0, "dieser": 0, "gestrigen": -1, "heutigen": 0,
        "morgigen": 1,
    }),
    before=frozenset({"vor", "zum", "zu", "auf", "auf den"}),
    behind=frozenset({"nach"}),
    earlier=frozenset({"bisher", "bislang", "fruher", "frueher", "bisherigen"}),
    pieces=spelled({"hälfte": 2, "drittel": 3, "viertel": 4}),
    holidays=HOLIDAYS,
    tail=_TAIL,
    tail_years=_TAIL_YEARS,
    years_ago=rf"\bvor ({_COUNT}) jahre?n?",
    connector=r"\s*,?\s*(?:und|bis|-)\s*(?:(?:zum|zur|am|im|dem|den|der|einschl(?:iesl|iessl)ich)\s+)*(?=[\w'])",
    now=r"heute\b|jetzt\b|(?:zur\s+)?gegenwart\b",
    future=ASKS_AHEAD,
    asks_ahead=ASKS_AHEAD,
    asks_back=ASKS_BACK,
    announces=ANNOUNCES,
    past=ASKS_BACK + r"|\b(?!(?:heute|alte|kalte|rechte|schlechte|echte|leichte|gute|bitte|sollte|könnte|möchte|hätte|müsste|dürfte|karte|seite|leute|minute|tante|torte"
    r"|sorte|mitte|miete|kosten|daten|\w*sten?)\b)\w{2,}te(?:n|st|t)?\b",
    present=r"\b(?:ist|sind|muss|müssen|will|möchte|kommt|beginnt|geht|fährt|fliegt|findet|steht|endet|läuft|öffnet|schließt|bitte|soll|wird)\b",
    aim=r"\b(?:für|fürs|bis|über|zum|zur|auf)\b",
    clause=r"[,;:]|\b(?:dass|weil|aber|und|denn)\b",
    person_after=PERSON,
    no_year=r",? ?(?:im jahre? )?[0-9]{4}(?![0-9:])",
    holiday_things=HOLIDAY_THINGS,
    season_things=SEASON_THINGS,
    quantity_after=QUANTITY,
    numbered_before=NUMBERED,
    year_after=YEAR_AFTER,
    folding=FOLDING,
    whatever=frozenset(
        ["passiert", "passierte", "geschah", "geschehen", "los", "neues", "neu", "gab", "gibt", "war", "gemacht", "getan", "tat", "machte", "mache", "unternommen", "sonst", "erzähl", "zeig", "zeige", "alles", "etwas", "irgendetwas", "dinge", "ereignisse"]
    ),
    decoys=DECOYS,
)  # fmt: skip

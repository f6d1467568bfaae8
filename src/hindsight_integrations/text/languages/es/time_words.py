"""Spanish words of time, as data, without accents: they are often missing in chat, so the text is folded too."""

from __future__ import annotations

from hindsight_integrations.text.languages.es.decoys import (
    ANNOUNCES,
    ASKS_AHEAD,
    ASKS_BACK,
    DECOYS,
    HOLIDAY_THINGS,
    NAME_AFTER,
    NUMBERED,
    PERSON,
    QUANTITY,
    SEASON_THINGS,
)
from hindsight_integrations.text.languages.es.holidays import HOLIDAYS
from hindsight_integrations.text.languages.shared_rules import EARLY, LATE, MID
from hindsight_integrations.text.time_expressions.calendar import Unit
from hindsight_integrations.text.time_expressions.patterns import YEAR, any_of
from hindsight_integrations.text.time_expressions.words import Which, Words

_MONTHS = {
    "enero": 1, "febrero": 2, "marzo": 3, "abril": 4, "mayo": 5, "junio": 6, "julio": 7, "agosto": 8, "septiembre": 9,
    "setiembre": 9, "octubre": 10, "noviembre": 11, "diciembre": 12, "ene": 1, "feb": 2, "mar": 3, "abr": 4, "may": 5,
    "jun": 6, "jul": 7, "ago": 8, "sept": 9, "sep": 9, "set": 9, "oct": 10, "nov": 11, "dic": 12,
}  # fmt: skip
_WEEKDAYS = {
    "lunes": 0, "martes": 1, "miercoles": 2, "jueves": 3, "viernes": 4, "sabado": 5, "domingo": 6,
}  # fmt: skip
_UNITS = {
    "minuto": Unit.MINUTE, "min": Unit.MINUTE, "hora": Unit.HOUR, "dia": Unit.DAY, "noche": Unit.DAY,
    "semana": Unit.WEEK, "quincena": Unit.WEEK, "finde": Unit.WEEKEND, "fin de semana": Unit.WEEKEND,
    "mes": Unit.MONTH, "trimestre": Unit.QUARTER, "semestre": Unit.HALF, "ano": Unit.YEAR, "lustro": Unit.YEAR, "decada": Unit.DECADE,
    "siglo": Unit.CENTURY,
}  # fmt: skip
_PLURALS = {f"{name}s": unit for name, unit in _UNITS.items() if name not in {"mes", "fin de semana"}} | {
    "meses": Unit.MONTH,
    "fines de semana": Unit.WEEKEND,
}
_SMALL = {
    "un": 1, "una": 1, "uno": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8,
    "nueve": 9,
}  # fmt: skip
_TENS = {
    "treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90,
}  # fmt: skip
_TEENS = (
    "diez", "once", "doce", "trece", "catorce", "quince", "dieciseis", "diecisiete", "dieciocho", "diecinueve",
    "veinte", "veintiuno", "veintidos", "veintitres", "veinticuatro", "veinticinco", "veintiseis", "veintisiete",
    "veintiocho", "veintinueve",
)  # fmt: skip
_NUMBERS = {
    **_SMALL,
    **dict(zip(_TEENS, range(10, 30), strict=True)),
    **_TENS,
    **{f"{tens} y {one}": _TENS[tens] + _SMALL[one] for tens in _TENS for one in _SMALL},
    "veintiun": 21, "veintiuna": 21, "cien": 100, "media docena": 6, "una docena": 12,
}  # fmt: skip
_COUNTING = {"un", "una", "veintiun", "veintiuna", "media docena", "una docena"}  # never the number of a day
_DAY_NUMBERS = {name: number for name, number in _NUMBERS.items() if number <= 31 and name not in _COUNTING}
_DAY_NUMBERS |= {"primero": 1, "primer": 1}


def _inflected(stem: str) -> tuple[str, str, str, str]:
    """As in "pasad" to "pasado", "pasada", "pasados", "pasadas"."""
    return f"{stem}o", f"{stem}a", f"{stem}os", f"{stem}as"


_ORDINALS = {
    "primer": 1, "tercer": 3, "1er": 1, "3er": 3, "1ro": 1, "2do": 2, "3ro": 3, "4to": 4, "5to": 5, "1ra": 1, "2da": 2,
    "3ra": 3, "4ta": 4, "5ta": 5, "1\u00ba": 1, "2\u00ba": 2, "3\u00ba": 3, "4\u00ba": 4, "1\u00aa": 1, "2\u00aa": 2,
    "3\u00aa": 3, "4\u00aa": 4,
    **{
        name: number
        for stem, number in (("primer", 1), ("segund", 2), ("tercer", 3), ("cuart", 4), ("quint", 5), ("ultim", -1))
        for name in _inflected(stem)
    },
}  # fmt: skip
_THESE = ("este", "esta", "estos", "estas")
_WHICH = {
    **dict.fromkeys(_THESE, Which.THIS),
    **dict.fromkeys(_inflected("pasad"), Which.LAST),
    **dict.fromkeys(_inflected("ultim"), Which.LAST),
    **dict.fromkeys(_inflected("proxim"), Which.NEXT),
    **dict.fromkeys(_inflected("venider"), Which.NEXT),
    **{
        f"{this} {other}": which
        for this in _THESE
        for stem, which in (("pasad", Which.LAST), ("ultim", Which.LAST), ("proxim", Which.NEXT))
        for other in _inflected(stem)
    },
    "anterior": Which.LAST, "recien pasado": Which.LAST, "presente": Which.THIS, "actual": Which.THIS,
    "en curso": Which.THIS, "corriente": Which.THIS, "que viene": Which.NEXT, "que vienen": Which.NEXT,
    "entrante": Which.NEXT, "que entra": Which.NEXT, "que paso": Which.LAST, "que acaba de pasar": Which.LAST,
}  # fmt: skip
TAIL_YEARS = {
    "ano pasado": -1, "pasado ano": -1, "ano anterior": -1, "ano antepasado": -2, "este ano": 0, "presente ano": 0,
    "ano en curso": 0, "ano actual": 0, "mismo ano": 0, "ano que viene": 1, "proximo ano": 1, "ano proximo": 1,
    "ano entrante": 1, "ano que entra": 1,
}  # fmt: skip
_COUNT = "|".join(("[0-9]{1,2}", *sorted(_SMALL, key=len, reverse=True), "diez"))
# What names the year: "2023", "de 2023", "del 2023", "del año 2023", "/2023", "de '23", "del año pasado", "de hace dos años".
_TAIL = (
    rf",? ?(?:del? |del? ano |en (?:el )?)?{YEAR}|[-/]{YEAR}|,? ?(?:del? )?'[0-9]{{2}}|,? del [0-9]{{2}}(?=\s*(?:$|[?.!,;:)]))"
    rf"|,? (?:del? |el )?(?:{any_of(TAIL_YEARS)})|,? (?:de )?hace (?:{_COUNT}) anos?"
)
# (first, last, of): "a principios de" and "a finales de" a year are its first and last quarter.
_BEGINNINGS = ("principios", "principio", "comienzos", "comienzo", "inicios", "inicio", "primeros")
_ENDS = ("finales", "final", "fines", "fin", "ultimos")
MIDDLES = ("mediados", "mitad")
# Hours of the day, end possibly on the next one. Customary, no source.
_DAY_PARTS = {
    "madrugada": (0, 6), "manana": (5, 12), "mediodia": (11, 14), "medio dia": (11, 14), "hora de comer": (11, 14),
    "hora del almuerzo": (11, 14), "tarde": (12, 18), "noche": (18, 30),
}  # fmt: skip
_NEAR = {
    "hoy": 0, "ayer": -1, "manana": 1, "anteayer": -2, "antier": -2, "antes de ayer": -2, "antesdeayer": -2,
    "antes de anoche": -2, "trasanteayer": -3, "anteanteayer": -3, "pasado manana": 2,
}  # fmt: skip
_DECADES = {
    "veinte": 1920, "treinta": 1930, "cuarenta": 1940, "cincuenta": 1950, "sesenta": 1960, "setenta": 1970,
    "ochenta": 1980, "noventa": 1990, "dos mil": 2000,
}  # fmt: skip
_ROMAN = (
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi", "xvii",
    "xviii", "xix", "xx", "xxi",
)  # fmt: skip

WORDS = Words(
    months=_MONTHS,
    clear_months=frozenset(),
    name_months=frozenset({"abril", "julio", "marzo", "agosto"}),
    weekdays=_WEEKDAYS,
    clear_weekdays=frozenset(_WEEKDAYS),
    units=_UNITS | _PLURALS,
    plurals=frozenset(_PLURALS),
    multiples={"quincena": 2, "quincenas": 2, "lustro": 5, "lustros": 5},
    short_units={"h": Unit.HOUR, "hs": Unit.HOUR, "hrs": Unit.HOUR, "min": Unit.MINUTE, "d": Unit.DAY},
    numbers=_NUMBERS,
    thousands=".",
    # As the English "a couple", "a few" and "several" reach.
    vague={"par": (1, 3), "varios": (3, 7), "varias": (3, 7)}
    | dict.fromkeys(("unos", "unas", "algunos", "algunas", "pocos", "pocas"), (2, 5)),
    amount="(?:un )?par de|un[oa]s(?: poc[oa]s| cuant[oa]s)?|algun[oa]s|poc[oa]s|vari[oa]s",
    ordinals=_ORDINALS,
    day_suffix="\u00ba|\u00b0|ro|er|o",
    day_numbers=_DAY_NUMBERS,
    seasons={"primavera": 3, "verano": 6, "otono": 9, "invierno": 12},
    decades=_DECADES,
    portions=dict.fromkeys(_BEGINNINGS, EARLY) | dict.fromkeys(MIDDLES, MID) | dict.fromkeys(_ENDS, LATE),
    year_portions=dict.fromkeys(_BEGINNINGS, (0, 1, 4)) | dict.fromkeys(_ENDS, (3, 4, 4)),
    day_parts=_DAY_PARTS,
    which=_WHICH,
    near=_NEAR,
    near_parts=_NEAR | {"esta": 0, "este": 0, "pasada": -1},
    part_names={"anoche": (-1, 18, 30), "anteanoche": (-2, 18, 30), "antenoche": (-2, 18, 30), "antes de anoche": (-2, 18, 30)},
    before=frozenset({"antes", "anterior", "anteriores", "previo", "previa", "previos", "previas"}),
    behind=frozenset({"despues", "siguiente", "siguientes", "posterior", "posteriores"}),
    earlier=frozenset({"lo que va", "lo que llevamos", "lo que llevo", "lo transcurrido", "lo que ha transcurrido"}),
    pieces={
        "mitad": 2, "quincena": 2, "semestre": 2, "tercio": 3, "cuatrimestre": 3, "cuarto": 4, "trimestre": 4,
        "bimestre": 6,
    },
    holidays=HOLIDAYS,
    centuries={name: number for number, name in enumerate(_ROMAN, start=1)},
    tail=_TAIL,
    tail_years=TAIL_YEARS,
    years_ago=rf"\bhace ({_COUNT}) anos?",
    connector=r"\s*,?\s*(?:y|e|al?|hasta|-|\.\.\.?)\s*(?:(?:el|la)\s+dia\s+)?(?=[\w'])",
    now=r"(?:el\s+dia\s+de\s+)?hoy\b|ahora\b|la\s+(?:actualidad|fecha)\b|el\s+presente\b|aca\b",
    future=ASKS_AHEAD,
    asks_ahead=ASKS_AHEAD,
    asks_back=ASKS_BACK,
    announces=ANNOUNCES,
    past=ASKS_BACK,
    present=r"\b(?:es|son|tengo|tenemos|hay|debo|quiero|viene|empieza|sale|llega|está|toca|vence|cierra|abre|por favor)\b",
    aim=r"\b(?:para|hasta|sobre)\b",
    clause=r"[,;:]|\b(?:que|porque|pero|y)\b",
    person_after=PERSON,
    no_year=r",? ?(?:del? )?(?:ano )?[0-9]{4}(?![0-9:])",
    holiday_things=HOLIDAY_THINGS,
    season_things=SEASON_THINGS,
    quantity_after=QUANTITY,
    numbered_before=NUMBERED,
    year_after=r"[a-z]{2,},?\s+$",
    name_goes_on=NAME_AFTER,
    folding=str.maketrans("\u00e1\u00e9\u00ed\u00f3\u00fa\u00fc\u00f1\u00c1\u00c9\u00cd\u00d3\u00da\u00dc\u00d1", "aeiouunAEIOUUN"),
    whatever=frozenset(
        ["paso", "pasó", "pasa", "ocurrió", "sucedió", "sucede", "hice", "hizo", "hicimos", "hecho", "hago", "haciendo", "nuevo", "novedades", "hubo", "hay", "cuéntame", "dime", "muéstrame", "todo", "algo", "cosas"]
    ),
    decoys=DECOYS,
)  # fmt: skip

"""Spanish statements of part and whole, clauses and lists."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import ListWords, PartWords

# "es parte de", "fue eliminado de": a part before, the whole after. And the other way about.
_PART_FIRST = re.compile(
    r"^(?P<part>.+?)\s(?:(?:es|son|era|eran|fue|fueron|está|están)\s(?:ahora\s|también\s)?"
    r"(?:(?:parte|uno|una)\s(?:de|del)|(?:una?|el|la|uno|los|las)\s(?:[\w-]+\s){1,3}?(?:de|del|en|para)|entre|en"
    r"|(?:eliminad|borrad|quitad|retirad)[oa]s?\s(?:de|del)|(?:añadid|invitad|asignad|agregad)[oa]s?\sa"
    r"|(?:incluid|mencionad|listad|nombrad)[oa]s?\s(?:en|como))|forman?\sparte\s(?:de|del)|pertenecen?\sal?|asisten?\sal?)"
    r"\s(?P<whole>.+)$",
    re.IGNORECASE,
)
_WHOLE_FIRST = re.compile(
    r"^(?P<whole>.+?)\s(?:(?:también|todavía|ahora)\s)?(?:incluyen?|contienen?|mencionan?|tienen?)\s(?P<part>.+)$",
    re.IGNORECASE,
)
# "Ana como destinataria del correo", "el punto 'viajes' de las notas": as models name what was taken back.
_AS = re.compile(
    r"^(?P<part>.+?)\scomo\s(?:(?:un|una|el|la)\s)?(?P<noun>[\w-]+)\s(?:de|del|en|para)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
_TITLED = re.compile(
    r"^(?:el\s|la\s)?(?P<noun>[\w-]+)\s(?P<part>\x00\d+\x00)\s(?:de|del|en|para)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
# "El plazo de la propuesta es de 14 meses": a property of the whole.
_PROPERTY = re.compile(
    r"^(?:el\s|la\s|los\s|las\s)?(?P<noun>[\w-]+(?:\s[\w-]+)?)\s(?:de|del)\s(?P<whole>.+?)\s(?:es|son|era|eran|fue|fueron)\s(?:de\s)?"
    r"(?P<part>(?!(?:parte|uno|una)\s).+)$",
    re.IGNORECASE,
)

_BEFORE_I = re.compile(r"[ií]|h[ií](?![aeou])", re.IGNORECASE)
_BEFORE_O = re.compile(r"h?[oó]", re.IGNORECASE)


def _before(conjunction: str, following: str) -> str:
    """The conjunction as it is before a word: "e" before an i, "u" before an o."""
    if conjunction in {"y", "e"}:
        return "e" if _BEFORE_I.match(following) else "y"
    return "u" if _BEFORE_O.match(following) else "o"


_INTRODUCING = """
    a con contiene contienen de del en eran es fueron gusta gustan incluye incluyen menciona mencionan necesita para
    por quiere son sobre tiene tienen
"""
_OPENING = """
    a al antes con cuando desde después durante en hasta mientras para por si tras
"""
_LEANING = """
    además así aquel ella ellas ello ellos entonces esa esas ese eso esos esta estas este esto estos luego pero su
    sus también y él
"""
_ITEM_NOUNS = """
    elemento elementos entrada línea punto puntos tema temas
"""
_VERBS = """
    abre ahorra alquila ama baila bebe beben bebía canta cierra cocina cocinan colecciona coleccionan come
    comen comparte compra compró comía conduce conducen contiene corre corren cree cría cuesta cuestan da debe
    deben dirige disfruta duerme dura empezó empieza enseña enseñan entrega entrena envía era eran es escribe
    escriben escucha estaba estudia estudian está están fue gana gusta gustan ha habla hablan había hace hacen
    hacía han hornea iba incluye juega juegan jugaba lee leen llama llaman lleva llevan nada nadan necesita
    necesitan odia ofrece paga pagan pertenece pesa piensa planea posee prefiere prefieren puede pueden queda
    quedan quiere quieren recibe sabe sigue son soy sufre tenía termina tiene tienen toca tocan toma toman
    trabaja trabajaba trabajan trae usa usan va van ve ven vende vendió viaja viajan viene vino visita visitan
    vive viven vivía vuela
"""
_NUMERALS = """
    cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce
"""
_LIST_WORDS = ListWords(
    conjunctions=frozenset({"y", "e", "o", "u"}),
    before=_before,
    articles=frozenset({"el", "la", "los", "las", "un", "una", "unos", "unas"}),
    pairing=frozenset({"entre", "ambos", "ambas", "tanto", "ni"}),
    every=frozenset({"ambas", "ambos", "cada", "toda", "todas", "todo", "todos"}),
    introducing=frozenset(_INTRODUCING.split()),
    opening=frozenset(_OPENING.split()),
    leaning=frozenset(_LEANING.split()),
    item_nouns=frozenset(_ITEM_NOUNS.split()),
    numerals=tuple(_NUMERALS.split()),
    verbs=frozenset(_VERBS.split()),
)

PARTS = PartWords(
    relations=(_TITLED, _AS, _PART_FIRST, _PROPERTY, _WHOLE_FIRST),
    clause_end=re.compile(r"[;:,.!?()¿¡]\s|[;:,.!?()]$|\by\b|\be\b|\bo\b|\bu\b"),
    separator=re.compile(r",\s+(?:(?:y|e|o|u)\s+)?|\s+(?:y|e|o|u)\s+"),
    negation=re.compile(r"\b(?:ya no|no|más|realmente)\b\s*", re.IGNORECASE),
    words=_LIST_WORDS,
)

"""Spanish grammar around what a statement is about: "como tarea pendiente", "el gusto por", "ya no"."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import FrameWords

_LIKES = r"(?:gust(?:an?|aba|aban)|encant(?:an?|aba)|fascinan?|interesan?|entusiasman?)"

_TO_DO = (
    r"\b(?:como )?(?:(?:una|la|las|otra) )*(?:tareas?|recados?|recordatorios?|quehaceres)\b(?: pendientes?| abiertas?| por hacer)?",
    r"\b(?:todavía |aún )?pendientes?\b(?: de\b)?",
    r"\ben (?:la|su|mi) lista de (?:tareas|pendientes|cosas por hacer)\b",
    r"\b(?:tiene|tengo|tenía|tienen|hay|había) que\b",
    r"\b(?:debe|debía|debo|deben|necesita|necesito|quiere|quería|quiero|piensa|planea|pretende)\b(?: de\b)?(?= \w+r(?:se|lo|la|los|las)?\b)",
    r"\b(?:todavía|aún) (?:sin|por|no)\b",
    r"\b(?:falta|faltan|queda|quedan) (?:por )?(?=\w+r\b)",
    r"\b(?:plan|intención|necesidad|deseo|obligación|propósito) de\b",
)
_DISLIKED = (
    rf"\bno (?:le|me|les|nos) {_LIKES}\b",
    r"\b(?:odia|odian|detesta|aborrece|evita)\b",
    r"\bno soporta\b",
    r"\b(?:aversión|rechazo|odio|antipatía|disgusto)\b(?: (?:a|al|hacia|por)\b)?",
    r"\bno (?:es |soy )?(?:fan|aficionad[oa]|quiere|prefiere)\b",
)
_LIKED = (
    rf"\b(?:le|me|les|nos) {_LIKES}\b(?: (?:mucho|muchísimo)\b)?",
    r"\b(?:gusto|afición|pasión|preferencia|interés|debilidad|entusiasmo|amor|predilección)\b(?: por\b)?",
    r"\b(?:adora|adoran|prefiere|prefieren|ama|disfruta|disfrutan)\b(?: de\b)?",
    r"\b(?:favorit|preferid)[oa]s?\b",
    r"\b(?:gran )?(?:aficionad[oa] a|fan de|amante de)\b",
)


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


FRAMES = FrameWords(
    frames=(_any(_DISLIKED), _any(_TO_DO), _any(_LIKED)),
    fillers=re.compile(
        r"\b(?:(?:del|al|de la|a la|el|la) )?usuari[oa]s?\b(?!:)|\b(?:como|papel|todavía|aún|anterior(?:es)?|previ[oa]s?|hecho|algo)\b",
        re.IGNORECASE,
    ),
    negation=re.compile(
        r"\b(?:no|nunca|jamás|dejó de|dejado de|canceló|cancelad[oa])\b(?! olvid)", re.IGNORECASE
    ),
)

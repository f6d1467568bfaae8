"""German grammar around what a statement is about: "als offene Aufgabe", "die Vorliebe für", "nicht mehr"."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import FrameWords

_OPEN = r"(?:offen|ausstehend|anstehend|unerledigt|fällig|verbleibend|nötig)(?:e|er|es|en|em)?"

_TO_DO = (
    rf"\b(?:als )?(?:(?:eine|die|der|den|das|noch|{_OPEN}) )*(?:aufgaben?|to-?dos?|erledigung(?:en)?|besorgung(?:en)?|erinnerung(?:en)?)\b",
    rf"\b(?:noch )?{_OPEN}(?: (?:punkt(?:e|es)?|eintrag|einträge|posten|sachen?))?\b",
    r"\bauf (?:der|seiner|ihrer|meiner) (?:to-?do-?|aufgaben)?liste\b",
    r"\b(?:muss|müssen|musste|müsste|soll|sollte|sollen|will|wollte|möchte|möchten|wollen|plant|planen|beabsichtigt)\b(?: noch\b)?",
    r"\bnoch (?:offen|nicht|zu erledigen|zu tun)\b",
    r"\bhat (?:noch )?vor\b",
    r"\b(?:absicht|vorhaben|plan|notwendigkeit|pflicht|wunsch)\b",
)
_DISLIKED = (
    r"\b(?:mag|mögen|mochte|isst|trinkt|liebt)(?: \w+){0,2}? (?:nicht|keine?[nrsm]?)\b(?: gern\b)?",
    r"\b(?:nicht|kein(?:e|en|er)?)(?: mehr)? (?:gern|fan|freund|interesse)\w*\b",
    r"\b(?:hasst|hassen|verabscheut|meidet|vermeidet)\b",
    r"\b(?:abneigung|widerwille\w*|ablehnung|hass)\b(?: (?:gegen|vor|von|auf)\b)?",
    r"\bkann (?:\w+ ){0,4}nicht (?:leiden|ausstehen|ab)\b",
)
_LIKED = (
    r"\b(?:mag|mögen|mochte|liebt|lieben|genießt|bevorzugt)\b(?: (?:sehr|besonders|wirklich)\b)?",
    r"\b(?:sehr |besonders )?gerne?\b",
    r"\b(?:vorliebe|begeisterung|leidenschaft|schwäche|liebe|interesse|faible|gefallen)\b(?: (?:für|an|von|zu|zum|zur)\b)?",
    r"\b(?:begeistert|schwärmt|interessiert)\b(?: sich\b)?(?: (?:für|von)\b)?",
    r"\b(?:großer |riesiger )?(?:fan|liebhaber(?:in)?|freund) von\b",
    r"\blieblings-?",
    r"\bhobbys?\b",
)


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


FRAMES = FrameWords(
    frames=(_any(_DISLIKED), _any(_TO_DO), _any(_LIKED)),
    fillers=re.compile(
        r"\b(?:be)?nutzer(?:s|in|n)?\b(?!:)|\banwender(?:s|in)?\b|\b(?:als|dass|noch|rolle|bisherig\w*|vorherig\w*|früher\w*|ursprünglich\w*"
        r"|derzeit\w*|aktuell\w*|etwas)\b",
        re.IGNORECASE,
    ),
    negation=re.compile(
        r"\b(?:nicht|keine?[nrsm]?|nie|niemals|aufgehört|abgesagt|gekündigt|beendet)\b(?! vergessen)",
        re.IGNORECASE,
    ),
)

"""German statements of part and whole, clauses and lists."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import ListWords, PartWords

# "gehört zu", "steht auf", "wurde aus ... entfernt": a part before, the whole after. And the other way about.
_PART_FIRST = re.compile(
    r"^(?P<part>.+?)\s(?:(?:gehören|gehört|gehörte|gehörten)\s(?:auch\s|noch\s)?(?:zu|zum|zur)"
    r"|(?:ist|sind|war|waren)\s(?:jetzt\s|noch\s|auch\s)?(?:(?:ein\s)?teil\s(?:von|des|der)|eine[rs]?\s(?:der|von)|unter|auf|in)"
    r"|(?:ist|sind|war|waren)\s(?:ein|eine|der|die|das)\s[\w-]+\s(?:der|des|von|im|in)"
    r"|(?:steht|stehen|stand|standen)\s(?:auf|in|im)|nehmen?\san|nimmt\san)\s(?P<whole>.+?)(?:\steil)?$",
    re.IGNORECASE,
)
_REMOVED = re.compile(
    r"^(?P<part>.+?)\s(?:wurde|wurden|ist|sind)\s(?:aus|von|vom)\s(?P<whole>.+?)\s(?:entfernt|gestrichen|gelöscht)(?:\sworden)?$",
    re.IGNORECASE,
)
_WHOLE_FIRST = re.compile(
    r"^(?P<whole>.+?)\s(?:(?:auch|noch|jetzt)\s)?(?:enthält|enthalten|umfasst|umfassen|erwähnt|hat|haben)\s(?P<part>.+)$",
    re.IGNORECASE,
)
# "Bo Chen als Empfänger der Mail", "der Punkt 'Reisekosten' in den Notizen": as models name what was taken back.
_AS = re.compile(
    r"^(?P<part>.+?)\sals\s(?:(?:ein|eine|der|die|das|einer|eines)\s)?(?P<noun>[\w-]+)\s(?:der|des|von|vom|in|im|auf|für|aus)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
_TITLED = re.compile(
    r"^(?:der\s|die\s|das\s)?(?P<noun>[\w-]+)\s(?P<part>\x00\d+\x00)\s(?:der|des|von|vom|in|im|auf|für|aus)\s(?P<whole>.+)$",
    re.IGNORECASE,
)
# "Die Laufzeit des Projekts ist 14 Monate": a property of the whole.
_PROPERTY = re.compile(
    r"^(?:der\s|die\s|das\s)?(?P<noun>[\w-]+)\s(?:von|des|der)\s(?P<whole>.+?)\s(?:ist|sind|war|waren|beträgt|lautet)\s"
    r"(?P<part>(?!(?:ein\s)?teil\s).+)$",
    re.IGNORECASE,
)

_ARTICLES = """
    der die das den dem des ein eine einen einem einer eines
"""
_INTRODUCING = """
    an auf bespricht braucht enthalten enthält erwähnt für hat haben ist lauten mag mit nennt sind um umfassen
    umfasst von vom war waren will über zu zum zur
"""
_OPENING = """
    ab am als an auf bei beim bevor bis für im in mit nach nachdem seit vor wegen weil wenn während zu
"""
_LEANING = """
    aber auch dabei dafür dann danach das dazu dem den der deren dessen die diese dieser dieses er es ihr ihre sein
    seine sie und
"""
_EVERY = """
    alle allen aller beide beiden beider ganze ganzen jede jeden jeder jedes sämtliche
"""
_ITEM_NOUNS = """
    eintrag einträge punkt punkte punkten stichpunkt stichpunkte thema themen zeile
"""
_VERBS = """
    arbeiten arbeitet arbeitete aß backt begann beginnt bekommen bekommt benutzt besitzen besitzt besuchen
    besucht betreut bietet bin bist bleibt brauchen braucht bringt bäckt dauert denkt dient endet enthält
    essen fahren fliegt fuhr fährt führt gehen geht gehören gehört ging glaubt habe haben hassen hasst hat
    hatte hatten heißen heißt hält hört isst ist kam kann kauft kaufte kennt kochen kocht kommt konnte kosten
    kostet können las laufen leben lebt lebte lehrt leidet leiten leitet lernen lernt lesen lieben liebt lief
    liefert liest läuft machen macht machte mag mietet mochte muss möchte mögen müssen nahm nehmen nimmt
    nutzen nutzt planen plant reist sammeln sammelt schickt schließt schläft schreiben schreibt schrieb
    schwimmen schwimmt sieht sind singt soll spart spielen spielt spielte sprechen spricht studieren studiert
    tanzt teilt tragen trainiert trank treffen trifft trinken trinkt trug trägt umfasst unterrichtet verdient
    verkauft verkaufte war waren weiß wiegt will wohnen wohnt wohnte wollen wollte zahlen zahlt zog züchtet
    öffnet
"""
_NUMERALS = """
    null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
"""
_LIST_WORDS = ListWords(
    conjunctions=frozenset({"und", "oder", "sowie"}),
    pairing=frozenset({"zwischen", "beide", "sowohl", "entweder", "weder"}),
    articles=frozenset(_ARTICLES.split()),
    introducing=frozenset(_INTRODUCING.split()),
    opening=frozenset(_OPENING.split()),
    leaning=frozenset(_LEANING.split()),
    every=frozenset(_EVERY.split()),
    item_nouns=frozenset(_ITEM_NOUNS.split()),
    numerals=tuple(_NUMERALS.split()),
    verbs=frozenset(_VERBS.split()),
)

PARTS = PartWords(
    relations=(_REMOVED, _TITLED, _AS, _PART_FIRST, _PROPERTY, _WHOLE_FIRST),
    clause_end=re.compile(r"[;:,.!?()]\s|[;:,.!?()]$|\bund\b|\boder\b|\bsowie\b"),
    separator=re.compile(r",\s+(?:(?:und|oder|sowie)\s+)?|\s+(?:und|oder|sowie)\s+"),
    negation=re.compile(
        r"\b(?:doch nicht|nicht mehr|nicht länger|nicht|doch|kein(?:e|en|er|em|es)?|mehr|eigentlich|jetzt|früher|leider|zu(?= \w+$))\b\s*",
        re.IGNORECASE,
    ),
    words=_LIST_WORDS,
)

"""German questions over records: how they are asked, what records may be of, and how they are answered."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_words import (
    AnswerWords,
    Cue,
    ListingWords,
    RecordWords,
    by_form,
    words_of,
)

_POLITE = re.compile(
    r"^(?:(?:hey|hallo|ok|okay|also|und|so|bitte|sag mal)\b[,:]? ?)*"
    r"(?:(?:kannst|könntest|magst|würdest) du (?:mir )?(?:bitte )?(?:kurz |mal |schnell )*(?:bitte )?(?:sagen|verraten|ausrechnen|zeigen|auflisten)?|(?:bitte )?sag(?:e)? mir(?: bitte)?(?: mal)?|weißt du"
    r"|ich (?:möchte|will|würde gern(?:e)?) wissen|verrate mir)\b[,:]? ?"
    r"|^(?:(?:hey|hallo|ok|okay|also|und|so|bitte|sag mal)\b[,:]? ?)+",
    re.IGNORECASE,
)
_HEADS = (
    "ausgaben?|kosten|einkäufen?|käufen?|kauf|einkauf|budgets?|ziels?|limits?|durchschnitt|schnitt|mittelwert|summe|betrag"
    "|zahl|anzahl|termine?n?|aufgaben|käufe|einnahmen|einkommen"
)
_COMPOUND = re.compile(
    rf"\b(?!(?:ein|ver|an|un|auf|bei|durch)(?:{_HEADS})\b)(\w{{3,}}?)-?({_HEADS})\b", re.IGNORECASE
)
_SIMPLE = (
    (re.compile(r"\bwieviele?\b", re.IGNORECASE), lambda m: "wie " + m[0][3:]),
    (
        re.compile(
            r"\b(tag|tage|tagen|woche|wochen|monat|monate|monats) (?:des|der) (?=monat|woche)", re.IGNORECASE
        ),
        r"\1 ",
    ),
    (re.compile(r"\bgibt's\b", re.IGNORECASE), "gibt es"),
    (re.compile(r"\bhab\b", re.IGNORECASE), "habe"),
)


def _rewritten(text: str) -> str:
    """Without politeness; "Kaffeeausgaben" as "Kaffee ausgaben"."""
    plain = _POLITE.sub("", text)
    for pattern, simple in _SIMPLE:
        plain = pattern.sub(simple, plain)
    return _COMPOUND.sub(r"\1 \2", plain)


_PERIOD = "(?:tage?n?s?|wochen?|monate?n?s?)"
_NUMBER_NEXT = r"(?= [$\u20ac\u00a3]?\s?\d)"
_CUES = {
    Cue.HOW_MUCH: r"wie viel(?: geld)?|wie hoch|wie teuer",
    Cue.HOW_MANY: rf"wie viele(?! (?:male?|{_PERIOD}|jahre)\b)",
    Cue.HOW_OFTEN: r"wie oft|wie häufig|wie viele? ?male?",
    Cue.HOW_FAR: r"wie weit|welche (?:strecke|distanz)",
    Cue.HOW_LONG: r"wie lange?|wie viel zeit",
    Cue.WHEN: r"wann",
    Cue.WHETHER: r"(?:habe|bin|liege|war|lag|bleibe) ich|(?:ist|sind|war|waren|liegt|liegen|lagen|wurde|wurden) meine?",
    Cue.HOW_DOING: r"wie (?:stehe|liege|stand|lag) ich (?:bei|mit)|wie (?:steht|läuft|sieht) es (?:bei|mit)(?: meine[mnr])?",
    Cue.FARTHEST: r"am weitesten",
    Cue.PER_RECORD: rf"(?:pro|je)(?! {_PERIOD}\b)",
    Cue.TOTAL: r"zusammen(?:zu)?(?:zählen|rechnen)|(?:auf)?(?:addieren|summieren)|insgesamt|gesamte[rsnm]?|gesamt|(?:die )?summe(?: aller| meiner| der)?|in summe|alles in allem|zusammen(?:gerechnet|gezählt)?",
    Cue.NUMBER: r"(?:die )?(?:gesamt )?(?:an)?zahl(?: der| meiner| aller| an)?",
    Cue.AVERAGE: r"(?:im )?(?:durch)?schnitt|(?:der |mein )?mittelwert|im mittel|durchschnittlich(?:e[rsnm]?)?",
    Cue.LAST: r"zuletzt|(?:das letzte |letztes |zum letzten )mal|letzte[rsnm]?|neueste[rsnm]?|jüngste[rsnm]?",
    Cue.LIST: r"(?:liste|zeige?|nenne?|zähle?|gib)(?: mir)?(?: bitte)?(?: eine)?(?: vollständige| komplette)?(?: liste)?(?: mit)?(?: alle[rsn]?)?"
    r"|welche(?= (?:ausgaben|läufe|wanderungen|spaziergänge|radtouren)\b)|wofür|auflistung|auflisten",
    Cue.DEAREST: r"(?:am |der |die |das )?teuerste[rsnm]?",
    Cue.MOST: r"(?:am |die |das )?meisten?|(?:am |die |der |das )?(?:höchste|größte)[rsnm]?",
    Cue.LEAST: r"(?:am |die |das )?wenigsten?|(?:am |die |der |das )?(?:niedrigste|geringste|kleinste)[rsnm]?",
    Cue.WHICH_PERIOD: rf"(?:(?:an|in) )?welche[rsnm]? {_PERIOD}(?: war es| habe ich| bin ich| war)?",
    Cue.HOW_MANY_PERIODS: rf"(?:(?:an|in|für) )?wie vielen? {_PERIOD}",
    Cue.PER_PERIOD: rf"(?:pro|je|jede[rsnm]?) {_PERIOD}|an eine[mr](?: einzigen)? tag|in eine[mr](?: einzigen)? (?:woche|monat)"
    r"|täglich(?:e[rsnm]?)?|wöchentlich(?:e[rsnm]?)?|monatlich(?:e[rsnm]?)?|am tag"
    r"|(?:tages|wochen|monats)-?(?= ?(?:ziel|budget|limit|durchschnitt|schnitt|mittelwert|kaffee|\w+ (?:ziel|budget|limit)))",
    Cue.AT_LEAST: rf"(?:mindestens|wenigstens|nicht weniger als){_NUMBER_NEXT}",
    Cue.MORE: rf"(?:mehr als|über|oberhalb von){_NUMBER_NEXT}",
    Cue.AT_MOST: rf"(?:höchstens|maximal|nicht mehr als|bis zu){_NUMBER_NEXT}",
    Cue.LESS: rf"(?:weniger als|unter|unterhalb von){_NUMBER_NEXT}",
    Cue.MISSED: r"verfehlt|verfehlen|verpasst|gerissen|nicht (?:erreicht|geschafft|eingehalten|erfüllt|gehalten)|unterschritten",
    Cue.MET: r"erreicht|erreiche|erreichen|geschafft|schaffe|eingehalten|einhalten|halte|erfüllt|erfülle|gehalten"
    r"|(?:noch )?im(?= (?:\w+ ){0,2}(?:budget|limit|ziel)\b)|innerhalb|im rahmen",
    Cue.OVER: r"überschritten|überschreite|überzogen|überziehe|über(?= (?:meine[mn]|dem|das|mein)?\b)|übertroffen|gesprengt",
    Cue.UNDER: r"unter(?= (?:meine[mn]|dem|das|mein)?\b)",
    Cue.GOAL: r"ziels?|budgets?|limits?|grenze|vorgabe|obergrenze",
    Cue.GOALS: r"ziele|zielen|vorgaben",
    Cue.SPEND: r"ausgegeben|bezahlt|gezahlt|(?<=wie viel )für|(?:ging|gingen)(?=.*\b(?:drauf|weg)\b)|(?:gebe|gab|zahle|bezahle|zahlte|bezahlte) ich",
    Cue.COST: r"gekostet|kosteten?|koste[nt] mich",
    Cue.BUY: r"gekauft|eingekauft|kaufte|kaufe ich",
    Cue.EARN: r"verdient|eingenommen|verdiene ich",
    Cue.SPENDING: r"ausgaben?|kosten",
    Cue.PURCHASES: r"einkäufen?|käufen?|kauf|einkauf",
    Cue.INCOME: r"einkommen|einnahmen|verdienst",
    Cue.TASKS: r"(?:noch )?(?:auf )?(?:meiner |meine )?(?:noch )?(?:offene[nr]? )?(?:aufgaben(?:liste)?|to-?dos?(?:-?liste)?|todo ?liste|to do liste)"
    r"(?: sind (?:noch )?offen| stehen (?:noch )?an| (?:ist |sind )?noch offen| habe ich(?: noch)?)?|(?:muss ich )?(?:noch )?(?:zu )?(?:tun|erledigen)",
    Cue.EVENTS: r"termine?n?|veranstaltungen|veranstaltung|ereignisse?n?",
    Cue.PREFERENCES: r"vorlieben",
    Cue.WHAT: r"was|welche[rsnm]?|wie(?= (?:ist|war) mein)",
}
_FILLER = words_of(
    """ich mein meine meinen meinem meiner meines mir der die das den dem des ein eine einen einem einer eines für an
    in im am bei beim zu zum zur von vom auf habe hatte bin war waren wurde ist sind es da denn eigentlich bisher
    bislang schon alle aller allen genau bitte mal aufgezeichnet notiert erfasst eingetragen protokolliert gemacht
    gegangen zurückgelegt aus gegeben stehe steht stehen gibt mache gehe lege liegt lag liege derzeit aktuell
    momentan betrag fürs ins ans aufs hat haben mich mit geblieben bleibe alles drauf weg geld blieb"""
)
_THINGS = by_form(
    {
        "bakery": "bäcker, bäckerei, backwaren",
        "bills": "rechnung, rechnungen",
        "books": "buch, bücher, büchern",
        "bread": "brot, brote, brötchen",
        "breakfast": "frühstück, frühstücke, frühstücks",
        "brunch": "",
        "car": "auto, autos",
        "charity": "spende, spenden",
        "cinema": "kino, kinokarte, kinokarten, filme, film",
        "clothes": "kleidung, klamotten, kleider",
        "coffee": "kaffee, kaffees",
        "concert": "konzert, konzerte, konzertkarten",
        "cosmetics": "drogerie, kosmetik",
        "cycling": "rad, radfahren, radtour, radtouren, geradelt, rad gefahren, fahrrad, fahrrad gefahren",
        "dentist": "zahnarzt",
        "dessert": "nachtisch, nachspeise",
        "dinner": "abendessen, abendessens",
        "doctor": "arzt, arztbesuch, arztbesuche",
        "drinks": "getränk, getränke, alkohol",
        "eating out": "auswärts essen, essen gehen",
        "electricity": "strom",
        "electronics": "elektronik",
        "entertainment": "unterhaltung, freizeit",
        "fast food": "schnellimbiss, imbiss",
        "food": "essen, essens, verpflegung, essen und trinken, nahrung",
        "fruit": "obst",
        "fuel": "benzin, tanken, sprit, diesel, kraftstoff",
        "furniture": "möbel",
        "games": "spiel, spiele, videospiele",
        "garden": "garten",
        "gifts": "geschenk, geschenke, geschenken",
        "groceries": "lebensmittel, lebensmitteln, supermarkt",
        "gym": "fitnessstudio, fitness",
        "haircut": "friseur, friseurbesuch, haarschnitt",
        "health": "gesundheit",
        "hiking": "wandern, wanderung, wanderungen, gewandert",
        "hobby": "hobbys",
        "hotel": "hotels, unterkunft",
        "household": "haushalt, haushaltswaren",
        "ice cream": "eis, eiscreme",
        "insurance": "versicherung, versicherungen",
        "internet": "",
        "juice": "saft, säfte",
        "km": "kilometern",
        "lunch": "mittagessen, mittagessens, mittag",
        "meals": "mahlzeit, mahlzeiten",
        "meat": "fleisch",
        "medicine": "medizin, medikament, medikamente, medikamenten, apotheke",
        "meditation": "meditiert, meditieren",
        "pages": "seite, seiten",
        "parking": "parken, parkgebühren, parkplatz",
        "pets": "haustier, haustiere, tierfutter, katzenfutter",
        "phone": "telefon, handy, mobilfunk",
        "pizza": "pizzas, pizzen",
        "reading": "gelesen, lesen, lese, lektüre",
        "rent": "miete, mieten",
        "restaurant": "restaurants",
        "running": "laufen, gelaufen, joggen, gejoggt, lauf, laufe, läufe, laufrunde, laufrunden, gerannt",
        "salary": "gehalt, lohn, löhne",
        "school": "schule",
        "shoes": "schuh, schuhe, schuhen",
        "sleep": "schlaf, geschlafen, schlafe",
        "snacks": "snack",
        "sports": "sport",
        "steps": "schritt, schritte, schritten, schrittzahl, schrittanzahl, schritte zahl, schritt zahl, schritt anzahl",
        "studying": "gelernt, lernen",
        "subscriptions": "abo, abos, abonnement, abonnements",
        "sweets": "süßigkeiten, süßes, schokolade",
        "swimming": "schwimmen, geschwommen",
        "takeaway": "lieferdienst, essenslieferung",
        "tax": "steuer, steuern",
        "taxi": "taxis, taxifahrten",
        "tea": "tee, tees",
        "theatre": "theater",
        "tickets": "karten, eintrittskarten",
        "tips": "trinkgeld, trinkgelder",
        "tools": "werkzeug, werkzeuge",
        "toys": "spielzeug",
        "train": "bahn, zug, bahntickets, bahnfahrten, zugtickets",
        "transport": "verkehr, nahverkehr, öpnv, fahrkarte, fahrkarten, verkehrsmittel",
        "travel": "reise, reisen, urlaub",
        "utilities": "nebenkosten",
        "vegetables": "gemüse",
        "walking": "spaziergang, spaziergänge, spazieren, spaziert",
        "water": "wasser",
        "weight": "gewicht, gewogen, körpergewicht",
        "height": "größe",
        "temperature": "temperatur",
        "heart rate": "puls, herzfrequenz",
        "blood pressure": "blutdruck",
        "mood": "stimmung",
        "speed": "geschwindigkeit",
        "pace": "",
        "score": "",
        "work": "arbeit, gearbeitet, arbeiten",
        "workout": "workouts, training, trainings, trainiert",
        "yoga": "",
    }
)

_LISTING = ListingWords(
    asking=re.compile(
        r"(?:(?:ok|so|und|bitte)\b[,:]? ?)*(?:kannst du (?:mir )?)?(?:was|welche[rsnm]?|liste|zeig(?:e)?|nenn(?:e)?|gib|sag|wie ?viele?|wie weit|habe ich|hab ich|steht|gibt es)\b"
    ),
    kinds={
        RecordKind.TASK: re.compile(r"\b(?:erledigungen|to-do-liste|aufgabenliste)\b"),
        RecordKind.EVENT: re.compile(r"\b(?:kalender|terminkalender|geplant)\b"),
    },
    idle=words_of(
        "alle alles an auf aufgeschrieben aus bei beim da das dem den der die du ein eine einen eingetragen "
        "erledigen fällig für gesetzt gibt hab habe haben heute ich im in insgesamt ist kenne kennst kommen "
        "kommt kosten kostet liste los man mein meine meinem meinen meiner mich mir mit muss müssen noch "
        "notiert nächste offen offene offenen punkte sind soll stehen steht und uns unser unsere von was "
        "weißt welche wir zeig zu zum zur zusammen"
    ),
)

RECORDS = RecordWords(
    listing=_LISTING,
    opening=re.compile(
        r"(?:wie|was|wofür|wurden?|bleibe|welche[rsnm]?|wann|habe|bin|liege|war|lag|halte|erreiche|schaffe|erfülle|überschreite|überziehe|ist|sind|waren"
        r"|liegt|liegen|liste|zeige?|nenne?|gib|zähle?|gesamt|insgesamt|(?:die )?summe|(?:die )?(?:an)?zahl|(?:an|in) (?:welche[rsnm]?|wie)"
        r"|im (?:schnitt|durchschnitt|mittel)|(?:der |mein )?durchschnitt|meine? gesamt|durchschnittlich"
        r"|(?:alle )?meine[nr]?(?=.*(?:zusammen|addieren|summieren)))\b"
    ),
    sentence=re.compile(
        r"[.!,]|\b(?:ich|du|er|sie|wir|ihr|es|man|ist|sind|war|waren|wäre|habe|hat|haben|hatte|wird|werde|nicht|kein\w*|das|dass)\b"
    ),
    cues=_CUES,
    periods={
        **dict.fromkeys(("tag", "tage", "tagen", "tags", "tages", "tages-", "täglich", "tägliche", "täglichen", "tägliches",
                         "täglicher", "täglichem"), Granule.DAY),
        **dict.fromkeys(("woche", "wochen", "wochen-", "wöchentlich", "wöchentliche", "wöchentlichen", "wöchentliches",
                         "wöchentlicher", "wöchentlichem"), Granule.WEEK),
        **dict.fromkeys(("monat", "monate", "monaten", "monats", "monats-", "monatlich", "monatliche", "monatlichen",
                         "monatliches", "monatlicher", "monatlichem"), Granule.MONTH),
    },
    filler=_FILLER,
    things=_THINGS,
    rewritten=_rewritten,
    habit=re.compile(r"^wie viel für\b|^wie hoch (?:ist|sind)\b|\bkoste[nt] mich\b|\b(?:gebe|zahle|bezahle|kaufe|laufe|gehe|verdiene|mache|lese|schlafe|trinke|esse) ich\b"),
    at_most=re.compile(
        r"\b(?:höchstens|maximal|nicht mehr als|weniger als|unter|innerhalb|obergrenze|limit\w*|\w*budget\w*|nicht überschreiten"
        r"|reduzier\w+|einschränk\w+)\b",
        re.IGNORECASE,
    ),
    at_least=re.compile(r"\b(?:mindestens|wenigstens|mehr als|erreich\w*|schaff\w*)\b", re.IGNORECASE),
    done=re.compile(r"\((?:erledigt|fertig|gestrichen|entfernt|abgeschlossen|gelöscht)\)\s*$", re.IGNORECASE),
    answers=AnswerWords(
        records=("1 Eintrag", "{count} Einträge"),
        kinds={
            "expense": "Ausgaben", "income": "Einnahmen", "quantity": "Messungen", "goal": "Ziele", "task": "Aufgaben",
            "event": "Termine", "preference": "Vorlieben", "document_item": "Punkte", "other": "weitere Einträge",
        },
        whenever="ohne Zeitgrenze",
        day="{start}",
        days="{start} bis {end}",
        list="{subject}, {when}: {items} ({records}).",
        total="{subject}, {when}: insgesamt {value} ({records}).",
        count="{subject}, {when}: {records}.",
        average="{subject}, {when}: im Schnitt {value} je Eintrag ({records}, insgesamt {total}).",
        average_period="{subject}, {when}: im Schnitt {value} {per}, aus {periods} mit Einträgen (insgesamt {total}).",
        latest="{subject}, zuletzt am {date}: {value}.",
        goal="{subject}, {when}: {value} bei {target}: {standing} ({records}).",
        goal_average="{subject}, {when}: im Schnitt {value} {per} bei {target}: {standing}"
        " (so an {met} von {periods} mit Einträgen, insgesamt {total}).",
        most="{subject}, {when}: am meisten waren {value}: {periods}.",
        least="{subject}, {when}: am wenigsten waren {value}: {periods}. Es zählen nur Zeiten mit Einträgen.",
        counted="{subject}, {when}: {target}: {standing} in {count} von {periods} mit Einträgen.",
        units={
            "day": ("1 Tag", "{count} Tagen"), "week": ("1 Woche", "{count} Wochen"), "month": ("1 Monat", "{count} Monaten"),
        },
        per={"day": "am Tag", "week": "in der Woche", "month": "im Monat"},
        standing={
            "met": "erreicht", "missed": "verfehlt", "over": "überschritten", "under": "unterschritten",
            "kept": "eingehalten", "broken": "überschritten", "kept so far": "bisher eingehalten",
            "missed so far": "bisher nicht erreicht",
        },
        bounds={">=": "mindestens {value}", ">": "mehr als {value}", "<=": "höchstens {value}", "<": "weniger als {value}"},
        none="{subject}, {when}: nichts eingetragen.",
        and_="und",
    ),
)  # fmt: skip

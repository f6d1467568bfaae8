"""German words for records: how figures of them are asked for, and what they may be of."""

from __future__ import annotations

import re

from hindsight_integrations.model.records import RecordKind
from hindsight_integrations.model.time import Granule
from hindsight_integrations.text.record_words import RecordWords, by_form, words_of

_THINGS = by_form(
    {
        "bakery": "bäcker, bäckerei, backwaren",
        "beer": "bier, biere",
        "bills": "rechnung, rechnungen",
        "blood pressure": "blutdruck",
        "bonus": "boni, prämie, prämien",
        "books": "buch, bücher, büchern",
        "bread": "brot, brote, brötchen",
        "breakfast": "frühstück, frühstücke, frühstücks",
        "brunch": "",
        "bus": "busse, busticket, bustickets, busfahrt, busfahrten, busfahren",
        "calories": "kalorien, kalorie",
        "car": "auto, autos",
        "cat": "katze, katzen",
        "charity": "spende, spenden",
        "chess": "schach",
        "childcare": "kita, kindergarten, babysitter",
        "cinema": "kino, kinokarte, kinokarten, filme, film, kinobesuch, kinobesuche, kinotickets",
        "cleaning": "putzhilfe, reinigung",
        "clothes": "kleidung, klamotten, kleider",
        "coffee": "kaffee, kaffees",
        "commission": "provision, provisionen",
        "concert": "konzert, konzerte, konzertkarten",
        "cosmetics": "drogerie, kosmetik",
        "cycling": "rad, radfahren, radtour, radtouren, geradelt, rad gefahren, fahrrad, fahrrad gefahren",
        "dentist": "zahnarzt",
        "dessert": "nachtisch, nachspeise",
        "dinner": "abendessen, abendessens",
        "doctor": "arzt, arztbesuch, arztbesuche",
        "dog": "hund, hunde, hundefutter",
        "drinks": "getränk, getränke, alkohol",
        "eating out": "auswärts essen, essen gehen",
        "electricity": "strom",
        "electronics": "elektronik",
        "entertainment": "unterhaltung, freizeit",
        "fast food": "schnellimbiss, imbiss",
        "flights": "flug, flüge, flugtickets",
        "food": "essen, essens, verpflegung, essen und trinken, nahrung",
        "freelance": "freiberuflich, honorar, honorare",
        "fruit": "obst",
        "fuel": "benzin, tanken, sprit, diesel, kraftstoff, getankt, vertankt, tankfüllung, tankfüllungen, tanke, tankstelle, tank",
        "furniture": "möbel",
        "games": "spiel, spiele, videospiele",
        "garden": "garten",
        "gifts": "geschenk, geschenke, geschenken, beschenkt, präsent, präsente",
        "groceries": "lebensmittel, lebensmitteln, supermarkt, supermärkten, einkauf im supermarkt, wocheneinkauf, wocheneinkäufe",
        "guitar": "gitarre",
        "gym": "fitnessstudio, fitness",
        "haircut": "friseur, friseurbesuch, haarschnitt, friseurin, frisör, haareschneiden, haare schneiden, frisur",
        "health": "gesundheit",
        "heart rate": "puls, herzfrequenz",
        "height": "größe",
        "hiking": "wandern, wanderung, wanderungen, gewandert",
        "hobby": "hobbys",
        "hotel": "hotels, unterkunft",
        "household": "haushalt, haushaltswaren",
        "ice cream": "eis, eiscreme",
        "insurance": "versicherung, versicherungen",
        "interest": "zinsen",
        "internet": "",
        "juice": "saft, säfte",
        "km": "kilometern",
        "lunch": "mittagessen, mittagessens, mittag",
        "meals": "mahlzeit, mahlzeiten",
        "meat": "fleisch",
        "medicine": "medizin, medikament, medikamente, medikamenten, apotheke, apotheken, arznei",
        "meditation": "meditiert, meditieren",
        "mood": "stimmung",
        "pace": "",
        "pages": "seite, seiten",
        "parking": "parken, parkgebühren, parkplatz",
        "pets": "haustier, haustiere, tierfutter, katzenfutter",
        "phone": "telefon, handy, mobilfunk",
        "piano": "klavier, klavierüben",
        "pizza": "pizzas, pizzen",
        "push-ups": "liegestütze, liegestützen",
        "reading": "gelesen, lesen, lese, lektüre",
        "refund": "rückerstattung, erstattung",
        "rent": "miete, mieten",
        "repairs": "reparatur, reparaturen",
        "restaurant": "restaurants",
        "running": "laufen, gelaufen, joggen, gejoggt, lauf, laufe, läufe, laufrunde, laufrunden, gerannt, laufens, rennen, joggingrunde, joggingrunden",
        "salary": "gehalt, lohn, löhne",
        "savings": "gespart, sparen, ersparnisse",
        "school": "schule",
        "score": "",
        "screen time": "bildschirmzeit",
        "shoes": "schuh, schuhe, schuhen",
        "sleep": "schlaf, geschlafen, schlafe, nacht, nächte, nächten, schläft",
        "snacks": "snack",
        "speed": "geschwindigkeit",
        "sports": "sport",
        "steps": "schritt, schritte, schritten, schrittzahl, schrittanzahl, schritte zahl, schritt zahl, schritt anzahl",
        "studying": "gelernt, lernen",
        "subscriptions": "abo, abos, abonnement, abonnements",
        "sweets": "süßigkeiten, süßes, schokolade",
        "swimming": "schwimmen, geschwommen",
        "takeaway": "lieferdienst, essenslieferung, essen liefern, essen zum mitnehmen, bestelltes essen, essen bestellt, liefern lassen, liefern",
        "tax": "steuer, steuern",
        "taxi": "taxis, taxifahrten",
        "tea": "tee, tees",
        "temperature": "temperatur",
        "theatre": "theater",
        "tickets": "karten, eintrittskarten",
        "tips": "trinkgeld, trinkgelder",
        "tolls": "maut",
        "tools": "werkzeug, werkzeuge",
        "toys": "spielzeug",
        "train": "bahn, zug, bahntickets, bahnfahrten, zugtickets",
        "translation": "übersetzung, übersetzungen, übersetzt, übersetzen",
        "transport": "verkehr, nahverkehr, öpnv, fahrkarte, fahrkarten, verkehrsmittel",
        "travel": "reise, reisen, urlaub",
        "utilities": "nebenkosten",
        "vegetables": "gemüse",
        "vet": "tierarzt",
        "walking": "spaziergang, spaziergänge, spazieren, spaziert",
        "water": "wasser",
        "weight": "gewicht, gewogen, körpergewicht, wiege, waage, wog",
        "wine": "wein, weine",
        "work": "arbeit, gearbeitet, arbeiten",
        "workout": "workouts, training, trainings, trainiert",
        "writing": "geschrieben, schreiben",
        "yoga": "",
    }
)


RECORDS = RecordWords(
    figures=re.compile(
        r"\b(?:wie ?viele?|wie (?:oft|häufig|weit|lange?|hoch|teuer|schwer)|insgesamt|gesamt\w*|summe|summiert|addiert|zusammen(?:gerechnet|gezählt|gekommen)?"
        r"|alles in allem|(?:durch)?schnitt|durchschnittlich\w*|mittelwert|im mittel|anzahl|(?:an |in )?welche[mnrs]? (?:tag|woche|monat)"
        r"|teuerste\w*|billigste\w*|günstigste\w*|längste\w*|kürzeste\w*|höchste\w*|niedrigste\w*|größte\w*|kleinste\w*|weiteste\w*|weitesten|schwerste\w*"
        r"|am (?:meisten|wenigsten)|was macht das|gekostet|kostete|ausgegeben|eingebracht)\b"
    ),
    otherwise=re.compile(
        r"\b(?:wer|wem|wen|wessen|wo|woher|wohin|wann|was für (?:ein|eine|einen)|wie (?:heißt|heisst|war|waren|geht|kam|kamen|lief|findet|hieß|sieht)|mag|mochte|gerne?|lieber|liebste\w*"
        r"|gefällt|gefallen|geschmeckt|schmeckt|heißt|gesagt|erzählt|passiert|getroffen|meinung|denk\w*|rezept\w*|beste[nrsm]?)\b"
    ),
    advice=re.compile(
        r"\b(?:soll|sollte\w*|sollen|kann|könnte\w*|darf|würde\w*|empfehl\w*|empfiehl\w*|vorschl[aä]g\w*|ideen?|tipps?|lohnt|besser|statt|gesund|sinnvoll|warum|wieso|weshalb|gibt es)\b"
    ),
    lists=re.compile(r"\b(?:liste|zeig\w*|welche[nrsm]?|was|wofür|nenn\w*|gib|sag|alle[nrs]?|auflisten|habe ich|hab ich)\b"),
    yes_or_no=re.compile(r"\W*(?:(?:und|also|hey|ok) )?(?:hab|habe|hat|bin|ist|sind|war|waren|wurde|liege|lag|halte|erreiche|schaffe|erfülle|überschreite|mag|gibt)\b"),
    which=words_of("welche welcher welches welchen welchem"),
    goals=re.compile(r"\b(?:\w*ziele?s?|\w*budgets?|\w*limits?|im plan|im rahmen|\w*grenze|zu (?:viel|viele|oft))\b"),
    kinds={
        RecordKind.EXPENSE: re.compile(
            r"\b(?:ausgegeben|ausgaben?|ausgebe|bezahlt|gezahlt|zahle|zahlte|bezahlte?|kosten|kostet|kostete|gekostet|gekauft|eingekauft|kaufte|einkäufen?|drauf ?(?:ging|gegangen)|draufgegangen|geld (?:hin|weg))\b"
        ),
        RecordKind.INCOME: re.compile(r"\b(?:verdient|verdiene|verdienst|einnahmen|einkommen|eingenommen|eingebracht)\b"),
        RecordKind.TASK: re.compile(r"\b(?:aufgaben(?:liste)?|to-dos?|to-?do-?liste|meine todos|erledigungen|(?:zu )?erledigen|muss ich (?:noch )?(?:tun|machen))\b"),
        RecordKind.EVENT: re.compile(r"\b(?:termine?n?|veranstaltung(?:en)?|ereignisse|kalender|terminkalender|geplant)\b"),
        RecordKind.PREFERENCE: re.compile(r"\bvorlieben\b"),
        RecordKind.GOAL: re.compile(r"\b(?:ziele|zielen|vorgaben|limits|budgets)\b"),
    },
    tail=re.compile(
        r"s?-?(?:ausgaben?|kosten|eink[aä]ufe?n?|k[aä]ufe?n?|budgets?|ziele?s?|limits?|durchschnitts?|schnitt|summe|betrag|zahl|anzahl|termine?n?|einnahmen|einkommen"
        r"|kilometern?|besuche?n?s?|rechnung(?:en)?|konsums?|verbrauchs?|runden?|strecken?|dauer|karten?|tickets?|geld|fahrt(?:en)?|stunden|kauf|quittung(?:en)?)"
    ),
    idle=words_of(
        """aktuell ans aufgeschrieben aufgezeichnet aufs betrag bisher bislang bitte bleibe blieb derzeit drauf eigentlich
        eingetragen erfasst erledigen fällig fürs geblieben gegangen gegeben gehe geld gemacht genau gesetzt hab heute
        insgesamt kenne kennst kommen kommt kosten kostet lag lege liege liegt liste los mache momentan notiert
        nächste offen offene offenen protokolliert punkte stehe stehen steht weißt zeig zurückgelegt zusammen"""
    ),
    things=_THINGS,
    periods={
        **dict.fromkeys(("tag", "tage", "tagen", "tags", "tages", "tages-", "täglich", "tägliche", "täglichen", "tägliches",
                         "täglicher", "täglichem"), Granule.DAY),
        **dict.fromkeys(("woche", "wochen", "wochen-", "wöchentlich", "wöchentliche", "wöchentlichen", "wöchentliches",
                         "wöchentlicher", "wöchentlichem"), Granule.WEEK),
        **dict.fromkeys(("monat", "monate", "monaten", "monats", "monats-", "monatlich", "monatliche", "monatlichen",
                         "monatliches", "monatlicher", "monatlichem"), Granule.MONTH),
    },
    at_most=re.compile(
        r"\b(?:höchstens|maximal|nicht mehr als|weniger als|unter|innerhalb|obergrenze|limit\w*|\w*budget\w*|nicht überschreiten"
        r"|reduzier\w+|einschränk\w+)\b",
        re.IGNORECASE,
    ),
    at_least=re.compile(r"\b(?:mindestens|wenigstens|mehr als|erreich\w*|schaff\w*)\b", re.IGNORECASE),
    done=re.compile(r"\((?:erledigt|fertig|gestrichen|entfernt|abgeschlossen|gelöscht)\)\s*$", re.IGNORECASE),
)  # fmt: skip

"""German words of time, as data. Tables are spelled both ways; see `spelling`."""

from __future__ import annotations

from hindsight_integrations.text.languages.de.spelling import FOLDING, inflected, spelled
from hindsight_integrations.text.languages.shared_rules import EARLY, LATE, MID
from hindsight_integrations.text.times.calendar import (
    SUNDAY,
    Span,
    Unit,
    day_span,
    easter,
    weekday_before,
)
from hindsight_integrations.text.times.grammar import YEAR, Decoys, Which, Words, any_of
from hindsight_integrations.text.times.meanings import (
    THANKSGIVING,
    fixed,
    moved,
    named,
    nth,
)


def _last_advent(year: int) -> Span:
    """The fourth Sunday of Advent, the last before Christmas Day."""
    return weekday_before(day_span(year, 12, 25).start, SUNDAY)


_NAMES = named(
    (fixed(1, 1), "neujahr, neujahrstag"),
    (fixed(1, 6), "dreikönigstag, heilige drei könige"),
    (fixed(2, 14), "valentinstag"),
    (moved(easter, -52), "weiberfastnacht"),
    (moved(easter, -48), "rosenmontag"),
    (moved(easter, -47), "faschingsdienstag, fastnacht"),
    (moved(easter, -46), "aschermittwoch"),
    (fixed(3, 8), "weltfrauentag, frauentag"),
    (moved(easter, -7), "palmsonntag"),
    (moved(easter, -3), "gründonnerstag"),
    (moved(easter, -2), "karfreitag"),
    (moved(easter, -1), "karsamstag, ostersamstag"),
    (easter, "ostern, oster, ostersonntag"),
    (moved(easter, 1), "ostermontag"),
    (fixed(4, 30), "walpurgisnacht"),
    (fixed(5, 1), "tag der arbeit, maifeiertag"),
    (nth(5, SUNDAY, 2), "muttertag"),
    (moved(easter, 39), "christi himmelfahrt, himmelfahrt, vatertag"),
    (moved(easter, 49), "pfingsten, pfingst, pfingstsonntag"),
    (moved(easter, 50), "pfingstmontag"),
    (moved(easter, 60), "fronleichnam"),
    (fixed(8, 15), "mariä himmelfahrt"),
    (fixed(10, 3), "tag der deutschen einheit"),
    (nth(10, SUNDAY, 1), "erntedank, erntedankfest"),
    (fixed(10, 31), "reformationstag, halloween"),
    (fixed(11, 1), "allerheiligen"),
    (fixed(11, 2), "allerseelen"),
    (fixed(11, 11), "martinstag, sankt martin"),
    (moved(_last_advent, -32), "buß- und bettag"),
    (moved(_last_advent, -35), "volkstrauertag"),
    (moved(_last_advent, -28), "totensonntag"),
    (moved(_last_advent, -21), "ersten advent, 1. advent"),
    (moved(_last_advent, -14), "zweiten advent, 2. advent"),
    (moved(_last_advent, -7), "dritten advent, 3. advent"),
    (_last_advent, "vierten advent, 4. advent"),
    (THANKSGIVING, "thanksgiving"),
    (moved(THANKSGIVING, 1), "black friday"),
    (moved(THANKSGIVING, 4), "cyber monday"),
    (fixed(12, 6), "nikolaus, nikolaustag"),
    (fixed(12, 24), "heiligabend, heilig abend, heiligen abend"),
    (fixed(12, 25), "weihnachten, weihnachts, weihnachtstag"),
    (fixed(12, 26), "stephanstag, stefanitag"),
    (fixed(12, 31), "silvester, silvesterabend, jahreswechsel"),
)  # fmt: skip
for _first, _second in (("1.", "2."), ("ersten", "zweiten"), ("erster", "zweiter"), ("erste", "zweite")):
    for _day in ("weihnachtstag", "weihnachtsfeiertag", "feiertag"):
        _NAMES |= {f"{_first} {_day}": fixed(12, 25), f"{_second} {_day}": fixed(12, 26)}

HOLIDAYS = spelled(_NAMES)


_PARTICIPLE = r"(?!geplant|gebucht|eingeladen|verabredet|angesetzt|vereinbart)(?:\w*ge\w{2,}(?:t|en)|\w+iert|(?:ver|be|er|ent|emp|zer|miss|\u00fcber|unter|wieder)\w{3,}(?:t|en))"
_AGENDA = r"\w*(?:termine?|treffen|verabredung(?:en)?|besprechung(?:en)?|meetings?|pl\u00e4ne|plaene|flug|fl\u00fcge|pr\u00fcfung(?:en)?|feier|besuch|geburtstag|zug|konzert)"
ASKS_AHEAD = (
    r"(?i:\b(?:werde|wirst|wird|werden|werdet)\b|\b(?:geplant|verabredet|angesetzt|vorgesehen|anstehend\w*|bevorstehend\w*|vorgenommen|eingeladen)\b"
    r"|\b(?:m\u00f6chte|moechte|m\u00f6chten|will|wollen|muss|m\u00fcssen|soll|sollen|sollte)\s+(?:ich|wir)\b|\bsteht\b.*\ban\b|\bstehen\b.*\ban\b"
    rf"|\b{_AGENDA}\s+(?:\w+\s+)?(?:habe?|haben|hab|hat|steht|stehen|gibt|ist|sind)\b|\bhab(?:e|en)?\s+(?:ich|wir)\b.*\b(?:vor|{_AGENDA})\s*[?.!]*$"
    r"|\b(?:mache|machen)\s+(?:ich|wir)\b|\b(?:treffe|fliege|fahre|reise|besuche|feiere|verreise|heirate)\s+ich\b|\b(?:treffen|fliegen|fahren|reisen|gehen|besuchen|feiern|verreisen)\s+wir\b"
    r"|\bgehe?\s+ich\b(?!.*\b(?:immer|gerne?|liebsten|lieber|meistens?)\b)|\b(?:kommt|kommen|beginnt|startet|findet|reist|fliegt|f\u00e4hrt)\s+(?:\w+\s+){0,3}?(?:am|im|zu|an|n\u00e4chste\w*)\b)"
)
ASKS_BACK = (
    r"\b(?:war|warst|waren|wart|wurde|wurdest|wurden|hatte|hattest|hatten|ging|gingen|fuhr|fuhren|kam|kamen|gab|tat|taten|sagte|machte|wollte|wollten|sollte|sollten|konnte|musste"
    rf"|geschah|passierte|traf|trafen|sah|sahen|a\u00df|a\u00dfen|flog|flogen|schrieb|las|lag|stand|bekam|nahm|fand|blieb|h\u00f6rte|kaufte|\w+(?:ierte|ierten))\b"
    rf"|\b(?:hab(?:e|en|t|st)?|hat|hast|bin|bist|ist|sind|seid)\b.*\b{_PARTICIPLE}\b"
)
ANNOUNCES = (
    r"(?:^|[,;:]\s*|\b(?:und|aber|denn|weil|dass)\s+)(?:(?:ich|wir|er|sie)\s+)?(?:werde|werden|wird|fliege|fliegen|fahre|fahren|treffe|treffen|reise|reisen|besuche|heirate|heiraten)\b"
    r"(?:(?!,\s*(?:was|wer|wo|wie|wann|wen|wem|welche\w*)\b).)*"
)

# After a number these make it a quantity, not a year.
QUANTITY = (
    r"(?:er|ern)\b|\s+(?:(?:kleine|grose|verschiedene|weitere|andere|neue|alte|quadrat|kubik)\w*\s+)?(?:euros?|dollars?|franken|pfund|mark|cent|rappen|yen|metern?|kilometern?|km|m|cm|mm|zentimetern?|meilen|kg|kilos?|gramm|g|tonnen?|litern?|l|ml"
    r"|kalorien|kcal|leuten?|personen|menschen|gasten?|gaeste|teilnehmern?|besuchern?|einwohnern?|zuschauern?|mitgliedern?|kunden|nutzern?|mitarbeitern?|schulern?|studenten"
    r"|zeilen|seiten|dateien|wortern?|woertern?|zeichen|schritten?|punkten?|stimmen|stucke?|stueck|teilen?|mal|uhr|mann|prozent|grad|watt|volt|mb|gb|tb|kb|bytes?|token"
    r"|sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?|hohenmetern?|hoehenmetern?|quadratmetern?|qm|fotos?|bilder|nachrichten|anfragen|klicks|likes|follower|abonnenten)\b"
    r"|\s?[\u20ac$\u00a3%]|\s+oder\s+(?:der\s+|die\s+|das\s+|lieber\s+|doch\s+)?(?:mehr|weniger|(?!(?:19|20)[0-9]{2}\b)[0-9])"
)
# In front of a number these make it the number of a thing.
NUMBERED = (
    r"\b(?:\w*(?:zimmer|raum|saal|seite|zeile|port|nummer|film|lied|buch|roman|gleis|linie|bus|bahn|zug|tram|fehler|ticket|version|modell|code|pin|kennzahl|kapitel|artikel|paragraf|absatz|konto|kunde|kunden"
    r"|rechnung|bestellung|auftrag|platz|stuhl|regal|fach|spind|tor|halle|haus|wohnung|strase|strasse|weg|kanal|sender|spiel|titel|song|album|serie|folge|episode|staffel|release|build|commit|issue|server|knoten|host|id"
    r"|box|paket|raummeter|etage|stock|block|typ|norm|gesetz|agenda|expo|vision|windows|office|excel|word|studio|fifa|photoshop|peugeot|runner|passwort|wert|preis|summe|betrag)"
    r"|nr|no|pr|als|und|oder|mit|auf|die|der|das|den|dem|des|ein|eine|einen|einem|fur|fuer|um|uber|ueber|unter|zu|zum|zur|bei|beim|je|pro|nur|fast|rund|etwa|circa|ca|genau|mindestens|hochstens|hoechstens"
    r"|knapp|gut|mehr|weniger|bis|gegen|kostet|kostete|wiegt|misst|betragt|heist|heisst|genannt|namens|titels|von|aus|mein|meine|meinem|meinen|nutze|mag|lese|spiele|plus|minus|mal|lautet)\.?:?\s+$"
)
YEAR_AFTER = (
    r"(?<![^\W\d_])(?:(?:hat|hatte|war|ist|habe)\s+[A-Z]\w+|(?:[a-z\u00e4\u00f6\u00fc\u00df]{2,})|(?i:\w*(?:liga|cup|pokal|meisterschaft|wm|em|olympia|spiele|urlaub|ferien|reise|wahl|konferenz|messe|festival|projekt|budget|steuererklarung"
    r"|umzug|hochzeit|saison|rennen|marathon|tour|firma|feier|fest|ausflug|semester|krise|pandemie|turnier)|^Ich|^Wir|Wo|Was|Wer)),?\s+$"
)

PERSON = r"\s+(?:hat|ist|war|sagt|sagte|kam|ging|lebt|wohnt|arbeitet|heist|meint|meinte)\b"
HOLIDAY_THINGS = r"-|\s+(?:geschenke?|baume?|lieder?|platzchen)\b"
SEASON_THINGS = r"-|\s+(?:of|der\s+liebe|des\s+lebens|meines)\b"

_WORKS = (
    r"film|lied|buch|roman|song|album|serie|zeitung|zeitschrift|magazin|band|gruppe|oper|stuck|theaterstuck|musical|gedicht|gemalde|bild|spiel|podcast|sendung|show|krimi|comic|horrorfilm|sender|marke|laden|restaurant"
    r"|cafe|bar|app|hotel|team|verein|titel|figur|rolle|namens|genannt|heist|heisst|hies|hiess|nenne|nennt"
)
_KIN = (
    r"frau|herrn?|dr|prof|doktor|familie|hund|hundin|katze|kater|pferd|hamster|hase|kaninchen|papagei|schwester|bruder|freund|freundin|chef|chefin|tante|onkel|cousin|cousine|tochter|sohn|nichte|neffe|madchen|junge|baby|mutter"
    r"|vater|nachbar|nachbarin|kollegin|kollege|mann|oma|opa|kind|arzt|arztin|mitbewohner|mitbewohnerin|lehrer|lehrerin|heilige[rn]?|sankt|st"
)
DECOYS = Decoys(
    before=(
        r"\b(?:jede[nrsm]?|alle|pro|frohe[sn]?|frohliche[sn]?|schone[sn]?|guten|gute|halbes|ganzes|je|manche[nrsm]?|irgendeine[nrsm]?|ans|am\s+liebsten)\s+$"
    ),
    around=(
        r"\b(?:platz|strase|strasse|allee|weg|ring|ufer|park|schule|brucke|bewegung|partei|universitat|verein|kaserne|denkmal|siedlung|stadion)\s+\0?(?:des|der|vom)\s+\0?[0-9]"
        rf"|\b(?:{_WORKS})\s+[\"']?\0(?:der\s+)?[0-9]{{1,2}}\.\s"
        r"|\b(?:ihren|seinen|meinen|deinen|unseren)\s+(?:fruhen\s+|spaten\s+)?\0\w+igern?$"
        rf"|\b(?:{_WORKS})\s+[\"'][^\"']*\0|\b(?:welt|bild|nzz|sport|presse|allgemeine)\s+\0am\s+(?:sonntag|samstag|montag)$"
        r"|\b(?:spielt|spielte|geht\s+es|stirbt|mitspielt)\s+(?:\w+\s+)?\0in\s+[0-9]{4}$|\0nikolaus$|\bbis\s+\0heute$|\0bis\s+heute$"
        r"|\b(?:schnee|welt)\s+(?:von\s+)?\0(?:von\s+)?gestern$|\bheute\s+auf\s+\0morgen$"
        r"|\b(?:ist|heist|heisst|mag)\s+\0[a-z]+$|\b(?:modell|jahrgang|wein|baujahr|golf|bmw|audi|laptop|iphone|macbook)\s+(?:von\s+|aus\s+)?\0(?:von\s+|aus\s+|in\s+)?[0-9]{4}$"
    ),
    after=(
        r"-[a-z]|\s+(?:journal|show|auf\s+morgen)\b|\.(?:de|com|org|net|at|ch|io)\b|\s+(?:immer|lang)\b|\s+fur\s+(?:tag|woche|monat|jahr)\b|\s*:\s*(?-i:(?!Was|Wer|Wo|Wie|Wann|Wen|Welche)[A-Z])"
    ),
    before_bare=rf"\b(?:{_KIN})\.?\s+$|\b(?:ein|eine|einen|kein|keinen|oder|und|heute|der|den|dem|blaue[rn]?|schwarze[rn]?|blutige[rn]?|typische[rn]?|mr|mrs|ms)\.?\s+$|[0-9]\.\s+$",
    things_before=rf"\b(?:{_WORKS})\s+(?:\w+\s+)?[\"']?$",
    after_bare=(
        r"^\s+oder\b|^\s+aus\s+(?-i:[A-Z])|^\s+der\s+[0-9]|^,\s+(?:mein|dein|sein|ihr|unser|euer|der|die|das|dem)\w*\s+(?:\w+\s+){0,2}?(?:"
        + _KIN
        + r")\b|^\s+bei\s+(?-i:[A-Z])|^\s+(?:ist|war)\s+(?:ein|eine|mein|der|die)\w*\s+(?:"
        + _KIN
        + r"|"
        + _WORKS
        + r")\b"
    ),
    things_after=rf"^,?\s+(?:ein|eine|der|die|das)\s+(?:\w+\s+)?(?:{_WORKS})\b|^\s+\((?:{_WORKS})\b|^[\"']",
    title_before=rf"\b(?:{_WORKS}|singt|sang|schrieb|spielt\s+in|autor\s+von|autorin\s+von|handlung\s+von|ende\s+von)\s+[\"']?$",
    title_after=(
        r"^\s*(?:habe?|hast|hat|haben)\s+\w+\s+(?:schon\s+|je\s+|jemals\s+|eigentlich\s+)*\0(?:\s+von\s+(?-i:[A-Z])|\s+(?:schon\s+|zu\s+ende\s+|fertig\s+)?(?:gelesen|gesehen|geschaut|gespielt)\b)"
        r"|\0\s+von\s+(?-i:[A-Z]\w+)\s+(?:\w+\s+)*?(?:gelesen|gesehen)\b|\b(?:ist|sind|lautet)\s+\0\s*[?.!]*$"
        r"|^\s*(?:mag|kenne|besitze|verstehe|gefallt|gefiel|lese|las|empfehle|hasse|liebe|kennst|magst)\s+\w+\s+(?:\w+\s+)?\0|\bfand(?:en|est)?\s+(?:ich|er|sie|wir|du)\s+\0|\bhat\s+\w+\s+\0\s+gefallen"
    ),
    capital=r"(?:(?:in|von|der|die|das|des|im)\s+)*(?:[A-Z][a-z]|[0-9]{4}\b)",
    plain_end=r"\b(?:in|im|seit|jahre?s?|vor|nach|bis|aus|des|der|am|letzten?|diesen?)\s+\S+$",
    of_figures=r"von\s+[0-9]{4}",
    copies=r"\b(?:halte\s+ich|halt\s+\w+|denke\s+ich|meinung|autor|autorin|handlung|ende|hauptfigur|ausgabe|exemplar|kopie|zusammenfassung|regisseur|schauspieler)\s+$",
    habits=(
        r"\b(?:immer|gewohnlich|normalerweise|meist|meistens|ublicherweise|regelmasig|in\s+der\s+regel|generell|stets|lieber|liebsten|gerne?|lieblings\w+|mag|magst|gefallt|gefallen|jedes\s+(?:jahr|mal)|jede\s+woche|jahrlich)\b"
    ),
    yearly_habits=(
        r"\b(?:esse|isst|trinke|trinkt|koche|kocht|trage|tragt|backe|backt|pflanze|heize|singe|schenke|bluht|bluhen|schliest|offnet|mag|magst|mogen|gefallt|gefallen|liebe|hasse|bevorzuge|schlafe"
        r"|gerne?|liebsten|lieber|bedeutet|denke|halte|ist\s+es|gibt\s+es|wachst|wachsen|regnet|schneit|kostet|dauert|\w+(?<!t)e\s+ich)\b"
    ),
    range_habits=r"\b(?:von\s+)?(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?\s+bis\s+(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)",
    title_words=(
        r"\b(?:(?:Letzt|Vergangen|Vorig|Nachst|Naechst|Dies|Kommend|Vorletzt)(?:e[nrsm]?)|Vor|Nach|Seit|Bis|Zwischen|Im|Am|In|An|Zu|Vom|Von|Heute|Gestern|Vorgestern|Uber)\b"
    ),
    article=r"(?:zu|an|am|im|in|uber|von|vom|seit|ab)?\s*(?:der|die|das|den|dem|des)?\s+|(?:zu|an|am|im|in|uber|von|vom)\s+",
    decade=r"(?:[0-9]0|ig)ern?$",
    question=r"(?:w(?:as|ann|o|er|en|em|essen|ie|ieso|arum|elche[rsnm]?|ohin|oher)|habe|hast|hat|haben|bin|ist|sind|war|waren|kann|wird)\b",
    before_decade=r"^\s*(?:ist|sind|bin)\b[^,]*$|\bist\s+$|\b(?:temperatur\w*|grad)\b.*$|\b(?:ihren|seinen|meinen|deinen|unseren|euren)\s+(?:fruhen\s+|spaten\s+)?$",
)


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

"""Where German words of time mean none: names, titles, numbers, habits, ages, things.

Nouns are all in capitals, so these tell nothing. Written without umlauts, as the text is folded, but for what is matched
as it is spelled: the tenses.
"""

from __future__ import annotations

from hindsight_integrations.text.time_expressions.words import Decoys

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

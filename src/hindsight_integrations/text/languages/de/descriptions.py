"""German: how people describe themselves, in the first person."""

from __future__ import annotations

import re

from hindsight_integrations.text.attributes import Attribute, by_word
from hindsight_integrations.text.language import DescriptionWords

_ANY = re.IGNORECASE
_ENDS = r"(?:in|im|am|an|bei|beim|als|für|mit|und|aber|oder|seit|wo|wenn|der|die|das|weil|von|aus|unter|ist|war|geboren|aufgewachsen|und|auf|zu|zur)"
_WORD = r"[^\s.;,!?:()]+"
_VALUE = rf"(?P<value>(?!{_ENDS}\b){_WORD}(?: (?!{_ENDS}\b){_WORD}){{0,5}})"
_PLACE = rf"(?P<value>(?!{_ENDS}\b|\d){_WORD}(?: (?!{_ENDS}\b|\d){_WORD}){{0,3}}(?:, [A-ZÄÖÜ][^\s.;,!?]*)*)"
_NUMBER = r"(?P<value>\d+|eine?n?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|keine?n?)"
_NOW = r"(?:(?:auch|jetzt|nun|heute|zurzeit|derzeit|noch|immer|gerade|hauptberuflich|seit \w+ \w+) )*"
_END = r"(?=[.;,!?]|$| und\b)"
_MONTH = r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)"


_ATTRIBUTES = (
    Attribute.of("birthplace", rf"\b(?:ich wurde|wurde ich|ich bin|bin ich) (?:[^.;]*? )?in {_PLACE} (?:[^.;,]*? )?geboren"),
    Attribute.of("birthplace", rf"\b(?:ich (?:komme|stamme)|komme ich|stamme ich) (?:ursprünglich )?aus {_PLACE}"),
    Attribute.of("birth date", rf"\b(?:ich wurde|wurde ich|ich bin|bin ich) (?:[^.;]*? )?(?:am |im (?:Jahr )?)?(?P<value>\d{{4}}|\d{{1,2}}\. ?(?:{_MONTH}|\d{{1,2}}\.)(?: ?\d{{4}})?) (?:[^.;,]*? )?geboren"),
    Attribute.of("residence", rf"\b(?:ich (?:wohne|lebe)|(?:wohne|lebe) ich) {_NOW}in {_PLACE}", several=True),
    Attribute.of("residence", rf"\bich bin nach {_PLACE} gezogen", several=True),
    Attribute.of("upbringing", rf"\bich bin (?:[^.;]*? )?in {_PLACE} aufgewachsen"),
    Attribute.of("occupation", rf"\b(?:ich arbeite|arbeite ich) {_NOW}(?:[^.;,]*? )?als {_VALUE}", several=True),
    Attribute.of("profession", rf"\b(?:ich bin|bin ich) {_NOW}(?:von Beruf |eine? )?{_VALUE}", several=True),
    Attribute.of("employer", rf"\b(?:ich arbeite|arbeite ich) {_NOW}(?:als [^.;,]+? )?(?:bei|beim|für) (?:der |dem |die |das )?{_VALUE}", several=True),
    Attribute.of("field", rf"\b(?:ich arbeite|arbeite ich) {_NOW}(?:in|im) (?:der |dem |den )?{_VALUE}", several=True),
    Attribute.of("name", rf"\bmein Name ist (?P<value>[^.;,!?]+?){_END}"),
    Attribute.of("name", rf"\b(?:ich heiße|heiße ich) (?P<value>[^.;,!?]+?){_END}"),
    Attribute.of("age", rf"\b(?:ich bin|bin ich) {_NOW}{_NUMBER} Jahre(?: alt)?\b"),
    Attribute.of("age", r"\b(?:ich bin|bin ich) (?P<value>\d{1,3})(?=[.;,!?]|$| und\b)"),
    Attribute.of("called", rf"\bmeine? (?P<key>\w+) heißt (?P<value>[^.;,!?]+?){_END}"),
    Attribute.of("experience", rf"\b(?:ich bin|ich arbeite) seit {_NUMBER} Jahren (?P<key>[^.;,!?]+?){_END}"),
    Attribute.of("experience", rf"\b(?:ich habe|habe ich) {_NUMBER} Jahren? (?P<key>(?:(?!\w*erfahrung\b)[\w-]+ )*)\w*erfahrung(?: (?:als|mit|in|im|bei) (?P<key2>[^.;,!?]+?))?{_END}"),
    Attribute.of("nationality", r"\bmeine (?:Nationalität|Staatsangehörigkeit) ist (?P<value>\w+)", several=True),
    Attribute.of("favourite", r"\bmeine? Lieblings(?P<key>\w+) (?:ist|sind|war) (?P<value>[^.;!?]+?)(?=[.;!?]|$)"),
    Attribute.of("own", r"\bmeine? (?P<key>Beruf|Alter|Geburtstag|Geburtsort|Heimatstadt|Nachname|Vorname|Spitzname|Muttersprache|Religion|Arbeitgeber|Rolle|Titel|Adresse|Größe|Sternzeichen) (?:ist|sind) (?P<value>[^.;!?]+?)(?=[.;!?]|$)"),
    Attribute.of("spouse", r"\b(?:ich bin|bin ich) mit (?P<value>[A-ZÄÖÜ]\w+) verheiratet"),
    Attribute.of("number", rf"\b(?:ich habe|habe ich) {_NUMBER} (?P<key>(?!Jahre)[A-ZÄÖÜ]\w+)"),
)  # fmt: skip

_FIELDS = {
    "tech": "technik it technologie software informatik",
    "health": "gesundheit medizin pflege gesundheitswesen krankenhaus",
    "education": "bildung schule lehre bildungswesen",
    "finance": "finanzen bankwesen versicherung buchhaltung",
    "law": "recht justiz",
    "food": "gastronomie lebensmittel",
    "media": "medien journalismus",
    "science": "wissenschaft forschung",
    "art": "kunst design",
    "retail": "handel verkauf einzelhandel",
    "building": "bau bauwesen handwerk",
    "transport": "verkehr logistik transport",
}
_PROFESSIONS = {
    "tech": "ingenieur ingenieurin entwickler entwicklerin programmierer programmiererin informatiker informatikerin"
    " softwareentwickler softwareentwicklerin softwareingenieur softwareingenieurin",
    "health": "arzt ärztin krankenpfleger krankenschwester pfleger pflegerin chirurg chirurgin zahnarzt zahnärztin apotheker"
    " apothekerin hebamme therapeut therapeutin tierarzt tierärztin psychologe psychologin kardiologe kardiologin kinderarzt kinderärztin",
    "education": "lehrer lehrerin professor professorin dozent dozentin erzieher erzieherin bibliothekar bibliothekarin",
    "finance": "buchhalter buchhalterin banker bankerin steuerberater steuerberaterin",
    "law": "anwalt anwältin rechtsanwalt rechtsanwältin richter richterin notar notarin",
    "food": "koch köchin bäcker bäckerin kellner kellnerin metzger metzgerin konditor konditorin",
    "media": "journalist journalistin redakteur redakteurin reporter reporterin",
    "science": "wissenschaftler wissenschaftlerin biologe biologin chemiker chemikerin physiker physikerin forscher forscherin",
    "art": "maler malerin künstler künstlerin fotograf fotografin designer designerin schauspieler schauspielerin",
    "music": "musiker musikerin pianist pianistin sänger sängerin geiger geigerin",
    "farming": "bauer bäuerin landwirt landwirtin gärtner gärtnerin imker imkerin winzer winzerin",
    "retail": "verkäufer verkäuferin kassierer kassiererin",
    "building": "tischler tischlerin schreiner klempner elektriker elektrikerin maurer architekt architektin",
    "transport": "pilot pilotin fahrer fahrerin kapitän lokführer lokführerin",
    "state": "politiker politikerin polizist polizistin soldat soldatin feuerwehrmann bürgermeister bürgermeisterin",
    "": "berater beraterin übersetzer übersetzerin autor autorin schriftsteller schriftstellerin dichter dichterin friseur friseurin"
    " mechaniker mechanikerin sekretär sekretärin student studentin pirat piratin manager managerin unternehmer unternehmerin",
}
_KINDS = {
    "arzt": "chirurg kardiologe kinderarzt zahnarzt", "ärztin": "chirurgin kardiologin kinderärztin zahnärztin",
    "musiker": "pianist sänger geiger", "musikerin": "pianistin sängerin geigerin", "künstler": "maler musiker",
    "künstlerin": "malerin musikerin", "wissenschaftler": "biologe chemiker physiker forscher", "lehrer": "professor",
    "wissenschaftlerin": "biologin chemikerin physikerin forscherin", "anwalt": "rechtsanwalt", "anwältin": "rechtsanwältin",
    "ingenieur": "softwareingenieur entwickler", "entwickler": "softwareentwickler programmierer", "entwicklerin": "softwareentwicklerin",
    "ingenieurin": "softwareingenieurin entwicklerin", "haustier": "hund katze hamster kaninchen", "instrument": "klavier gitarre geige cello",
    "deutschland": "berlin hamburg münchen köln kiel leipzig dresden bremen bayern", "österreich": "wien graz linz salzburg",
    "schweiz": "zürich genf bern basel", "europa": "deutschland österreich schweiz frankreich spanien italien",
}  # fmt: skip
_ALTERNATIVES = (
    "ledig verheiratet geschieden verwitwet verlobt single", "vegan vegetarisch", "veganer vegetarier", "veganerin vegetarierin",
    "linkshänder rechtshänder", "arbeitslos angestellt selbstständig selbständig pensioniert", "introvertiert extrovertiert",
    "optimist pessimist", "optimistisch pessimistisch", "geduldig ungeduldig", "förmlich locker", "schüchtern kontaktfreudig",
    "höflich unhöflich", "ehrlich unehrlich", "ordentlich unordentlich", "ernst verspielt", "groß klein", "ruhig nervös laut",
    "deutscher franzose italiener spanier österreicher schweizer pole engländer amerikaner",
    "deutsche französin italienerin spanierin österreicherin schweizerin polin engländerin amerikanerin", "mann frau", "mensch roboter",
)  # fmt: skip
_VERBS = (
    r"(?:bin|war|habe|hatte|wurde|lebe|wohne|arbeite|arbeitete|liebe|mag|mochte|hasse|spreche|spiele|spielte|studiere|studierte|lehre|lerne"
    r"|unterrichte|kenne|weiß|will|möchte|kann|schreibe|lese|koche|backe|male|singe|tanze|schwimme|reise|sammle|glaube|denke|hoffe|brauche"
    r"|baue|leite|führe|helfe|trinke|esse|komme|stamme|heiße|schätze|bevorzuge|gehe|fahre|laufe|treibe|wandere|besitze|trage|bleibe)"
)


DESCRIPTIONS = DescriptionWords(
    attributes=_ATTRIBUTES,
    professions=by_word(_PROFESSIONS),
    fields=by_word(_FIELDS),
    kinds=by_word(_KINDS),
    alternatives=tuple(frozenset(group.split()) for group in _ALTERNATIVES),
    being=re.compile(r"\b(?:ich bin|bin ich)\b", _ANY),
    preferred=re.compile(
        r"\b(?:schätze|bevorzuge|mag|trinke|esse) (?P<first>[^.;,!?]+?) (?:lieber als|mehr als|vor|statt|gegenüber) (?P<second>[^.;,!?]+)",
        _ANY,
    ),
    joint=re.compile(
        rf"(?:,? (?:und|aber)|;|,) (?:(?=(?P<own>ich\b|meine? (?:\w+ ){{1,3}}(?:ist|sind|war|hat)\b))|(?={_VERBS} \w))", _ANY
    ),
    subject="Ich ",
    speaker=re.compile(r"^(?!meine?\b)[^.;,]*?(?<!\w)ich(?!\w)", _ANY),
    liked=re.compile(r"\b(?:liebe|mag|schätze|bevorzuge)\b|\b\w+e (?=(?:[^.;,]*? )?gerne?\b)|\bgerne?\b", _ANY),
    disliked=re.compile(r"\b(?:hasse|verabscheue|meide|ungern)\b", _ANY),
    negation=re.compile(r"\b(?:nicht|nie|niemals|keine?[nmrs]?|weder|noch nie|ohne)\b", _ANY),
    past=re.compile(r"\b(?:war|hatte|\w+te|ging|kam|zog|wuchs|schrieb)\b(?! (?:geboren))(?<!möchte)(?<!könnte)(?<!würde)", _ANY),
    former=re.compile(r"\b(?:nicht mehr|keine?n? mehr|früher|ehemals)\b", _ANY),
    besides=re.compile(r"\b(?:auch|außerdem|zudem|zusätzlich|nebenbei|nebenberuflich)\b", _ANY),
)  # fmt: skip

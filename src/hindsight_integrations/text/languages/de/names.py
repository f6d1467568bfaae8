"""German names: every noun has a capital, so it takes more than that to be one."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import NameWords, NounWords
from hindsight_integrations.text.languages.de import nouns
from hindsight_integrations.text.languages.de.name_lists import GIVEN_NAMES, OTHER_NAMES
from hindsight_integrations.text.languages.de.stop_words import STOP_WORDS

# What German sentences begin with, besides stop words: greetings, interjections, adverbs and verbs.
_COMMON_WORDS = """
    hallo hi hey moin servus guten gute guter gutes liebe lieber liebes danke bitte ja nein nö doch okay ok ach ah oh oje ups aha
    wow super toll prima schön schade leider vielleicht eventuell wahrscheinlich vermutlich bestimmt sicher natürlich klar genau
    richtig stimmt falsch eigentlich tatsächlich wirklich übrigens außerdem ansonsten jedenfalls zumindest wenigstens mindestens
    heute gestern morgen vorgestern übermorgen früher später bald neulich letztens kürzlich damals endlich schließlich zuerst
    anschließend danach davor inzwischen mittlerweile zurzeit momentan derzeit abends morgens mittags nachts montags dienstags
    mittwochs donnerstags freitags samstags sonntags täglich oft öfter häufig selten nie niemals meistens irgendwann irgendwie
    irgendwo irgendwer niemand jemand keiner beide beides alles etliche mehrere einzig letzte letzten letzter letztes letztem
    nächste nächsten nächster nächstes nächstem kommende kommenden vergangene vergangenen erste ersten zweite zweiten dritte
    zwei drei vier fünf sechs sieben acht neun zehn elf zwölf hundert herzliche herzlichen viele vielen
    kannst könntest könnten könnte kennst kenne kennt kennen weißt weiß wissen erinnerst erinnere merk merke notiere notier sag sage
    sagt sagte sagten schreib schreibe schreibt schrieb zeig gib gehe geh geht gehen ging komm komme kommt kam kamen mag magst mögen
    mochte liebe liebst brauche brauchst braucht finde findest findet fand denke denkst denkt dachte glaube glaubst glaubt wohne wohnst
    wohnt arbeite arbeitest arbeitet fahre fährst fährt fuhr fliege fliegt treffe trifft triffst traf trafen besuche besucht besuchte
    rufe rief frage fragte sehe sieht sah höre hört hörte lese liest las esse isst aß trinke trinkt spiele spielt lerne lernt kaufe
    kauft kaufte nehme nimmt nahm bringe bringt brachte bekomme bekam vergiss vergesse vergaß streich streiche lösch lösche ändere
    plane planst habe haben seh wär wäre hätte hätten würde würdest dürfte darf sollte müsste schau guck hör lass lasst
    laut dank trotz statt anstatt samt per pro via gemäß innerhalb außerhalb oberhalb entlang gegenüber außer bezüglich mithilfe
    entweder weder sowohl desto umso falls sobald solange sofern soweit indem damit worauf wofür woran wodurch warum wohin wem wen
    wessen herr frau korrektur achtung hinweis ps
"""
_SHOUTED = "OK JA NEIN NICHT UND DER DIE DAS ICH DU WIR IST DOCH SO ZU WOW HA LOL OMG PS PDF TV EC WC KM KG UHR SEHR NUR WG ZB EU IT"
_ROLES = """
    mutter vater mama papa mami papi mutti vati eltern schwester bruder sohn tochter oma opa großmutter großvater tante onkel
    cousin cousine neffe nichte enkel enkelin schwager schwägerin schwiegermutter schwiegervater schwiegersohn schwiegertochter
    stiefvater stiefmutter halbbruder halbschwester zwillingsbruder zwillingsschwester patenkind patenonkel patentante mann
    frau ehemann ehefrau freund freundin verlobter verlobte exfreund exfreundin ex partner partnerin mitbewohner mitbewohnerin
    nachbar nachbarin kollege kollegin chef chefin vorgesetzte teamleiter teamleiterin chefkoch arzt ärztin hausarzt hausärztin
    zahnarzt zahnärztin tierarzt tierärztin lehrer lehrerin klassenlehrer klassenlehrerin trainer trainerin friseur friseurin
    vermieter vermieterin anwalt anwältin therapeut therapeutin physiotherapeut physiotherapeutin betreuer betreuerin professorin
    hebamme babysitter babysitterin hund hündin kater katze kätzchen welpe pferd stute hengst kaninchen hamster meerschweinchen
    wellensittich papagei schildkröte baby junge mädchen kind autor autorin schriftsteller schriftstellerin sänger sängerin
    schauspieler schauspielerin regisseur regisseurin komponist maler malerin präsident kanzler kanzlerin minister ministerin
    bürgermeister bürgermeisterin trainerteam kumpel kumpeline bekannter bekannte schulfreund schulfreundin jugendfreund
    studienfreund studienfreundin arbeitskollege arbeitskollegin stadt dorf gemeinde insel marke app
"""
_HEADS = """
    hotel restaurant café cafe pension gasthof gasthaus pizzeria bäckerei konditorei metzgerei brauerei bar club kita kindergarten
    grundschule gesamtschule realschule gymnasium universität uni hochschule fachhochschule klinik klinikum krankenhaus praxis
    apotheke stiftung verlag bank sparkasse verein theater kino museum galerie schloss burg kloster kirche dom zoo tierpark
    stadtwerke autohaus möbelhaus kaufhaus supermarkt fitnessstudio yogastudio tanzschule musikschule fahrschule volkshochschule
    reisebüro kanzlei firma werkstatt campingplatz flughafen bahnhof haus villa projekt
"""
_MEASURES = """
    tasse tassen glas gläser flasche flaschen kilo gramm liter pfund stück scheibe scheiben packung packungen paket dose dosen
    kiste kisten teller schüssel portion portionen löffel prise becher tüte tüten sack strauß paar haufen menge art sorte reihe
    serie woche wochen monat monate jahr jahre tag tage stunde stunden minute minuten prozent euro cent dollar franken anfang
    mitte ende montag dienstag mittwoch donnerstag freitag samstag sonntag uhr mal nummer seite kapitel klasse band teil runde
    gruppe schluck bissen meter kilometer quadratmeter grad
"""

_TITLES = """
    herr herrn frau fräulein familie dr prof professor doktor pfarrer pastor schwester
"""
_MEETING = """
    treffe treffen trifft triffst traf trafen besuche besuchen besuchte besuchten kenne kennst kennt vermisse rief
"""
_BORROWED = """
    café cafés cafébesuch crème crêpe crêpes entrée soufflé varieté déjà-vu croûtons jalapeño jalapeños décolleté à-la-carte
    café-besuch porträt coupé élan fiancé résumé exposé exposés frappé consommé canapé canapés rosé
"""
NAMES = NameWords(
    no_names=STOP_WORDS | frozenset(_COMMON_WORDS.split()) - {"herr", "frau"},
    titles=frozenset(_TITLES.split()) - {"schwester"},
    abbreviations=("Dr", "Prof", "Hr", "Fr", "St", "Dipl", "Ing", "bzw", "ca", "Nr", "Tel", "inkl"),
    shouted=frozenset(_SHOUTED.split()),
    organisation=re.compile(
        r"\b(?:GmbH|AG|KG|SE|e\.V|Universität|Hochschule|Institut|Stiftung|Krankenhaus|Klinikum|Klinik|Schule|Grundschule|Gymnasium"
        r"|Verein|Verlag|Bank|Sparkasse|Kita|Krankenkasse|Zeitung|Stadtwerke|Bahn)\b"
    ),
    possessive=re.compile(r"(?:['\u2019]s?|(?<=[a-zäöü])(?<![sßxz])s)$"),
    nouns=NounWords(
        given_names=GIVEN_NAMES,
        other_names=OTHER_NAMES,
        nouns=nouns.NOUNS,
        noun_ending=nouns.ENDING,
        inflection=re.compile(r"(?:n|en|e|s|es|er|ern)$"),
        plural=re.compile(r"(?<!ing)(?<!haus)(?<!ion)en$|eln$|ern$|innen$|ler$"),
        before=frozenset({"nach", "bei", "in", "aus", "mit", "von"}),
        naming=frozenset({"heißt", "heiße", "heißen", "hieß", "namens", "genannt", "taufen", "getauft"}),
        meeting=frozenset(_MEETING.split()),
        singular=re.compile(
            r"(?:sagt|sagte|meint|meinte|wohnt|wohnte|arbeitet|arbeitete|lebt|lebte|studiert|studierte|heiratet|heiratete|zieht|zog"
            r"|kommt|kam|fährt|fuhr|geht|ging|ruft|rief|schreibt|schrieb|erzählt|erzählte|fragt|fragte|mag|mochte|liebt|hasst|will"
            r"|wollte|möchte|kann|konnte|hat|hatte|lernt|kocht|trinkt|isst|spielt|kauft|kaufte|schenkt|schenkte|feiert|feierte)"
        ),
        roles=frozenset(_ROLES.split()),
        heads=frozenset(_HEADS.split()),
        measures=frozenset(_MEASURES.split()),
        adjective=re.compile(r"(?:e|en|er|es|em|t|st)$"),
        place=re.compile(
            r"(?!Über|Stau|Bagger|Bade|Berg|Stausee|Haupt|Einbahn|Seiten|Neben|Land|Schnell|Spiel|Sack|Straßen)"
            r"[A-ZÄÖÜ]\w{2,}(?:see|straße|strasse|gasse|allee|gebirge)"
        ),
        tail=re.compile(
            r" (?:am (?:Main|Rhein|Inn|Neckar|Arlberg|Lech|Harz|See|[A-ZÄÖÜ]\w+see)|an der (?:Donau|Oder|Ruhr|Saale|Elbe|Weser"
            r"|Spree|Isar|Mosel|Lahn)|im (?:Breisgau|Allgäu|Schwarzwald|Odenwald)|ob der Tauber)\b"
        ),
        of=(" von ", " von der ", " van ", " van der ", " de ", " de la ", " del ", " zu ", " zur ", " vom "),
        letters=re.compile(r"[A-Za-zÄÖÜäöüß'\u2019-]+"),
        borrowed=frozenset(_BORROWED.split()),
    ),
)

"""German names: every noun has a capital, so it takes more than that to be one."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import NameWords, NounWords
from hindsight_integrations.text.languages.de import nouns
from hindsight_integrations.text.languages.de.stop_words import STOP_WORDS

_PEOPLE = """
    aaron achim adam adrian agnes ahmed albert alex alexander alexandra alfred ali alice alina amelie amir andrea andreas
    andré anette angela angelika anika anita anja anke anna anne annette annika anton antonia armin arne arthur astrid axel
    ayse barbara bastian beate ben benedikt benjamin bernd bernhard berta bettina bianca birgit björn boris brigitte britta
    bruno burak carina carla carlos carmen carola caroline carsten cem charlotte chiara chris christa christian christiane
    christina christine christoph clara claudia clemens constantin cornelia daniel daniela david dennis denise diana dieter
    dietmar dilara dirk dominik dora dorothea edith elena elias elif elisa elisabeth elke ella elsa elvira emil emilia emily
    emine emma emre erich erik erika esther eugen eva fabian fatima fatma felix ferdinand finja finn fiona florian
    frank franz franziska frauke fred frida frieda friedrich fritz gabi gabriel gabriele georg gerd gerda gerhard gert
    gisela gregor greta gudrun günter günther gustav hanna hannah hannes hans harald hasan heidi heike heiko heiner heinrich
    heinz helena helene helga hendrik henning henri henry herbert hermann hilde holger horst hugo ibrahim ida ilona ilse ina
    ines inge ingo ingrid irene iris irma isabel isabella ivan jakob jan jana janina jannik jasmin jens jessica joachim
    johann johanna johannes jonas jonathan josef josefine josephine jost juan judith jule julia julian juliane jürgen jutta
    kai karim karin karina karl karla karoline karsten katharina kathrin katja katrin kemal kerstin kevin kilian kim kira
    klara klaus konrad konstantin kristina kurt lara lars laura lea leila lena leni lennart leo leon leonard leonie levin
    liam lilli lilly lina linda linus lisa lotta lotte louis louisa luca lucas lucia ludwig luis luisa lukas lydia magdalena
    maja malte manfred manuel manuela mara marc marcel marco marcus margarete margit margot maria marie marina mario marion
    marius markus marlene marta martha martin martina mathilda matteo matthias mats max maximilian maya mehmet melanie
    merle mia michael michaela mila milan mina mira miriam mohamed mohammed monika moritz mustafa nadia nadine nadja nele
    nico nicole nicolas niklas niko nils nina noah noemi nora norbert ole oleg olga oliver olivia omar oskar otto pascal
    patricia patrick paul paula pauline peter petra philip philipp pia rafael rahel ralf ramona raphael rebecca regina
    reiner reinhard renate rené ricarda richard rita robert robin roland rolf roman ronja rosa rudolf ruth sabine sabrina
    samuel sandra sandro sara sarah sascha sebastian selina selma sibylle sigrid silke silvia simon simone sofia sofie sonja
    sophia sophie stefan stefanie steffen stella stephan sven svenja svetlana sybille sylvia tamara tanja tarik tatjana theo
    theodor theresa theresia thilo thomas thorsten tilda till tim timo tina tobias tom torben torsten tristan udo ulf ulla
    ulli ulrich ulrike ursula uschi ute uwe valentin valentina valerie vanessa vera verena veronika victoria viktor viktoria
    vincent volker walter waltraud wanda wendelin werner wilhelm willi winfried wolfgang xaver yannick yara yasmin yusuf
    yvonne zeynep zoe zoé
"""
GIVEN_NAMES = frozenset(_PEOPLE.split())
_PLACES_AND_BRANDS = """
    aachen ägypten albanien amsterdam andalusien asien athen augsburg australien baden-württemberg bali barcelona basel
    bayern belgien berlin bern bielefeld bochum bodensee bonn brandenburg brasilien braunschweig bregenz bremen brüssel
    budapest bulgarien chemnitz chile china darmstadt deutschland dortmund dresden duisburg düsseldorf dänemark england
    erfurt erlangen essen estland europa finnland florenz frankfurt frankreich freiburg genf georgien göttingen graz
    griechenland großbritannien halle hamburg hannover heidelberg heilbronn hessen holland indien innsbruck irland island
    istanbul italien japan kairo kalifornien kanada karlsruhe kassel kenia kiel klagenfurt koblenz köln konstanz kopenhagen
    korsika kreta kroatien kuba lausanne leipzig lettland linz lissabon litauen london lübeck ludwigshafen lugano luxemburg
    luzern madrid mailand mainz mallorca malta mannheim marburg marokko mexiko moskau münchen münster nepal neapel
    neuseeland new niederlande niedersachsen norwegen nürnberg oldenburg oslo osnabrück österreich ostsee paris passau peru
    polen porto portugal potsdam prag regensburg rom rostock rumänien russland saarbrücken sachsen salzburg sardinien
    schottland schweden schweiz schwerin serbien sizilien slowakei slowenien spanien stockholm stuttgart südtirol sylt
    teneriffa thailand thüringen tirol tokio toskana trier tschechien tübingen türkei ukraine ulm ungarn usa venedig vietnam
    warschau wien wiesbaden wolfsburg würzburg zürich zypern nordsee alpen alster donau eifel elbe elbphilharmonie harz isar
    mosel neckar oktoberfest rhein schwarzwald spree taunus zugspitze adidas airbnb aldi alexa allianz amazon android apple
    audi azure basf bayer bosch commerzbank continental daimler deezer discord disney dropbox duolingo ebay edeka etsy
    facebook github gmail google hornbach huawei ibuprofen ikea instagram intel kaufland kindle lego lenovo lidl linkedin
    linux lufthansa mastodon mercedes microsoft miele mozilla netflix nike nintendo nivea notion nvidia obi opel oracle
    outlook paypal penny pinterest playstation porsche puma python reddit rewe rossmann rtl sap samsung saturn sennheiser
    siemens skoda skype slack sony spotify strava telegram telekom tesla thermomix threema tiktok tinder toyota twitch
    twitter uber vodafone volkswagen vorwerk windows xbox xing yahoo youtube zalando zoom
"""
OTHER_NAMES = frozenset(_PLACES_AND_BRANDS.split()) - frozenset(
    {"new", "essen", "halle", "saturn", "penny", "bayer"}
)


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

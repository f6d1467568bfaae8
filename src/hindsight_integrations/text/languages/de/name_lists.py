"""Common names in German texts: of people, places, companies and products. A short list: context does the rest."""

from __future__ import annotations

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

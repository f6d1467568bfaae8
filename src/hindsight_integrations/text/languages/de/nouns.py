"""German nouns that stand where a name could stand: behind a preposition or before a verb, without an article."""

from __future__ import annotations

import re

_BARE = """
    januar februar märz april mai juni juli august september oktober november dezember montag dienstag mittwoch donnerstag
    freitag samstag sonnabend sonntag wochenende wochenenden woche wochen tag tage tagen monat monate monaten jahr jahre
    jahren stunde stunden minute minuten sekunde abend abends morgen mittag vormittag nachmittag nacht mitternacht uhr
    frühling frühjahr sommer herbst winter weihnachten ostern pfingsten silvester neujahr fasching karneval advent
    heiligabend feierabend geburtstag anfang mitte ende beginn abo alkohol alltag alter angst ansicht antwort apotheke
    appetit arbeit ärger art arzt ärztin asthma aufwand auto bad bahn bank bargeld bedarf beere beispiel beratung bericht
    beruf besuch betrieb bett bewegung bier bild bilder blume blumen blut boden bord brille brot bruch buch bücher bus büro
    butter chance chaos chef chefin computer corona dank datei daten dauer decke deutsch diabetes diät ding dinge distanz
    drogen druck durst ei eier eile eis eltern elternzeit energie englisch entfernung erfahrung erfolg erholung essen
    ewigkeit fahrrad fahrt familie farbe fehler feier fenster ferien fernsehen feuer fieber figur film fisch fleisch flieder
    flucht flug form foto fotos frage fragen frau frauen freiheit freude freund freunde freunden freundin frieden frost
    frühstück führung fuß fußball garage garten gast gäste gefahr gefühl geld gemüse genuss gepäck gericht geschäft geschenk
    geschenke geschichte geschwister gesellschaft gesicht gespräch gesundheit getreide gewalt gewicht gewitter gitarre glas
    glück gold gott grippe größe gruß grüße gymnastik haar haare hafer hand hände handball handy haus hause haustier haut
    heimat heimweg herr herz heu hilfe hitze hobby hochzeit hof höhe holz homeoffice honig hose hotel humor hund hunde
    hunger husten idee internet interesse jahreszeit jazz job joghurt junge jungs jura kaffee kakao kälte kalender kamera
    karte karten käse katze katzen keller kind kinder kindern kino kirche klarheit klasse klavier kleidung knie kohle
    kollege kollegen kollegin komfort kontakt kontrolle konzert kopf kopfschmerzen körper kosten kraft krankheit krebs krieg
    krimi krimis kritik küche kuchen kultur kunden kunst kur kurs laktose land landschaft langeweile lärm laune leben leder
    lehrer lehrerin leid leute licht liebe lied liste literatur lohn luft lust mail mais mal mama mann männer mannschaft
    mark markt maß material mathe mathematik mäuse medien medizin meer mehl mehrheit meinung mensch menschen miete migräne
    milch mitglied mitglieder mittel mode mond motivation mühe müll musik mut mutter nachbar nachbarn nachricht nachrichten
    nächte nähe name namen natur nebel neffe neid not note noten notfall nudeln nutzung obst ofen öffnung öl oma opa ordnung
    ort pa papa papier paprika partei party pasta patienten pause pech person personal pferd pferde pflanze pflanzen pflege
    pflicht physik pizza plan pläne platz politik polizei post preis presse privat problem probleme projekt protest prozent
    prüfung publikum punkt qualität quark rad radio rat raten recht regel regen reis reise reisen rente respekt rezept
    risiko ruhe ruhm saft sahne salat salz sand schach schatten schlaf schmerz schmerzen schmuck schnee schnupfen schokolade
    schritt schuhe schuld schule schüler schutz schwimmen schwung see seele sekt sekunden senf sex sicht sinn sitz skat ski
    software sohn sonne sorge sorgen spaß spanisch spargel spiel spiele spielzeug sport sprache sprachen spur staat stadt
    start staub stein stelle steuer steuern stille stimme stimmung strafe strand strecke streit stress strom student
    studenten studentin studium sturm suche suppe süden sünde tante tanz tasche teil teilzeit telefon tempo tennis termin
    termine theater thema therapie tier tiere tisch tochter tod ton training transport traum träume trauer treffen treue
    trost tür turnen tv übung umwelt unfall uni unrecht unterricht urlaub vater verdacht verein vergleich verkehr verlauf
    verlust vernunft versehen versuch vertrag vertrauen verzug vitamin vogel volk vollzeit vorrat vorsicht vorteil wache
    wahl wald wand ware wäsche wasser wechsel weg wein weise weizen welt werbung wert westen wetter widerstand wiese wille
    wind wirkung wirtschaft wissen witz wohl wolle wort worte wunder wunsch wut yoga zahl zahnarzt zahnarztes zeh zeit zelt
    zeug ziel zimmer zoo zucker zufall zug züge zukunft zusammenhang zustand zweck zweifel zwiebel zwillinge norden osten
    rotwein weißwein bouldern pilates zumba curry sushi ramen tofu hafermilch home-office e-mail e-mails wlan smartphone
    laptop tablet whisky gin rum wodka chili pommes ketchup müsli ingwer basilikum veganer vegetarier lehrerinnen nachbarin
    vermieter vermieterin schnitzel würstchen kirschtorte klausuren abitur abi bafög meisterschaft liga auswahl
    zusammenarbeit abstand absicht abschied abfall ablauf abwechslung akne akte aktien aktion angebot angebote anlass anruf
    anspruch ansprüche antrag anzug apfel äpfel arm arme ärzte aufgabe aufgaben auge augen ausbildung ausflug ausland inland
    ausnahme ausnahmen ausrüstung aussicht ballett basketball volleyball bauch baustelle baum bäume begleitung beitrag
    bekannte bekannten biologie chemie informatik philosophie psychologie biss blick blitz brief briefe bruder schwester
    cousin cousine onkel nichte enkel enkelin brücke burg chor christ christen dach dame damen dieb diesel benzin
    kürze bezug planung eile wahrheit summe betracht schuss schale panik quarantäne bestform topform richtung
    reichweite schwarz rot weiß blau grün gelb grau kauf etappen serie reihe rage reha
    haft tränen rabatt balkon aufzug maske knoblauch tomaten tomate reis meerblick seeblick bravour wehmut
    spannung vergnügen terrasse garantie hut bart schirm rucksack koffer herzen nachteil geburt amts nutzen
    grund bedeutung seite neugier plastik metall baumwolle seide prinzip mangel zeitmangel rücksicht gewohnheit silber
    pappe beton stahl keramik porzellan kunststoff absprache schulschluss rücksprache ladenschluss sonnenuntergang sonnenaufgang dienstschluss aussage
    angabe bewusstsein sonnenschein glatteis tageslicht kerzenschein vollmond ebbe regelmäßigkeit temperatur minusgrad pommes bratwurst kartoffel
    kartoffeln zwiebeln bohnen linsen erbsen nüsse erdnüsse mandeln möhren karotten gurken pilze eier wandern
    joggen radfahren klettern kochen backen lesen schreiben rauchen trinken stricken häkeln malen singen laufen
"""
NOUNS = frozenset(_BARE.split())
# Words made from others; they name nobody. Names end so too (Schilling, Hartung), but stand behind "Frau" or "Herr" then.
ENDING = re.compile(
    r"(?:.ung|.ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|sion|sionen|tät|täten|ismus|nisse?n?|tums?|chen|lein"
    r"|enz|anz|ments?|logie|nomie|grafie|graphie|sucht|zeit|zeiten|arbeit|arbeiten|platz|plätze|raum|räume|zimmer|essen|mittel|saft|salat"
    r"|suppe|kuchen|wein|bier|wasser|milch|brot|karten?|bücher|spiele?n?|sport|kurse?|schule|laden|läden|märkte|geschäft"
    r"|wagen|räder|bahn|auto|autos|flug|flüge|reisen?|training|lauf|leute|kinder[n]?|freunde?n?|freundin|kollegen?|kollegin|nachbarn?"
    r"|schmerz(?:en)?|krankheit|prüfung|plan|pläne|vertrag|verträge|gerät|geräte|zeug|werkzeug|schrank|tisch|stuhl|möbel|jacke|hose|schuhe"
    r"|kleid|tasche|lehrer(?:in)?|ärztin|arzt|leiter(?:in)?|besitzer(?:in)?|trainer(?:in)?|berater(?:in)?|entwickler(?:in)?|student(?:en|in)?"
    r"|öl|käse|fleisch|wurst|gemüse|pflanzen?|bäume|blumen|tiere?|hund|katze|musik|film|filme|serie[n]?|buch|tag|tage|woche|abend|nacht|jahr"
    r"|jahre|mädchen|junge|männer|frauen|urlaub|ferien|termine?|gespräche?|treffen|mail|mails|nummer|liste|konto|geld|kosten|preise?"
    r"|städte|dörfer|haus|häuser|wohnung|küche|garten|hof|keller|dach|tür|fenster|wand|allergie|therapie|diät|kur|verein|team|gruppe"
    r"|firma|betrieb|bewerbung|job|jobs|stelle|stellen|studium|semester|klausur|note[n]?|zeugnis|übungen?|fehler|frage[n]?|antwort(?:en)?|idee[n]?)$"
)

"""German cues of withdrawal: "nicht mehr", "doch nicht", "statt", "abgesagt", "von ... nach ... umgezogen"."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import WithdrawalWords, cue

_END = r"(?=[,;:!?]|(?<!\d)\.|\.$|\s(?:aber|weil|und|denn|sondern|da|obwohl|gestern|heute|letzte\w*|vorige\w*|vor kurzem)\b|$)"
_IN = r"(?:[^,;:.!?]|(?<=\d)[.,:](?=\d| [\w,]))"  # within a clause: "am 3. Mai", "14:30"
_THE = r"(?:der|die|das|den|dem|des|mein\w*|unser\w*|ihr\w*|sein\w*|ein\w*)"
_WE = r"(?:ich|wir)"
_HAVE = r"(?:hab|habe|haben|hatte|hatten)"
_BETWEEN = r"(?:(?!nicht\b|nie\b|noch\b|kein)[\w.:-]+ ){0,5}"
_NP = r"(?:(?:am|im|um|in|bei|beim|mit|nach|zu|zum|zur|auf|von|vom|unter|der|die|das|dem|den|des|einem|einer|eines|meine\w*|\d+) )*(?:[a-zäöüß]+ )?(?-i:[A-ZÄÖÜ0-9])[\w-]*(?: Uhr)?"
_LIKE = r"(?P<like>am|um|im|in|bei|mit|nach|zum|zur|von|vom|unter|auf|ab|bis)"
_CALLED_OFF = r"(?:abgesagt|storniert|gecancelt|verschoben|abgeblasen|gestrichen|vorverlegt|verlegt|annulliert|abgesetzt)"
_GIVEN_UP = (
    r"(?:abgesagt|storniert|gekündigt|gecancelt|verschoben|beendet|abgebrochen|aufgegeben|verkauft|abbestellt|abgemeldet"
    r"|geschmissen|gelöscht|widerrufen|abgeschafft|zurückgegeben|zurückgezogen|abgesetzt|aufgelöst|annulliert|an den Nagel gehängt)"
)
_WRONG = r"(?:korrektur|korrigiere|berichtigung|falsch|vertan|geirrt|vertippt|verwechselt|meinte|sorry|besser gesagt|quatsch|irrtum|moment)"
_NOTES = r"(?:\w*liste|\w*kalender|agenda|plan|\w*zettel|notizen|protokoll|mail|empfängern?|teilnehmern?|gästen?|tagesordnung|warenkorb)"
_RUN_OUT = (
    r"(?:zeit|lust|ahnung|milch|brot|geld|karten|tickets|fragen|termine|plätze|platz|worte|kraft|energie|akku|nerven|butter|eier"
    r"|bock|hunger|durst|minuten?|stunden?|tage?|chance|hoffnung|sinn|geduld|zweifel|problem)"
)


_CUES = (
    cue(
        rf"\b(?:streich|streiche|lösch|lösche|entfern|entferne|nimm)\s+(?:bitte |mal )*(?P<withdrawn>.+?)\s+(?:von|aus|vom)\s+"
        rf"(?P<whole>(?:(?:der|dem|den|meine[rm]|unsere[rm]) )?{_NOTES})\b",
        "{withdrawn} gehört zu {whole}",
    ),
    cue(
        rf"\b(?:kannst|könntest|würdest) du (?:bitte |mal )*(?P<withdrawn>.+?)\s+(?:von|aus|vom)\s+"
        rf"(?P<whole>(?:(?:der|dem|den|meine[rm]|unsere[rm]) )?{_NOTES})\b {_BETWEEN}(?:streichen|löschen|entfernen|nehmen)",
        "{withdrawn} gehört zu {whole}",
    ),
    cue(
        r"(?:^|\bbitte |[,;:] )\W*(?:streich|streiche|vergiss|lösch|lösche|ignorier|ignoriere|entfern|entferne|verwirf)\s+(?!nicht\b)"
        r"(?:bitte |mal |einfach )*(?:alles|das|den punkt|die sache|den eintrag|die info\w*|die notiz)?,?\s*"
        r"(?:dass |was ich (?:dir )?(?:vorhin |gestern |neulich )?)?(?:mit|über|zum|zur|zu|von|vom)?\s*"
        rf"(?P<withdrawn>{_IN}+?)(?: (?:gesagt|erzählt|erwähnt|geschrieben)(?: habe| hab| hatte)?)?(?=[,;:!?]|\.|$)"
    ),
    cue(
        rf"\b{_WRONG}\b.*?(?P<about>{_IN}*?)\s?\b{_LIKE} {_IN}+?(?:,(?: und)?| und) nicht (?P<withdrawn>(?P=like) {_IN}+)",
        "{about} {withdrawn}",
    ),
    cue(
        rf"\b{_WRONG}\b\W*(?:ich )?(?P<about>{_IN}*?)\s?[^\s,]+(?:,(?: und)?| und) nicht (?P<withdrawn>{_IN}+?){_END}",
        "{about} {withdrawn}",
    ),
    cue(
        rf"(?=.*\b(?:eigentlich|in wirklichkeit|jetzt|nun|doch|mehr|tatsächlich|heißt|heiße|nein|{_WRONG})\b)"
        rf"(?P<withdrawn>(?:{_IN}|(?<=\d)\.(?=,))*?\bnicht (?!nur\b|bloß\b|so\b)(?:{_IN}|(?<=\d)\.(?=,))+?),? sondern\b"
    ),
    cue(
        rf"(?P<withdrawn>{_THE} {_IN}+?) (?:ist|sind|wurde|wurden|war|waren) {_BETWEEN}(?:{_CALLED_OFF}|gekündigt|ausgefallen)\b(?! wird| werden)"
    ),
    cue(
        rf"\b(?:ist|sind|wurde|wurden) (?P<withdrawn>{_THE} {_IN}+?) {_BETWEEN}(?:{_CALLED_OFF}|ausgefallen)\b"
    ),
    cue(rf"(?P<withdrawn>{_THE} {_IN}+?) (?:fällt|fallen|fiel|fielen) {_BETWEEN}(?:aus|flach|weg)\b"),
    cue(rf"(?P<withdrawn>{_THE} {_IN}+?) (?:hat|haben) sich (?:\w+ )?(?:geändert|erledigt)\b"),
    cue(
        rf"\b{_HAVE} (?:{_WE} )?{_BETWEEN}?mit (?P<withdrawn>{_IN}+?) (?:aufgehört|schluss gemacht)\b",
        "{withdrawn}",
    ),
    cue(rf"\baufgehört,? (?P<withdrawn>{_IN}*?\bzu \w+)", "ich {withdrawn}"),
    cue(
        rf"(?:^|[,;:] |\bund )(?P<withdrawn>(?!nachdem|weil|dass|wenn){_THE} {_IN}+?) {_HAVE} {_WE} {_BETWEEN}{_GIVEN_UP}\b"
    ),
    cue(
        rf"\b(?:{_WE} {_HAVE}|{_HAVE} {_WE}) {_BETWEEN}?(?P<withdrawn>(?:{_THE} )(?!(?:thema|zug|brief|kuchen)\b)(?:(?!\bnicht\b|\bkein){_IN})+?) {_GIVEN_UP}\b"
    ),
    cue(
        rf"\b(?:{_WE} {_HAVE}|{_HAVE} {_WE}) {_BETWEEN}?(?P<withdrawn>(?-i:[A-ZÄÖÜ])[\w-]+) {_GIVEN_UP}\b",
        "{withdrawn}",
    ),
    cue(
        rf"\b(?:{_WE} {_HAVE}|{_HAVE} {_WE}) {_BETWEEN}?(?P<withdrawn>{_THE} (?!windel|reifen|öl\b|thema|batterie|kleidung|birne|bett|geld|perspektive"
        rf"|meinung|worte){_IN}+?) (?:gewechselt|geändert|ersetzt|ausgetauscht)\b"
    ),
    cue(
        rf"\b(?:von|vom|aus)(?: der| dem| den)? (?P<withdrawn>{_IN}+?) (?:nach|in) {_IN}*?\b(?:umgezogen|gezogen|übergesiedelt|ausgewandert)\b",
        "wohne in {withdrawn}",
    ),
    cue(
        rf"\b(?:ziehe|ziehen|zog|zogen) {_BETWEEN}?(?:von|vom|aus)(?: der| dem| den)? (?P<withdrawn>{_IN}+?) nach\b",
        "wohne in {withdrawn}",
    ),
    cue(
        rf"\b(?:von|vom)(?: der| dem| den)? (?P<withdrawn>{_IN}+?) (?:zu|zur|zum|nach|auf|in) {_IN}*?\b(?:gewechselt|umgestiegen)\b",
        "bin bei {withdrawn}",
    ),
    cue(
        rf"\b(?:bin|sind) {_BETWEEN}?(?:aus|bei) (?P<withdrawn>(?:der|dem|meine[rm]|unsere[rm]) {_IN}+?) (?:ausgetreten|ausgezogen|ausgestiegen|ausgeschieden)\b",
        "bin in {withdrawn}",
    ),
    cue(
        rf"(?P<withdrawn>(?-i:[A-ZÄÖÜ])\w+) und ich (?:haben uns|sind) {_BETWEEN}(?:getrennt|geschieden|auseinander)\b",
        "ich bin mit {withdrawn} zusammen",
    ),
    cue(
        rf"\b(?:mich|uns) {_BETWEEN}?(?:von|vom) (?P<withdrawn>{_IN}+?) (?:getrennt|scheiden lassen|abgemeldet)\b",
        "ich bin mit {withdrawn} zusammen",
    ),
    cue(
        rf"(?P<withdrawn>(?:mein|meine|unser|unsere) {_IN}+?) (?:ist|sind) {_BETWEEN}(?:gestorben|verstorben|eingeschläfert)\b"
    ),
    cue(
        rf"^statt (?P<withdrawn>{_LIKE} [\w.:-]+(?: Uhr)?) (?P<about>{_IN}+?) (?P=like) ",
        "{about} {withdrawn}",
    ),
    cue(
        rf"(?P<about>{_IN}+?) \b{_LIKE} {_IN}+? (?:an)?statt (?P<withdrawn>(?P=like) {_NP})",
        "{about} {withdrawn}",
    ),
    cue(
        rf"(?P<about>{_IN}*?)\s?[^\s,]+ (?:statt|anstatt|anstelle(?: von| des| der)?) (?!zu\b|dass\b)(?P<withdrawn>{_NP})",
        "{about} {withdrawn}",
    ),
    cue(rf"^(?:statt|anstatt|anstelle(?: von| des| der)?) (?!zu\b|dass\b)(?P<withdrawn>{_NP})"),
    cue(
        rf"(?P<withdrawn>(?:(?!\b(?:weiß|kann|kannst|können|konnte|erinner\w*|finde|halte|dauert?|verstehe|auskenn\w*|kann es|das)\b){_IN})*?\bnicht (?:mehr|länger)\b"
        rf"(?! (?:als|lange|viele?|weit|ganz|so|nur|warten|weiter|normal|aus|lustig|zu|da|wegzudenken|sicher)\b)(?!\W*$)"
        rf"(?:(?!\b(?:aushalten|erinnern|warten)\b){_IN})*)"
    ),
    cue(
        rf"(?P<withdrawn>(?:{_WE}|mein\w*|unser\w*)\s{_IN}+?\b(?!weiß|kann|es|das|geht|was)\w+ nicht (?:mehr|länger))(?=[,;.!?]|$)"
    ),
    cue(rf"(?P<withdrawn>{_IN}*?\bkein(?:e|en|er|em|es)? (?!{_RUN_OUT}\b){_IN}*?\bmehr\b{_IN}*)"),
    cue(
        rf"(?P<withdrawn>(?!(?:das|es|du|ihr|sie|was|er)\b)\b{_IN}*?\b(?<!ist )(?<!kann )doch (?:nicht|kein\w*) (?!wahr|sein|so\b|schlimm|normal|dein|nötig"
        rf"|möglich|etwa|fair|schwer|mehr als|nur){_IN}+)"
    ),
    cue(
        rf"\bfrüher (?!als\b|auf\b|oder\b)(?P<withdrawn>{_IN}+?)(?:,| und| aber)(?=.*\b(?:jetzt|heute|inzwischen|mittlerweile|nun)\b)"
    ),
    cue(
        rf"(?P<withdrawn>\b(?:{_WE}|mein\w*|unser\w*) {_IN}*?\bfrüher (?!als\b|auf\b){_IN}+?),(?: aber)? (?:jetzt|heute|inzwischen|mittlerweile|nun)\b"
    ),
    cue(rf"\bverzichte (?:\w+ ){{0,2}}?auf (?P<withdrawn>{_IN}+?){_END}"),
    cue(rf"(?P<withdrawn>{_THE} {_IN}+?) (?:findet|finden|fand|fanden) {_BETWEEN}(?:doch )?nicht statt\b"),
    cue(
        rf"(?P<withdrawn>(?:das mit |die sache mit )?{_THE} {_IN}+?) (?:ist|sind) {_BETWEEN}(?:vom tisch|hinfällig|überholt|geschichte"
        r"|verkauft|beendet|aufgelöst|gelöscht)\b"
    ),
    cue(
        rf"\b(?:sag|sage|sagen|sagte|sagten) (?:{_WE} |bitte )?(?P<withdrawn>{_THE} {_IN}+?) ab(?=[,;.!]|$| und)"
    ),
    cue(
        rf"\b(?:gebe|geben|gab|gaben) (?:{_WE} )?(?P<withdrawn>(?:das|den|die|meine\w*) {_IN}+?) auf(?=[,;.!]|$)"
    ),
    cue(rf"\b(?:breche|brechen|brach|brachen) (?:{_WE} )?(?P<withdrawn>{_THE} {_IN}+?) ab(?=[,;.!]|$)"),
    cue(
        rf"(?:^|\bbitte )(?:storniere?|kündige?|cancel|cancle)\s+(?:bitte )?(?P<withdrawn>{_THE} {_IN}+?)(?=[,;.!]|$)"
    ),
    cue(rf"\b(?:höre|hören|hörte|hörten) (?:{_WE} )?{_BETWEEN}?mit (?P<withdrawn>{_IN}+?) auf(?=[,;.!]|$)"),
    cue(
        rf"\bnehme (?:\w+ )?zurück,? was ich (?:\w+ )?(?:über|zu) (?P<withdrawn>{_IN}+?) (?:gesagt|erzählt)\b"
    ),
    cue(rf"\b(?:aus|von) (?P<withdrawn>{_IN}+?) weggezogen\b", "wohne in {withdrawn}"),
    cue(
        r"\b(?:mein neuer|meine neue|mein neues) (?P<withdrawn>(?:handy|telefon)?nummer|adresse|e-?mail(?:-adresse)?|mail|chef|chefin"
        r"|job|arbeitgeber|passwort|hausarzt|hausärztin|zahnarzt)\b[^,;.!?]* (?:ist|lautet|heißt)\b",
        "mein {withdrawn}",
    ),
    cue(rf"\bbis vor kurzem (?P<withdrawn>{_IN}+?){_END}"),
)

WITHDRAWALS = WithdrawalWords(
    cues=_CUES,
    unless=re.compile(
        r"\b(?:angst|befürchte|fürchte|falls|hoffentlich|ob|vergiss nicht|als ob|wie (?:man|kann|soll)|nicht vergessen)\b"
        r"|^\W*(?:wenn|falls|stell dir vor)\b|^(?!.*\b(?:streich|lösch|entfern|vergess|vergiss|nehm)\w*\b).*\?\s*$",
        re.IGNORECASE,
    ),
    negation=re.compile(
        r"\b(?:doch nicht|nicht mehr|nicht länger|nicht|doch|kein(?:e|en|er|em|es)?|mehr|eigentlich|jetzt|früher|leider|zu(?= \w+$))\b\s*",
        re.IGNORECASE,
    ),
    vague=re.compile(r"^(?:einige[rsnm]?|etwas|manche|alle[sn]?|jede[rsn]?|viele?)\b", re.IGNORECASE),
    when=re.compile(
        r"\b(?:gestern|heute|morgen|vorgestern|(?:letzte|diese|nächste|vorige)[nsr]? (?:woche|monat|jahr|wochenende|nacht)"
        r"|vor (?:kurzem|einer|einem|zwei|drei) ?\w*)\b",
        re.IGNORECASE,
    ),
    pointer=re.compile(
        r"^(?:das|dies|dieses|die|es|ihn|sie|etwas|nichts|davon|daran)\b(?:\W+(?:ist|für|mir|mich|uns))*\W*$",
        re.IGNORECASE,
    ),
)

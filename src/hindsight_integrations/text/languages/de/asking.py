"""German sentences that ask, and an agent's words for what it remembers or does not."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import AskingWords

_ASKED = r"(?:was|wann|wo|wohin|woher|wer|wen|wem|wessen|welche[rsnm]?|wie|warum|wieso|weshalb|ob|womit|worüber|wofür)"

ASKING = AskingWords(
    interjection=re.compile(
        r"(?:(?:hallo|hi|hey|moin|servus|grüezi|grüß (?:gott|dich)|(?:vielen |herzlichen )?dank(?:e)?(?: schön| dir| sehr)?|ok(?:ay)?|alles klar|bitte(?: schön)?|schön"
        r"|super|toll|prima|guten? (?:morgen|tag|abend|nacht)|(?:sehr )?gut|alles gut|passt|h+m+|ach(?: so)?|aha|wow|oh|ah|(?:ha|he|hi){2,}h?|lo+l|weiter|mach weiter|tut mir leid|tschüss|ciao|bis (?:dann|bald|später)"
        r"|gern(?:e)?(?: geschehen)?|notiert|verstanden|wie geht(?: es dir|'?s)(?: heute)?)[\s,.!…]*)+",
        re.IGNORECASE,
    ),
    answer=re.compile(r"(?:ja|nein|klar|genau|stimmt)[\s,.!…]*", re.IGNORECASE),
    opener=re.compile(
        r"(?:(?:und|also|aber|ok|okay|hallo|hey|na|bitte|nun|dann|danke|super|schön|toll|oh)[,!.]? )*"
        r"(?:(?:mit|für|in|an|auf|zu|von|aus|bei|seit|bis|um|über|nach) )?"
        rf"(?:{_ASKED[3:-1]}|ist|sind|war|waren|bin|bist|hat|habe|haben|hast|hatte|hattest|hatten|kann|kannst|können|könntest|soll|sollte"
        r"|sollten|darf|muss|willst|will|wird|werden|wirst|würdest|weißt|weisst|kennst|erinnerst|gibt|gab|magst|mag|machst|geht|lebt|wohnt"
        r"|arbeitet|arbeitest|wohnst|lebst)\b",
        re.IGNORECASE,
    ),
    unmarked=re.compile(
        r"(?:(?:und|also|aber) )?(?:was|wann|wo|wohin|woher|wer|wie|warum) (?:ist|sind|war|waren|hat|habe|heißt|heisst|wohnt|kommt|geht)"
        r"(?!.*\b(?:ist|sind|war|waren|hat)\b)(?: \w+){1,6}",
        re.IGNORECASE,
    ),
    request=re.compile(
        rf"(?:bitte )?(?:kannst du |könntest du )?(?:mir )?(?:sag|sage|sagen|erzähl|erzähle|zeig|zeige|zeigen|verrate?|erinnere?)(?: mir| mich| uns)?"
        rf"(?: bitte)?(?: nochmal| noch einmal| mal)?(?: daran)?,? {_ASKED}\b"
        rf"|(?:ich frage mich|ich wüsste gern|ich würde gerne? wissen|ich möchte wissen|ich weiß nicht mehr|ich habe vergessen|weißt du(?: noch)?|keine ahnung),? {_ASKED}\b"
        r"|(?:bitte )?(?:liste|nenne?|fasse?|wiederhole?) (?:mir )?(?:alle|meine|die|was|alles|unsere)\b",
        re.IGNORECASE,
    ),
    tells=re.compile(
        r"\b(?:habe|hab|hatte) ich (?:dir |euch )?(?:schon |eigentlich |je )*(?:gesagt|erzählt|erwähnt)\b|\bwusstest du,? (?:dass|schon)\b"
        r"|\b(?:weißt du|erinnerst du dich),? dass\b|\bhast du gehört,? dass\b"
        r"|[,;:\u2013\u2014] ?(?:aber |und |da |weil |denn |nachdem )?(?:ich|wir|er|sie|meine?r? [A-ZÄÖÜ]\w+|unsere?r? [A-ZÄÖÜ]\w+) (?!dass\b)\w+"
        r"|\b(?:weil|nachdem|denn) (?:ich|wir|er|sie|mein|meine|unser|unsere)\b"
        r"|\b(?:mein|unser)\w* \w+(?: \w+)?, (?:der|die|das|dem|den|deren|dessen) |\bwenn (?:ich|wir) (?:kein\w*|nur|nie|nicht)\b"
        r"|^(?:darf|kann|soll|sollte|könnte|muss|ist es) .*\b(?:nach|vor|trotz|wegen|mit) (?:mein|unser)\w* \w+"
        r"|^(?:(?:und|aber) )?(?:warum|wieso|weshalb)\b.*\b(?:ich|mich|mir|mein\w*|wir|uns|unser\w*)\b|\bdass (?:ich|wir|mein\w*|unser\w*)\b"
        r"|\b(?:obwohl|als \w+(?:er|erin|ierte[rn]?))\b|^(?:darf|kann|könnte|soll|sollte|muss) (?:ich|wir)\b.*\b(?:mein|unser)|^gibt es\b.*\b(?:mein|unser)"
        r"|\b(?:ab jetzt|ab sofort|von nun an)\b|^(?:kannst|könntest|würdest) du (?:bitte )?(?:aufhören|immer|nie)\b",
        re.IGNORECASE,
    ),
    nothing_known=re.compile(
        r"\bich (?:weiß|erinnere mich|habe|finde|kenne)(?: \w+){0,4} (?:nicht|nichts|keine?n?)\b|\bdarüber (?:weiß|habe) ich (?:nichts|keine)\b"
        r"|\bdazu (?:weiß|habe) ich (?:nichts|keine)\b|\bich bin mir nicht sicher\b|\bkeine (?:erinnerung|erinnerungen|ahnung)\b"
        r"|\b(?:erinnere|weiß)\w*(?: mich)?: ?nichts\b",
        re.IGNORECASE,
    ),
    lead_in=re.compile(
        r"^(?:(?:ja|klar|natürlich)[,!.]? )?(?:(?:ich|wir) (?:erinnere mich|erinnern uns|weiß|wissen)(?: noch)?(?: daran)?(?:, dass)?"
        r"|du hast (?:mir )?(?:einmal |schon )?(?:gesagt|erzählt|erwähnt|geschrieben)(?:, dass)?|soweit ich (?:weiß|mich erinnere)|erinnerung(?:en)?)"
        r"[\s:,\-\u2013\u2014\"\u201e]*",
        re.IGNORECASE,
    ),
    forgetting=re.compile(
        r"^\W*(?:(?:bitte|hey|ok(?:ay)?|und|ach|kannst du|könntest du|du (?:kannst|sollst))\b[,\s]*)*(?:vergiss\b(?! (?:bitte )?nicht\b)|lösche?\b.*\b(?:gedächtnis|speicher|über mein\w*|über mich|von mir)\b"
        r"|(?:das|alles|mein\w*)\b.*\bvergessen\W*$|merke? dir (?:das|dies|meine\w*)\b.*\bnicht\b|speichere? (?:das|dies|meine\w*)\b.*\bnicht\b|ignoriere? meine letzte\b)",
        re.IGNORECASE | re.DOTALL,
    ),
    all_about=re.compile(
        r"\W*(?:bitte )?(?:alles|was)(?:,? was (?:du|ihr|ich|wir) (?:\w+ )?(?:weißt|wissen|habe|hast|gespeichert|gesagt|erzählt)(?: hast| habe)?)?(?: du)? (?:über|von|zu|an) ",
        re.IGNORECASE,
    ),
    recalling=frozenset(
        [
            "alles",
            "behalten",
            "bekannt",
            "erinnern",
            "erinnerst",
            "erinnerung",
            "erinnerungen",
            "erzähl",
            "erzählt",
            "etwas",
            "gedächtnis",
            "gelernt",
            "gemerkt",
            "gesagt",
            "gespeichert",
            "irgendetwas",
            "kennst",
            "merken",
            "sag",
            "weiss",
            "weisst",
            "weiß",
            "weißt",
            "wissen",
            "woran",
            "wovon",
            "zusammenfassen",
        ]
    ),
)

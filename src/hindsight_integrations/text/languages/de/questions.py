"""German questions: for a cause, and chains of possessives ("der Chef von Annas Schwester")."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import QuestionWords

_REASON = r"(?:grund|gründe|gründen|ursachen?|auslöser|motiv|motive|anlass|begründung|beweggründe?|beweggrund|erklärung)"
_OF = r"(?:von|vom|der|des|von der|von dem|meiner|meines|deiner|deines|seiner|seines|ihrer|ihres|unserer|unseres)"

QUESTIONS = QuestionWords(
    cause=re.compile(
        r"\b(?:warum|weshalb|weswegen|wieso|wozu)\b"
        r"|\b(?:woran|worauf) (?:liegt|lag|liegen|lagen|ist|beruht|hat|hatte)\b|\bwegen (?:was|wem|welche[rmns])\b"
        rf"|\bwas (?:war|waren|ist|sind|wäre|wurde)\b[^?.]{{0,30}}\b{_REASON}\b(?! (?:und boden))"
        rf"|\b(?:welche[rsnm]?|aus welche[nm]|wie lautete?n?)\b(?: \w+){{0,2}} {_REASON}\b"
        rf"|\b(?:der|den|die|einen|meine|deine) (?:genauen? |wahren? |eigentliche[nr]? )?{_REASON} (?:für|dafür|warum|weshalb|von|des|der|meiner|meines)\b"
        r"|\bwas (?:hat|hatte|haben)\b[^?.]*\b(?:dazu (?:gebracht|bewogen|geführt|veranlasst)|ausgelöst|verursacht|bewogen"
        r"|veranlasst|bewirkt|daran gehindert|dazu getrieben|dazu bewegt|überzeugt)\b"
        r"|\bwas (?:führte|brachte|bewog|trieb|bewegte|veranlasste)\b[^?.]*\b(?:dazu|mich|dich|uns|ihn|sie)\b"
        r"|\bwas (?:verursachte?|bewirkte?)\b|\bwas löste?\b[^?.]*\baus\b|\bwas steckte?\b[^?.]*\b(?:da)?hinter\b"
        r"|\bwie (?:kam|kommt) es\b|\bwie kommt's\b|\bwodurch (?:wurde|wird|kam|kommt|ist|entstand|hat|haben|habe)\b|\baufgrund wo?von\b"
        r"|\baufgrund welche[rs]\b|\bwovon (?:kommt|kam|kamen|kommen)\b",
        re.IGNORECASE,
    ),
    chain=re.compile(
        rf"\b[A-ZÄÖÜ]\w+(?:(?: {_OF})+ [A-ZÄÖÜ]\w+)* (?:von|vom) [A-ZÄÖÜ]\w+s [A-ZÄÖÜ]\w+"
        rf"|\b[A-ZÄÖÜ]\w+(?:(?: {_OF})+ [A-ZÄÖÜ]\w+)+ (?:von|vom) [A-ZÄÖÜ]\w+"
    ),
    possessive=re.compile(rf" {_OF}(?: {_OF})* (?=[A-ZÄÖÜ])|(?<=\w)s (?=[A-ZÄÖÜ])"),
    fact=re.compile(
        r"^(?!.*\b(?:soll(?:te|ten|en|st|test)?|kann(?:st)?|könn(?:en|te|ten|test)|würde[nst]*|darf|dürf(?:en|te)|muss|müssen|gut(?:e[rsnm]?)?|beste[rsnm]?|besser)\b)"
        r"\W*(?:(?:und|also|aber|hey|hallo|ok(?:ay)?|na|nun|nochmal)\b\W*)*"
        r"(?:was|wann|wo|woher|wohin|wer|wen|wem|wessen|welche[rsnm]?|wie|warum|wieso|weshalb|wobei|womit|worüber|hab(?:e|en)?|hast|hat|hatte[nst]*"
        r"|bin|bist|ist|sind|war(?:en|st)?|gibt|gab|heißt|wohnt|wohne[n]?)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    statement=re.compile(
        r"^(?!.*(?:\?|\b(?:hilf\w*|suche|bitte|empfiehl\w*|empfehl\w*|schlag\w*|vorsch\w*|rat|tipps?|ideen?|soll(?:te|en|ten)?|kannst|könntest|würdest|brauche (?:ein\w*|deine\w*|dich))\b))"
        r"\W*(?:(?:und|also|aber|ach|hey|hallo|übrigens|ok(?:ay)?|ja|nein|danke)\b\W*)*"
        r"(?:ich|wir|mein\w*|unse?r\w*|er|sie|es|sein\w*|ihr\w*|das|der|die|dies\w*|eine?[rnms]?|heute|gestern|morgen|letzte\w*)\b",
        re.IGNORECASE | re.DOTALL,
    ),
)

"""German: how an opinion is held, reasoned and declined."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import OpinionWords

_ADVERB = r"(?:(?!nicht genug)\w+ ){0,2}?"
_VERB = (
    r"glaube|denke|finde|meine|vermute|halte|schätze|sehe (?=[^.;]*\bals\b)|bevorzuge|bezweifle|zweifle|erachte|betrachte|fürchte|befürchte"
    r"|nehme an|mag|ziehe (?=[^.;]*\bvor\b)|vertraue|misstraue|bewundere|stimme|würde sagen|rate|empfehle|traue|ahne|lehne|fühle|gehe davon aus"
)
_STATE = (
    r"überzeugt|(?:mir )?sicher|der (?:\w+ )?(?:Meinung|Ansicht|Auffassung|Überzeugung)|skeptisch|zuversichtlich|besorgt|beeindruckt"
    r"|dafür|dagegen|geneigt|versucht zu glauben|zu (?:der|dem) (?:\w+ )?(?:Überzeugung|Schluss|Ansicht|Meinung|Ergebnis)|dazu gekommen"
)
_INFORMATION = r"(?:Informationen?|Angaben|Daten|Fakten|Erinnerungen|Wissen|Einzelheiten|Details|Kontext|Belege|Hinweise|Anhaltspunkte|Grundlage)"
_TELL = r"(?:sagen|beurteilen|beantworten|einschätzen|bewerten|entscheiden|bestimmen|feststellen|antworten|urteilen|bilden|schließen|Auskunft)"
_LITTLE = r"(?:nicht genug|nicht genügend|nicht ausreichend\w*|zu wenige?|keine\w*|kaum|unzureichend\w*|ungenügend\w*|nur wenige?)"

OPINIONS = OpinionWords(
    held=re.compile(
        rf"(?<!\w)ich {_ADVERB}(?:{_VERB})(?!\w)|(?<!\w)(?:{_VERB}) ich(?!\w)"
        rf"|(?<!\w)(?:ich bin|bin ich) (?:\w+ ){{0,3}}?(?:{_STATE})(?!\w)"
        r"|(?<!\w)(?:meiner|nach meiner) (?:\w+ )?(?:Meinung|Ansicht|Auffassung|Einschätzung|Erfahrung|Überzeugung)\b|\bmeines Erachtens\b"
        r"|\b(?:aus|in) (?:meiner|meinen) (?:\w+ )?(?:Sicht|Perspektive|Augen)\b|\b(?:mir scheint|scheint mir|mir kommt|kommt mir)\b"
        r"|\b(?:mein Eindruck|meine (?:\w+ )?(?:Meinung|Ansicht|Überzeugung|Einschätzung|Auffassung)|mein (?:\w+ )?(?:Urteil|Fazit|Standpunkt)) (?:ist|lautet|bleibt)\b"
        r"|(?:^|[.!?;,] )für mich (?:ist|sind|steht|bleibt|gehört|war|wiegt|zählt)\b|\bwie ich (?:es|das) sehe\b"
        r"|\bich habe (?:\w+ ){0,3}(?:die (?:Ansicht|Meinung|Überzeugung) gewonnen|den Eindruck)\b|\bhabe ich den Eindruck\b|\bgefällt mir\b",
        re.IGNORECASE,
    ),
    reason=re.compile(
        r"\b(?:weil|denn|wegen|aufgrund|auf Grund|dank|deshalb|deswegen|daher|darum|somit|angesichts|zumal|nachdem|indem|wodurch|dadurch|infolge"
        r"|aus diesem Grund|der Grund|insofern|in Anbetracht|gemessen an|ausgehend von|weshalb|weswegen|schließlich|nämlich)\b"
        r"|(?:^|[.!?,;] )da (?!(?:ist|sind|war|waren|kommt|steht|gibt|bin|hat)\b)\w",
        re.IGNORECASE,
    ),
    ignorance=re.compile(
        rf"\b(?:ich|mir) (?:\w+ ){{0,3}}?(?:habe|fehlen|fehlt|besitze|verfüge|kenne|weiß|liegen) (?:\w+ ){{0,4}}?{_LITTLE} (?:\w+ ){{0,2}}?(?:{_INFORMATION}|Meinung)\b"
        rf"|\b(?:habe|fehlen|fehlt|liegen) (?:ich|mir) (?:\w+ ){{0,4}}?(?:{_LITTLE} (?:\w+ )?)?(?:die |jede |jegliche )?(?:\w+ )?{_INFORMATION}\b|\bmir (?:fehlen|fehlt) (?:\w+ ){{0,3}}?{_INFORMATION}\b"
        rf"|\b(?:ich kann|kann ich|ich könnte|könnte ich) (?:(?:[\w-]+),? ){{0,12}}?(?:nicht|keine?\w*|nichts) (?:\w+ ){{0,6}}?{_TELL}\b"
        r"|\b(?:ich weiß|weiß ich) (?:\w+ ){0,4}?(?:nicht|nichts|zu wenig|wenig|kaum)\b|\bich bin (?:mir )?(?:\w+ )?(?:nicht sicher|unsicher),? (?:ob|was|wer|wie)\b"
        rf"|\b(?:die|meine|diese) (?:\w+ )?{_INFORMATION}(?: \w+){{0,4}}? (?:enthalten|sagen|reichen|erwähnen|nennen|geben|enthält|sagt|reicht|erlauben|lassen)\b[^.;]{{0,60}}\b(?:nicht|nichts|kein\w*)\b"
        rf"|\b(?:die|meine|diese|den|meinen|diesen) (?:\w+ )?{_INFORMATION}\b(?: \w+){{0,4}}? (?:nicht|nichts|kein\w*)\b(?: \w+){{0,3}}? (?:machen|enthalten|enthält|sagen|sagt|hergeben|nennen|erwähnen|reichen|ausreichen|steht|zulassen|erlauben|liefern)\b"
        rf"|\b(?:man|sich) (?:[\w-]+ ){{0,6}}?(?:nichts|nicht|kaum etwas) (?:\w+ ){{0,3}}?{_TELL} (?:kann|lässt|könnte)\b|\blässt sich (?:[\w-]+ ){{0,6}}?(?:nichts|nicht|kaum etwas) (?:\w+ ){{0,2}}?{_TELL}\b"
        rf"|\b(?:es gibt|gibt es|es liegen|liegen) (?:\w+ ){{0,3}}?{_LITTLE} (?:\w+ ){{0,2}}?{_INFORMATION}\b[^.;]{{0,60}}(?:\b(?:um|zu|über|vor)\b)"
        rf"|\b{_LITTLE} (?:\w+ ){{0,2}}?{_INFORMATION}\b[^.;]{{0,80}}\bum [^.;]{{0,80}}\b(?:{_TELL}|zu {_TELL}|können)\b"
        r"|\bkeine Meinung\b|\b(?:weitere|mehr) (?:Informationen|Angaben|Daten) (?:sind|wären|werden) (?:\w+ )?(?:nötig|notwendig|erforderlich|gebraucht|benötigt)\b"
        r"|\bich (?:bräuchte|benötige|brauche) (?:\w+ )?(?:mehr|weitere|zusätzliche)\b",
        re.IGNORECASE,
    ),
)

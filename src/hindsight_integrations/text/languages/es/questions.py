"""Spanish questions: for a cause, and chains of possessives ("la hermana del jefe de Ana")."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import QuestionWords

_LINK = r"(?:del|de la|de las|de los|de|de mis?|de tus?|de sus?)"
_NAME = r"[A-ZÁÉÍÓÚÑÜ]\w+"

QUESTIONS = QuestionWords(
    cause=re.compile(
        r"\bpor\s?qué\b(?!\s+(?:calle|ciudad|camino|carretera|precio|parte|zona|medio|cantidad|n[úu]mero|puerta|canal|p[áa]gina|tienda|lado|sitio|lugar|pa[íi]s|equipo|partido)\b)"
        r"|^\W*(?:y\s+)?por\s?que\b(?=[^.]*\?)"  # as typed without accents
        r"|\b(?:a|debido a|por culpa de|a causa de|gracias a|con) qu[ée] (?:se deb\w+|fin\b|objeto\b|motivo\b)"
        r"|\b(?:debido a|por culpa de|a causa de|gracias a|a ra[íi]z de) qu[ée]\b"
        r"|\ba santo de qu[ée]\b"
        r"|\b(?:qu[ée]|cu[áa]l(?:es)?|cu[áa]l) (?:es|son|era|eran|fue|fueron|ha sido|ser[ií]a|pudo ser|hubo)?\s*"
        r"(?:la |las |el |los |mi |mis |tu |tus |su |sus |nuestr\w+ )?(?:(?:verdadera?|principal(?:es)?|posibles?) )?"
        r"(?:motivos?|raz[óo]n(?:es)?|causas?|explicaci[óo]n|desencadenantes?|detonantes?|origen|culpa)\b"
        r"(?! social| ben[ée]fica| judicial| penal| sent[íi]a)"
        r"|\b(?:por|con) (?:qu[ée]|cu[áa]l(?:es)?) (?:motivos?|raz[óo]n(?:es)?|causas?)\b"
        r"|\bqu[ée] (?:me |te |le |nos |os |les |lo |la |los |las )?(?:ha |hab[íi]a |pudo |puede )?"
        r"(?:caus\w+|provoc\w+|motiv\w+|origin\w+|ocasion\w+|desencaden\w+|impuls\w+|llev[óo]|llevad[oa]|empuj\w+|oblig\w+"
        r"|impid\w+|impedid\w+|anim[óo]|animado|decidi[óo])\b"
        r"|\bqu[ée] (?:hizo|ha hecho|hicieron) que\b|\bqu[ée] hay detr[áa]s de\b|\bqu[ée] explica\b"
        r"|\bc[óo]mo es que\b|\bc[óo]mo se explica\b|\ba qu[ée] vino\b"
        r"|\b(?:el motivo|los motivos|la raz[óo]n|las razones|las? causas?|el porqu[ée]) (?:de|del|por)\b",
        re.IGNORECASE,
    ),
    chain=re.compile(rf"\b\w+(?: {_LINK} \w+)+ {_LINK} {_NAME}"),
    possessive=re.compile(rf" {_LINK} (?=\w)"),
    fact=re.compile(
        r"^(?!.*\b(?:deber[íi]a\w*|debo|debemos|pued[oea]\w*|podemos|podr[íi]a\w*|conviene|recomienda\w*|bueno|buena|mejor)\b)\W*(?:(?:y|pero|entonces|oye|hola|ok|bueno)\b\W*)*"
        r"(?:(?:a|de|con|en|por|para|desde|hasta) )?(?:qu[ée]|cu[áa]ndo|d[óo]nde|ad[óo]nde|qui[ée]n(?:es)?|cu[áa]l(?:es)?|c[óo]mo|cu[áa]nt[oa]s?|he|has|ha|tengo|tienes|tiene"
        r"|hay|hab[íi]a|soy|eres|es|son|era|fue|fui|estoy|est[áa]n?)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    statement=re.compile(
        r"^(?!.*(?:\?|\b(?:ay[úu]da\w*|busco|por favor|recom[ie]+nda\w*|sug[ie]+re\w*|sugerencia\w*|consejos?|ideas?|deber[íi]a\w*|puedes|podr[íi]as|necesito (?:un\w*|tu|que))\b))"
        r"\W*(?:(?:y|pero|ah|oye|hola|por cierto|ok|s[íi]|no|gracias)\b\W*)*"
        r"(?:yo|mis?|nosotr[oa]s|nuestr[oa]s?|[ée]l|ell[oa]s?|sus?|est[eao]s?|es[eao]s?|la|l[oa]s|una?|hoy|ayer|mañana|me|nos|tengo|tenemos|soy|estoy|vivo|trabajo|compré|he|fui)\b",
        re.IGNORECASE | re.DOTALL,
    ),
)

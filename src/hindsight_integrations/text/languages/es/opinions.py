"""Spanish: how an opinion is held, reasoned and declined."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import OpinionWords

_VERB = (
    r"creo|pienso|opino|considero|supongo|siento|estimo|encuentro|prefiero|confío|desconfío|dudo|sospecho|valoro|admiro|aprecio|diría"
    r"|sostengo|juzgo|veo (?=[^.;]{1,60}\bcomo\b)|temo|recomiendo|rechazo|defiendo|apoyo"
)
_INFORMATION = (
    r"(?:información|datos|detalles|hechos|recuerdos|contexto|conocimientos?|pruebas|elementos|base)"
)
_TELL = r"(?:decir|responder|juzgar|opinar|contestar|determinar|evaluar|valorar|saber|concluir|formar\w*|dar|emitir|decidir|afirmar)"
_LITTLE = r"(?:no (?:\w+ )?(?:suficientes?|bastantes?)|insuficientes?|ningun[ao]?|poc[ao]s?|demasiado poc[ao]s?|muy poc[ao]s?)"

OPINIONS = OpinionWords(
    held=re.compile(
        rf"(?<!\w)(?:{_VERB})(?!\w)|\b(?:a mí )?(?:me parecen?|me gustan?|me inclino|me inspira|me convence|me preocupan?|me fío)\b"
        r"|\b(?:estoy|sigo) (?:\w+ )?(?:convencid[oa]|segur[oa]|de acuerdo|en contra|a favor|preocupad[oa]|creyendo|pensando)\b"
        r"|\bhe (?:llegado|empezado|comenzado|aprendido) a (?:creer|pensar|la (?:conclusión|convicción)|ver|valorar|sentir|dudar|confiar|opinar)\b"
        r"|\ba mi (?:juicio|parecer|modo de ver|entender|manera de ver)\b|\ben mi (?:\w+ )?(?:opinión|experiencia|visión)\b|\bsegún mi (?:opinión|experiencia)\b"
        r"|\bdesde mi (?:punto de vista|perspectiva)\b|(?:^|[.!?;,] )para mí\b|\bmi (?:\w+ )?(?:opinión|impresión|parecer|conclusión|convicción|postura)(?: \w+){0,3}? es\b"
        r"|\btengo la (?:impresión|sensación|convicción)\b|\bsoy de la opinión\b|\bsoy (?:\w+ )?(?:escéptic[oa]|partidari[oa])\b",
        re.IGNORECASE,
    ),
    reason=re.compile(
        r"\b(?:porque|ya que|puesto que|dado que|dad[oa]s? (?:el|la|los|las|su)|debido a|a causa de|gracias a|por es[ot]|por ello|por lo tanto|por tanto|por lo que|por lo cual"
        r"|así que|visto que|vistos?|en vista de|considerando|teniendo en cuenta|a la luz de|de ahí que|por sus?|por culpa de|en razón de|por (?:esa|esta) razón|la razón"
        r"|basándome en|a juzgar por|al (?:ver|haber|comprobar|leer|saber|observar|oír)|tras (?:ver|haber|leer|comprobar|observar|oír|\w+[aei]r)|después de \w+[aei]r|pues)\b"
        r"|(?:^|[.!?] )como \w|,? al \w+[aei]r\b",
        re.IGNORECASE,
    ),
    ignorance=re.compile(
        rf"\bno (?:\w+ )?(?:tengo|dispongo de|cuento con|poseo|hay) (?:\w+ )?(?:suficientes?|bastantes?|ningun[ao]?|la|los|más)? ?(?:\w+ )?{_INFORMATION}\b[^.;]{{0,80}}(?:\b(?:para|sobre|acerca|de|en mi memoria)\b|$)"
        rf"|\b(?:me faltan?|carezco de) (?:\w+ ){{0,2}}{_INFORMATION}\b|\btengo {_LITTLE} {_INFORMATION}\b|\b(?:información|datos) insuficientes?\b"
        rf"|\bno (?:puedo|podría|sabría|soy capaz de|me es posible|logro) (?:\w+ )?{_TELL}\b|\bno (?:lo )?sé (?:\w+ )?(?:si|qué|quién|cómo|cuál|lo suficiente|nada|bastante|mucho)\b"
        rf"|\b(?:no se puede|es imposible|no es posible) (?:\w+ )?{_TELL}\b|\bnada se puede {_TELL}\b"
        r"|\bno (?:tengo|me he formado) (?:una |ninguna )?opinión\b|\bno estoy segur[oa] de (?:si|qué|quién|cómo)\b"
        rf"|\b(?:los|las|mis|estos|la) (?:\w+ )?{_INFORMATION}(?: \w+){{0,4}}? no (?:\w+ )?(?:contienen?|dicen?|mencionan?|incluyen?|bastan?|permiten?|indican?|son suficientes|es suficiente|aclaran?)\b"
        rf"|\bno hay (?:suficientes?|bastantes?|ningun[ao]?)? ?{_INFORMATION}\b[^.;]{{0,60}}\b(?:para {_TELL}|sobre|acerca)\b"
        r"|\b(?:necesitaría|necesito|haría falta|se necesita) (?:\w+ )?(?:más|mayor) (?:información|datos|detalles|contexto)\b",
        re.IGNORECASE,
    ),
)

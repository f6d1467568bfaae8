"""Spanish sentences that ask, and an agent's words for what it remembers or does not."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import AskingWords

_ASKED = r"(?:qu[ée]|cu[áa]ndo|d[óo]nde|ad[óo]nde|qui[ée]n(?:es)?|cu[áa]l(?:es)?|cu[áa]nt[oa]s?|c[óo]mo|por qu[ée]|si|a qui[ée]n)"

ASKING = AskingWords(
    interjection=re.compile(
        r"(?:(?:hola|oye|(?:muchas |mil )?gracias|ok|vale|por favor|qué bien|genial|guay|estupendo|buen[oa]s?(?: días?| tardes| noches)?|bien|h+m+|ah|oh|(?:ja|je|ji){2,}"
        r"|lo siento|adi[óo]s|hasta (?:luego|pronto|mañana)|perfecto|de nada|anotado|entendido|ya veo|entiendo|de acuerdo|muy bien|listo|sigue|contin[úu]a|(?:qu[ée] tal|c[óo]mo est[áa]s)(?: hoy)?)[\s,.!…]*)+",
        re.IGNORECASE,
    ),
    answer=re.compile(r"(?:s[íi]|no|claro|exacto)[\s,.!…]*", re.IGNORECASE),
    opener=re.compile(
        r"(?:(?:y|pero|entonces|bueno|ok|vale|hola|oye|por favor|gracias|ah|oh)[,!.]? ?[¿¡]?)*[¿¡]?"
        r"(?:(?:de|a|con|en|por|para|desde|hasta|sobre) )?"
        rf"(?:{_ASKED[3:-1]}|soy|somos|eres|es|son|era|fue|est[áa]|est[áa]n|estoy|hay|hab[íi]a|tengo|tienes|tiene|tienen|puedo|puedes|puede|podr[íi]as|sabes"
        r"|sabe|recuerdas|recuerda|conoces|debo|deber[íi]a|vive|viven|trabaja|va|van|vas|le|les|te|me|se|hice|hizo|he|has|ha)\b",
        re.IGNORECASE,
    ),
    unmarked=re.compile(
        r"(?:(?:y|pero) )?(?:qué|cuándo|dónde|quién|cuál|cómo) (?:es|son|era|fue|está|están|vive|tengo|tiene|se llama)"
        r"(?!.*\b(?:es|son|era|fue|está)\b)(?: \w+){1,6}",
        re.IGNORECASE,
    ),
    request=re.compile(
        rf"(?:por favor,? )?(?:¿?puedes |podr[íi]as )?(?:d[ií]me|decirme|cu[ée]ntame|contarme|recu[ée]rdame|recordarme|mu[ée]strame|mostrarme)(?: otra vez| de nuevo)? "
        rf"(?:de |sobre )?{_ASKED}\b"
        rf"|(?:me pregunto|quisiera saber|quiero saber|me gustar[íi]a saber|no recuerdo|olvid[ée]|¿?sabes|¿?recuerdas) {_ASKED}\b"
        r"|(?:por favor,? )?(?:enumera|resume|repite|lista) (?:todo|todas|mis|las|los|lo)\b",
        re.IGNORECASE,
    ),
    tells=re.compile(
        r"\b(?:te|os) (?:he |hab[íi]a )?(?:dicho|dije|cont[ée]|contado|mencion[ée]|mencionado) que\b|\bsab[íi]as que\b|\bsabes que (?:mi|me|yo|estoy|tengo|voy|vivo)\b"
        r"|\b(?:recuerdas|te acuerdas de) que\b"
        r"|[,;:\u2013\u2014] ?(?:pero |y |ya que |porque |pues |como )?(?:soy|estoy|tengo|vivo|voy|trabajo|me (?:gusta|mud[ée]|cas[ée]|llamo)|no (?:soy|tengo|como|puedo|me)"
        r"|mi \w+ (?:es|est[áa]|tiene|vive|se|ha)|somos|tenemos|vivimos)\b"
        r"|\b(?:porque|ya que|ahora que|dado que) (?:soy|estoy|tengo|vivo|voy|mi|me|no|somos|tenemos)\b"
        r"|\bmis? \w+(?: \w+)?, (?:que|quien|cuy[oa])\b"
        r"|(?<!sabes )(?<!dime )(?<!recuerdas )(?<!saber )\bsi (?:(?:ya )?no|s[óo]lo) (?:soy|como|bebo|tengo|puedo|estoy)\b"
        r"|^(?:puedo|podr[íi]a|debo|deber[íi]a) .*\b(?:despu[ée]s|antes|a pesar|a causa) de (?:mi|mis|nuestr\w+) \w+"
        r"|^(?:(?:y|pero) ¿?)?por qu[ée]\b.*\b(?:me|mi|mis|yo|nos|nuestr\w+)\b|\bque (?:me |no |ya )?\w+[éí]\b|\baunque\b"
        r"|^(?:puedo|podemos|podr[íi]a|debo|debemos) .*\b(?:mi|mis|nuestr\w+)\b|^hay .*\b(?:mi|mis|nuestr\w+)\b|\b(?:bien|mal|genial|normal|malo|bueno) que (?:me|haya|he|mi)\b"
        r"|\b(?:a partir de ahora|desde ahora|de ahora en adelante)\b|^(?:puedes|podr[íi]as) (?:por favor )?(?:dejar de|llamarme)\b",
        re.IGNORECASE,
    ),
    nothing_known=re.compile(
        r"\bno (?:lo )?(?:s[ée]|recuerdo|tengo (?:recuerdos?|informaci[óo]n|constancia|nada)|me (?:has )?(?:dicho|contado))\b|\bno estoy segur[oa]\b"
        r"|\b(?:recuerdo|s[ée]|memoria): ?nada\b|\bninguna memoria\b",
        re.IGNORECASE,
    ),
    lead_in=re.compile(
        r"^(?:(?:s[íi]|claro|por supuesto)[,!.]? )?(?:(?:recuerdo|s[ée]|recordamos)(?: que)?|(?:me )?(?:dijiste|contaste|mencionaste|has dicho|has contado)(?: que)?"
        r"|seg[úu]n (?:mi memoria|lo que (?:dijiste|me contaste))|recuerdos?)[\s:,\-\u2013\u2014\"\u201c«]*",
        re.IGNORECASE,
    ),
    forgetting=re.compile(
        r"^\W*(?:(?:por favor|oye|ok|y|puedes|podrías)\b[,\s]*)*(?:olv[ií]da(?:te|lo|r)?\b|borra\b.*\b(?:memoria|de m[ií]|sabes)\b"
        r"|no (?:recuerdes|guardes|memorices)\b|ignora mi último\b)",
        re.IGNORECASE | re.DOTALL,
    ),
    all_about=re.compile(
        r"\W*(?:por favor )?(?:todo|lo|cuanto)(?: lo)?(?: que (?:sabes|sepas|recuerdas|dije|te dije|tienes|guardaste))? (?:sobre|de|acerca de) ",
        re.IGNORECASE,
    ),
    recalling=frozenset(
        [
            "algo",
            "aprendido",
            "aprendiste",
            "conoces",
            "conté",
            "contado",
            "cuenta",
            "dicho",
            "dije",
            "guardado",
            "memoria",
            "memorias",
            "nada",
            "recuerda",
            "recuerdas",
            "recuerdos",
            "resume",
            "sabes",
            "saber",
            "todo",
        ]
    ),
)

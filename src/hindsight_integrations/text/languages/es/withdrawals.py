"""Spanish cues of withdrawal: "ya no", "he dejado de", "en vez de", "al final no", "me mudé de"."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import WithdrawalWords, cue

_END = (
    r"(?=[,;:.!?]|\s(?:pero|porque|así que|y|e|para que|sino|ayer|hoy|anoche|hace|(?:la semana|el mes|el año|el fin de semana) pasad[oa]"
    r"|est[ea] (?:semana|mes|año))\b|$)"
)
_I = r"(?:me |nos |se |lo |la |los |las |le |les )?"
_THE = r"(?:el|la|los|las|mi|mis|nuestr[oa]s?|su|sus|un|una)"
_HAVE = r"(?:he|hemos|ha|han)"
_PUT_OFF = r"(?:cancelad|anulad|suspendid|aplazad|pospuest|desconvocad|retrasad|adelantad)[oa]s?"
_PUT_OFF_IT = r"(?:cancel|anul|suspend|aplaz|aplac|pospus|desconvoc|retras|adelant)(?:é|í|e|amos|imos|ó|ió|o|aron|ieron)"
_GIVEN_UP = (  # of things one leaves on a table as well, only those one leaves for good
    r"(?:trabajo|empleo|puesto|piso|apartamento|departamento|casa|carrera|universidad|facultad|máster|curso|cursos|clases?"
    r"|gimnasio|gym|tabaco|alcohol|café|azúcar|carne|dieta|terapia|medicación|pastillas?|tratamiento|equipo|coro|banda|grupo"
    r"|club|piano|guitarra|violín|fútbol|tenis|pádel|yoga|pilates|natación|baile|empresa|proyecto|redes|partido|asociación)"
)
_WRONG = (
    r"(?:corrijo|corrección|corregir|rectifico|perdón|perdona|espera|miento|mejor dicho|más bien|me lié|me (?:he )?equivo(?:qué|cado)"
    r"|error mío|quise decir|quería decir|me refería a|me (?:he )?confund(?:í|ido)|en realidad)"
)
_NOTES = r"(?:lista|agenda|calendario|tareas|compra|carrito|menú|plan|notas|acta|documento|correo|destinatarios|invitados)"


_CUES = (
    cue(
        rf"\b(?:quita|quítame|borra|bórrame|elimina|tacha|saca)\s+(?P<withdrawn>.+?)\s+(?:de|del)\s+"
        rf"(?P<whole>(?:{_THE} )?{_NOTES}\b.*?){_END}",
        "{withdrawn} es parte de {whole}",
    ),
    cue(
        r"\b(?:borra|bórrame|olvida|olvídate de|elimina|quita|descarta|ignora)\s+(?:todo )?(?:lo (?:que|del?)|eso (?:del?|que))\s+"
        r"(?:(?:te |os |le )?(?:dije|conté|comenté|mencioné|(?:he|había) (?:dicho|contado|comentado|mencionado))\s+)?"
        rf"(?:antes\s+|ayer\s+)?(?:sobre|de que|del?|acerca del?|que)?\s*(?P<withdrawn>.+?){_END}"
    ),
    cue(
        rf"\b{_WRONG}\b\W*(?:que )?(?P<about>[^,;:.!?]*?)\s?\b(?P<like>en|el|la|los|las|al?|del?|con|para)\s[^,;]+?(?:,(?: y)?| y)\sno\s"
        r"(?P<withdrawn>(?P=like)\s[^,;.!?]+)",
        "{about} {withdrawn}",
    ),
    cue(
        rf"\b{_WRONG}\b[^.]*?\b\d[\d.,:]*\s?(?P<unit>[^\W\d]*)[^.,]*(?:,(?: y)?| y)\sno\s(?P<withdrawn>\d[^,;!?]*?)(?=[,;!?]|\.?$)",
        "{withdrawn} {unit}",
    ),
    cue(rf"\b{_WRONG}\b\W*\w[^.]*?(?:,(?: y)?| y) no (?:el |la )?(?P<withdrawn>[^,;.!?]+)"),
    cue(
        r"\ben realidad (?:ya )?no (?P<withdrawn>(?:soy|es|son|era|tengo|tiene|vivo|vive|trabajo|trabaja|me llamo|se llama)\b[^,;.!?]+)"
    ),
    cue(
        r"\bno (?P<withdrawn>(?:es|era|son|eran|fue|se llama|me llamo|soy|vivo|vive|trabajo|trabaja|tengo|tiene)\b"
        r"(?! (?:solo|sólo|únicamente|solamente)\b)[^;.!?]+?),? sino\b"
    ),
    cue(
        r"\bresulta que (?:al final )?(?:ya )?no (?P<withdrawn>(?:soy|era|es|eran|son|tengo|tenía|tiene|estoy|estaba|está|fue)\b.+?)"
        + _END
    ),
    cue(
        rf"\bno (?P<withdrawn>{_I}(?!hay|había|hubo|puedo|quiero|es|era|sé|digas|queda)\w+ más (?:en |con |a |al |[A-ZÁÉÍÓÚÑ]).+?){_END}"
    ),
    cue(
        rf"\bno (?P<withdrawn>{_I}(?!hay|había|hubo|pued\w+|quiero|es|era|sé|digas|queda|pasa|falta)\w+) más(?=[,;.!]|$)"
    ),
    cue(r"\bno (?P<withdrawn>por [^,;.!?]+?|[^,;.!?]+?) como antes\b"),
    cue(
        rf"(?P<withdrawn>{_THE} [^,;:.!?]+?)\s(?:{_HAVE} sido|est[áa]n?|estaba|fue|fueron|quedó|quedaron|queda)\s(?:ya )?{_PUT_OFF}\b"
    ),
    cue(rf"(?<!\bno )\b(?:se |me |nos )?{_HAVE} (?:{_PUT_OFF})\s+(?P<withdrawn>{_THE}\b.+?){_END}"),
    cue(rf"(?<!\bno )(?<!\bno se )\b{_PUT_OFF_IT}\s+(?P<withdrawn>{_THE}\b.+?){_END}"),
    cue(
        r"\b(?:me|nos) (?:he |hemos )?(?:cambi|pas)(?:é|amos|ado) del? (?!opinión|idea)(?P<withdrawn>[^,;.!?]+?) al? (?!la vez)\w",
        "uso {withdrawn}",
    ),
    cue(
        r"\b(?:me |nos )?(?:he |hemos |ha |se )*(?:mud|traslad|fu)(?:é|amos|ado|ó|aron|i|imos)\s+(?:a vivir )?(?:del?|desde) "
        r"(?P<withdrawn>[^,;.!?]+?) al? \w",
        "vivo en {withdrawn}",
    ),
    cue(
        rf"(?<!\bno )\b(?:sustitu(?:í|imos)|reemplac(?:é|amos)|reemplazamos|cambi(?:é|amos)|{_HAVE} (?:sustituido|reemplazado|cambiado))"
        r"\s+(?P<withdrawn>(?!dinero|euros)[^,;.!?]+?) por\s"
    ),
    cue(
        rf"(?<!\bno )\b(?:moví|movimos|cambi(?:é|amos)|pas(?:é|amos)|{_HAVE} (?:movido|cambiado|pasado))\s+"
        rf"(?P<withdrawn>{_THE} (?:cita|reunión|clase|cena|comida|entrevista|vuelo|viaje|fiesta|boda|examen|revisión|quedada|hora)\b[^,;.!?]*?)"
        r"\s(?:al?|para|hasta|del?)\s"
    ),
    cue(
        rf"(?<!\bno )\b(?:me |nos )?(?:cambi(?:é|amos)|{_HAVE} cambiado) de (?!opinión|idea|tema|ropa|canal|sitio|humor|tercio|lado|acera|postura|planes)"
        rf"(?P<withdrawn>.+?){_END}",
        "mi {withdrawn}",
    ),
    cue(
        rf"(?<!\bno )\b(?:cambi(?:é|amos)|{_HAVE} cambiado) (?P<withdrawn>(?:la|el|mi|nuestra) (?:contraseña|clave|pin|número|teléfono|móvil|correo"
        rf"|email|dirección|cuenta|matrícula|nombre|apellido)\b.*?){_END}"
    ),
    cue(
        rf"(?<!\bno )\b(?:dej(?:é|amos|ó|aron)|{_HAVE} dejado) de (?P<withdrawn>\w+(?:ar|er|ir)(?:me|te|se|nos|lo|la|los|las)?\b.*?){_END}",
        "suelo {withdrawn}",
    ),
    cue(
        rf"(?<!\bno )(?<!\bme )\b(?:dej(?:é|amos|ó|aron)|{_HAVE} dejado|abandon(?:é|amos)|{_HAVE} abandonado)\s+(?:ya )?"
        rf"(?P<withdrawn>(?:{_THE} )?{_GIVEN_UP}\b(?! (?:en|encima|sobre|puest\w+|hech\w+)\b).*?){_END}"
    ),
    cue(
        r"\b(?:me|nos) (?:di|dimos|he dado|hemos dado) de baja (?:del?|en|como)\s+(?:el |la )?(?P<withdrawn>.+?)"
        + _END,
        "estoy en {withdrawn}",
    ),
    cue(
        rf"\b(?:cerr(?:é|amos)|{_HAVE} cerrado) (?P<withdrawn>(?:mi|la|nuestra|el) (?:cuenta|tienda|negocio|bar|restaurante|perfil|canal|empresa)\b.*?){_END}"
    ),
    cue(
        rf"(?<!\bno )\b(?:vend(?:í|imos)|{_HAVE} vendido|devolv(?:í|imos)|{_HAVE} devuelto)\s+(?P<withdrawn>{_THE}\b.+?){_END}"
    ),
    cue(
        rf"\b(?:perd(?:í|imos)|{_HAVE} perdido) (?P<withdrawn>(?:el|mi) (?:trabajo|empleo|puesto)\b.*?){_END}"
    ),
    cue(rf"(?<!\bno )\b(?:renunci(?:é|amos)|{_HAVE} renunciado) al? (?P<withdrawn>.+?){_END}"),
    cue(
        rf"\b(?:romp(?:í|imos)|cort(?:é|amos)|lo dej(?:é|amos)|{_HAVE} (?:roto|cortado)|lo {_HAVE} dejado|me (?:he )?(?:separ|divorci)(?:é|ado))"
        rf" (?:con|del?) (?P<withdrawn>.+?){_END}",
        "estoy con {withdrawn}",
    ),
    cue(r"(?P<withdrawn>(?:mi|nuestr[oa]) [^,;.!?]+?) (?:se )?(?:murió|falleció|ha muerto|ha fallecido)\b"),
    cue(
        rf"\bya no (?P<withdrawn>(?!sé\b|aguanto|importa|recuerdo|me acuerdo|puedo más|pasa nada|hay (?:nada|tiempo|remedio)|tengo (?:ganas|tiempo)"
        rf"|me queda|quedan?\b|digo|es (?:lo mismo|hora)|existe).+?){_END}"
    ),
    cue(
        rf"\bal final (?:ya )?no (?P<withdrawn>{_I}(?:voy|vamos|iré|iremos|viene|vienen|va|van|hay boda|\w+(?:o|é|amos|emos|imos))\b.+?){_END}"
    ),
    cue(
        rf"\bno (?P<withdrawn>{_I}(?:voy|vamos|iré|iremos|\w+(?:emos|amos|imos|é))\b[^,;.!?]+?) al final(?! del?\b)"
    ),
    cue(
        r"\bantes (?P<withdrawn>(?!del?\b|que\b)(?:me |nos |lo |la )?\w+(?:ía|aba|íamos|ábamos|era|iba|éramos|íbamos)\b[^,;.!?]*?)(?:,| y| pero)"
        r"(?=.*\bahora\b)"
    ),
    cue(r"\bantes (?P<withdrawn>(?:era|iba|éramos|íbamos)\b[^,;.!?]+?)(?:,| y| pero)(?=.*\bahora\b)"),
    cue(r"\bsol(?:ía|íamos) (?P<withdrawn>.+?)(?=[,;.!?]| pero| y\b|$)"),
    cue(rf"\b(?:en vez|en lugar) de (?P<withdrawn>.+?){_END}"),
    cue(rf"\b(?:en vez|en lugar) del (?P<withdrawn>.+?){_END}", "el {withdrawn}"),
    cue(rf"\bno es (?:verdad|cierto) que (?P<withdrawn>.+?){_END}"),
    cue(rf"\bretiro lo (?:dicho|que dije) (?:sobre|del?) (?P<withdrawn>.+?){_END}"),
    cue(rf"\bolvídate del? (?P<withdrawn>.+?){_END}"),
    cue(rf"\b(?:cancela|cancélame|anula|anúlame) (?P<withdrawn>{_THE}\b.+?){_END}"),
    cue(
        rf"(?P<withdrawn>(?:{_THE}|lo del?) [^,;:.!?]+?) se (?:(?:ha|han) )?(?:nos )?(?:{_PUT_OFF}|canceló|anuló|suspendió|pospuso"
        r"|aplazó|retrasó)\b"
    ),
    cue(
        rf"(?P<withdrawn>{_THE} [^,;:.!?]+?) se (?:ha |han )?(?:movi(?:ó|do)|pas(?:ó|ado)|cambi(?:ó|ado)|traslad(?:ó|ado))"
        r" (?:al?|para|del?)\s"
    ),
    cue(rf"(?P<withdrawn>{_THE} [^,;:.!?]+?) (?:ha|han) cambiado(?=[,;.!]|$)"),
    cue(
        r"(?P<withdrawn>(?-i:[A-ZÁÉÍÓÚÑ])\w+) y yo (?:hemos (?:roto|terminado)|lo (?:hemos dejado|dejamos)|rompimos|terminamos"
        r"|nos (?:hemos )?(?:separ|divorci)(?:amos|ado)|ya no estamos juntos)\b",
        "estoy con {withdrawn}",
    ),
    cue(
        rf"\btermin(?:é|amos) con (?P<withdrawn>(?:mi novi[oa]|mi pareja|(?-i:[A-ZÁÉÍÓÚÑ])\w+)){_END}",
        "estoy con {withdrawn}",
    ),
    cue(
        rf"\b(?:me|nos) (?:echaron|despidieron|han echado|han despedido) (?:de la|de los|del?) (?P<withdrawn>.+?){_END}",
        "trabajo en {withdrawn}",
    ),
    cue(
        rf"\b(?:me|nos) (?:he |hemos )?(?:sal|quit|borr|desapunt|retir)(?:í|imos|é|amos|ido|ado) (?:de la|de los|del?) "
        rf"(?P<withdrawn>(?!aquí|allí|casa).+?){_END}",
        "estoy en {withdrawn}",
    ),
    cue(
        rf"(?<!\bno )\b(?:dejo|{_HAVE} parado|paré) de (?P<withdrawn>\w+(?:ar|er|ir)\b.*?){_END}",
        "suelo {withdrawn}",
    ),
    cue(
        rf"\b(?:regal(?:é|amos)|don(?:é|amos)|tir(?:é|amos)|{_HAVE} (?:regalado|donado|tirado)) "
        rf"(?P<withdrawn>(?:mi|mis|nuestr[oa]s?|el viejo|la vieja)\b.+?){_END}"
    ),
    cue(rf"\b(?:se )?(?:murió|falleció|ha muerto|ha fallecido) (?P<withdrawn>(?:mi|nuestr[oa]) .+?){_END}"),
    cue(
        r"\bmi nuev[oa] (?P<withdrawn>número|teléfono|móvil|correo|email|dirección|trabajo|jefe|jefa|médico|médica|contraseña)\b"
        r"[^,;.!?]* es\b",
        "mi {withdrawn}",
    ),
    cue(r"(?P<withdrawn>[^,;.!?]+?),? pero ya no(?=[,;.!]|$)"),
    cue(rf"\bhasta (?:hace poco|el año pasado|el mes pasado) (?P<withdrawn>.+?){_END}"),
    cue(
        r"\b(?P<withdrawn>(?:me |nos |lo )?\w+(?:aba|aban|ía|ían|ábamos|íamos|era)\b[^,;.!?]*?)(?:,| pero)\s"
        r"(?=.*\b(?:ahora|actualmente)\b)"
    ),
    cue(
        rf"\b(?:pasé|pasamos|{_HAVE} pasado) del? (?!curso|largo|todo)(?P<withdrawn>[^,;.!?]+?) al? (?!la vez)\w",
        "uso {withdrawn}",
    ),
)

WITHDRAWALS = WithdrawalWords(
    cues=_CUES,
    unless=re.compile(
        r"^\W*(?:si|ojalá|cuando|cómo|por qué|quién|quieres|imagina)\b|\b(?:no sé si|miedo (?:de|a) que|por si|como si|a lo mejor"
        r"|quizás?|tal vez|cómo (?:se )?(?:cancel|anul|dej))|^\W*¿(?!.*\b(?:puedes|podrías|borras|olvidas)\b)",
        re.IGNORECASE,
    ),
    negation=re.compile(r"\b(?:ya no|no|más|realmente)\b\s*", re.IGNORECASE),
    vague=re.compile(r"^(?:algun[oa]s?|algo|cualquier|unos|unas|tod[oa]s?|cada|más)\b", re.IGNORECASE),
    when=re.compile(
        r"\b(?:ayer|hoy|anoche|mañana|(?:la|el|los|las) (?:semana|mes|año|fin de semana|días?) (?:pasad[oa]s?|próxim[oa]s?)"
        r"|est[ea] (?:semana|mes|año|noche|tarde)|hace (?:poco|un|una|dos|tres|unos) ?\w*)\b",
        re.IGNORECASE,
    ),
    pointer=re.compile(
        r"^(?:eso|esto|ese|esa|aquello|es[oa]s|lo|algo|nada|él|ella|ellos)\b(?:\W+(?:es|para|por|a|mí|me|nos))*\W*$",
        re.IGNORECASE,
    ),
)

"""Spanish words of time, as data, without accents: they are often missing in chat, so the text is folded too."""

from __future__ import annotations

from datetime import timedelta

from hindsight_integrations.text.languages.shared_rules import EARLY, LATE, MID
from hindsight_integrations.text.times.calendar import SUNDAY, Span, Unit, easter
from hindsight_integrations.text.times.grammar import YEAR, Decoys, Which, Words, any_of
from hindsight_integrations.text.times.meanings import (
    THANKSGIVING,
    fixed,
    moved,
    named,
    nth,
)


# Holidays by their Spanish names, without accents. Add one by adding a row. Feasts that are also towns or
# first names ("San José", "Pilar") are known by "día de ..." alone. Mother's and Father's Day are those of
# most countries, the second Sunday of May and the third of June.
def _holy_week(year: int) -> Span:
    """From Monday to Easter Sunday."""
    end = easter(year).end
    return Span(end - timedelta(days=7), end, Unit.WEEK)


HOLIDAYS = named(
    (fixed(1, 1), "ano nuevo, dia de ano nuevo"),
    (fixed(1, 5), "noche de reyes, cabalgata de reyes"),
    (fixed(1, 6), "reyes, reyes magos, dia de reyes, dia de los reyes magos, dia de los reyes, epifania"),
    (fixed(2, 2), "dia de la candelaria"),
    (fixed(2, 14), "san valentin, dia de san valentin, dia de los enamorados, dia del amor y la amistad"),
    (fixed(3, 8), "dia de la mujer"),
    (fixed(3, 17), "dia de san patricio, san patricio"),
    (fixed(3, 19), "dia de san jose"),
    (moved(easter, -47), "carnaval, carnavales, martes de carnaval, martes de carnestolendas"),
    (moved(easter, -46), "miercoles de ceniza"),
    (moved(easter, -7), "domingo de ramos"),
    (_holy_week, "semana santa"),
    (moved(easter, -3), "jueves santo"),
    (moved(easter, -2), "viernes santo"),
    (moved(easter, -1), "sabado santo, sabado de gloria"),
    (easter, "pascua, pascuas, dia de pascua, domingo de pascua, domingo de resurreccion, domingo de gloria"),
    (moved(easter, 1), "lunes de pascua"),
    (moved(easter, 39), "dia de la ascension"),
    (moved(easter, 49), "pentecostes, domingo de pentecostes"),
    (moved(easter, 60), "corpus christi"),
    (fixed(4, 23), "dia del libro, sant jordi"),
    (fixed(4, 22), "dia de la tierra"),
    (fixed(5, 1), "dia del trabajo, dia del trabajador, dia de los trabajadores"),
    (nth(5, SUNDAY, 2), "dia de la madre, dia de las madres"),
    (nth(6, SUNDAY, 3), "dia del padre"),
    (fixed(6, 23), "noche de san juan, vispera de san juan"),
    (fixed(6, 24), "dia de san juan"),
    (fixed(7, 7), "san fermin, sanfermines"),
    (fixed(8, 15), "dia de la asuncion, virgen de agosto"),
    (fixed(10, 12), "dia del pilar, dia de la hispanidad, dia de la raza"),
    (fixed(10, 31), "halloween, noche de brujas"),
    (fixed(11, 1), "todos los santos, dia de todos los santos"),
    (fixed(11, 2), "dia de muertos, dia de los muertos, dia de los difuntos"),
    (THANKSGIVING, "accion de gracias, dia de accion de gracias"),
    (moved(THANKSGIVING, 1), "black friday, viernes negro"),
    (moved(THANKSGIVING, 4), "cyber monday"),
    (fixed(12, 6), "dia de la constitucion"),
    (fixed(12, 8), "dia de la inmaculada"),
    (fixed(12, 12), "dia de la virgen de guadalupe, dia de guadalupe"),
    (fixed(12, 24), "nochebuena, noche buena"),
    (fixed(12, 25), "navidad, navidades, dia de navidad"),
    (fixed(12, 26), "dia de san esteban"),
    (fixed(12, 28), "santos inocentes, dia de los inocentes, dia de los santos inocentes"),
    (fixed(12, 31), "nochevieja, noche vieja, fin de ano"),
)  # fmt: skip


# The tenses are told apart by their accents, so these are matched in the text as it is spelled.
_FIRST_PERSON_PAST = (  # stems on r whose "-ré" is a past
    "mir|tir|gir|vir|par|esper|prepar|compar|separ|repar|dispar|declar|aclar|respir|inspir|suspir|aspir|admir|oper|super"
    "|recuper|liber|gener|consider|toler|alter|exager|aceler|enter|moder|numer|retir|estir|valor|explor|mejor|llor"
)
_FUTURE = (
    rf"\b(?!(?:{_FIRST_PERSON_PAST})\u00e9\b|(?:queremos|esperemos)\b)(?:ir|\w+[aei]r|\w*[dbn]dr|habr|sabr|cabr|querr|har|dir|podr)"
    r"(?:\u00e9|\u00e1|\u00e1s|\u00e1n|emos|\u00e9is)\b"
)
_FUTURE_UNACCENTED = (
    r"\b(?:hare|hara|haran|ire|iremos|iran|tendre|tendra|tendran|vendra|vendran|sere|seran|estare|estaran|podre|podran"
    r"|saldre|saldra|vere|veras|veran)\b"
)
_INFINITIVE = r"(?:[a-z\u00f1]+[aei\u00ed]r)(?:me|te|se|nos|os|lo|la|le|los|las|les){0,2}"
_AGENDA = r"(?:cita|citas|reuni\u00f3n|reunion|reuniones|planes|plan|vuelo|vuelos|dentista|m\u00e9dico|clase|clases|examen|ex\u00e1menes|boda|cena|comida)"
ASKS_AHEAD = (
    rf"(?i:{_FUTURE}|{_FUTURE_UNACCENTED}|\bv(?:oy|as|a|amos|ais|an|\u00e1is)\s+a\s+{_INFINITIVE}\b"
    r"|\b(?:previst|programad|planead|planificad|agendad|reservad|fijad|prevei)[oa]s?\b|\bten(?:go|emos|\u00e9is|eis)\s+que\b|\btien(?:es|e|en)\s+que\b"
    rf"|\bdebo\b|\bdebemos\b|\bhay\s+que\b|\btoca\b|\bpr[o\u00f3]xim[ao]s?\s+(?:reuni\u00f3n|reunion|reuniones|citas?|partidos?|eventos?|viajes?)\b"
    r"|\b(?<!que\s)vienen?\b|\b(?:llegan?|salen?|salgo|salimos|regresan?|regreso|vuelven?|vuelvo|empiezan?|comienzan?|act\u00faan?|juegan?|nos\s+vemos|(?:me|nos)\s+visitan?)\b|\bpienso\s+{_INFINITIVE}\b|\bquiero\s+{_INFINITIVE}\b|\bqueremos\s+{_INFINITIVE}\b"
    r"|\bh(?:e|emos)\s+quedado\b|\bplanes?\s+(?:\w+\s+){0,2}(?:para|el|este)\b"
    r"|\bten(?:go|emos)\s+(?:(?!\w+[ai]d[oa]s?\b)\w+\s+){0,3}?(?:el|este|esta|para|en)\b"
    rf"|\b{_AGENDA}\s+(?:\w+\s+)?ten(?:go|emos)\b|\bten(?:go|emos)\s+(?:un[ao]?\s+)?{_AGENDA}\b|\bhay\s+(?:\w+\s+){{0,2}}?(?:el|este|esta|para)\b"
    r"|\ba\s+qu[e\u00e9]\s+hora\s+(?:es|empieza|llega|llego|llegan|sale|salgo|salen|salimos|viene|vienen|vuelo|quedamos|tengo)\b"
    r"|\b(?:viajo|viajamos|vuelo|volamos)\s+(?:el|en|a)\b|\b(?:se\s+celebra|se\s+casan?)\b)"
)
ASKS_BACK = (
    r"\b(?:fui|fue|fuimos|fueron|fuiste|eran?|estuv\w+|estab\w+|tuv\w+|ten[i\u00ed]a\w*|hab[i\u00ed]a\w*|hice|hizo|hicimos|hicieron|hiciste"
    r"|iba|ibas|iban|[i\u00ed]bamos|di|dio|dimos|vi|vio|vimos|pas[o\u00f3]|dijo|puse|puso|vine|vino|quise|quiso|supe|supo|hubo"
    r"|(?!(?:caf|beb|jos|comit|pur|qu|porqu|s|m|t|as|aqu|all|ah|n)[\u00e9\u00ed]\b)\w*(?:(?<![rR])\u00e9|\u00ed|\u00f3)|\w+(?:aron|ieron|aste|iste|(?<!ac)aba|(?<!ac)aban)"
    r"|(?:quer|pod|hac|viv|dec|com|sab|deb|ve|conoc|le|escrib|sal|pon|ven|beb|dorm|re|o)\u00eda(?:s|n|mos)?"
    r"|(?:he|has|ha|hemos|han|hab[e\u00e9]is)\s+(?:\w+\s+)?\w+[ai\u00ed]do)\b"
)
ANNOUNCES = (
    rf"(?:^|[,;:]\s*|\b(?:y|pero|porque)\s+)\W*(?:(?:me|nos|te|se)\s+)?(?:v(?:oy|amos|an|a|as)\s+a\s+{_INFINITIVE}|tengo|tenemos"
    r"|he\s+quedado|hemos\s+quedado|viajo|viajamos|nos\s+vamos|me\s+voy)\b(?:(?!,\s|\b(?:qu\u00e9|que|qui\u00e9n|d\u00f3nde|c\u00f3mo)\b).)*"
)

# After a number these make it a quantity, not a year.
QUANTITY = (
    r"\s+(?:(?!(?:de|en|y|o|a|por|que|con|para|del|el|la|los|las|me|se|fue|era)\b)[a-z]+\s+)?(?:personas?|gente|euros?|dolares|pesos|soles|libras|yenes|centavos|centimos|metros?|km|kilometros?|m|cm|mm"
    r"|millas?|pies|kg|kilos?|gramos?|g|litros?|l|ml|calorias|kcal|paginas?|palabras?|lineas?|filas?|archivos?|ficheros?|puntos?"
    r"|mensajes?|usuarios?|votos?|entradas?|boletos?|asientos?|plazas?|piezas?|unidades|veces|grados|vatios|voltios|mb|gb|tb|bytes"
    r"|tokens?|segundos?|minutos?|horas?|dias|semanas|meses|anos|habitantes|seguidores|suscriptores|alumnos|empleados|miembros"
    r"|clientes|socios|invitados|pasos|porciento|millones|mil|hojas|fotos|canciones|libros|productos|pedidos|flexiones)\b"
    r"|\s?[\u20ac$\u00a3%]|\s+o\s+(?:en\s+)?(?:el\s+|la\s+)?(?!(?:19|20)[0-9]{2}\b)[0-9]"
)
# In front of the number that ends a question these make it the number of a thing.
NUMBERED = (
    r"\b(?:habitacion|cuarto|sala|aula|piso|puerta|puerto|pagina|linea|numero|num|nro|no|codigo|clave|pin|expediente|pedido|factura"
    r"|ticket|caso|version|modelo|pelicula|peli|novela|libro|cancion|disco|album|serie|juego|cuadro|poema|obra|titulo|llamad[oa]"
    r"|titulad[oa]|vuelo|tren|autobus|bus|ruta|calle|apartado|articulo|ley|norma|resolucion|formulario|asiento|mesa|casilla|taquilla"
    r"|matricula|pr|issue|tarea|incidencia|solicitud|portal|parcela|local|oficina|planta|autocar|tranvia|salida|kilometro|km|radio"
    r"|frecuencia|ref|referencia|dni|sector|unidad|nodo|servidor|maquina|equipo|perfil|grupo|capitulo|versiculo|salmo|episodio|temporada"
    r"|celda|fila|columna|posicion|puesto|valor|precio|total|importe|saldo|cantidad|presupuesto|distancia|altura|peso|pesaba|media|cobra"
    r"|cobro|gana|pago|paga|debo|debe|leo|lei|leer|leido|vi|ver|visto|vimos|veo|gusto|gusta|parecio|trata|acabe|termine|recomende|recomendo"
    r"|recomendaste|escribio|dirigio|protagoniza|jugar|juego|asteroide|bloque"
    r"|extension|telefono|contrasena|usuario|cuenta|cliente|registro|error|nivel|canal|bloque|edificio|casa|agenda|vision|windows"
    r"|office|excel|studio|fifa|expo|peugeot|talla|lote|serie|coche|moto|movil|cuesta|costo|costaba|vale|valia|pesa|mide|son|es|era|fue"
    r"|con|por|y|o|u|e|que|a|al|los|las|la|el|un|una|unos|menos|mas|casi|sobre|hasta|entre|como|desde|de|tengo|tiene|hay|igual)\.?:?\s+$"
)

PERSON = (
    r"\s+(?:fue|vino|dijo|dice|tiene|esta|es|se\s+(?:fue|llama)|me\s+(?:dijo|dio|conto)|llamo|llego|vive|trabaja)\b"
    r"|\s+(?-i:[A-Z][a-z])"
)
HOLIDAY_THINGS = r"\s+de\s+(?-i:[A-Z][a-z])|\s+(?:magica|negra|azul|chino|china|lunar|judio)\b"
SEASON_THINGS = r"\s+(?:azul|sound|arabe|vivaldi|eterno|caliente|nuclear|demografico)\b|\s+de\s+(?:praga|vivaldi|las?\b|los\b|mi\b|su\b)"
NAME_AFTER = r" [A-Z][a-z]"

_WORKS = (
    r"novelas?|pelis?|peliculas?|libros?|canci(?:on|ones)|series?|discos?|album(?:es)?|revistas?|periodicos?|poemas?|cuadros?|obras?"
    r"|cuentos?|grupos?|bandas?|comics?|mangas?|operas?|sinfonias?|programas?|podcasts?|titulos?|juegos?|documental(?:es)?|musical"
    r"|tema|ballet|personajes?|marca|bar|restaurante|hotel|cafeteria|tienda|discoteca|equipo|app|aplicacion"
)
_KIN = (
    r"perr[oa]s?|gat[oa]s?|caballo|loro|conejo|hamster|mascota|herman[oa]s?|amig[oa]s?|jef[ea]|ti[oa]|prim[oa]s?|hij[oa]s?|sobrin[oa]s?"
    r"|nin[oa]s?|bebe|madre|padre|enfermer[oa]|vecin[oa]s?|companer[oa]s?|novi[oa]|mujer|marido|espos[oa]|abuel[oa]|cunad[oa]|suegr[oa]"
    r"|profesor[ao]?|profe|doctora?|dra?|sra?|srta|don|dona|senor(?:a|ita)?|familia|apellido|llamad[oa]|titulad[oa]|apodad[oa]|nombre|santa?"
    r"|tortuga|pajaro|pez|colega|cliente|dentista|actor|actriz|cantante"
)
_PLACES = (
    r"calle|plaza|avenida|av|paseo|hospital|colegio|escuela|instituto|universidad|estadio|metro|estacion|parque|barrio|hotel|teatro"
    r"|cine|aeropuerto|museo|biblioteca|isla|mercado|centro|clinica|colonia|ronda|glorieta|carretera|edificio|torre|batallon"
    r"|movimiento|brigada|operacion|huracan|tormenta|linea|parada"
)
_THINGS_OF = (  # "el árbol de Navidad", "la ropa de verano"
    r"arbol|flor(?:es)?|huevos?|conejo|mona|cuentos?|pelis?|peliculas?|cancion(?:es)?|villancicos?|jersey|adornos?|luces|mercad(?:o|illo)s?|roscon|bolas?"
    r"|corona|espiritu|tarjetas?|postal(?:es)?|felicitaci(?:on|ones)|loteria|rollitos?|ropa|chaquetas?|abrigos?|torta|galletas?|decoracion"
    r"|recetas?|cestas?|pagas?|trajes?|disfra(?:z|ces)|belen|dulces|turron(?:es)?|neumaticos?|ruedas|zapatos|botas|sandalias|vestidos?"
    r"|horario|curso|campamentos?|trabajo|cebolletas?|ensaladas?|platos?|menu|cuarto|casa|escuela|jardin|colores|color|tardes?|noches?"
    r"|mananas?|sol|deportes?|juegos|olimpiadas|isla|pato|pavo|figuras|calcetin(?:es)?|sabor|olor|sueno|estacion|astenia|alergia|tiempo|lectura|turnos?|misa"
)
DECOYS = Decoys(
    before=(
        r"\ba\s+dia\s+de\s+$|\b(?:confi\w+|pienso|piensa|creo|cree)\s+$|\b(?:cada|cualquier|todos\s+los|todas\s+las|feliz|felices|buen(?:os|as)?|algun|ningun|otro|otra)\s+$"
    ),
    around=(
        r"\0reyes$|\bdia\s+de\s+\0manana$"
        rf"|\b(?:{_WORKS}|{_KIN})\s+(?:(?:llamad|titulad)[oa]\s+)?[\"']?\0[0-9]{{1,2}}\s+de\s+[a-z]+$"
        r"|\b(?:vivo|vives?|viven?|autobus|bus|linea|numero|portal|calle|talla|calz\w+|pes\w+|piso|canal|dorsal)\b[^\0]*\0(?:en\s+el|del)\s+'?[0-9]{2}$"
        rf"|\b(?:{_PLACES})\s+(?:del?\s+|de\s+la\s+)?\0(?:[0-9]{{1,2}}\s+)?(?:de\s+)?[a-z]+$"
        r"|\b(?:modelo|cosecha|anada|portatil|coche|carro|movil|iphone|macbook|vino|moto|version|edicion)\s+\0del?\s+(?:el\s+)?[0-9]{4}$"
    ),
    before_bare=(
        r"\b(?:los|un|una|unos|unas|mas|tan|muy|tipico|tipica|llamo|llama|llamas|soy|eres|hoy\s+es|es)\s+$"
        rf"|\b(?:{_THINGS_OF})\s+(?:del?\s+|de\s+la\s+)?$"
    ),
    things_before=rf"\b(?:{_WORKS}|{_KIN})\s+(?:(?:llamad|titulad)[oa]\s+)?(?:del?\s+(?:la\s+)?)?[\"']?$",
    title_before=(
        rf"\b(?:{_WORKS}|canta|escribio|dirigio|vi|vimos|vio|visto|ver|leer|leido|lei|gusto|parecio|opin\w+\s+de|opine\s+de|protagoniza|autor\s+de|autora\s+de|actor\s+de|letra\s+de)\s+(?:(?:llamad|titulad)[oa]\s+)?(?:de\s+)?[\"']?"
        r"(?-i:(?:[A-Z]\w*\s+)(?:(?:[A-Z]\w*|de|del|la|el|los|las|en|y|a)\s+)*)?$"
    ),
    numbered_titles=(
        r"\b(?:[Vv]er|[Vv]i|[Vv]imos|[Vv]isto|[Ll]eer|[Ll]ei|[Ll]eimos|[Ll]eido|[Jj]ug\w+|[Gg]usto|[Tt]ermin\w+)\s+(?:[A-Z][\w'-]*\s+)+$"
    ),
    after=(
        r"\s+(?:de|del|de\s+la)\s+(?:embarazo|gestacion|curso|colegio|carrera|vida|matrimonio|contrato|master|universidad|instituto|partido|clase|bachillerato)\b"
        r"|\.(?:com|org|net|io|es|mx|ar|tv|me)\b|\s+en\s+dia\b|\s+por\s+hoy\b|-[a-z]"
        r"|\s+(?:por\s+la\s+manana|por\s+la\s+tarde|por\s+la\s+noche)\s+(?:siempre|normalmente)\b"
    ),
    things_after=rf"^,?\s+(?:(?:es|era|fue)\s+)?(?:un|una|el|la)\s+(?:\w+\s+)?(?:{_WORKS})\b|^\s+\((?:la\s+|el\s+)?(?:{_WORKS})\b",
    after_bare=(
        r"^,\s+(?:el|la)\s+del?\b"
        r"|^,\s+(?:mi|nuestr[oa]|tu|su|el|la|un|una)\s+(?:\w+\s+){0,2}?(?:" + _KIN + r")\b"
    ),
    habits=(
        r"\b(?:suel(?:o|e|es|en|emos)|soler|normalmente|generalmente|habitualmente|siempre|a\s+menudo|de\s+costumbre|por\s+lo\s+general"
        r"|gustan?|gustas|encantan?|prefier[oe]\w*|preferimos|odi[oa]|pienso|piensa|opin[oa]|opinion|significa|detest[oa]|aborrezco|acostumbro|favorit[oa]s?)\b"
    ),
    yearly_habits=(
        r"\b(?:voy|vas|va|hago|haces|hace(?!\s+(?:\w+\s+){1,3}(?:dias?|semanas?|mes|meses|anos?)\b)|comes|comemos|tomo|uso|llevo|pongo|bebo|duermo|ceno|celebro|celebra|celebran|viajo|visito|veo"
        r"|veraneo|cocino|preparo|prepara|regalo|compro|juego|trabajo|estudio|nado|corro|salgo|planto|siembro|riego|cierran?|abren?|florecen?|llueve|nieva"
        r"|cultivo|recojo|paso|pasa|pasamos|leo|voto|pago|cobro|vuelvo|suben?|bajan?|canto|monto|decoro|cambio|cuelgo|reservo|escucho|hay|tengo|tiene|vive|vivo|como\s+(?:en|por|el|la))\b"
    ),
    range_habits=r"\b(?:de\s+)?(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo)\s+a\s+(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo)\b|\b(?:abren?|cierran?|abiert[oa]|trabaj[oa]n?|horario|atienden?|hago|voy|vamos|tengo|entreno|estudio|doy|imparto|hay|funciona)\b",
    article=r"(?:en\s+|por\s+|para\s+|del?\s+|al?\s+|durante\s+)?(?:el|la|las|los)\s+|(?:por|para)\s+",
    name_before=r"(?P<name>[A-Z]\w+)(?:\s+(?:y|de|del))?\s+$",
    name_after=r"\s+[A-Z][a-z]",
    capital=r"(?:(?:de|del|el|la|los|las|en)\s+)*(?:[A-Z][a-z]|[0-9]{4}\b)",
    plain_end=r"\b(?:de|del|en|desde|hasta|antes|despues|entre|durante)\s+(?:el\s+|ano\s+)*[0-9]{4}$",
    show_before=r"\b(?:El|La)\s+$",
    decade=r"(?:los|anos)\s+\S+$",
    question=r"\u00bf|(?:(?:a|de|en|con|por|para)\s+)?(?:qu[e\u00e9]|cu[a\u00e1]\w+|d[o\u00f3]nde|qui[e\u00e9]n\w*|c[o\u00f3]mo)\b",
    of_figures=r"de\s+[0-9]{4}",
    copies=r"\b(?:autora?|trama|final|protagonistas?|argumento|ejemplar|copia|personajes?|actor|actriz|reparto|director|directora|sonora|resumen|resena|libro|novela|peli|pelicula)\s+$",
    before_decade=r"\b(?:esta|estan|estoy|anda|andan|entr\w+|ronda|a|tiene|tenia|tengo|cumplio|cumplir|cumplire|edad|mis|sus|tus|ronda|rondan|temperatura|grados)\s+$",
    title_words=r"\b(?:Antes|Despues|Desde|Hasta|Entre)\b",
)


_MONTHS = {
    "enero": 1, "febrero": 2, "marzo": 3, "abril": 4, "mayo": 5, "junio": 6, "julio": 7, "agosto": 8, "septiembre": 9,
    "setiembre": 9, "octubre": 10, "noviembre": 11, "diciembre": 12, "ene": 1, "feb": 2, "mar": 3, "abr": 4, "may": 5,
    "jun": 6, "jul": 7, "ago": 8, "sept": 9, "sep": 9, "set": 9, "oct": 10, "nov": 11, "dic": 12,
}  # fmt: skip
_WEEKDAYS = {
    "lunes": 0, "martes": 1, "miercoles": 2, "jueves": 3, "viernes": 4, "sabado": 5, "domingo": 6,
}  # fmt: skip
_UNITS = {
    "minuto": Unit.MINUTE, "min": Unit.MINUTE, "hora": Unit.HOUR, "dia": Unit.DAY, "noche": Unit.DAY,
    "semana": Unit.WEEK, "quincena": Unit.WEEK, "finde": Unit.WEEKEND, "fin de semana": Unit.WEEKEND,
    "mes": Unit.MONTH, "trimestre": Unit.QUARTER, "semestre": Unit.HALF, "ano": Unit.YEAR, "lustro": Unit.YEAR, "decada": Unit.DECADE,
    "siglo": Unit.CENTURY,
}  # fmt: skip
_PLURALS = {f"{name}s": unit for name, unit in _UNITS.items() if name not in {"mes", "fin de semana"}} | {
    "meses": Unit.MONTH,
    "fines de semana": Unit.WEEKEND,
}
_SMALL = {
    "un": 1, "una": 1, "uno": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8,
    "nueve": 9,
}  # fmt: skip
_TENS = {
    "treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90,
}  # fmt: skip
_TEENS = (
    "diez", "once", "doce", "trece", "catorce", "quince", "dieciseis", "diecisiete", "dieciocho", "diecinueve",
    "veinte", "veintiuno", "veintidos", "veintitres", "veinticuatro", "veinticinco", "veintiseis", "veintisiete",
    "veintiocho", "veintinueve",
)  # fmt: skip
_NUMBERS = {
    **_SMALL,
    **dict(zip(_TEENS, range(10, 30), strict=True)),
    **_TENS,
    **{f"{tens} y {one}": _TENS[tens] + _SMALL[one] for tens in _TENS for one in _SMALL},
    "veintiun": 21, "veintiuna": 21, "cien": 100, "media docena": 6, "una docena": 12,
}  # fmt: skip
_COUNTING = {"un", "una", "veintiun", "veintiuna", "media docena", "una docena"}  # never the number of a day
_DAY_NUMBERS = {name: number for name, number in _NUMBERS.items() if number <= 31 and name not in _COUNTING}
_DAY_NUMBERS |= {"primero": 1, "primer": 1}


def _inflected(stem: str) -> tuple[str, str, str, str]:
    """As in "pasad" to "pasado", "pasada", "pasados", "pasadas"."""
    return f"{stem}o", f"{stem}a", f"{stem}os", f"{stem}as"


_ORDINALS = {
    "primer": 1, "tercer": 3, "1er": 1, "3er": 3, "1ro": 1, "2do": 2, "3ro": 3, "4to": 4, "5to": 5, "1ra": 1, "2da": 2,
    "3ra": 3, "4ta": 4, "5ta": 5, "1\u00ba": 1, "2\u00ba": 2, "3\u00ba": 3, "4\u00ba": 4, "1\u00aa": 1, "2\u00aa": 2,
    "3\u00aa": 3, "4\u00aa": 4,
    **{
        name: number
        for stem, number in (("primer", 1), ("segund", 2), ("tercer", 3), ("cuart", 4), ("quint", 5), ("ultim", -1))
        for name in _inflected(stem)
    },
}  # fmt: skip
_THESE = ("este", "esta", "estos", "estas")
_WHICH = {
    **dict.fromkeys(_THESE, Which.THIS),
    **dict.fromkeys(_inflected("pasad"), Which.LAST),
    **dict.fromkeys(_inflected("ultim"), Which.LAST),
    **dict.fromkeys(_inflected("proxim"), Which.NEXT),
    **dict.fromkeys(_inflected("venider"), Which.NEXT),
    **{
        f"{this} {other}": which
        for this in _THESE
        for stem, which in (("pasad", Which.LAST), ("ultim", Which.LAST), ("proxim", Which.NEXT))
        for other in _inflected(stem)
    },
    "anterior": Which.LAST, "recien pasado": Which.LAST, "presente": Which.THIS, "actual": Which.THIS,
    "en curso": Which.THIS, "corriente": Which.THIS, "que viene": Which.NEXT, "que vienen": Which.NEXT,
    "entrante": Which.NEXT, "que entra": Which.NEXT, "que paso": Which.LAST, "que acaba de pasar": Which.LAST,
}  # fmt: skip
TAIL_YEARS = {
    "ano pasado": -1, "pasado ano": -1, "ano anterior": -1, "ano antepasado": -2, "este ano": 0, "presente ano": 0,
    "ano en curso": 0, "ano actual": 0, "mismo ano": 0, "ano que viene": 1, "proximo ano": 1, "ano proximo": 1,
    "ano entrante": 1, "ano que entra": 1,
}  # fmt: skip
_COUNT = "|".join(("[0-9]{1,2}", *sorted(_SMALL, key=len, reverse=True), "diez"))
# What names the year: "2023", "de 2023", "del 2023", "del año 2023", "/2023", "de '23", "del año pasado", "de hace dos años".
_TAIL = (
    rf",? ?(?:del? |del? ano |en (?:el )?)?{YEAR}|[-/]{YEAR}|,? ?(?:del? )?'[0-9]{{2}}|,? del [0-9]{{2}}(?=\s*(?:$|[?.!,;:)]))"
    rf"|,? (?:del? |el )?(?:{any_of(TAIL_YEARS)})|,? (?:de )?hace (?:{_COUNT}) anos?"
)
# (first, last, of): "a principios de" and "a finales de" a year are its first and last quarter.
_BEGINNINGS = ("principios", "principio", "comienzos", "comienzo", "inicios", "inicio", "primeros")
_ENDS = ("finales", "final", "fines", "fin", "ultimos")
MIDDLES = ("mediados", "mitad")
# Hours of the day, end possibly on the next one. Customary, no source.
_DAY_PARTS = {
    "madrugada": (0, 6), "manana": (5, 12), "mediodia": (11, 14), "medio dia": (11, 14), "hora de comer": (11, 14),
    "hora del almuerzo": (11, 14), "tarde": (12, 18), "noche": (18, 30),
}  # fmt: skip
_NEAR = {
    "hoy": 0, "ayer": -1, "manana": 1, "anteayer": -2, "antier": -2, "antes de ayer": -2, "antesdeayer": -2,
    "antes de anoche": -2, "trasanteayer": -3, "anteanteayer": -3, "pasado manana": 2,
}  # fmt: skip
_DECADES = {
    "veinte": 1920, "treinta": 1930, "cuarenta": 1940, "cincuenta": 1950, "sesenta": 1960, "setenta": 1970,
    "ochenta": 1980, "noventa": 1990, "dos mil": 2000,
}  # fmt: skip
_ROMAN = (
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv", "xvi", "xvii",
    "xviii", "xix", "xx", "xxi",
)  # fmt: skip

WORDS = Words(
    months=_MONTHS,
    clear_months=frozenset(),
    name_months=frozenset({"abril", "julio", "marzo", "agosto"}),
    weekdays=_WEEKDAYS,
    clear_weekdays=frozenset(_WEEKDAYS),
    units=_UNITS | _PLURALS,
    plurals=frozenset(_PLURALS),
    multiples={"quincena": 2, "quincenas": 2, "lustro": 5, "lustros": 5},
    short_units={"h": Unit.HOUR, "hs": Unit.HOUR, "hrs": Unit.HOUR, "min": Unit.MINUTE, "d": Unit.DAY},
    numbers=_NUMBERS,
    thousands=".",
    # As the English "a couple", "a few" and "several" reach.
    vague={"par": (1, 3), "varios": (3, 7), "varias": (3, 7)}
    | dict.fromkeys(("unos", "unas", "algunos", "algunas", "pocos", "pocas"), (2, 5)),
    amount="(?:un )?par de|un[oa]s(?: poc[oa]s| cuant[oa]s)?|algun[oa]s|poc[oa]s|vari[oa]s",
    ordinals=_ORDINALS,
    day_suffix="\u00ba|\u00b0|ro|er|o",
    day_numbers=_DAY_NUMBERS,
    seasons={"primavera": 3, "verano": 6, "otono": 9, "invierno": 12},
    decades=_DECADES,
    portions=dict.fromkeys(_BEGINNINGS, EARLY) | dict.fromkeys(MIDDLES, MID) | dict.fromkeys(_ENDS, LATE),
    year_portions=dict.fromkeys(_BEGINNINGS, (0, 1, 4)) | dict.fromkeys(_ENDS, (3, 4, 4)),
    day_parts=_DAY_PARTS,
    which=_WHICH,
    near=_NEAR,
    near_parts=_NEAR | {"esta": 0, "este": 0, "pasada": -1},
    part_names={"anoche": (-1, 18, 30), "anteanoche": (-2, 18, 30), "antenoche": (-2, 18, 30), "antes de anoche": (-2, 18, 30)},
    before=frozenset({"antes", "anterior", "anteriores", "previo", "previa", "previos", "previas"}),
    behind=frozenset({"despues", "siguiente", "siguientes", "posterior", "posteriores"}),
    earlier=frozenset({"lo que va", "lo que llevamos", "lo que llevo", "lo transcurrido", "lo que ha transcurrido"}),
    pieces={
        "mitad": 2, "quincena": 2, "semestre": 2, "tercio": 3, "cuatrimestre": 3, "cuarto": 4, "trimestre": 4,
        "bimestre": 6,
    },
    holidays=HOLIDAYS,
    centuries={name: number for number, name in enumerate(_ROMAN, start=1)},
    tail=_TAIL,
    tail_years=TAIL_YEARS,
    years_ago=rf"\bhace ({_COUNT}) anos?",
    connector=r"\s*,?\s*(?:y|e|al?|hasta|-|\.\.\.?)\s*(?:(?:el|la)\s+dia\s+)?(?=[\w'])",
    now=r"(?:el\s+dia\s+de\s+)?hoy\b|ahora\b|la\s+(?:actualidad|fecha)\b|el\s+presente\b|aca\b",
    future=ASKS_AHEAD,
    asks_ahead=ASKS_AHEAD,
    asks_back=ASKS_BACK,
    announces=ANNOUNCES,
    past=ASKS_BACK,
    present=r"\b(?:es|son|tengo|tenemos|hay|debo|quiero|viene|empieza|sale|llega|está|toca|vence|cierra|abre|por favor)\b",
    aim=r"\b(?:para|hasta|sobre)\b",
    clause=r"[,;:]|\b(?:que|porque|pero|y)\b",
    person_after=PERSON,
    no_year=r",? ?(?:del? )?(?:ano )?[0-9]{4}(?![0-9:])",
    holiday_things=HOLIDAY_THINGS,
    season_things=SEASON_THINGS,
    quantity_after=QUANTITY,
    numbered_before=NUMBERED,
    year_after=r"[a-z]{2,},?\s+$",
    name_goes_on=NAME_AFTER,
    folding=str.maketrans("\u00e1\u00e9\u00ed\u00f3\u00fa\u00fc\u00f1\u00c1\u00c9\u00cd\u00d3\u00da\u00dc\u00d1", "aeiouunAEIOUUN"),
    whatever=frozenset(
        ["paso", "pasó", "pasa", "ocurrió", "sucedió", "sucede", "hice", "hizo", "hicimos", "hecho", "hago", "haciendo", "nuevo", "novedades", "hubo", "hay", "cuéntame", "dime", "muéstrame", "todo", "algo", "cosas"]
    ),
    decoys=DECOYS,
)  # fmt: skip

"""Where Spanish words of time mean none: names, titles, numbers, habits, ages, things. Without accents, but for tenses."""

from __future__ import annotations

from hindsight_integrations.text.time_expressions.words import Decoys

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

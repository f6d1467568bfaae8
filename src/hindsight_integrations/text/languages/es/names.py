"""Spanish names: capitals mark them, and small words join them ("Rocío de la Fuente", "Castilla y León")."""

from __future__ import annotations

import re

from hindsight_integrations.text.language import NameWords
from hindsight_integrations.text.languages.es.stop_words import STOP_WORDS

# Capitalised without being names: time words, greetings, interjections and what Spanish sentences begin with.
_COMMON_WORDS = """
    enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre diciembre lunes martes miércoles
    jueves viernes sábado sábados domingo domingos hoy ayer mañana anoche anteayer primavera verano otoño invierno pasado
    próximo próxima hola buenas buenos buen buena días tardes noches adiós chao chau gracias perdón perdona perdone disculpa
    disculpe vale bueno claro exacto perfecto genial estupendo bravo felicidades enhorabuena bienvenido bienvenida oye oiga
    mira fíjate anda venga vaya jaja jajaja jeje uf uy ay eh ah oh guau ok okay sip nop dale listo listos quizá quizás
    tal acaso ojalá además finalmente primero segundo tercero último última dos tres cuatro cinco seis siete ocho nueve diez
    según hacia bajo tras ante excepto salvo mediante encima debajo cerca lejos dentro fuera arriba abajo pronto tarde
    temprano nunca jamás siempre a veces normalmente generalmente aunque mientras apenas aparte incluso menos menudo tanta
    cualquier cualquiera nadie ambos ambas varios varias cierto cierta dicho dicha aquel aquella aquellos aquellas señor
    señora señores querido querida queridos estimado estimada cariño mamá papá abuelo abuela tío tía dios navidad navidades
    reyes pascua nochebuena nochevieja halloween internet por favor fin dado debido gran
    quiero quieres quiere queremos necesito necesitas necesita necesitamos prefiero prefieres prefiere uso usas usa usamos
    vivo vives vive vivimos trabajo trabajas trabaja trabajamos odio odias amo amas adoro hablo hablas habla hablamos veo ves
    ve vemos vengo vienes viene venimos vuelvo vuelves vuelve conozco conoces conoce conocemos sé sabes sabe sabemos recuerdo
    recuerdas recuerda recuérdame creo crees cree creemos pienso piensas piensa puedo puedes puede podemos podría podrías
    debo debes debe deberías llamo llamas llama llámame llevo llevas lleva compro compras compra busco buscas busca estudio
    estudias estudia juego juegas juega leo lees lee escucho escuchas escucha espero esperas espera siento sientes salgo sales
    sale salimos llego llegas llega llegamos dejo deja dejé dejamos empiezo empieza termino termina sigo sigues sigue pongo
    pon dime dame dile díselo cuéntame ayúdame explícame háblame avísame apunta anota borra olvida busca añade pregunta manda
    envía escribe soléis suelo sueles suele he has ha hemos han había habían estuve estuvo estuvimos estuvieron fui fue
    fuimos fueron hice hizo hicimos tuve tuvo tuvimos puse puso quise quiso dije dijo di dio dimos vi vio vimos vine vino
    traje trajo supe supo pude pudo anduve cambio cambiamos son somos eres sea estaré estará iré irá iremos vamos nací
    gusta gustan encanta encantan duele parece pasa falta toca echo ceno como desayuno ando corro nado cocino duermo
    alguien alguno alguna algún ningún ninguno ninguna
"""
_SHOUTED = (
    "OK SI NO SÍ YA QUE POR LO EL LA LOS LAS UN UNA DE EN MI TU SU ES PD AM PM TV FAQ JAJA JA VALE MUY MÁS YO"
)
# Verbs that begin a sentence in front of a name ("Visité París"), and given names that look like them.
_VERB = re.compile(
    r"(?!(?:José|Josué|René|Noé|Salomé|Zoé|Chloé|Fernando|Armando|Orlando|Rolando|Hernando|Óscar|Oscar|Omar|Edgar|César"
    r"|Gaspar|Pilar|Baltasar|Mar|Javier|Xavier|Esther|Ester|Jennifer|Walter|Peter|Alexander|Roger|Oliver|Vladimir|Amir"
    r"|Ramos|Olmos|Campos)$)"
    r"[^\W\d_]+(?:é|ó|í|aste|iste|amos|emos|imos|aron|ieron|aba|abas|aban|ando|iendo|yendo|aré|eré|iré|ar|er|ir|arme|erme"
    r"|irme|arte|erte|irte)"
)
_JOINED_BY_AND = (
    ("Castilla", "León"),
    ("Ramón", "Cajal"),
    ("Ortega", "Gasset"),
    ("Trinidad", "Tobago"),
    ("Antigua", "Barbuda"),
    ("Bosnia", "Herzegovina"),
)

_TITLES = """
    don doña señor señora señorita sr sra srta dr dra doctor doctora prof profesor profesora ing lic
"""
NAMES = NameWords(
    no_names=(STOP_WORDS | frozenset(_COMMON_WORDS.split())),
    titles=frozenset(_TITLES.split()),
    abbreviations=("Sr", "Sra", "Srta", "Dr", "Dra", "Dña", "Prof", "Sto", "Sta", "Ing", "Lic"),
    connectors=(
        *(f"(?<={first}) y (?={second})" for first, second in _JOINED_BY_AND),
        " de la ",
        " de los ",
        " de las ",
        " del ",
        " de ",
        " da ",
        " dos ",
        " van ",
        " von ",
        " of ",
        " & ",
    ),
    articles=frozenset({"el", "la", "los", "las"}),
    verb=_VERB,
    shouted=frozenset(_SHOUTED.split()),
    organisation=re.compile(
        r"\b(?:S\.?A|S\.?L|Inc|Ltd|GmbH|Universidad|Instituto|Fundación|Hospital|Clínica|Colegio|Escuela|Ayuntamiento"
        r"|Asociación|Sociedad|Banco|Museo|Ministerio|Naciones Unidas|Editorial|Compañía)\b"
    ),
)

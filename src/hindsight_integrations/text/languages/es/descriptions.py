"""Spanish: how people describe themselves, in the first person."""

from __future__ import annotations

import re

from hindsight_integrations.text.attributes import Attribute, by_word
from hindsight_integrations.text.language import DescriptionWords

_ANY = re.IGNORECASE
_ENDS = r"(?:en|a|como|para|con|y|e|pero|o|desde|donde|cuando|que|quien|porque|por|el \d|es|era|con|al|hace|actualmente)"
_WORD = r"[^\s.;,!?:()]+"
_VALUE = rf"(?P<value>(?!{_ENDS}\b){_WORD}(?: (?!{_ENDS}\b){_WORD}){{0,6}})"
_PLACE = (
    rf"(?P<value>(?!{_ENDS}\b|\d){_WORD}(?: (?!{_ENDS}\b|\d){_WORD}){{0,4}}(?:, [A-ZÁÉÍÓÚÑ][^\s.;,!?]*)*)"
)
_NUMBER = r"(?P<value>\d+|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|veinte|treinta)"
_NOW = r"(?:(?:ahora|actualmente|también|todavía|aún|hoy|originalmente) )*"
_END = r"(?=[.;,!?]|$| y\b)"
_MONTH = r"(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"


_ATTRIBUTES = (
    Attribute.of("birthplace", rf"\bnací (?:el [^.;]*? )?en (?!{_MONTH}|\d){_PLACE}"),
    Attribute.of("birthplace", rf"\b(?:soy (?:originari[oa] )?de|vengo de|provengo de) {_PLACE}"),
    Attribute.of("birth date", rf"\bnací (?:en [^.;\d]*? )?(?:en|el) (?P<value>\d[\w ]*|{_MONTH}\b[\w ]*)"),
    Attribute.of("residence", rf"\b(?:vivo|resido) {_NOW}en {_PLACE}", several=True),
    Attribute.of("residence", rf"\bme mudé a {_PLACE}", several=True),
    Attribute.of("upbringing", rf"\bcrecí en {_PLACE}"),
    Attribute.of("occupation", rf"\btrabajo {_NOW}(?:de|como) (?:un |una )?{_VALUE}", several=True),
    Attribute.of("profession", rf"\bsoy {_NOW}(?:un |una )?{_VALUE}", several=True),
    Attribute.of("employer", rf"\btrabajo (?:(?:de|como) [^.;,]+? )?{_NOW}(?:en|para) (?:el |la |los |las )?{_VALUE}", several=True),
    Attribute.of("field", rf"\btrabajo {_NOW}en (?:el |la |los |las )?{_VALUE}", several=True),
    Attribute.of("name", rf"\bmi nombre es (?P<value>[^.;,!?]+?){_END}"),
    Attribute.of("name", rf"\bme llamo (?P<value>[^.;,!?]+?){_END}"),
    Attribute.of("age", rf"\btengo {_NUMBER} años(?! de experiencia)"),
    Attribute.of("called", rf"\bmis? (?P<key>\w+) se llaman? (?P<value>[^.;,!?]+?){_END}"),
    Attribute.of("experience", rf"\btengo {_NUMBER} años de experiencia(?: (?:en|como|con) (?P<key>[^.;,!?]+?))?{_END}"),
    Attribute.of("nationality", r"\bmi nacionalidad es (?P<value>\w+)", several=True),
    Attribute.of("favourite", r"\bmis? (?P<key>\w+) (?:favorit|preferid)[oa]s? (?:es|son|era) (?P<value>[^.;!?]+?)(?=[.;!?]|$)"),
    Attribute.of("own", r"\bmis? (?P<key>profesión|trabajo|oficio|edad|cumpleaños|apellido|apodo|religión|lengua materna|idioma materno|signo|dirección|estatura|altura|ciudad natal|rol|título) (?:es|son) (?P<value>[^.;!?]+?)(?=[.;!?]|$)"),
    Attribute.of("spouse", r"\b(?:estoy|soy) casad[oa] con (?P<value>[A-ZÁÉÍÓÚÑ]\w+)"),
    Attribute.of("number", rf"\btengo {_NUMBER} (?P<key>(?!años)\w+)"),
)  # fmt: skip

_FIELDS = {
    "tech": "tecnología informática software ingeniería",
    "health": "salud medicina sanidad hospitales",
    "education": "educación enseñanza docencia",
    "finance": "finanzas banca contabilidad seguros",
    "law": "derecho justicia",
    "food": "gastronomía hostelería restauración cocina",
    "media": "medios periodismo prensa",
    "science": "ciencia investigación",
    "art": "arte diseño",
    "retail": "comercio ventas",
    "building": "construcción arquitectura",
    "transport": "transporte logística",
}
_PROFESSIONS = {
    "tech": "ingeniero ingeniera programador programadora desarrollador desarrolladora informático informática",
    "health": "médico médica doctor doctora enfermero enfermera cirujano cirujana dentista farmacéutico farmacéutica veterinario"
    " veterinaria psicólogo psicóloga pediatra cardiólogo cardióloga",
    "education": "profesor profesora maestro maestra bibliotecario bibliotecaria",
    "finance": "contador contadora contable banquero banquera economista",
    "law": "abogado abogada juez jueza notario notaria",
    "food": "cocinero cocinera chef panadero panadera camarero camarera carnicero carnicera",
    "media": "periodista reportero reportera editor editora",
    "science": "científico científica biólogo bióloga químico física investigador investigadora",
    "art": "pintor pintora artista fotógrafo fotógrafa diseñador diseñadora actor actriz",
    "music": "músico música pianista guitarrista cantante violinista",
    "farming": "agricultor agricultora granjero granjera jardinero jardinera",
    "retail": "vendedor vendedora dependiente dependienta cajero cajera",
    "building": "carpintero carpintera fontanero electricista albañil arquitecto arquitecta",
    "transport": "piloto conductor conductora capitán capitana taxista",
    "state": "político política policía soldado bombero bombera alcalde alcaldesa",
    "": "traductor traductora escritor escritora poeta peluquero peluquera mecánico mecánica secretario secretaria estudiante pirata"
    " gerente empresario empresaria consultor consultora",
}
_KINDS = {
    "médico": "cirujano pediatra cardiólogo", "médica": "cirujana pediatra cardióloga", "músico": "pianista guitarrista cantante violinista",
    "artista": "pintor pintora músico", "escritor": "poeta", "escritora": "poeta", "científico": "biólogo químico investigador",
    "científica": "bióloga investigadora", "ingeniero": "programador desarrollador", "ingeniera": "programadora desarrolladora",
    "mascota": "perro gato loro conejo", "instrumento": "piano guitarra violín", "deporte": "fútbol tenis natación baloncesto",
    "españa": "madrid barcelona sevilla valencia bilbao granada", "perú": "lima cusco arequipa", "méxico": "guadalajara monterrey puebla",
    "argentina": "rosario córdoba mendoza", "chile": "santiago valparaíso", "europa": "españa francia italia alemania portugal",
}  # fmt: skip
_ALTERNATIVES = (
    "soltero casado divorciado viudo comprometido", "soltera casada divorciada viuda comprometida", "vegano vegetariano",
    "vegana vegetariana", "zurdo diestro", "zurda diestra", "jubilado desempleado", "jubilada desempleada", "introvertido extrovertido",
    "introvertida extrovertida", "optimista pesimista", "paciente impaciente", "formal informal", "tímido extrovertido",
    "tímida extrovertida", "honesto deshonesto", "honesta deshonesta", "serio divertido", "seria divertida", "hombre mujer", "alto bajo", "alta baja",
    "español francés alemán italiano portugués mexicano argentino chileno peruano colombiano cubano inglés estadounidense",
    "española francesa alemana italiana portuguesa mexicana argentina chilena peruana colombiana cubana inglesa estadounidense",
)  # fmt: skip
_VERBS = (
    r"(?:soy|estoy|tengo|tenía|vivo|vivía|trabajo|trabajé|amo|odio|hablo|estudio|estudié|enseño|nací|crecí|me|quiero|puedo|sé|conozco|escribo"
    r"|leo|cocino|pinto|canto|bailo|nado|viajo|colecciono|creo|pienso|espero|necesito|prefiero|valoro|ayudo|dirijo|bebo|como|toco|juego|hago"
    r"|practico|disfruto|detesto|adoro|uso|cuido|llevo|fui|no)"
)


DESCRIPTIONS = DescriptionWords(
    attributes=_ATTRIBUTES,
    professions=by_word(_PROFESSIONS),
    fields=by_word(_FIELDS),
    kinds=by_word(_KINDS),
    alternatives=tuple(frozenset(group.split()) for group in _ALTERNATIVES),
    being=re.compile(r"\b(?:soy|estoy)\b", _ANY),
    preferred=re.compile(
        r"\b(?:valoro|prefiero|antepongo) (?P<first>[^.;,!?]+?) (?:sobre|a|antes que|más que|por encima de) (?P<second>[^.;,!?]+)",
        _ANY,
    ),
    joint=re.compile(
        rf"(?:,? (?:y|e|pero)|;|,) (?:(?=(?P<own>yo\b|mis? (?:\w+ ){{1,3}}(?:es|son|era|tiene|vive)\b))|(?={_VERBS} \w))", _ANY
    ),
    subject="",
    speaker=re.compile(rf"^(?:(?:yo|no|ya|aún|todavía|actualmente|antes|también|además|nunca|siempre|ahora|en \w+,?|a mí|como [^,.;]+,|desde [^,.;]+,) )*(?:{_VERBS}|(?!yo\b|como\b|cuando\b)\w{{2,}}(?:o|oy|é|í))\b", _ANY),
    liked=re.compile(r"\b(?:amo|adoro|disfruto(?: de)?|me (?:gusta|gustan|encanta|encantan)|prefiero|valoro)\b", _ANY),
    disliked=re.compile(r"\b(?:odio|detesto|aborrezco|evito)\b", _ANY),
    negation=re.compile(r"\b(?:no|nunca|jamás|ni|sin|ningun[oa]?|ningún|tampoco)\b", _ANY),
    past=re.compile(r"\b(?:era|fui|tenía|vivía|trabajaba|trabajé|viví|estudié|estuve|\w+aba)\b", _ANY),
    former=re.compile(r"\b(?:ya no|antes|anteriormente)\b", _ANY),
    besides=re.compile(r"\b(?:también|además|asimismo)\b", _ANY),
)  # fmt: skip

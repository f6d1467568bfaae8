"""Spanish: verbs that people use about themselves, and rewriting a text in the first person."""

from __future__ import annotations

import re
from functools import cache

from hindsight_integrations.language.person import cased

_ANY = re.IGNORECASE

# verbs that people use about themselves, by infinitive ending; others may also be nouns
_AR = """
    fumar caminar cultivar montar participar apoyar redactar editar cenar pescar cazar reparar vigilar guiar
    trabajar hablar enseñar estudiar amar odiar valorar tocar cantar bailar cocinar viajar llamar ayudar
    escuchar dibujar pintar diseñar programar desarrollar investigar usar evitar aceptar adorar admirar
    cuidar coleccionar nadar entrenar practicar gobernar ganar comprar crear fabricar fundar liderar manejar
    llevar llegar pasar dejar quedar necesitar intentar esperar buscar mirar respetar explicar contestar
    preparar analizar organizar gestionar navegar asesorar terminar graduar mudar casar criar especializar
    dedicar considerar interesar apasionar
"""
_ER = """
    comer beber leer correr aprender vender comprender creer responder temer defender emprender
"""
_IR = """
    vivir escribir compartir recibir decidir dirigir existir asistir cumplir subir
"""
# first, second and third person present; and first person preterite, empty if regular
_IRREGULAR = """
    soy eres es|estoy estás está|tengo tienes tiene|hago haces hace|voy vas va|puedo puedes puede|quiero quieres quiere
    digo dices dice|sé sabes sabe|vengo vienes viene|he has ha|prefiero prefieres prefiere|pienso piensas piensa
    juego juegas juega|nazco naces nace|conozco conoces conoce|crezco creces crece|salgo sales sale|pongo pones pone
    veo ves ve|doy das da|sigo sigues sigue|duermo duermes duerme|entiendo entiendes entiende|cuento cuentas cuenta
    mido mides mide|ofrezco ofreces ofrece|conduzco conduces conduce|traduzco traduces traduce|construyo construyes construye
    pertenezco perteneces pertenece|dirijo diriges dirige|debo debes debe|suelo sueles suele|siento sientes siente
    fui fuiste fue|estuve estuviste estuvo|tuve tuviste tuvo|hice hiciste hizo|pude pudiste pudo|quise quisiste quiso
    dije dijiste dijo|vine viniste vino|nací naciste nació|crecí creciste creció|conocí conociste conoció|era eras era
    tenía tenías tenía|hacía hacías hacía|había habías había|iba ibas iba|podía podías podía|quería querías quería
    gané ganaste ganó|jugué jugaste jugó|seré serás será|tendré tendrás tendrá|obtuve obtuviste obtuvo|aprendí aprendiste aprendió
""".replace("\n", "|")


def _forms() -> list[tuple[str, str, str]]:
    """Return (first, second, third person) of each verb, in every tense used in descriptions."""
    found = [tuple(entry.split()) for entry in _IRREGULAR.split("|") if entry.strip()]
    rows = [(row[0], row[1], row[2]) for row in found]
    for verb in _AR.split():
        stem, soft = verb[:-2], verb[:-2]
        soft = re.sub("g$", "gu", re.sub("z$", "c", re.sub("c$", "qu", soft)))
        rows += [(stem + "o", stem + "as", stem + "a"), (soft + "é", stem + "aste", stem + "ó")]
        rows.append((stem + "aba", stem + "abas", stem + "aba"))
    for verb in (*_ER.split(), *_IR.split()):
        stem = verb[:-2]
        rows += [(stem + "o", stem + "es", stem + "e"), (stem + "í", stem + "iste", stem + "ió")]
        rows.append((stem + "ía", stem + "ías", stem + "ía"))
    return rows


_FORMS = _forms()
_NOUNS = """
    trabajo uso cuento juego siento canto dibujo practico creo usos cantas casas ganas llevas pasas pintas
    usas entrenas ves das vas ve da va era es
"""
_OF_SECOND = {second: first for first, second, _ in _FORMS}
_OF_THIRD = {third: first for first, _, third in reversed(_FORMS)}


def _words(forms: list[str]) -> str:
    return "|".join(sorted(set(forms), key=lambda form: (-len(form), form)))


_FIRST_VERBS = _words(
    [first for first, second, third in _FORMS if first != third and first not in _NOUNS.split()]
)
_SECOND_VERBS = _words([second for _, second, _ in _FORMS if second not in _NOUNS.split()])
_BEGINNING_VERBS = _words([second for _, second, _ in _FORMS])
PARTS = {"first_verbs": _FIRST_VERBS, "second_verbs": _SECOND_VERBS}


_PRONOUNS = {
    "tú": "yo", "tu": "mi", "tus": "mis", "ti": "mí", "te": "me", "contigo": "conmigo", "tuyo": "mío", "tuya": "mía",
    "tuyos": "míos", "tuyas": "mías",
}  # fmt: skip
_TO_TU = re.compile(rf"(?<!\w)(?:{'|'.join(_PRONOUNS)})(?!\w)", _ANY)
_USTED = re.compile(r"(?<!\w)usted(?!\w)", _ANY)
_VERB_OF_USTED = re.compile(
    r"(?P<pronoun>(?<!\w)usted (?:no |se |también |siempre |ya |le |nunca )*)(?P<verb>[^\W\d_]+)"
    r"|(?P<joint>(?<!\w)(?:y|o|e|pero) (?:no |se |también |siempre )*)(?P<joined>[^\W\d_]+)(?= \w)",
    _ANY,
)


@cache  # compiled on first use, because it is large and only used for backgrounds
def _verb_of_tu() -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?:{_SECOND_VERBS})(?!\w)"
        rf"|(?:(?<=^)|(?<=[.!?;,] )|(?<=\by )|(?<=\bo )|(?<=\btú )|(?<=\bte )|(?<=\bno )|(?<=\bque ))(?:{_BEGINNING_VERBS})(?= \w)",
        _ANY,
    )


def from_second(text: str) -> str:
    """Rewrite Spanish from the second person (tú or usted) to the first."""
    text = _verb_of_tu().sub(lambda match: cased(_OF_SECOND[match[0].casefold()], match[0]), text)
    text = _TO_TU.sub(lambda match: cased(_PRONOUNS[match[0].casefold()], match[0]), text)
    if not _USTED.search(text):
        return text
    return "".join(_from_usted(piece) for piece in re.split(r"(?<=[.!?])(\s+)", text))


def _verb_of_yo(verb: str) -> str:
    return cased(_OF_THIRD.get(verb.casefold(), verb), verb)


def _from_usted(sentence: str) -> str:
    """Rewrite a sentence with "usted": its verb, verbs joined to it, and possessives."""
    if not _USTED.search(sentence):
        return re.sub(r"^Su(s?)(?= \w)", r"Mi\1", sentence)

    def verb(match: re.Match[str]) -> str:
        if match["joined"]:
            return re.sub(r"\bse\b", "me", match["joint"]) + _verb_of_yo(match["joined"])
        before = re.sub(r"\bse\b", "me", re.sub(r"\busted\b", "yo", match["pronoun"], flags=_ANY))
        return cased(before, match["pronoun"]) + _verb_of_yo(match["verb"])

    sentence = _VERB_OF_USTED.sub(verb, sentence)
    sentence = re.sub(
        r"(?<!\w)(?:a|con|de|para) usted(?!\w)", lambda m: m[0].replace("usted", "mí"), sentence, flags=_ANY
    )
    sentence = re.sub(r"(?<!\w)con mí(?!\w)", "conmigo", sentence)
    sentence = _USTED.sub(lambda match: cased("yo", match[0]), sentence)
    return re.sub(r"(?<!\w)su(s?)(?= \w)", r"mi\1", re.sub(r"(?<!\w)Su(s?)(?= \w)", r"Mi\1", sentence))

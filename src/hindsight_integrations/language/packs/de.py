"""German: rewriting a text in the first person."""

from __future__ import annotations

import re

from hindsight_integrations.language.person import cased

_ANY = re.IGNORECASE

# second-person verbs whose first person is not the stem plus "e"
_VERBS = {
    "bist": "bin", "warst": "war", "wärst": "wäre", "wärest": "wäre", "hast": "habe", "hattest": "hatte", "hättest": "hätte",
    "wirst": "werde", "wurdest": "wurde", "würdest": "würde", "kannst": "kann", "konntest": "konnte", "könntest": "könnte",
    "magst": "mag", "mochtest": "mochte", "möchtest": "möchte", "willst": "will", "wolltest": "wollte", "musst": "muss",
    "musstest": "musste", "sollst": "soll", "solltest": "sollte", "darfst": "darf", "durftest": "durfte", "weißt": "weiß",
    "wusstest": "wusste", "sprichst": "spreche", "liest": "lese", "isst": "esse", "siehst": "sehe", "fährst": "fahre",
    "läufst": "laufe", "schläfst": "schlafe", "trägst": "trage", "hältst": "halte", "hilfst": "helfe", "triffst": "treffe",
    "nimmst": "nehme", "gibst": "gebe", "vergisst": "vergesse", "wächst": "wachse", "heißt": "heiße", "reist": "reise",
    "tanzt": "tanze", "schätzt": "schätze", "besitzt": "besitze", "sitzt": "sitze", "nutzt": "nutze", "benutzt": "benutze",
    "setzt": "setze", "unterstützt": "unterstütze", "lässt": "lasse", "hasst": "hasse", "passt": "passe", "beweist": "beweise",
    "verlässt": "verlasse", "empfiehlst": "empfehle", "brichst": "breche", "wirkst": "wirke", "berätst": "berate",
    "lädst": "lade", "stirbst": "sterbe", "wirbst": "werbe", "sammelst": "sammle", "kletterst": "klettere", "wanderst": "wandere",
    "segelst": "segle", "verwechselst": "verwechsle", "wechselst": "wechsle", "handelst": "handle", "bastelst": "bastle",
    "entwickelst": "entwickle", "gingst": "ging", "kamst": "kam", "sahst": "sah", "fandst": "fand", "nahmst": "nahm",
    "gabst": "gab", "lasest": "las", "schriebst": "schrieb", "bliebst": "blieb", "fuhrst": "fuhr", "liefst": "lief",
    "hieltst": "hielt", "hießt": "hieß", "tatest": "tat", "tust": "tue", "wuchst": "wuchs", "zogst": "zog", "trafst": "traf",
    "verließt": "verließ", "ließt": "ließ", "saßt": "saß", "vergaßt": "vergaß", "begannst": "begann", "gewannst": "gewann", "sprachst": "sprach", "halfst": "half", "trugst": "trug",
    "verlorst": "verlor", "standst": "stand", "bekamst": "bekam", "erhieltst": "erhielt", "aßt": "aß", "sangst": "sang",
}  # fmt: skip
# words in -st that are not second-person verbs
_OTHER_WORDS = """
    erst zuerst sonst fast fest meist einst selbst längst höchst ernst bewusst ist äußerst jüngst umsonst
    zumeist möglichst best wüst barst robust angst just unbewusst gewusst gemusst gepasst verfasst gefasst
    getrost nebst
"""
_NO_VERB = frozenset(_OTHER_WORDS.split())
_FORMAL_VERBS = {
    "sind": "bin", "waren": "war", "wären": "wäre", "haben": "habe", "hatten": "hatte", "hätten": "hätte", "werden": "werde",
    "wurden": "wurde", "würden": "würde", "können": "kann", "konnten": "konnte", "könnten": "könnte", "mögen": "mag",
    "mochten": "mochte", "möchten": "möchte", "wollen": "will", "wollten": "wollte", "müssen": "muss", "mussten": "musste",
    "sollen": "soll", "sollten": "sollte", "dürfen": "darf", "durften": "durfte", "wissen": "weiß", "wussten": "wusste",
    "sammeln": "sammle", "entwickeln": "entwickle", "handeln": "handle", "segeln": "segle", "klettern": "klettere",
    "wandern": "wandere", "gingen": "ging", "kamen": "kam", "wuchsen": "wuchs", "zogen": "zog", "schrieben": "schrieb",
    "blieben": "blieb", "fuhren": "fuhr", "hießen": "hieß", "gewannen": "gewann", "begannen": "begann", "studierten": "studierte",
}  # fmt: skip

_PRONOUNS = {"du": "ich", "dich": "mich", "dir": "mir"}
_SPOKEN_TO = re.compile(r"(?<!\w)(?:du|dich|dir|dein(?:e[mnrs]?)?)(?!\w)", _ANY)
_TO_DU = re.compile(r"(?<!\w)du(?!\w)", _ANY)
_VERB_OF_DU = re.compile(r"(?<!\w)[^\W\d_]*(?:st|[sßzx]t)(?!\w)", _ANY)
# "begrüßt" is a second-person verb only next to "du"; it may be a participle
_BESIDE_DU = re.compile(r"(?<=\bdu )[^\W\d_]*ßt(?!\w)|(?<!\w)[^\W\d_]*ßt(?= du\b)", _ANY)
_FORMAL = re.compile(r"(?<!\w)(?P<pronoun>Sie|Ihnen|Ihr)(?P<ending>e[mnrs]?)?(?!\w)")
_ADVERB = r"(?:auch|immer|noch|nun|jetzt|nicht|nie|oft|meist|derzeit|manchmal|wirklich|gern|gerne|früher|heute|seit \w+|außerdem)"
_FORMAL_VERB = re.compile(
    rf"(?<!\w)Sie (?P<after>[^\W\d_]+e?n|sind)(?!\w)|(?<!\w)(?P<before>[^\W\d_]+e?n|sind|Sind) Sie(?!\w)"
    rf"|(?P<joint>(?<!\w)(?:und|oder|aber) (?:{_ADVERB} )?)(?P<joined>[a-zäöüß]+en|sind)(?= \w)"
    r"|(?P<clause>(?<!\w)(?:dass|weil|wenn|da|obwohl|als|wo|seit) Sie [^.,;!?]*? )(?P<last>[a-zäöüß]+en|sind)(?=[.,;!?]|$)"
)
_FOR = re.compile(r"(?<!\w)(für|ohne|durch|gegen|um|an|auf|über) Sie(?!\w)", _ANY)


def _own(pronoun: str) -> str:
    """Rewrite a second-person pronoun or possessive in the first person."""
    low = pronoun.lower()
    return cased(_PRONOUNS.get(low, low.replace("dein", "mein", 1)), pronoun)


def _of_ich(verb: str) -> str:
    """Rewrite a second-person verb in the first person; other words are unchanged."""
    low = verb.lower()
    if low in _VERBS:
        return cased(_VERBS[low], verb)
    if low in _NO_VERB or not low.endswith("st") or len(low) < 5:
        return verb
    stem = verb[:-2]
    return stem if stem.endswith("te") else stem.removesuffix("e") + "e"


def _of_du(match: re.Match[str]) -> str:
    """Rewrite a verb in -ßt in the first person; the match includes the "du" next to it."""
    verb = match[0]
    return _of_ich(verb) if verb.lower() in _VERBS else f"{verb[:-1]}e"


def from_second(text: str) -> str:
    """Rewrite German from the second person (du or Sie) to the first."""
    text = "".join(_sentence_from_second(piece) for piece in re.split(r"(?<=[.!?])(\s+)", text))
    return _from_formal(text)


def _sentence_from_second(sentence: str) -> str:
    """Rewrite a sentence with "du"; its verbs are the words in -st, an ending that few other words have."""
    if not _SPOKEN_TO.search(sentence):
        return sentence
    if _TO_DU.search(sentence):
        capitals_are_verbs = re.match(r"\W*[A-ZÄÖÜ][^\W\d_]*(?:st|[sßzx]t) du\b", sentence) is not None

        def verb(match: re.Match[str]) -> str:
            noun = match[0][:1].isupper() and not (capitals_are_verbs and match.start() < 3)
            return match[0] if noun else _of_ich(match[0])

        sentence = _VERB_OF_DU.sub(verb, _BESIDE_DU.sub(_of_du, sentence))
    return _SPOKEN_TO.sub(lambda match: _own(match[0]), sentence)


def _from_formal(text: str) -> str:
    """Rewrite a text with "Sie", unless its verbs show that "Sie" means a woman."""
    if not _FORMAL.search(text) or re.search(r"(?:^|[.!?] )Sie (?:ist|hat|war|wurde|wird|kann|\w+t)\b", text):
        return text
    text = _FOR.sub(r"\1 mich", text)

    def verb(match: re.Match[str]) -> str:
        if match["after"]:
            return f"Sie {_formal_verb(match['after'])}"
        if match["before"]:
            return f"{_formal_verb(match['before'])} Sie"
        if match["joined"]:
            return f"{match['joint']}{_formal_verb(match['joined'])}"
        clause = re.sub(r"Sie (\w+en|sind)(?!\w)", r"Sie \1", match["clause"])
        return f"{clause}{_formal_verb(match['last'])}"

    if re.search(r"(?<!\w)Sie(?!\w)", text):
        text = _FORMAL_VERB.sub(verb, text)

    def pronoun(match: re.Match[str]) -> str:
        begins = re.search(r"(?:^|[.!?]\s)$", text[: match.start()][-2:]) is not None
        own = {"Sie": "ich", "Ihnen": "mir", "Ihr": "mein"}[match["pronoun"]] + (match["ending"] or "")
        return own[0].upper() + own[1:] if begins else own

    return _FORMAL.sub(pronoun, text)


def _formal_verb(verb: str) -> str:
    low = verb.lower()
    if low in _FORMAL_VERBS:
        return cased(_FORMAL_VERBS[low], verb)
    return verb[:-2] + "e" if low.endswith("en") else verb

"""English: rewriting a text in the first person."""

from __future__ import annotations

import re
from collections.abc import Callable

from hindsight_integrations.language.person import cased

_ANY = re.IGNORECASE
_APOSTROPHE = "['\u2019]"
_AUXILIARY = (
    r"(?:are|were|have|had|do|did|will|would|can|could|may|might|must|shall|should|ought|need|aren't|weren't|haven't|hadn't"
    r"|don't|didn't|won't|wouldn't|can't|cannot|couldn't|mustn't|shouldn't)"
)
_ADVERB = (
    r"(?:(?:also|always|still|now|not|never|often|usually|currently|sometimes|really|just|only|once|previously|both|all|even|then"
    r"|already|no longer|\w+ly)[ ]+)"
)
_PREPOSITION = "to|for|with|without|of|from|by|about|at|on|in|like|than|around|near|behind|between|among|toward|towards|against|upon|beside"
_TRANSITIVE = (
    r"call(?:s|ed)?|nam(?:e|es|ed)|ma(?:ke|kes|de)|help(?:s|ed)?|love(?:s|d)?|tell(?:s)?|told|ask(?:s|ed)?|g(?:ive|ives|ave)"
    r"|teach(?:es)?|taught|know(?:s)?|knew|sees?|saw|trust(?:s|ed)?|hire(?:s|d)?|raise(?:s|d)?|buil(?:d|ds|t)|create(?:s|d)?"
    r"|program(?:s|med)?|train(?:s|ed)?|design(?:s|ed)?|sen(?:d|ds|t)|lets?|consider(?:s|ed)?|br(?:ing|ings|ought)|keeps?|kept"
    r"|interest(?:s|ed)?|fascinate(?:s|d)?|inspire(?:s|d)?|drive(?:s)?|drove|want(?:s|ed)?|expect(?:s|ed)?|allow(?:s|ed)?"
    r"|annoy(?:s|ed)?|bore(?:s|d)?|support(?:s|ed)?|employ(?:s|ed)?|admire(?:s|d)?|influence(?:s|d)?|describe(?:s|d)?|shape(?:s|d)?"
)

_SECOND = re.compile(r"(?<!\w)(?:you|your|yours|yourself|yourselves|you['\u2019](?:re|ve|d|ll))(?!\w)", _ANY)


_NOT = {"am": " not", "was": "n't"}


def _to_i(match: re.Match[str]) -> str:
    """Rewrite "you" and its auxiliary: "you also are" becomes "I also am"."""
    verb = match["verb"].casefold().replace("\u2019", "'")
    own = {"are": "am", "were": "was", "aren't": "am not", "weren't": "wasn't"}.get(verb, match["verb"])
    own = own.upper() if len(verb) > 1 and match["verb"].isupper() else own
    return f"I {match['adverb'] or ''}{own}"


def _inverted(match: re.Match[str]) -> str:
    verb = match["verb"]
    own = {"are": "am", "were": "was"}[verb.casefold()]
    return f"{cased(own, verb)} I"


_STEPS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(rf"\bI (?:want|need|would like|{_APOSTROPHE}d like) you to be\b", _ANY), "I am"),
    (re.compile(rf"\byou{_APOSTROPHE}re\b", _ANY), "I'm"),
    (re.compile(rf"\byou({_APOSTROPHE}(?:ve|d|ll))\b", _ANY), r"I\1"),
    (
        re.compile(
            rf"\byou (?P<adverb>{_ADVERB}*)(?P<verb>{_AUXILIARY})\b".replace("n't", f"n{_APOSTROPHE}t"), _ANY
        ),
        _to_i,
    ),
    (re.compile(r"(?<!\bwho )(?<!\bthat )\b(?P<verb>are|were) you\b(?=[ ,.?!])", _ANY), _inverted),
    (re.compile(rf"\b({_PREPOSITION}) you\b", _ANY), r"\1 me"),
    (re.compile(rf"\b({_TRANSITIVE}) you\b(?! (?:{_TRANSITIVE})\b)", _ANY), r"\1 me"),
    (re.compile(r"(?<=[\w,] )(?<!\band )(?<!\bor )you(?=\s*(?:[.;:!?)]|$))", _ANY), "me"),
    (re.compile(r"\byou\b", _ANY), "I"),
    (re.compile(r"\byoursel(?:f|ves)\b", _ANY), lambda match: cased("myself", match[0])),
    (re.compile(r"\byours\b", _ANY), lambda match: cased("mine", match[0])),
    (re.compile(r"\byour\b", _ANY), lambda match: cased("my", match[0])),
)
_SUBJECT_OR_VERB = re.compile(
    r"\b(?P<subject>I|he|she|it|they|we|who|which|that|these|those|there|what)\b(?:['\u2019]\w+)?|(?P<end>[.!?;:]\s)"
    rf"|(?P<joint>(?:\b(?:and|but|or|nor|yet|then)|,) {_ADVERB}*)(?P<verb>are|were)(?P<no>n['\u2019]t)?\b",
    _ANY,
)


def _agreeing(text: str) -> str:
    """Make verbs joined by a conjunction agree with "I": "I was born there and are" becomes "... and am"."""
    mine = False

    def agree(match: re.Match[str]) -> str:
        nonlocal mine
        if match["verb"]:
            own = {"are": "am", "were": "was"}[match["verb"].casefold()]
            return f"{match['joint']}{own}{_NOT[own] if match['no'] else ''}" if mine else match[0]
        mine = match["subject"] == "I"
        return match[0]

    return _SUBJECT_OR_VERB.sub(agree, text)


def from_second(text: str) -> str:
    """Rewrite English from the second to the first person."""
    if not _SECOND.search(text):
        return text
    for pattern, replacement in _STEPS:
        text = pattern.sub(replacement, text)
    return _agreeing(text)

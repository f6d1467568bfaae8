"""Entity names: how they are normalised and when two of them may be one (paper eq. 2). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from hindsight_integrations.model.entities import EntityType
from hindsight_integrations.text.language import Language

USER_NAMES = frozenset({"user", "the user", "human", "me", "i", "myself"})
AGENT_NAMES = frozenset({"assistant", "the assistant", "ai", "ai assistant", "agent", "the agent", "bot"})

LONGEST_NAME = 4  # words of an entity name looked for in a text
ONE_EDIT_LETTERS = 5  # shortest name in which one edit is forgiven; set by hand

_WORD = re.compile(r"[\w.&'\u2019-]+")
_POSSESSIVE = re.compile(r"['\u2019]s$")
_DIGITS = re.compile(r"\d+")
_VAGUE = frozenset({EntityType.OTHER, EntityType.CONCEPT, EntityType.PRODUCT})


def compatible(first: EntityType, second: EntityType) -> bool:
    """Whether two mentions may be one entity by type: equal, or both of the types models mix up, or one unknown.

    Apple the company and apple the fruit stay apart: ORGANIZATION goes with neither PRODUCT nor CONCEPT.
    """
    return first == second or EntityType.OTHER in (first, second) or {first, second} <= _VAGUE


def same_numbers(first: str, second: str) -> bool:
    """Whether both names carry the same numbers: Room 101 is not Room 102, UA123 not UA124."""
    return sorted(_DIGITS.findall(first)) == sorted(_DIGITS.findall(second))


def one_edit_apart(first: str, second: str) -> bool:
    """One letter changed, added, dropped in five or more, with the same first letter."""
    short, long = sorted((first, second), key=len)
    if len(short) < ONE_EDIT_LETTERS or short[:1] != long[:1]:
        return False
    return Levenshtein.distance(short, long, score_cutoff=1) <= 1


def contains_name(first: str, second: str) -> bool:
    """Whether one person's name is the other's shorter form: Alice / Alice Chen / Alice C.

    Token by token from the given name on; an initial stands for a token it begins. A possessive inside ("Melanie's
    kids") names somebody else.
    """
    short, long = sorted((first.split(), second.split()), key=len)
    if not short or any(_POSSESSIVE.search(token) for token in (*short, *long)):
        return False
    return all(_token_fits(a, b) for a, b in zip(short, long, strict=False))


def _token_fits(first: str, second: str) -> bool:
    if first == second:
        return True
    short, long = sorted((first.rstrip("."), second.rstrip(".")), key=len)
    return len(short) == 1 and long.startswith(short)


def name_similarity(first: str, second: str) -> float:
    """sim_str of paper eq. 2: normalised Levenshtein similarity in [0, 1]; 1 for a shorter form of the same name."""
    return 1.0 if contains_name(first, second) else Levenshtein.normalized_similarity(first, second)


def possible_names(text: str, languages: Sequence[Language]) -> list[str]:
    """Word sequences of a text that might name an entity, each once; of an owner ("Annas") the name as well.

    Args:
        text: searched.
        languages: it may be in.
    """
    words = [word.strip(".'\u2019-") for word in _WORD.findall(text)]
    spans = [
        " ".join(words[i : i + n]) for n in range(1, LONGEST_NAME + 1) for i in range(len(words) - n + 1)
    ]
    owners = [language.names.possessive.sub("", span) for language in languages for span in spans]
    return [name for name in dict.fromkeys([*spans, *owners]) if name.strip()]

"""Comparison of entity names, shared by resolution, recall and the ledger."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_POSSESSIVE = re.compile(r"['\u2019]s$")
_LOWER = re.compile(r"\b[^\W\d_A-Z\u00c0-\u00de][\w]*")  # words that do not begin with a capital letter
_EDGES = re.compile(r"^\W+|[^\w.]+$")


def normalise_name(text: str) -> str:
    """Normalise a name for comparison: NFKC, case-folded, single-spaced, without outer punctuation or 's."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _POSSESSIVE.sub("", _EDGES.sub("", folded))


ALSO_WORDS = frozenset(
    [
        "april", "art", "august", "autumn", "bill", "bob", "bud", "chance", "chase", "christian", "clay", "dale",
        "dawn", "dean", "destiny", "drew", "duke", "earl", "eve", "faith", "frank", "gene", "grace", "grant", "guy",
        "harmony", "heath", "hope", "hunter", "ivy", "jack", "jade", "jean", "john", "josh", "joy", "june", "lance",
        "lane", "lily", "mark", "mason", "max", "may", "melody", "mike", "miles", "nick", "norm", "olive", "page",
        "pat", "patience", "pearl", "penny", "pierce", "rain", "ray", "reed", "rich", "rob", "robin", "rose", "ruby",
        "rusty", "sandy", "skip", "sky", "stone", "storm", "sue", "summer", "sunny", "tad", "tucker", "violet",
        "wade", "ward", "will", "woody", "young",
    ]
)  # fmt: skip
"""First names that are also common words. In lower case they do not count as names."""


def names_any(text: str, names: Iterable[str]) -> bool:
    """Return whether a text contains a normalised name as whole words; names in `ALSO_WORDS` must be capitalised."""
    spaced = " ".join(unicodedata.normalize("NFKC", text).split())
    folded = spaced.casefold()
    lower = _LOWER.sub(lambda match: "_" * len(match[0]), spaced).casefold()
    return any(stands_in(name, lower if name in ALSO_WORDS else folded) for name in names if name)


def stands_in(name: str, text: str) -> bool:
    """Return whether a text contains a name as whole words; both must be normalised in the same way."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(name, at + 1)
    return False


# Name lengths for which an edit distance of one is supported; longer names would need too many keys.
_EDITABLE = range(5, 41)


def blocking_keys(name: str) -> frozenset[str]:
    """Return the blocking keys of a normalised name: its tokens, the name, and the name without each one of its letters.

    Two names with an edit distance of one share a key, since removing one letter from one or both makes them equal.
    Trigrams find the same pairs, but among hundreds of others: with 100,000 facts, that search took two thirds of the
    time of a retain.
    """
    shortened = {name[:at] + name[at + 1 :] for at in range(len(name))} if len(name) in _EDITABLE else set()
    return frozenset(name.split()) | {f"\x01{key}" for key in (name, *shortened)}

"""How names of entities are compared: the one rule that resolution, recall and every ledger keep."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_POSSESSIVE = re.compile(r"['\u2019]s$")
_EDGES = re.compile(r"^\W+|[^\w.]+$")


def normalise_name(text: str) -> str:
    """A name as it is compared: compatibility-normalised, case-folded, single-spaced, no outer punctuation or 's."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _POSSESSIVE.sub("", _EDGES.sub("", folded))


def names_any(text: str, names: Iterable[str]) -> bool:
    """Whether one of the normalised names stands in a text as whole words."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return any(_stands_in(name, folded) for name in names if name)


def _stands_in(name: str, text: str) -> bool:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(name, at + 1)
    return False

"""How names of entities are compared: the one rule that resolution, recall and every ledger keep."""

from __future__ import annotations

import re
import unicodedata

_POSSESSIVE = re.compile(r"['\u2019]s$")
_EDGES = re.compile(r"^\W+|[^\w.]+$")


def normalise_name(text: str) -> str:
    """A name as it is compared: compatibility-normalised, case-folded, single-spaced, no outer punctuation or 's."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return _POSSESSIVE.sub("", _EDGES.sub("", folded))

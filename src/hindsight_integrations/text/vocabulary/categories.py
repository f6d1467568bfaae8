"""Categories of records: which spellings name one category. Pure.

Two spellings are one where what is left of them is the same: the specific part of a qualified form ("food (coffee)"), without
words that only say how it is recorded ("daily steps", "coffee purchase"), singular and plural alike. That is an equality, so
which of them comes first decides how the category is called and nothing else. What is left over otherwise ("coffee beans",
"lunch meeting") makes another category: a wrong merge makes a wrong sum.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from hindsight_integrations.model.records import KIND_WORDS, RecordKind, singular_key
from hindsight_integrations.text.vocabulary.currencies import currency_of
from hindsight_integrations.text.vocabulary.physical_units import physical_symbol

_BRACKETS = re.compile(r"(?P<general>[^()\[\]]+?)\s*[(\[](?P<specific>[^()\[\]]+)[)\]]")
_COLON_OR_DASH = re.compile(
    r"(?P<general>[^:>]+?)(?::\s+|\s+[-\u2013\u2014>\u203a\u2192]\s+)(?P<specific>.+)"
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019.&+][^\W_]+)*[+#]*")
_PREPOSITIONS = frozenset(
    {"with", "without", "for", "at", "by", "on", "in", "to", "from", "not", "no", "except", "via"}
)
_MOST_SPECIFIC = 4  # words; what is longer explains and does not name

_HOW_RECORDED = frozenset(
    {"a", "an", "count", "daily", "log", "my", "number", "of", "tally", "the", "tracker", "tracking"}
)
"""Words that say how something is recorded. Not "total", "average" or "weekly": a week's total is no day's value."""
_OF_KIND: Mapping[RecordKind, frozenset[str]] = {
    RecordKind.EXPENSE: KIND_WORDS[RecordKind.EXPENSE]
    - {"payment"},  # a car payment is not the price of a car
    RecordKind.INCOME: frozenset({"income", "earning"}),
    RecordKind.QUANTITY: frozenset({"measurement", "taken"}),
    RecordKind.GOAL: KIND_WORDS[RecordKind.GOAL]
    | {"weekly", "monthly", "yearly", "annual", "spending", "expense"},  # what it is per, its unit says
    RecordKind.TASK: frozenset({"task", "todo"}),
    RecordKind.EVENT: frozenset({"appointment"}),
    RecordKind.PREFERENCE: KIND_WORDS[RecordKind.PREFERENCE],
    RecordKind.DOCUMENT_ITEM: frozenset(),
    RecordKind.OTHER: frozenset(),
}


def category_spelling(stated: str) -> str:
    """A spelling as it is compared for equality: compatibility-normalised, in small letters, single-spaced."""
    folded = unicodedata.normalize("NFKC", stated).lower().replace("_", " ")
    return " ".join(folded.split()).strip(" .,;:\"'")


@lru_cache(maxsize=16_384)
def category_name(stated: str, kind: RecordKind) -> str:
    """What a new category stated so is called: the specific part, without words that only say how it is recorded.

    Args:
        stated: as it was given.
        kind: of the record; "purchase" says nothing beside an expense.
    """
    name = category_spelling(stated)
    for form in (_BRACKETS, _COLON_OR_DASH):
        if found := form.fullmatch(name):
            name = _part(name, found["general"].strip(), found["specific"].strip(), kind)
    words = name.split()
    said = [place for place, word in enumerate(words) if not _is_generic(word, kind)]
    core = " ".join(words[said[0] : said[-1] + 1]) if said else name
    return core if core == stated else category_name(core, kind)  # the specific part may be qualified itself


@lru_cache(maxsize=16_384)
def category_key(stated: str, kind: RecordKind) -> str:
    """What all spellings of one category share; empty for what has no letters or digits.

    Args:
        stated: as it was given, or the name of a category.
        kind: of the record.
    """
    return " ".join(
        singular_key(word) for word in _WORD.findall(category_name(stated, kind).replace("-", " "))
    )


def _part(name: str, general: str, specific: str, kind: RecordKind) -> str:
    """The part of a qualified form that names the category; the whole where neither is sure to."""
    words = _WORD.findall(specific)
    if all(_is_generic(w, kind) or physical_symbol(w) or currency_of(w, money=True) for w in words):
        return general
    names = len(words) <= _MOST_SPECIFIC and not any(map(str.isdigit, specific))
    return specific if names and words[0] not in _PREPOSITIONS else name


def _is_generic(word: str, kind: RecordKind) -> bool:
    return word in _HOW_RECORDED or singular_key(word) in _OF_KIND[kind]

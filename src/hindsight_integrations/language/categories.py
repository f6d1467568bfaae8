"""Record categories: normalising their names, looking up a bank's categories, and choosing which to show a model."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

from hindsight_integrations.language.units import currency_of, physical_symbol
from hindsight_integrations.model.names import names_any
from hindsight_integrations.model.records import (
    KIND_WORDS,
    RecordCategory,
    RecordKind,
    singular_key,
    spelling_key,
)

_BRACKETS = re.compile(r"(?P<general>[^()\[\]]+?)\s*[(\[](?P<specific>[^()\[\]]+)[)\]]")
_COLON_OR_DASH = re.compile(
    r"(?P<general>[^:>]+?)(?::\s+|\s+[-\u2013\u2014>\u203a\u2192]\s+)(?P<specific>.+)"
)
_WORD = re.compile(r"[^\W_]+(?:['\u2019.&+][^\W_]+)*[+#]*")
_PREPOSITIONS = frozenset(
    {"with", "without", "for", "at", "by", "on", "in", "to", "from", "not", "no", "except", "via"}
)
_MOST_SPECIFIC = 4  # maximum number of words in a name; a longer text is an explanation

_HOW_RECORDED = frozenset(
    {"a", "an", "count", "daily", "log", "my", "number", "of", "tally", "the", "tracker", "tracking"}
)
"""Words that describe only the recording; without "total", "average" and "weekly", which change the meaning of a value."""
_OF_KIND: Mapping[RecordKind, frozenset[str]] = {
    RecordKind.EXPENSE: KIND_WORDS[RecordKind.EXPENSE]
    - {"payment"},  # kept: a car payment is not the price of a car
    RecordKind.INCOME: frozenset({"income", "earning"}),
    RecordKind.QUANTITY: frozenset({"measurement", "taken"}),
    RecordKind.GOAL: KIND_WORDS[RecordKind.GOAL]
    # the record's unit contains the period already ("USD/week")
    | {"weekly", "monthly", "yearly", "annual", "spending", "expense"},
    RecordKind.TASK: frozenset({"task", "todo"}),
    RecordKind.EVENT: frozenset({"appointment"}),
    RecordKind.PREFERENCE: KIND_WORDS[RecordKind.PREFERENCE],
    RecordKind.DOCUMENT_ITEM: frozenset(),
    RecordKind.OTHER: frozenset(),
}


def category_spelling(stated: str) -> str:
    """Normalise a spelling for comparison: NFKC, lower case, single spaces."""
    folded = unicodedata.normalize("NFKC", stated).lower().replace("_", " ")
    return " ".join(folded.split()).strip(" .,;:\"'")


@lru_cache(maxsize=16_384)
def category_name(stated: str, kind: RecordKind) -> str:
    """Derive a category's name: the specific part, without words that only describe the recording.

    Args:
        stated: the category as written.
        kind: the record's kind; "purchase" is redundant for an expense.
    """
    name = category_spelling(stated)
    for form in (_BRACKETS, _COLON_OR_DASH):
        if found := form.fullmatch(name):
            name = _part(name, found["general"].strip(), found["specific"].strip(), kind)
    words = name.split()
    said = [place for place, word in enumerate(words) if not _is_generic(word, kind)]
    core = " ".join(words[said[0] : said[-1] + 1]) if said else name
    return (
        core if core == stated else category_name(core, kind)
    )  # the specific part may itself contain general words


@lru_cache(maxsize=16_384)
def category_key(stated: str, kind: RecordKind) -> str:
    """Return the key shared by all spellings of a category; empty if there are no letters or digits.

    Args:
        stated: the category as written, or its name.
        kind: the record's kind.
    """
    return " ".join(
        singular_key(word) for word in _WORD.findall(category_name(stated, kind).replace("-", " "))
    )


def _part(name: str, general: str, specific: str, kind: RecordKind) -> str:
    """Return the part of "general: specific" that names the category, or the whole text if that is unclear."""
    words = _WORD.findall(specific)
    if all(_is_generic(w, kind) or physical_symbol(w) or currency_of(w, money=True) for w in words):
        return general
    names = len(words) <= _MOST_SPECIFIC and not any(map(str.isdigit, specific))
    return specific if names and words[0] not in _PREPOSITIONS else name


def _is_generic(word: str, kind: RecordKind) -> bool:
    return word in _HOW_RECORDED or singular_key(word) in _OF_KIND[kind]


class KnownCategories:
    """A lookup table of a bank's categories by spelling.

    Args:
        categories: the bank's categories, the most used of each kind first.
    """

    def __init__(self, categories: Iterable[RecordCategory]) -> None:
        self._spelt: dict[tuple[RecordKind, str], str] = {}
        self._alike: dict[tuple[RecordKind, str], list[str]] = {}
        for category in categories:
            for spelling in (category.name, *category.spellings):
                self._add(category.kind, spelling, category.name)

    def named(self, stated: str, kind: RecordKind) -> tuple[str, ...]:
        """Return the category with this spelling, or else all categories with an equivalent spelling, most used first.

        Exact spellings take precedence, so equivalent spellings that a user has split stay apart.

        Args:
            stated: the category as written.
            kind: the record's kind.
        """
        for spelling in (stated, category_name(stated, kind)):
            if found := self._spelt.get((kind, spelling_key(spelling))):
                return (found,)
        return tuple(self._alike.get((kind, category_key(stated, kind)), ()))

    def resolved(self, stated: str, kind: RecordKind) -> str:
        """Return the name of a spelling's category; an unknown spelling becomes a new category."""
        found = self.named(stated, kind)
        name = found[0] if found else category_name(stated, kind)
        self._add(kind, stated, name)
        return name

    def _add(self, kind: RecordKind, spelling: str, name: str) -> None:
        self._spelt.setdefault((kind, spelling_key(spelling)), name)
        alike = self._alike.setdefault((kind, category_key(spelling, kind)), [])
        if name not in alike:
            alike.append(name)


def categories_to_show(
    categories: Sequence[RecordCategory],
    passage: str = "",
    *,
    limit: int,
    count: Callable[[Sequence[str]], Sequence[int]] | None = None,
) -> dict[RecordKind, tuple[str, ...]]:
    """Choose category names to show a model, by kind, within a token budget.

    Categories named in the passage come first, then the most used of each kind in turn, so that 1,900 films do not displace
    the expenses. Omitted categories are still recognised if the model names them (`KnownCategories`).

    Args:
        categories: the bank's categories.
        passage: the text that the model will read.
        limit: maximum number of tokens of all names together.
        count: function that counts the tokens of texts (`TokenCounter.count`); None assumes three characters per token. One token per
            name is added for the separator.
    """
    names = [category.name for category in categories]
    costs = [-(-len(name) // 3) for name in names] if count is None else count(names)
    cost_of = dict(zip(names, costs, strict=True))
    shown: dict[RecordKind, list[str]] = {}
    left = limit
    for category in dict.fromkeys([*_in_passage(categories, passage), *_in_turn(categories)]):
        cost = cost_of[category.name] + 1
        if cost <= left:
            left -= cost
            shown.setdefault(category.kind, []).append(category.name)
    return {kind: tuple(shown[kind]) for kind in RecordKind if kind in shown}


def _in_passage(categories: Iterable[RecordCategory], passage: str) -> list[RecordCategory]:
    found = [c for c in categories if names_any(passage, {spelling_key(c.name), *c.spellings})]
    return sorted(found, key=lambda c: (-c.records, c.kind, c.name))


def _in_turn(categories: Iterable[RecordCategory]) -> Iterator[RecordCategory]:
    by_kind: dict[RecordKind, list[RecordCategory]] = {kind: [] for kind in RecordKind}
    for category in sorted(categories, key=lambda c: (-c.records, c.name)):
        by_kind[category.kind].append(category)
    for turn in zip_longest(*by_kind.values()):
        yield from (category for category in turn if category is not None)

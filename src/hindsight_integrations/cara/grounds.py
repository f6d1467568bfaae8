"""On which memories a written text stands: those it cites, and those it took something from without citing them. Pure.

Forgetting a memory reaches what was worded from it by its grounds, so they must not lack one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hindsight_integrations.text.language import Language, language_of
from hindsight_integrations.text.names import NameSpotter
from hindsight_integrations.text.stems import content_stems, numbers

RARE = 2  # of the texts shown: a word in more of them is anybody's

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Ground:
    """A text that was shown to whoever wrote, and the memories it stands for.

    Attributes:
        text: as it was shown.
        unit_ids: ids of the memories; an observation stands for the facts it was made from. None for what is no memory, as
            the question is.
    """

    text: str
    unit_ids: tuple[str, ...] = ()


def completed_grounds(
    text: str, cited: Sequence[Ground], shown: Sequence[Ground], languages: Sequence[Language]
) -> tuple[str, ...]:
    """Ids of the memories a text stands on: of those cited, and of those shown that have what none of the cited has.

    Names, numbers and words that few of the texts shown have are looked at: a text that has one of them and cites nothing
    that does took it from one that was shown.

    Args:
        text: as it was written.
        cited: what it says it stands on; what it may have its words from besides, the question, among them.
        shown: all that it may have taken something from.
        languages: all may be in.
    """
    terms = [_terms(ground.text, languages) for ground in shown]
    spread = Counter(term for found in terms for term in found)
    told = _terms(text, languages) - _union(_terms(ground.text, languages) for ground in cited)
    names = _name_words(text, languages)
    taken = {term for term in told if spread[term] <= RARE or term in names or term.isdigit()}
    drawn = [ground for ground, found in zip(shown, terms, strict=True) if found & taken]
    return tuple(dict.fromkeys(each for ground in (*cited, *drawn) for each in ground.unit_ids))


def _terms(text: str, languages: Sequence[Language]) -> frozenset[str]:
    """Stems of the words of a text that say something, and its numbers."""
    language = language_of(text, languages)
    return content_stems(text, language) | numbers(text, language)


def _name_words(text: str, languages: Sequence[Language]) -> frozenset[str]:
    language = language_of(text, languages)
    spotter = NameSpotter([text], people=(), aliases=(), languages=languages)
    words = (word for name in spotter.names_in(text) for word in _WORD.findall(name.text.casefold()))
    return frozenset(language.stem(word) for word in words)


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)

"""What a message asks for: a cause, a fact, all that is remembered, along a chain of possessives, or nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.stems import content_stems

LONGEST_ASKING_ALL = 100  # characters; what is longer names a subject


def asks_for_a_cause(text: str, languages: Sequence[Language]) -> bool:
    """Whether a question asks why in one of the languages."""
    return any(language.questions.cause.search(text) for language in languages)


def asks_for_all(text: str) -> bool:
    """Whether a question asks, in a language we know, for whatever is remembered ("What do you know about me?")."""
    return len(text) <= LONGEST_ASKING_ALL and any(
        (said := content_stems(text, language)) and said <= _recalling(language)
        for language in LANGUAGES.values()
    )


@cache
def _recalling(language: Language) -> frozenset[str]:
    """Stems of the words that ask for whatever is remembered."""
    return frozenset(language.stem(word) for word in language.asking.recalling)


def asks_for_a_fact(text: str) -> bool:
    """Whether a text asks, in a language we know, for what is or was the case; a request, and a question for advice, do not."""
    return _language(text).questions.fact.search(text) is not None


def only_states(text: str) -> bool:
    """Whether a text states something, in a language we know, and asks for nothing; in doubt it asks."""
    return _language(text).questions.statement.search(text) is not None


def chain_steps(text: str, languages: Sequence[Language]) -> int:
    """How many possessives the longest chain in a question has, at least two: "Alice's manager's team" has 2; else 0."""
    return max(
        (
            len(language.questions.possessive.findall(chain.group()))
            for language in languages
            for chain in language.questions.chain.finditer(text)
        ),
        default=0,
    )


def _language(text: str) -> Language:
    return language_of(text, tuple(LANGUAGES.values()))

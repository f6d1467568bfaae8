"""Detect kinds of questions: those that ask for a cause, for a fact or for everything remembered, and chains of possessives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hindsight_integrations.language.language import Language, language_of
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.stems import content_stems

# Maximum number of characters of a question for everything; a longer question names a subject.
LONGEST_ASKING_ALL = 100


def asks_for_a_cause(text: str, languages: Sequence[Language]) -> bool:
    """Return whether a question asks why, in one of the languages."""
    return any(language.questions.cause.search(text) for language in languages)


def asks_for_all(text: str) -> bool:
    """Return whether a question asks for everything remembered ("What do you know about me?")."""
    return len(text) <= LONGEST_ASKING_ALL and any(
        (said := content_stems(text, language)) and said <= _recalling(language)
        for language in LANGUAGES.values()
    )


@cache
def _recalling(language: Language) -> frozenset[str]:
    """Return the stems of words that ask for everything remembered."""
    return frozenset(language.stem(word) for word in language.asking.recalling)


def asks_for_a_fact(text: str) -> bool:
    """Return whether a text asks for a fact, as opposed to a request or a question for advice."""
    return _language(text).questions.fact.search(text) is not None


def only_states(text: str) -> bool:
    """Return whether a text only makes a statement; False if that is unclear."""
    return _language(text).questions.statement.search(text) is not None


def chain_steps(text: str, languages: Sequence[Language]) -> int:
    """Return the number of possessives in a question's longest chain ("Alice's manager's team" has 2); 0 below two."""
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

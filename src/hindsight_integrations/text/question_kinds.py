"""What kind of question a text is: for a cause, or along a chain of possessives. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.text.language import Language


def asks_for_a_cause(text: str, languages: Sequence[Language]) -> bool:
    """Whether a question asks why in one of the languages."""
    return any(language.questions.cause.search(text) for language in languages)


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

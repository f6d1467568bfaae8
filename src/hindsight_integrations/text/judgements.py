"""What a text judges or guesses beyond what the texts it stands on say (paper section A.3). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hindsight_integrations.text.language import Language
from hindsight_integrations.text.stems import content_stems
from hindsight_integrations.text.titles import hidden


def judgement(text: str, grounds: Sequence[str], language: Language) -> str:
    """What makes a text more than an account of its grounds, in words; "" where nothing does.

    What stands in quotes is somebody's words. What the grounds judge or guess themselves may be told: "Ana is methodical"
    of somebody who was called so.

    Args:
        text: one statement or several.
        grounds: the texts it stands on.
        language: of both.
    """
    words = language.judgements
    plain, _ = hidden(text)
    if found := words.own.search(plain):
        return f"an opinion of the writer ({found[0].strip(' ,')!r})"
    guessed = {found[0].casefold() for ground in grounds for found in words.assumption.finditer(ground)}
    for found in words.assumption.finditer(plain):
        if found[0].casefold() not in guessed:
            return f"a guess ({found[0].strip(' ,')!r})"
    told = frozenset[str]().union(*(content_stems(ground, language) for ground in grounds))
    for found in words.verdict.finditer(plain):
        if not content_stems(found[0], language) <= told:
            return f"a judgement ({found[0]!r})"
    return ""

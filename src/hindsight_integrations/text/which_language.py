"""Which of several languages a text is in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hindsight_integrations.text.language import Language

_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str, languages: Sequence[Language]) -> Language:
    """The language with the most words of a text among its stop words; of equal ones the first.

    Args:
        text: in any language.
        languages: at least one, the likeliest first.
    """
    if len(languages) == 1:
        return languages[0]
    words = _WORD.findall(text.casefold())
    return max(languages, key=lambda language: sum(word in language.stop_words for word in words))

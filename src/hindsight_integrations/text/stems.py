"""What a text says, as stems of its words and as its numbers. Pure."""

from __future__ import annotations

import re
import unicodedata

from hindsight_integrations.text.language import Language

_WORD = re.compile(r"\w+(?:[./&+]\w+)*")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
_COMMA_NUMBER = re.compile(r"\d{1,3}(?:\.\d{3})+(?!\d)(?:,\d+)?|\d+(?:,\d+)?")
_SWAPPED = str.maketrans(".,", ",.")


def content_stems(text: str, language: Language) -> frozenset[str]:
    """Stems of the words of a text that say something."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = (
        word
        for token in _WORD.findall(folded.replace(",", "").replace("_", " "))
        for word in (token, *re.split(r"[/&+]", token))
    )
    return frozenset(language.stem(word) for word in words if word and word not in language.stop_words)


def numbers(text: str, language: Language) -> frozenset[str]:
    """Numbers of a text but for years, which nearly every date has; "8,000" is 8000, where commas part thousands."""
    if language.decimal_comma:
        written = [number.translate(_SWAPPED) for number in _COMMA_NUMBER.findall(text)]
    else:
        written = _NUMBER.findall(text)
    found = (number.replace(",", "").rstrip(".") for number in written)
    return frozenset(n.rstrip("0").rstrip(".") if "." in n else n for n in found if not _is_year(n))


def _is_year(number: str) -> bool:
    return len(number) == 4 and number[:2] in ("19", "20")

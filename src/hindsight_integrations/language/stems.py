"""What a text says, as stems of its words (Snowball, snowballstem.org) and as its numbers."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from hindsight_integrations.language.language import Language

_REMEMBERED = 50_000  # words a language; a stem costs 20 to 40 us, a remembered one 0.1


def snowball(algorithm: str) -> Callable[[str], str]:
    """The stemmer of a language, safe to call from several threads.

    Args:
        algorithm: its name among the modules of snowballstemmer, such as "english".
    """
    own = threading.local()  # a stemmer keeps the word it works on in itself, so each thread has one

    @lru_cache(maxsize=_REMEMBERED)
    def stem(word: str) -> str:
        if not hasattr(own, "stemmer"):
            # Not snowballstemmer.stemmer(): where PyStemmer is installed, as LlamaIndex's BM25 retriever has it, that is
            # another version of the algorithms, and a bank's words would depend on what else is installed.
            module = import_module(f"snowballstemmer.{algorithm}_stemmer")
            own.stemmer = getattr(module, f"{algorithm.title()}Stemmer")()
        return str(own.stemmer.stemWord(word))

    return stem


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

"""Words without their inflection, by the Snowball algorithms (snowballstem.org; decision 082)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache

_REMEMBERED = 50_000  # words a language; a stem costs 20 to 40 us, a remembered one 0.1


def snowball(algorithm: str) -> Callable[[str], str]:
    """The stemmer of a language, safe to call from several threads.

    Args:
        algorithm: its name among `snowballstemmer.algorithms()`, such as "english".
    """
    own = threading.local()  # a stemmer keeps the word it works on in itself, so each thread has one

    @lru_cache(maxsize=_REMEMBERED)
    def stem(word: str) -> str:
        if not hasattr(own, "stemmer"):
            import snowballstemmer

            own.stemmer = snowballstemmer.stemmer(algorithm)
        return str(own.stemmer.stemWord(word))

    return stem

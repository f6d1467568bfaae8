"""Words without their inflection, by the Snowball algorithms (snowballstem.org)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

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

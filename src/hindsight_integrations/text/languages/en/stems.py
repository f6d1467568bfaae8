"""English words without their inflection."""

from __future__ import annotations


def stem(word: str) -> str:
    """A word without its inflection, crudely: optimizing, optimized, optimizes, optimize -> optimiz."""
    for ending, shortest, put in (
        ("ies", 5, "y"),
        ("ing", 6, ""),
        ("ed", 5, ""),
        ("es", 5, ""),
        ("s", 4, ""),
    ):
        if len(word) >= shortest and word.endswith(ending) and not word.endswith("ss"):
            word = word[: -len(ending)] + put
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word

"""English singulars and plurals, as far as words are compared and counted by them. Pure."""

from __future__ import annotations

_NO_PLURAL = ("ss", "us", "is")
_HISSING = ("s", "x", "z", "ch", "sh")
_AFTER_HISSING = ("sse", "xe", "ze", "che", "she")


def is_plural(word: str) -> bool:
    """Whether a word ends as an English plural does; words of three letters or fewer do not."""
    return len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURAL) and word != "news"


def plural(word: str) -> str:
    """The regular English plural of a word; a plural stays, and a word that has no regular one."""
    if is_plural(word) or len(word) < 3 or word.endswith(("i", "u")) or word == "news":
        return word
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_HISSING) else f"{word}s"


def singular_key(word: str) -> str:
    """What an English word and its regular plural have in common, for comparing and not for showing.

    "movie" and "movies", "grocery" and "groceries", "lunch" and "lunches" have one key each; "run" and "running", "policy"
    and "police" have not, as they would by a stemmer.
    """
    stem = word[:-1] if is_plural(word) else word
    if len(stem) > 2 and stem.endswith("ie"):
        return f"{stem[:-2]}y"
    return stem[:-1] if len(stem) > 2 and stem.endswith(("oe", *_AFTER_HISSING)) else stem

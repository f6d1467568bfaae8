"""Whether a text states an item of the ground truth, by its words and numbers, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context, ServedText

WORDS_NEEDED = 2 / 3  # share of an item's words that a text must contain, since extraction paraphrases

_WORD = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
_EMPTY_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "for",
        "from",
        "has",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "over",
        "than",
        "that",
        "the",
        "this",
        "to",
        "with",
    ]
)
_DIGITS = {
    word: str(n)
    for n, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1
    )
}
_ENDINGS = (("es", "s"), ("ing", "ed"), ("e",))  # a plural first, then the endings before it
_SHORTEST_STEM = 3


def stem(word: str) -> str:
    """Return a word without its endings: a plural first, then -ing or -ed, then -e."""
    for endings in _ENDINGS:
        for ending in endings:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                word = word.removesuffix(ending)
                break
    return word


def tokens_of(text: str, stemmed: Callable[[str], str] = stem) -> tuple[frozenset[str], frozenset[str]]:
    """Return the numbers and stemmed words of a text without stop words; "4,000.50" is 4000.5 and "three" is 3."""
    found = [token.casefold().replace(",", "") for token in _WORD.findall(text)]
    found = [_DIGITS.get(token, token) for token in found]
    numbers = {
        token.rstrip("0").rstrip(".") if "." in token else token for token in found if token[0].isdigit()
    }
    words = {stemmed(token) for token in found if not token[0].isdigit() and token not in _EMPTY_WORDS}
    return frozenset(numbers), frozenset(words)


def says(text: str, wanted: str) -> bool:
    """Return whether a text contains all numbers and two thirds of the words of another text; False if that has none."""
    numbers, words = tokens_of(wanted)
    if not numbers and not words:
        return False
    said_numbers, said_words = tokens_of(text)
    return numbers <= said_numbers and len(words & said_words) >= WORDS_NEEDED * len(words)


def said_of(text: str, conversation: str) -> str:
    """Return those of a text's words that a conversation contains, in order; empty if none of them has content.

    The ground truth contains more than the conversations say; what was not said cannot be expected.
    """
    numbers, words = tokens_of(conversation)

    def was_said(word: str) -> bool:
        own_numbers, own_words = tokens_of(word)
        return own_numbers <= numbers and own_words <= words

    said = " ".join(word for word in _WORD.findall(text) if was_said(word))
    return said if any(tokens_of(said)) else ""


def states(served: ServedText, item: Item) -> bool:
    """Return whether a returned text states an item as true.

    It must be based on a turn that stated the item, contain its words, and not mark it as withdrawn.
    """
    return (
        bool(served.sources & item.sources)
        and says(served.text, item.text)
        and not any(says(statement, item.text) for statement in served.withdrawn)
    )


def stated(context: Context, item: Item) -> bool:
    """Return whether a text in a context states an item as true."""
    return any(states(served, item) for served in context.served)

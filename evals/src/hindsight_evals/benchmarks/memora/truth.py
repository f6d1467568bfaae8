"""The final state of a Memora week for the benchmarks of the engine: the tokens of each value, and whether it is still valid.

It replays the operations like the reader of the data set (`datasets/memora_state.py`). The engine never sees
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindsight_evals.datasets.memora import MemoraSession
from hindsight_evals.datasets.memora_state import Key, replay
from hindsight_evals.metrics.stating import WORDS_NEEDED, tokens_of

Tokens = tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Value:
    """One value of an item, and the sessions that added or confirmed it."""

    key: Key
    numbers: frozenset[str]
    words: frozenset[str]
    sessions: frozenset[int]
    held: bool


def stem(word: str) -> str:
    """Remove one ending from a word: a plural, -ing or -ed. Published figures use this instead of `stating.stem`."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if len(word) - len(ending) >= 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word


def tokens(text: str) -> Tokens:
    """Return the numbers and stemmed words of a text."""
    return tokens_of(text, stem)


def contains(text: str, value: Value) -> bool:
    """Return whether a text contains a value's tokens: all its numbers and two thirds of its words."""
    numbers, words = tokens(text)
    return value.numbers <= numbers and len(value.words & words) >= WORDS_NEEDED * len(value.words)


def final_state(sessions: Sequence[MemoraSession], *, said_only: bool) -> list[Value]:
    """Return every value, with whether it is valid after the last session.

    Args:
        sessions: in order.
        said_only: use only the tokens of a value that occur in the session's conversation (the details
            contain more). False uses all words of the details.
    """
    said = {session.session_id: tokens(session.said) for session in sessions}
    values = []
    for value in replay(sessions):
        numbers, words = tokens(value.wording)
        if said_only:
            said_numbers, said_words = said[value.sessions[0]]
            numbers, words = numbers & said_numbers, words & said_words
        if numbers or words:
            values.append(Value(value.key, numbers, words, frozenset(value.sessions), value.held))
    return values

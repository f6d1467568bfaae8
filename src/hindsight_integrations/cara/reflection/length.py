"""Answers that are too long, cut where a sentence ends."""

from __future__ import annotations

import re

from hindsight_integrations.ports.token_counter import TokenCounter

_END = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*(?=\s)|\n")


def shortened(text: str, most: int, tokens: TokenCounter) -> tuple[str, tuple[str, ...]]:
    """The text, cut at the last end of a sentence within a budget where it is over it; and a note of that, if it was.

    Where not even the first sentence fits it is cut between two words.

    Args:
        text: an answer.
        most: tokens it may have.
        tokens: counts them.
    """
    (size,) = tokens.count([text])
    if size <= most:
        return text, ()
    ends = [match.end() for match in _END.finditer(text)] or []
    kept = _longest(text, ends, most, tokens) or _longest(
        text, [match.start() for match in re.finditer(r"\s", text)], most, tokens
    )
    note = f"the answer had {size} tokens, over max_answer_tokens={most}: it ends where it was cut"
    return kept, (note,)


def _longest(text: str, ends: list[int], most: int, tokens: TokenCounter) -> str:
    """The longest beginning up to one of these places that fits; "" if none does."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        (size,) = tokens.count([text[: ends[middle]].rstrip()])
        low, high = (middle + 1, high) if size <= most else (low, middle)
    return text[: ends[low - 1]].rstrip() if low else ""

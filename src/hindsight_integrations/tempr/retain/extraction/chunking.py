"""Chunking: coarse passages at turn borders, lossless and idempotent (paper section 4.1.2). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hindsight_integrations.model.requests import Message

_BREAKS = (re.compile(r"\n\s*\n"), re.compile(r"[.!?][\"')\]]*\s+"), re.compile(r"\s+"))


def chunk_messages(messages: Sequence[Message], limit: int = 3000) -> list[list[Message]]:
    """Messages in groups of at most `limit` characters, cut between turns; only a longer message is itself cut."""
    chunks: list[list[Message]] = []
    size = limit + 1
    for message in messages:
        for piece in chunk_text(message.text, limit):
            if size + len(piece) > limit:
                chunks.append([])
                size = 0
            chunks[-1].append(message if piece == message.text else replace(message, text=piece))
            size += len(piece)
    return chunks


def chunk_text(text: str, limit: int = 3000) -> list[str]:
    """Pieces of at most `limit` characters that concatenate to the text: cut at paragraphs, else sentences, else words."""
    pieces = []
    while len(text) > limit:
        cut = _cut(text, limit)
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text] if text else pieces


def _cut(text: str, limit: int) -> int:
    """Where to end the first piece: after the last break of the best kind that leaves at least half a piece."""
    for kind in _BREAKS:
        ends = [match.end() for match in kind.finditer(text, 0, limit) if match.end() <= limit]
        if ends and ends[-1] >= limit // 2:
            return ends[-1]
    return limit

"""Chunking is lossless, bounded and idempotent."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from hindsight_integrations.model.requests import Message
from hindsight_integrations.retain.verbatim import chunk_messages, chunk_text

_TEXT = st.text(alphabet="ab .!?\n\u00e9", max_size=300)
_LIMIT = st.integers(min_value=1, max_value=80)
_WHEN = datetime(2025, 3, 2, tzinfo=UTC)


def _messages(texts: list[str]) -> list[Message]:
    return [Message(text, f"speaker {number % 2}", _WHEN, f"m{number}") for number, text in enumerate(texts)]


@given(_TEXT, _LIMIT)
@settings(max_examples=40, deadline=None)
def test_a_text_survives_chunking(text: str, limit: int) -> None:
    """Every character of a long document is in exactly one piece, and no piece is over the limit."""
    pieces = chunk_text(text, limit)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces)


@given(_TEXT, _LIMIT)
@settings(max_examples=40, deadline=None)
def test_chunking_a_piece_again_keeps_it(text: str, limit: int) -> None:
    """A chunk is not cut again."""
    assert all(chunk_text(piece, limit) == [piece] for piece in chunk_text(text, limit))


@given(st.lists(_TEXT.filter(bool), max_size=8), _LIMIT)
@settings(max_examples=40, deadline=None)
def test_a_conversation_survives_chunking(texts: list[str], limit: int) -> None:
    """Every turn keeps its words, speaker, time and id, and no chunk is over the limit."""
    messages = _messages(texts)
    chunks = chunk_messages(messages, limit)
    flat = [message for chunk in chunks for message in chunk]
    assert all(chunk and sum(len(message.text) for message in chunk) <= limit for chunk in chunks)
    for original in messages:
        pieces = [piece for piece in flat if piece.id == original.id]
        assert "".join(piece.text for piece in pieces) == original.text
        assert {(piece.speaker, piece.timestamp) for piece in pieces} == {
            (original.speaker, original.timestamp)
        }


@given(st.lists(_TEXT.filter(bool), max_size=8), _LIMIT)
@settings(max_examples=40, deadline=None)
def test_chunking_a_conversation_again_changes_nothing(texts: list[str], limit: int) -> None:
    """Chunking turns again gives the same passages."""
    once = chunk_messages(_messages(texts), limit)
    assert chunk_messages([message for chunk in once for message in chunk], limit) == once


def test_turns_are_kept_whole_while_they_fit() -> None:
    """Chunks end between turns if these fit."""
    chunks = chunk_messages(_messages(["a" * 40, "b" * 40, "c" * 40]), 90)
    assert [[message.text[0] for message in chunk] for chunk in chunks] == [["a", "b"], ["c"]]


def test_a_long_turn_is_cut_after_a_sentence() -> None:
    """A long turn is cut after a sentence if possible."""
    text = "The first sentence is here. The second sentence is here. The third one."
    assert chunk_text(text, 40) == [
        "The first sentence is here. ",
        "The second sentence is here. ",
        "The third one.",
    ]


def test_paragraphs_are_cut_before_sentences() -> None:
    """Documents are cut between paragraphs first."""
    assert chunk_text("One idea is told. It ends here.\n\nAnother idea. More.", 45) == [
        "One idea is told. It ends here.\n\n",
        "Another idea. More.",
    ]

"""Folding of texts for exact word search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.model.text import folded_text, normalised_text


@every_row(
    ("text", "folded"),
    [
        ("  A Café\n in  BRÜNN ", "a cafe in brunn"),
        ("Straße", "strasse"),
        ("ﬁre", "fire"),
        ("İstanbul", "istanbul"),
        ("Olmütz", "olmutz"),
        ("Æsir", "æsir"),
    ],
)
def test_case_accents_and_blanks_do_not_count(text: str, folded: str) -> None:
    """Case, accents and spacing are ignored."""
    assert folded_text(text) == folded


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_of_plain_texts_is_the_long_one(text: str) -> None:
    """The fast path for ASCII gives the same result."""
    assert folded_text(text) == normalised_text(text)
    assert folded_text(f"{text} é") == f"{normalised_text(text)} e".strip()


@given(st.text())
def test_what_is_folded_stays(text: str) -> None:
    """Folding is idempotent, and a folded text is found in itself."""
    assert folded_text(folded_text(text)) == folded_text(text)

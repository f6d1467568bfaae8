"""Kinds of records: many words mean one kind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.model.records import KIND_WORDS, RecordKind, canonical_kind


@every_row(
    ("written", "kind", "category"),
    [
        ("expense", "expense", ""),
        ("Purchases", "expense", ""),
        ("food expense", "expense", "food"),
        ("coffee purchase", "expense", "coffee"),
        ("salary", "income", ""),
        ("steps", "quantity", "steps"),
        ("step count", "quantity", "step"),
        ("Workout", "quantity", "workout"),
        ("running distance", "quantity", "running distance"),
        ("budget", "goal", ""),
        ("budget goal", "goal", ""),
        ("grocery budget", "goal", "grocery"),
        ("todo", "task", ""),
        ("To-Do", "task", ""),
        ("to_dos", "task", ""),
        ("completed task", "task", ""),
        ("appointment", "event", ""),
        ("meeting", "event", ""),
        ("lunch meeting", "event", "lunch meeting"),
        ("likes", "preference", ""),
        ("film preferences", "preference", "film"),
        ("favourite film", "preference", "film"),
        ("document", "document_item", ""),
        ("document_item", "document_item", ""),
        ("social media post", "other", "social media post"),
        ("other", "other", ""),
        ("", "other", ""),
    ],
)
def test_a_kind_in_other_words_is_one_of_the_set(written: str, kind: str, category: str) -> None:
    """What a word says beyond the kind becomes the category; a word nobody knows is OTHER and keeps its word."""
    assert canonical_kind(written, "") == (RecordKind(kind), category)


@given(written=st.text(max_size=30), category=st.text(alphabet="abc ", min_size=1, max_size=12))
def test_a_category_that_is_given_stays(written: str, category: str) -> None:
    """However the kind is written, it never takes the place of a category that was stated."""
    words = " ".join(category.split())
    if words:
        assert canonical_kind(written, category)[1] == words


@given(st.text(max_size=30))
def test_a_kind_read_once_reads_the_same_again(written: str) -> None:
    """Asking by what was stored finds what was stored."""
    kind, category = canonical_kind(written, "")
    assert canonical_kind(kind, category) == (kind, category)


def test_no_word_means_two_kinds() -> None:
    """The table of words is unambiguous, and every kind's own name is in it."""
    words = [word for known in KIND_WORDS.values() for word in known]
    assert len(words) == len(set(words))
    assert all(canonical_kind(kind, "") == (kind, "") for kind in RecordKind)

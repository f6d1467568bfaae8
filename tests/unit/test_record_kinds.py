"""Record kinds: many words denote one kind."""

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
    """The rest of a word for a kind becomes the category; an unknown word becomes OTHER with the word as category."""
    assert canonical_kind(written, "") == (RecordKind(kind), category)


@given(written=st.text(max_size=30), category=st.text(alphabet="abc ", min_size=1, max_size=12))
def test_a_category_that_is_given_stays(written: str, category: str) -> None:
    """A given category is never replaced by the kind's word."""
    words = " ".join(category.split())
    if words:
        assert canonical_kind(written, category)[1] == words


@given(st.text(max_size=30))
def test_a_kind_read_once_reads_the_same_again(written: str) -> None:
    """Canonical kinds are stable."""
    kind, category = canonical_kind(written, "")
    assert canonical_kind(kind, category) == (kind, category)


def test_no_word_means_two_kinds() -> None:
    """No word denotes two kinds, and every kind's name is in the table."""
    words = [word for known in KIND_WORDS.values() for word in known]
    assert len(words) == len(set(words))
    assert all(canonical_kind(kind, "") == (kind, "") for kind in RecordKind)

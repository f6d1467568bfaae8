"""Whether a served text states an item of the ground truth."""

from __future__ import annotations

from table import every_row

from hindsight_evals.episode import Item
from hindsight_evals.memory_system import Context, ServedText
from hindsight_evals.metrics.stating import said_of, says, stated, states
from hindsight_evals.packing import packed

LIBRARY = Item("Visit the university library", frozenset({"s1:4"}), valid=False)


def served(text: str, *sources: str, tokens: int = 10, withdrawn: tuple[str, ...] = ()) -> ServedText:
    return ServedText(text, frozenset(sources), tokens, withdrawn)


@every_row(
    ("text", "wanted", "expected"),
    [
        ("I paid $4,000.50 for rent.", "4000.5 rent", True),
        ("I paid $4,000 for rent.", "4000.5 rent", False),
        ("three meetings were cancelled", "3 meeting", True),
        ("She visits libraries.", "visiting a library", False),
        ("She visited the library.", "visiting a library", True),
        ("Anything at all.", "of the", False),
    ],
)
def test_a_text_says_another_by_its_numbers_and_two_thirds_of_its_words(
    text: str, wanted: str, expected: bool
) -> None:
    """All numbers and two thirds of the stemmed words; an empty text is never stated."""
    assert says(text, wanted) is expected


def test_only_a_text_on_a_turn_that_stated_the_item_states_it() -> None:
    """A session that withdraws an item repeats its words without leaking it."""
    words = "I want to visit the university library."
    assert states(served(words, "s1:4", "s1:5"), LIBRARY)
    assert not states(served("No need to visit the university library any more.", "s7:2"), LIBRARY)


def test_a_text_marked_as_withdrawn_does_not_state_it() -> None:
    """Explicit marking counts as absence; marking another item does not."""
    words = "I want to visit the university library and the museum."
    assert not states(served(words, "s1:4", withdrawn=("User visits the university library",)), LIBRARY)
    assert stated(Context((served(words, "s1:4", withdrawn=("User visits the museum",)),)), LIBRARY)


def test_a_text_that_does_not_fit_is_skipped() -> None:
    """A small text after a large one is still served (paper eq. 8)."""
    texts = [served("a", "1", tokens=6), served("b", "2", tokens=5), served("c", "3", tokens=4)]
    assert [text.text for text in packed(texts, 10).served] == ["a", "c"]
    assert packed(texts, 10).tokens == 10


def test_only_what_was_said_can_be_asked_for() -> None:
    """Words and numbers that nobody said are removed from the ground truth; if nothing is left, the item is not required."""
    assert said_of("Visit the university library", "We visited a library.") == "Visit the library"
    assert said_of("12 volunteers by May", "Volunteers will come in May") == "volunteers by May"
    assert said_of("of the", "of the") == ""

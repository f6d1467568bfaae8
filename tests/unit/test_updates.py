"""Which sentences of a plain message replace an earlier one: the same of the same thing, with another value."""

from __future__ import annotations

import pytest
from table import every_row

from hindsight_integrations.text.languages.en import ENGLISH
from hindsight_integrations.text.updates import replaced_sentences, updates


@pytest.mark.parametrize(
    ("told", "update"),
    [
        ("The course fee is 90 euros.", "The course fee is 110 euros now."),
        ("My red team meets on Mondays.", "The red team meets on Thursdays from now on."),
        ("My sister Eva works for Norsk.", "My sister Eva works for Fjordline now."),
    ],
)
def test_another_value_replaces(told: str, update: str) -> None:
    """A number, a day, a name."""
    assert updates(update, ENGLISH) == [update]
    assert list(replaced_sentences(f"Hello! {told}", update, ENGLISH)) == [told]


@every_row(
    ("told", "update"),
    [
        ("The course fee was 90 euros.", "The course fee is 110 euros now."),
        ("The gym fee is 90 euros.", "The course is 110 euros now."),
        ("My sister Eva works for Norsk.", "My brother Tom works for Fjordline now."),
        ("The course fee is 90 euros?", "The course fee is 110 euros now."),
        ("The course fee is not 90 euros.", "The course fee is 110 euros now."),
        ("Wow, John!", "Hey John, great news, I'm now a friend of one of my fellow volunteers!"),
    ],
)
def test_something_else_does_not(told: str, update: str) -> None:
    """What once was, another thing, another person, a question, another polarity, an exclamation."""
    assert not list(replaced_sentences(told, update, ENGLISH))


@pytest.mark.parametrize("text", ["The course fee is 110 euros.", "Is the fee 110 euros now?", "I like tea."])
def test_a_message_without_change_words_updates_nothing(text: str) -> None:
    """Two prices of one thing may both hold; only "now" and its like say that one went."""
    assert not updates(text, ENGLISH)

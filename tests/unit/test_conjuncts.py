"""A conjunct that a statement takes back in other words is cut out where what is left reads well, and only there."""

from __future__ import annotations

from table import every_row

from hindsight_integrations.text.conjuncts import without_conjunct, without_sentence
from hindsight_integrations.text.languages.en import ENGLISH

CUT = [
    ("User plays the violin and collects stamps.", "User collects stamps.", "User plays the violin."),
    ("User plays the violin and collects stamps.", "User plays the violin.", "User collects stamps."),
    ("Eva lives in Oslo and works for Norsk.", "Norsk is Eva's employer.", "Eva lives in Oslo."),
    ("Eva lives in Oslo and works for Norsk.", "Eva is in Oslo.", "Eva works for Norsk."),
    (
        "The office has twelve desks and two printers.",
        "The office has two printers.",
        "The office has twelve desks.",
    ),
    (
        "Oskar likes trains, dinosaurs and spinach.",
        "Oskar is fond of spinach.",
        "Oskar likes trains and dinosaurs.",
    ),
    (
        "Oskar likes trains, dinosaurs and spinach.",
        "Oskar is fond of trains.",
        "Oskar likes dinosaurs and spinach.",
    ),
    ("User has a cat, Milo, and a dog, Rex.", "User has a dog named Rex.", "User has a cat, Milo."),
    ("User has a cat, Milo, and a dog, Rex.", "User owns Milo, a cat", "User has a dog, Rex."),
    ("User is vegetarian and allergic to nuts.", "User is a vegetarian.", "User is allergic to nuts."),
    (
        "User may not drive, the licence was taken for three months.",
        "User is not permitted to drive.",
        "The licence was taken for three months.",
    ),
]
KEPT = [
    ("User's sister, Ann, lives in Ghent and sells shoes.", "Ann lives in Ghent."),
    ("User drives a red Volvo, which User bought in May, and rides a bike.", "User drives a Volvo"),
    ("User moved between Ann and Bo.", "User moved next to Bo."),
    ("User invited three people, Ann, Bo and Cy.", "User invited Bo."),
    ("User lives in Oslo and works in Bergen.", "User works in Oslo."),
    ("User plays the violin and collects stamps.", "User plays the violin and collects stamps."),
    ("User plays the violin.", "User plays the violin."),
    ("User likes 'Oslo, and other towns'.", "User likes other towns."),
]


@every_row(("text", "statement", "left"), CUT)
def test_the_conjunct_that_is_meant_is_cut_out(text: str, statement: str, left: str) -> None:
    """What is left says all the rest and nothing new."""
    assert without_conjunct(text, statement, ENGLISH) == left


@every_row(("text", "statement"), KEPT)
def test_what_cannot_be_cut_cleanly_is_left_alone(text: str, statement: str) -> None:
    """Appositions, clauses that lean, pairs, counts, doubtful and whole statements: there a note says what was taken back."""
    assert without_conjunct(text, statement, ENGLISH) is None


def test_a_sentence_goes_as_a_whole() -> None:
    """Unless the next one leans on it."""
    told = "Yeah, that helps. I need to book a flight soon. The weather is fine."
    assert without_sentence(told, "booked my flight", ENGLISH) == "Yeah, that helps. The weather is fine."
    assert (
        without_sentence("Thanks! I need to book a flight. It is cheap.", "booked my flight", ENGLISH) is None
    )
    assert without_sentence("I need to book a flight.", "booked my flight", ENGLISH) is None

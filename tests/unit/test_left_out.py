"""A text without one of its items: what is cut, how the rest reads, and what must not be cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.text.item_places import Likeness, Wanted, item_places, likeness
from hindsight_integrations.text.languages import LANGUAGES
from hindsight_integrations.text.left_out import all_left_out, left_out
from hindsight_integrations.text.side_by_side import side_by_side

CUTS: list[tuple[str, str, str, str]] = [
    # Between commas, behind a colon.
    ("en", "Menu for Sunday: soup, fish and plum cake.", "fish", "Menu for Sunday: soup and plum cake."),
    ("en", "Menu for Sunday: soup, fish and plum cake.", "soup", "Menu for Sunday: fish and plum cake."),
    ("en", "Menu for Sunday: soup, fish and plum cake.", "plum cake", "Menu for Sunday: soup and fish."),
    ("en", "Menu: soup, fish, and plum cake.", "plum cake", "Menu: soup and fish."),
    ("en", "Menu: soup, fish, and plum cake.", "soup", "Menu: fish and plum cake."),
    ("en", "Menu: soup, fish, bread, and plum cake.", "fish", "Menu: soup, bread, and plum cake."),
    ("en", "Menu: soup, fish, bread, and plum cake.", "plum cake", "Menu: soup, fish, and bread."),
    ("en", "Menu: soup and fish", "soup", "Menu: fish"),
    ("en", "Menu: soup, fish", "fish", "Menu: soup"),
    (
        "en",
        "Menu: salt and pepper crisps, soup, and fish.",
        "fish",
        "Menu: salt and pepper crisps, and soup.",
    ),
    ("en", "Menu: salt and pepper crisps, soup, and fish.", "salt and pepper crisps", "Menu: soup and fish."),
    ("en", "Copies go to: the Board, the Works Council.", "works council", "Copies go to: the Board."),
    (
        "en",
        "Tasks: Eva, Jo and Al to paint the hall, Kim to sweep.",
        "Eva, Jo and Al to paint the hall",
        "Tasks: Kim to sweep.",
    ),
    # Behind words that introduce a list.
    ("en", "User likes tango, polka and swing.", "tango", "User likes polka and swing."),
    ("en", "User likes tango, polka and swing.", "polka", "User likes tango and swing."),
    ("en", "User likes tango, polka and swing.", "swing", "User likes tango and polka."),
    ("en", "User likes tango and polka.", "polka", "User likes tango."),
    ("en", "User likes tango and polka.", "tango", "User likes polka."),
    (
        "en",
        "The guests are the Adamses, Uncle Ray and Mo.",
        "the Adamses",
        "The guests are Uncle Ray and Mo.",
    ),
    (
        "en",
        "The walk includes the mill, the old bridge and the weir.",
        "old bridge",
        "The walk includes the mill and the weir.",
    ),
    ("en", "Soup, fish and cake are on the menu.", "soup", "Fish and cake are on the menu."),
    (
        "en",
        "In June, the tour includes Rome, Pisa and Siena.",
        "Pisa",
        "In June, the tour includes Rome and Siena.",
    ),
    # Semicolons, labels, numbers, parentheses.
    (
        "en",
        "Points: rent is due; the lift is broken; paint the door.",
        "the lift is broken",
        "Points: rent is due; paint the door.",
    ),
    (
        "en",
        "Points: rent is due; the lift is broken; and paint the door.",
        "paint the door",
        "Points: rent is due; and the lift is broken.",
    ),
    ("en", "Points: rent is due; the lift is broken.", "rent is due", "Points: the lift is broken."),
    (
        "en",
        "To: Ida Moss; Subject: rent; Points: lift, door",
        "Ida Moss",
        "Subject: rent; Points: lift, door",
    ),
    ("en", "To: Ida Moss; Subject: rent; Points: lift, door", "rent", "To: Ida Moss; Points: lift, door"),
    (
        "en",
        "To: Ida Moss; Subject: rent; Points: lift, door",
        "door",
        "To: Ida Moss; Subject: rent; Points: lift",
    ),
    ("en", "User wrote a note. To: Ida Moss. Points: lift.", "Ida Moss", "User wrote a note. Points: lift."),
    ("en", "Steps: 1. sand 2. prime 3. paint", "prime", "Steps: 1. sand 3. paint"),
    ("en", "Steps: (1) sand, (2) prime, and (3) paint.", "paint", "Steps: (1) sand and (2) prime."),
    ("en", "The crew (Eva, Jo and Al) starts on Monday.", "Jo", "The crew (Eva and Al) starts on Monday."),
    ("en", "Sanding (Jo Park), painting.", "Jo Park", "Sanding, painting."),
    ("en", "Talks: 'Cats, dogs and mice'; 'Birds'.", "Birds", "Talks: 'Cats, dogs and mice'."),
    ("en", "Talks: 'Cats, dogs and mice'; 'Birds'.", "Cats, dogs and mice", "Talks: 'Birds'."),
    # Lines and sentences.
    ("en", "Shopping\n- oats\n- pears\n- tea", "pears", "Shopping\n- oats\n- tea"),
    ("en", "Shopping\n- oats\n- pears\n- tea", "tea", "Shopping\n- oats\n- pears"),
    ("en", "Shopping:\n* oats\n* pears: the green ones", "pears", "Shopping:\n* oats"),
    ("en", "1. Oil the gate\n2. Mend the fence\n3. Mow", "Mend the fence", "1. Oil the gate\n3. Mow"),
    ("en", "To do\n- [ ] call Ida\n- [x] oil the gate", "oil the gate", "To do\n- [ ] call Ida"),
    (
        "en",
        "User plans a fair. Ida Moss is invited. Jo Park bakes.",
        "Ida Moss is invited",
        "User plans a fair. Jo Park bakes.",
    ),
    ("en", "User plans a fair. Jo Park bakes.", "Jo Park bakes", "User plans a fair."),
    (
        "en",
        "User wrote to Dr. Moss. Jo Park bakes. The hall is paid.",
        "Jo Park bakes",
        "User wrote to Dr. Moss. The hall is paid.",
    ),
    # In other words.
    (
        "en",
        "Points: discussing the delays of the northern line; costs.",
        "Discuss delays of northern line",
        "Points: costs.",
    ),
    (
        "en",
        "Points: the pump needs 40 litres an hour at night; costs.",
        "pump needs 40 litres per hour at night",
        "Points: costs.",
    ),
    # Told again in another dimension of a fact.
    (
        "en",
        "Menu: soup, fish and cake. | When: Sunday | Guests: Ida; Jo",
        "fish",
        "Menu: soup and cake. | When: Sunday | Guests: Ida; Jo",
    ),
    ("en", "To: Ida and Jo. Points: rent. | To: Ida and Jo", "Jo", "To: Ida. Points: rent. | To: Ida"),
    # German.
    ("de", "Einkauf: Hafer, Birnen und Tee.", "Birnen", "Einkauf: Hafer und Tee."),
    ("de", "Einkauf: Hafer, Birnen und Tee.", "Tee", "Einkauf: Hafer und Birnen."),
    (
        "de",
        "Die Runde umfasst die Mühle, die Brücke und das Wehr.",
        "die Mühle",
        "Die Runde umfasst die Brücke und das Wehr.",
    ),
    ("de", "Empfänger: Ida Moos sowie Jo Park.", "Jo Park", "Empfänger: Ida Moos."),
    (
        "de",
        "Punkte: der Aufzug steht still; die Miete ist fällig.",
        "Der Aufzug steht still",
        "Punkte: die Miete ist fällig.",
    ),
    ("de", "Plan\n- Tor ölen\n- Zaun flicken", "Zaun flicken", "Plan\n- Tor ölen"),
    ("de", "An: Ida Moos; Betreff: Miete", "Ida Moos", "Betreff: Miete"),
    # Spanish: "y" before an i is "e", "o" before an o "u".
    ("es", "Compra: avena, peras y té.", "peras", "Compra: avena y té."),
    ("es", "Invitados: Iván, Ana e Inés.", "Inés", "Invitados: Iván y Ana."),
    ("es", "Invitados: Ana, Inés y Leo.", "Leo", "Invitados: Ana e Inés."),
    ("es", "Colores: azul, ocre o rojo.", "rojo", "Colores: azul u ocre."),
    (
        "es",
        "La ruta incluye el molino, el puente y la presa.",
        "el molino",
        "La ruta incluye el puente y la presa.",
    ),
    ("es", "Para: Ana Ruiz; Asunto: alquiler", "Ana Ruiz", "Asunto: alquiler"),
    ("es", "Plan\n- pintar la puerta\n- llamar a Ana", "llamar a Ana", "Plan\n- pintar la puerta"),
]

KEPT: list[tuple[str, str, str]] = [
    ("en", "Menu: soup and fish.", "cake"),
    ("en", "Menu: fish soup, cake.", "fish"),  # inside another item
    ("en", "Menu: soup with fish, cake.", "soup with beans"),
    ("en", "To: Ida, Jo. Speakers: Ida, Al.", "Ida"),  # twice
    ("en", "Menu: soup, fish, soup.", "soup"),
    ("en", "User sat between Ida and Jo.", "Jo"),
    ("en", "User likes both tango and polka.", "tango"),
    ("en", "Three guests come: Ida, Jo and Al.", "Jo"),  # would no longer be three
    ("en", "The 3 guests are Ida, Jo and Al.", "Al"),
    ("en", "User likes dry cider, perry and mead.", "cider"),  # "dry" would go with the next
    ("en", "In June, Ida and Jo travelled.", "Ida"),  # no list of three
    ("en", "Ida and Jo are invited.", "Ida"),  # "are"
    ("en", "User bought oats, pears and tea at the mill.", "tea"),  # "at the mill" is said of all
    ("en", "User saw 'Cats, dogs and mice'.", "dogs"),  # a title
    ("en", "User wants to see the mill.", "the mill"),
    ("en", "User drafted a plan with these goals: rest.", "rest"),  # a label would be left over
    ("en", "Goals: rest.", "rest"),  # nothing would be left
    (
        "en",
        "User plans a fair. Ida Moss is invited. She bakes.",
        "Ida Moss is invited",
    ),  # "She" would be somebody else
    ("en", "Plan:\n- paint\nDone by May.", "paint"),  # a heading would be left over
    ("en", "Plan\n- paint\n  - the door\n- mow", "paint"),  # what is beneath it would hang in the air
    ("en", "Points: phase 1 of the big bridge works; costs.", "phase 2 of the big bridge works"),
    ("en", "Points: do not invite Ida Moss; costs.", "invite Ida Moss"),
    ("en", "User met Ida, the mayor.", "the mayor"),
    (
        "en",
        "Ivo was made the new head of the town choir, which he had longed for and was proud of.",
        "Ivo was made head of the town choir",
    ),
    (
        "en",
        "Ivo plans to enter the song at the fair and hopes for singers and drummers.",
        "Ivo only plans to enter the song at the fair",
    ),
    ("en", "", "soup"),
    ("en", "Menu: soup, fish.", ""),
    ("de", "User saß zwischen Ida und Jo.", "Jo"),
    ("de", "Drei Gäste: Ida, Jo und Al.", "Al"),
    ("de", "Einkauf: Hafermilch, Tee.", "Hafer"),
    ("es", "User estaba entre Ana y Leo.", "Leo"),
    ("es", "Tres invitados: Ana, Leo e Inés.", "Leo"),
    ("es", "Compra: leche de avena, té.", "avena"),
]


@every_row(("code", "text", "item", "left"), CUTS, ids=[f"{c}-{t[:40]}-{i}" for c, t, i, _ in CUTS])
def test_an_item_is_cut_with_its_separators(code: str, text: str, item: str, left: str) -> None:
    """What is left reads as if the item had never been listed."""
    assert left_out(text, Wanted(item, LANGUAGES[code])) == left


@every_row(("code", "text", "item"), KEPT, ids=[f"{c}-{t[:40]}-{i}" for c, t, i in KEPT])
def test_what_cannot_be_cut_cleanly_is_not_cut(code: str, text: str, item: str) -> None:
    """Where it is not certain which words are meant, or the rest would read wrongly, nothing is cut."""
    assert left_out(text, Wanted(item, LANGUAGES[code])) is None


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_a_language_that_is_not_the_text_s_cuts_alike_or_not_at_all(code: str) -> None:
    """Read in a language whose conjunctions it lacks, a list loses the item and no other word, or stays."""
    joints = {word for language in LANGUAGES.values() for word in language.parts.words.conjunctions}
    for _, text, item, left in CUTS:
        cut = left_out(text, Wanted(item, LANGUAGES[code]))
        words, right = (
            [word for word in re.findall(r"\w+", each or "") if word not in joints] for each in (cut, left)
        )
        assert cut is None or words == right


def test_the_field_tells_two_of_one_name_apart() -> None:
    """Ida is no recipient any more and still speaks."""
    text = "To the recipients: Ida, Jo. Speakers: Ida, Al."
    speaker = Wanted("Ida", LANGUAGES["en"], field="is a speaker of the evening")
    assert left_out(text, speaker) == "To the recipients: Ida, Jo. Speakers: Al."
    assert left_out(text, Wanted("Ida", LANGUAGES["en"], field="cook")) is None


def test_a_sentence_may_say_what_the_item_is() -> None:
    """ "Ida is a recipient." goes with the recipient Ida, not with the cook."""
    text = "User wrote to the council. Ida Moss is a recipient. Jo pays."
    assert (
        left_out(text, Wanted("Ida Moss", LANGUAGES["en"], field="recipient"))
        == "User wrote to the council. Jo pays."
    )
    assert left_out(text, Wanted("Ida Moss", LANGUAGES["en"], field="cook")) is None


def test_items_that_stay_are_not_touched() -> None:
    """What is also said of an item that stays, or is a part of it, is not cut."""
    english = LANGUAGES["en"]
    text = "Menu: bread and butter, soup, cake."
    assert left_out(text, Wanted("butter", english)) == "Menu: bread, soup, cake."
    assert left_out(text, Wanted("butter", english, others=("bread and butter", "soup"))) is None
    assert left_out(text, Wanted("soup", english, others=("Soup",))) is None
    assert (
        left_out(text, Wanted("soup", english, others=("bread and butter", "cake")))
        == "Menu: bread and butter, cake."
    )


def test_likeness_looks_at_words_numbers_and_negation() -> None:
    """The same words in another form are like; another number, or "not", is another item."""
    english = LANGUAGES["en"]
    assert likeness("the Long Bridge", "long bridge", english) is Likeness.VERBATIM
    assert likeness("painting the bridge", "paint bridges", english) is Likeness.SAME_WORDS
    assert likeness("paint bridge 2", "paint bridge 3", english) is Likeness.OTHER
    assert likeness("do not paint the bridge", "paint the bridge", english) is Likeness.OTHER
    assert likeness("paint the bridge", "paint the door", english) is Likeness.OTHER


def test_several_items_go_one_after_the_other() -> None:
    """Two of three leave the third; what is named twice is gone for both, and what cannot be cut is told apart."""
    english = LANGUAGES["en"]
    text = "Menu: soup, fish and cake. Jo cooks with Ida."
    wanted = [[Wanted(item, english)] for item in ("fish", "soup", "Fish", "Ida")]
    assert all_left_out(text, wanted) == ("Menu: cake. Jo cooks with Ida.", [True, True, True, False])


NOUNS = ["amber", "birch", "copper", "denim", "ebony", "flint", "granite", "hazel"]
LISTED = st.lists(st.sampled_from(NOUNS), min_size=2, max_size=6, unique=True)


def between_commas(items: list[str]) -> str:
    return f"{', '.join(items[:-1])} and {items[-1]}"


def lists(text: str, wanted: Wanted) -> bool:
    return bool(item_places(text, side_by_side(text, wanted.language), wanted))


FORMS = {
    "colon": lambda items: f"User made a list. Materials: {between_commas(items)}. It hangs in the shed.",
    "oxford": lambda items: (
        f"Materials: {', '.join(items[:-1])}, and {items[-1]}."
        if len(items) > 2
        else f"Materials: {between_commas(items)}."
    ),
    "semicolons": lambda items: f"Materials: {'; '.join(items)}. | When: Monday",
    "introduced": lambda items: f"The materials are {between_commas(items)}.",
    "lines": lambda items: "Materials:\n" + "\n".join(f"- {item}" for item in items),
}


@settings(max_examples=40)
@given(items=LISTED, form=st.sampled_from(sorted(FORMS)), data=st.data())
def test_a_list_without_an_item_is_the_list_of_the_others(
    items: list[str], form: str, data: st.DataObject
) -> None:
    """In every form of list the text without an item is the text written without it; cut again, nothing happens."""
    gone = data.draw(st.sampled_from(items))
    wanted = Wanted(gone, LANGUAGES["en"], others=tuple(item for item in items if item != gone))
    left = left_out(FORMS[form](items), wanted)
    assert left == FORMS[form]([item for item in items if item != gone]) or (
        len(items) == 2 and left is not None
    )
    assert not lists(left, wanted)
    assert left_out(left, wanted) is None
    assert all(lists(left, Wanted(item, LANGUAGES["en"])) or len(items) == 2 for item in wanted.others)


PROSE = st.text(alphabet="ab AB,;:.-()'|\n123and ", max_size=80)


@settings(max_examples=40)
@given(text=PROSE, item=st.text(alphabet="abAB 12,and", max_size=12), code=st.sampled_from(sorted(LANGUAGES)))
def test_whatever_the_text_only_words_of_the_item_are_lost(text: str, item: str, code: str) -> None:
    """No text and no item make it fail, or lose more than the item, a short label and separators; it ends."""
    wanted = Wanted(item, LANGUAGES[code])
    left = left_out(text, wanted)
    if left is not None:
        assert len(left) < len(text)
        assert left_out(left, wanted) is None or len(left_out(left, wanted) or "") < len(left)

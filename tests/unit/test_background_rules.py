"""Background merging by sentence: appending without a model, and checks of a model's merge (eq. 27)."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.errors import BackgroundRefused
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.prompts.merge_background import MergedBackground
from hindsight_integrations.reflect.background import (
    CONCISE,
    MergeCheck,
    append_new,
    background_sentences,
    joined,
    own_sentences,
    same_sentence,
)
from hindsight_integrations.validation.limits import MAX_BACKGROUND

ALL = tuple(LANGUAGES.values())

APPENDED = [
    # the earlier paper's 10.2 and 10.3
    ("I was born in Texas", "I have 10 years of startup experience", "I was born in Texas. I have 10 years of startup experience."),
    ("", "You are a creative engineer", "I am a creative engineer"),
    ("", "You were born in 1990", "I was born in 1990"),
    ("", "You value innovation", "I value innovation"),
    # existing sentences are not repeated
    ("I keep bees.", "You keep bees! You sing.", "I keep bees. I sing."),
    ("I love boats.", "you love  BOATS", "I love boats."),
    ("I work with Dr. Smith.", "You work with Dr. Jones.", "I work with Dr. Smith. I work with Dr. Jones."),
    # the same value, another attribute, another value of an attribute that may have several
    ("My name is Otto.", "You are called Otto. You were born in Oslo in 1988.", "My name is Otto. I am called Otto. I was born in Oslo in 1988."),
    ("I was born in May 1988.", "You were born in Texas.", "I was born in May 1988. I was born in Texas."),
    ("I live in Oslo.", "You also live in Bonn.", "I live in Oslo. I also live in Bonn."),
    ("I am 34.", "You are a 35-ton crane driver.", "I am 34. I am a 35-ton crane driver."),
    # a background in the second person stays so
    ("I help you remember.", "You keep bees.", "I help you remember. I keep bees."),
    ("You are a guide.", "You love boats.", "I am a guide. I love boats."),
    # conflicts that only a model can judge: both statements are kept
    ("I like tea.", "You don't like tea.", "I like tea. I don't like tea."),
    ("I work in tech.", "You are an engineer at Nimbus.", "I work in tech. I am an engineer at Nimbus."),
    ("I am a guide.", "Ego navigare amo.", "I am a guide. Ego navigare amo."),
    ("Ich wohne in Wien.", "Du hast zwei Hunde.", "Ich wohne in Wien. Ich habe zwei Hunde."),
    ("Vivo en Lima.", "Te gusta el mar.", "Vivo en Lima. Me gusta el mar."),
]  # fmt: skip

REFUSED = [
    ("I was born in Colorado", "You were born in Texas", "birthplace"),
    (
        "I was born in Colorado.",
        "You were born in Texas and have 10 years of startup experience.",
        "birthplace",
    ),
    ("I was born in Oslo on 3 May 1988.", "You were born on May 4, 1989.", "year of birth"),
    ("My name is Marcus.", "You are called Otto.", "name"),
    ("I am 34.", "You are 35 years old.", "age"),
    ("I live in New York.", "You live in York.", "residence"),
    ("", "You live in Oslo. You live in Turku.", "residence"),
    ("Ich heiße Max.", "Dein Name ist Otto.", "name"),
    ("Ich heiße Max.", "Your name is Otto.", "name"),
    ("Ich bin 40 Jahre alt.", "Sie sind 41 Jahre alt.", "age"),
    ("Ich wurde in Kiel geboren.", "Du wurdest am 3. Mai 1988 in Bremen geboren.", "birthplace"),
    ("Ich wurde im Mai 1988 geboren.", "Du wurdest am 3.5.1989 geboren.", "year of birth"),
    ("Ich wohne in Wien.", "Sie leben in Graz.", "residence"),
    ("Me llamo Ana.", "Tu nombre es Luisa.", "name"),
    ("Tengo 30 años.", "Tienes 31 años.", "age"),
    ("Nací en Lima.", "Naciste en 1990 en Quito.", "birthplace"),
    ("Nací en 1989.", "Naciste el 3 de mayo de 1990.", "year of birth"),
    ("Vivo en Sevilla.", "Usted vive en Granada.", "residence"),
]


def append(current: str, snippet: str) -> str:
    return append_new(background_sentences(current, ALL), own_sentences(snippet, ALL), ALL)


@every_row(("current", "snippet", "expected"), APPENDED)
def test_a_snippet_is_appended_unless_it_is_there(current: str, snippet: str, expected: str) -> None:
    """A snippet is appended in the first person, once."""
    assert append(current, snippet) == expected
    assert append(expected, snippet) == expected


@every_row(("current", "snippet", "attribute"), REFUSED)
def test_a_second_value_is_refused_by_name(current: str, snippet: str, attribute: str) -> None:
    """A conflicting value is rejected with the attribute, both sentences and the remedy."""
    with pytest.raises(
        BackgroundRefused, match=rf"two values for {attribute}:.*bank\.profile\.set.*model"
    ) as refused:
        append(current, snippet)
    for text in (current, snippet):
        for sentence in own_sentences(text, ALL):
            assert sentence in str(refused.value)


def test_an_appended_background_stays_under_the_limit() -> None:
    """A background over 4,000 characters is rejected with the remedy; one of 4,000 is kept."""
    longest = "I collect " + "x" * (MAX_BACKGROUND - 11) + "."
    assert len(longest) == MAX_BACKGROUND
    assert append("", longest) == longest
    assert append(longest[:-9] + ".", "I sail.").endswith("x. I sail.")
    with pytest.raises(BackgroundRefused, match=r"4,008 characters.*bank\.profile\.set"):
        append(longest, "I sing.")


SAID = sorted({text for current, snippet, _ in (*APPENDED, *REFUSED) for text in (current, snippet) if text})


@given(current=st.lists(st.sampled_from(SAID), max_size=4), snippet=st.sampled_from(SAID))
def test_nothing_is_lost_without_a_model(current: list[str], snippet: str) -> None:
    """Without a model every sentence is kept, or the merge is rejected."""
    before = own_sentences(". ".join(current), ALL)
    told = own_sentences(snippet, ALL)
    try:
        merged = same_sentence(append_new(before, told, ALL))
    except BackgroundRefused:
        reject()
    assert all(same_sentence(sentence) in merged for sentence in (*before, *told))


OLD = ("I was born in Oslo.", "I keep 3 bees called \u201cMaja\u201d with Ana.")
NEW = ("I was born in Turku and have sailed for twelve years.",)
KEPT = "I keep 3 bees called \u201cMaja\u201d with Ana."

SOUND: list[tuple[str, list[str]]] = [
    (f"I was born in Turku and have sailed for 12 years. {KEPT}", []),
    ("Born in Turku, I have sailed for twelve years and keep three bees called Maja with Ana.", []),
    ("I was born in Turku and have sailed for 12 years.", ["3", "bees", "Maja", "Ana"]),
]
SPOILED: list[tuple[str, list[str], str]] = [
    ("", [], "empty"),
    (f"I was born in Turku and have sailed for 12 years. {KEPT}" + " I sing." * 60, [], "at most 500"),
    ("Ich wurde in Turku geboren, segle seit zwölf Jahren und halte mit Ana 3 Bienen, Maja.", [], "language"),
    ("You were born in Turku and have sailed for 12 years. You keep 3 bees called Maja with Ana.", [], "first person"),
    ("He was born in Turku and has sailed for 12 years. He keeps 3 bees called Maja with Ana.", [], "first person"),
    ("I was born in Turku and have sailed for 12 years. Otto keeps 3 bees called Maja with Ana.", [], "its name"),
    (f"I was born in Turku and have sailed for 12 years. I was born in Oslo. {KEPT}", [], "two values for birthplace"),
    (f"I was born in Turku and have sailed for 21 years. {KEPT}", [], "a number that is in none"),
    (f"I was born in Turku and have sailed for 12 years. {KEPT} I studied at MIT.", [], "a name that is in none"),
    ("I was born in Turku and have sailed for 12 years.", [], "sentence [2]"),
    ("I was born in Turku and have sailed for 12 years. I keep 3 bees called Maja.", [], "sentence [2]"),
    ("I was born in Turku and have sailed for 12 years. I keep bees called Maja with Ana.", [], "sentence [2]"),
    ("I was born in Turku and have sailed for 12 years. I keep 3 bees with Ana.", [], "sentence [2]"),
    (f"I was born in Turku. {KEPT}", ["12"], "sentence [3]"),
    (" ".join(OLD), ["Turku", "12"], "sentence [3]"),
    ("Sure! Here is the merged background.", [], "first person"),
]  # fmt: skip


def problem(text: str, removed: list[str]) -> str:
    return MergeCheck(OLD, NEW, ALL, "Otto").problem(MergedBackground(background=text, removed=removed))


@every_row(("text", "removed"), SOUND)
def test_a_sound_merge_passes(text: str, removed: list[str]) -> None:
    """A model's merge may drop a replaced value, and other text only if it names it."""
    assert problem(text, removed) == ""


@every_row(("text", "removed", "wrong"), SPOILED)
def test_a_spoiled_merge_is_named(text: str, removed: list[str], wrong: str) -> None:
    """A wrong person, length, language, name or number is named, with the sentence's number."""
    assert wrong in problem(text, removed)


def test_a_background_that_addresses_somebody_may_go_on_doing_so() -> None:
    """The second person is allowed if a source sentence uses it."""
    check = MergeCheck(("I help you remember.",), ("I sing.",), ALL)
    assert check.problem(MergedBackground(background="I help you remember. I sing.")) == ""
    assert "first person" in check.problem(MergedBackground(background="You help to remember. You sing."))


def test_what_the_background_says_twice_itself_is_no_fault_of_the_model() -> None:
    """The program set a nickname next to a name."""
    check = MergeCheck(("My name is Max.", "I am called Maxi."), ("I sing.",), ALL)
    assert check.problem(MergedBackground(background="My name is Max. I am called Maxi. I sing.")) == ""


def test_a_word_that_begins_a_sentence_is_no_name() -> None:
    """Sentences may be reordered or start with another word."""
    check = MergeCheck(("Planned trips bore me.",), ("I sing.",), ALL)
    assert (
        check.problem(
            MergedBackground(background="Usually I sing. I am bored by planned trips that bore me.")
        )
        == ""
    )


@pytest.mark.slow
@every_row(
    "piece",
    ["I ", "I am a ", "born ", ", ", "you are ", "A", ". ", "I was born in a, B, ", "I was born on A "],
)
def test_no_background_takes_long(piece: str) -> None:
    """The longest background is checked within seconds."""
    begun = time.process_time()
    text = (piece * 4_000)[:4_000]
    with contextlib.suppress(BackgroundRefused):
        append(text, text)
    MergeCheck([text], [text], ALL, "Otto").problem(MergedBackground(background=text[:490]))
    assert time.process_time() - begun < 3


def test_a_merge_of_long_texts_may_be_as_long_as_they_are() -> None:
    """A background that `set` allows does not prevent every merge: a model need not cut it to 500 characters."""
    old = [f"I visited harbour {number} and liked it." for number in range(1, 60)]
    text = joined([*old, "I sail."])
    assert len(text) > CONCISE
    check = MergeCheck(old, ["I sail."], ALL)
    assert check.problem(MergedBackground(background=text, removed=[])) == ""
    longer = MergedBackground(background=f"{text} I visited harbour 1 and liked it.", removed=[])
    assert f"at most {len(text)}" in check.problem(longer)

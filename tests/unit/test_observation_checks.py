"""Checks of a model's observations: each invalid one is named, and valid ones pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from table import every_row

from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.time import Interval
from hindsight_integrations.model.units import FactType, MemoryUnit
from hindsight_integrations.prompts.observe import AnsweredObservation, AnsweredObservations
from hindsight_integrations.prompts.rendering import template
from hindsight_integrations.reflect.observations import ECHO_WORDS, Checker

ALL = tuple(LANGUAGES.values())

# Earlier paper 2.6.2: the facts about Alice and her observations.
ALICE = (
    "Alice works at Google",
    "Alice is a software engineer",
    "Alice specializes in ML and deep learning",
    "Alice joined Google in 2023",
    "Alice is detail-oriented and methodical",
)
OBSERVED = (
    ("Alice is a software engineer at Google specializing in machine learning and deep learning", [1, 2, 3]),
    ("Alice joined Google in 2023", [4]),
    ("Alice is detail-oriented and methodical in her approach", [5]),
)


def fact(text: str, day: int = 1, occurred: Interval | None = None) -> MemoryUnit:
    moment = datetime(2024, 3, day, tzinfo=UTC)
    return MemoryUnit(f"f{day}", "bank", text, FactType.WORLD, moment, occurred)


def checker(texts: Sequence[str], name: str = "Alice", most: int = 7) -> Checker:
    facts = [fact(text, day) for day, text in enumerate(texts, 1)]
    return Checker(names=(name, name.casefold()), facts=facts, most=most, languages=ALL)


def answer(*observations: tuple[str, list[int]]) -> AnsweredObservations:
    return AnsweredObservations(
        observations=[AnsweredObservation(text=text, facts=facts) for text, facts in observations]
    )


def problem(text: str, facts: list[int], texts: Sequence[str] = ALICE, name: str = "Alice") -> str:
    return checker(texts, name).problem(AnsweredObservation(text=text, facts=facts))


def test_the_papers_observations_of_alice_pass() -> None:
    """The worked example of the earlier paper passes."""
    assert checker(ALICE).problems(answer(*OBSERVED)) == ""


SPOILED = [
    ("I am a software engineer at Google.", [1], "first person"),
    ("We know Alice from Google.", [1], "first person"),
    ("You are a software engineer at Google.", [1], "second person"),
    ("Alice works at Google. " * 40, [1], "919 characters"),
    ("", [1], "says nothing"),
    (" \n\t", [1], "says nothing"),
    ("In my opinion Alice is methodical.", [5], "first person"),
    ("Alice works at Google.", [], "cites no facts"),
    ("Alice works at Google.", [6], "names fact 6, and there are facts 1 to 5"),
    ("Alice works at Google.", [0], "names fact 0"),
    ("Alice works at Google.", [-1], "names fact -1"),
    ("Alice joined Google in 2021.", [4], "the number 2021"),
    ("Alice has 14 engineers at Google.", [1], "the number 14"),
    ("Alice has twelve engineers at Google.", [1], "the number 12"),
    ("Alice arbeitet als Softwareentwicklerin bei Google und ist sehr genau.", [1], "another language"),
    ("Alice es ingeniera de software en la empresa Google.", [1], "another language"),
    ("Alice travaille chez Google comme ingénieure logicielle depuis des mois.", [1], "another language"),
    ("アリスはグーグルで働いている。", [1], "another language"),
    ("Alice enjoys sailing on the ocean with her family.", [1], "do not say that"),
]


@every_row(("text", "facts", "wrong"), SPOILED, ids=[wrong for _, _, wrong in SPOILED])
def test_a_spoiled_observation_is_refused(text: str, facts: list[int], wrong: str) -> None:
    """An observation with a wrong person, length, citation, number, language or ground is rejected with the reason."""
    assert wrong in problem(text, facts)


def test_an_echo_of_the_instructions_is_refused() -> None:
    """Echoes of the prompt and its examples are rejected."""
    words = template("observe").split()
    echoes = [" ".join(words[at : at + ECHO_WORDS + 4]) for at in range(10, len(words) - 20, 40)]
    examples = ["Ana is a harbour pilot in Porto and has guided ships there since 2019."]
    assert all(problem(text, [1]) for text in (*echoes, *examples))
    assert "repeats the instructions" in problem(examples[0], [1], ["Ana lives in Porto"], "Ana")


def test_what_is_no_matter_of_exactness_is_left_to_the_model() -> None:
    """Sentence starts, judgements and hedges are not checked."""
    texts = ["The trip of Alice is planned for May, and Alice may go by train"]
    assert problem("Planned for May, the trip of Alice is likely to be by train.", [1], texts) == ""


def test_numbers_of_the_facts_may_be_told_in_figures_or_words() -> None:
    """ "Forty" equals 40."""
    texts = ["Rui said that Alice is a wonderful cook and probably cooks for forty guests on Sunday"]
    assert problem("Rui called Alice a wonderful cook.", [1], texts) == ""
    assert problem("Alice probably cooks for 40 guests on Sunday.", [1], texts) == ""
    assert problem("Alice probably cooks for forty guests.", [1], texts) == ""


def test_somebodys_words_in_quotes_are_theirs() -> None:
    """Quoted words are not checked for person and judgement."""
    texts = ["Alice said that she thinks the harbour is lovely: I love it there"]
    assert problem('Alice said of the harbour: "I love it there, it is lovely".', [1], texts) == ""


def test_you_and_we_in_an_account_are_nobody() -> None:
    """A narrative fact with "being yourself" or "our lives" may be quoted; it addresses nobody."""
    texts = [
        "Alice painted a picture that is about finding comfort in being yourself and about time changing our lives"
    ]
    assert problem("Alice painted a picture about finding comfort in being yourself.", [1], texts) == ""
    assert "second person" in problem("You find comfort in being yourself.", [1], texts)
    assert "first person" in problem("I sold my boat to Rui.", [1], ["I sold my boat to Rui."])
    helped = ["Alice and her family helped at a shelter on Thursday, August 24, 2023"]
    assert "first person" in problem("On August 24, 2023, I and her family helped at a shelter.", [1], helped)


def test_a_sentence_full_of_names_is_in_the_language_of_its_facts() -> None:
    """Few stop words alone do not indicate another language if the words are those of the facts."""
    texts = [
        "Alice joined a new rowing club, 'Harbour Rowing Friends', last Tuesday (Tuesday, July 18, 2023)."
    ]
    assert problem(texts[0], [1], texts) == ""


def test_things_told_one_by_one_may_be_counted() -> None:
    """A number may count the cited facts, but not exceed them."""
    texts = [f"Alice rowed the {river} in spring" for river in ("Douro", "Tejo", "Minho", "Sado")]
    assert problem("Alice rowed 4 rivers in spring.", [1, 2, 3, 4], texts) == ""
    assert problem("Alice rowed four rivers in spring.", [1, 2, 3, 4], texts) == ""
    assert "the number 5" in problem("Alice rowed 5 rivers in spring.", [1, 2, 3, 4], texts)


def test_dates_of_the_facts_may_be_told() -> None:
    """Dates shown with a fact support dates in the observation."""
    happened = Interval(datetime(2022, 1, 1, tzinfo=UTC), datetime(2023, 1, 1, tzinfo=UTC))
    facts = [replace(fact("Alice: last year I sold my boat", 4), occurred=happened, speaker="Alice")]
    check = Checker(names=("Alice",), facts=facts, most=7, languages=ALL)
    told = "Alice sold the boat in 2022, as she said on March 4, 2024."
    assert check.problem(AnsweredObservation(text=told, facts=[1])) == ""
    assert "the number 2021" in check.problem(
        AnsweredObservation(text="Alice sold the boat in 2021.", facts=[1])
    )


@pytest.mark.parametrize(
    ("facts", "good", "bad"),
    [
        (
            ["Marta arbeitet seit 2019 als Lotsin im Hafen von Emden", "Marta hat eine Katze"],
            "Marta ist seit 2019 Lotsin im Hafen von Emden.",
            ("Ich glaube, Marta ist Lotsin.", "Marta ist seit 2018 Lotsin im Hafen von Emden.", "Marta hat elf Schiffe."),
        ),
        (
            ["Marta trabaja desde 2019 como práctica en el puerto de Vigo", "Marta tiene un gato"],
            "Marta es práctica en el puerto de Vigo desde 2019.",
            ("Creo que Marta vive en Vigo.", "Marta trabaja desde 2018 en el puerto de Vigo.", "Marta tiene once barcos."),
        ),
    ],
    ids=["de", "es"],
)  # fmt: skip
def test_other_languages_are_checked_too(facts: list[str], good: str, bad: Sequence[str]) -> None:
    """German and Spanish observations are checked like English ones."""
    assert problem(good, [1], facts, "Marta") == ""
    assert all(problem(text, [1], facts, "Marta") for text in bad)


def test_facts_of_a_language_nobody_taught_us_can_be_summed_up() -> None:
    """In unsupported languages only citations, length, numbers and script are checked."""
    facts = ["Marie habite à Brest depuis 2019 avec ses deux chats", "Marie dirige le port de plaisance"]
    assert (
        problem("Marie, qui habite à Brest depuis 2019, dirige le port de plaisance.", [1, 2], facts, "Marie")
        == ""
    )
    assert "2021" in problem("Marie habite à Brest depuis 2021.", [1], facts, "Marie")


@every_row(
    ("facts", "count", "wrong"),
    [(9, 0, "0 different observations"), (9, 2, "2 different observations"), (9, 3, ""), (3, 1, ""), (9, 8, "8 observations")],
)  # fmt: skip
def test_too_few_and_too_many_are_named(facts: int, count: int, wrong: str) -> None:
    """Three to seven observations are required, fewer for few facts; duplicates count once."""
    texts = [f"Alice rowed river {number} in spring" for number in range(1, facts + 1)]
    made = [(f"Alice rowed river {number}.", [number]) for number in range(1, count + 1)]
    found = checker(texts).problems(answer(*made, *made[:1]))
    assert wrong in found if wrong else found == ""


def test_only_what_is_sound_is_kept_each_once_and_no_more_than_allowed() -> None:
    """Valid observations are kept once each, up to the limit, despite invalid ones."""
    spoiled = ("Alice has 9 engineers at Google", [1])
    kept = checker(ALICE, most=2).sound(answer(spoiled, OBSERVED[0], OBSERVED[0], *OBSERVED[1:]))
    assert [one.text for one in kept] == [OBSERVED[0][0], OBSERVED[1][0]]

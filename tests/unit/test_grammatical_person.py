"""Detection of the grammatical person, and rewriting in the first person (paper section 5.6; earlier paper 10.3)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.language.language import Language, Person
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.language.person import LONGEST_TEXT, _masked, _restored, first_person, persons

FIRST, SECOND = Person.FIRST, Person.SECOND
EN = LANGUAGES["en"]

SPOKEN = [
    ("en", "You are a creative engineer", "I am a creative engineer"),  # the paper's and the earlier paper's
    ("en", "You were born in 1990", "I was born in 1990"),
    ("en", "You value innovation", "I value innovation"),
    ("en", 'You wrote "are you there"/you@foo.com.', 'I wrote "are you there"/you@foo.com.'),
    ("en", "Your name is Otto and you were born in Bergen.", "My name is Otto and I was born in Bergen."),
    ("en", "you were born in Bergen and are a cook", "I was born in Bergen and am a cook"),
    (
        "en",
        "You're kind, you've seen Oslo, and aren't tall.",
        "I'm kind, I've seen Oslo, and am not tall.",
    ),
    ("en", "You weren't trained here and don't lie.", "I wasn't trained here and don't lie."),
    ("en", "People call you Max and trust you.", "People call me Max and trust me."),
    ("en", "To you, honesty is yours to keep.", "To me, honesty is mine to keep."),
    ("en", "You taught yourself Latin.", "I taught myself Latin."),
    ("en", "As a guide, you are patient.", "As a guide, I am patient."),
    ("en", "You and your wife live in Turku.", "I and my wife live in Turku."),
    ("en", "You live with friends who are cooks.", "I live with friends who are cooks."),
    ("en", "YOU ARE A GUIDE", "I AM A GUIDE"),
    ("en", 'Your motto is "You get what you give".', 'My motto is "You get what you give".'),
    ("en", "You love the film Call Me by Your Name.", "I love the film Call Me by Your Name."),
    ("en", "I want you to be a travel agent.", "I am a travel agent."),
    ("de", "Du bist ein kreativer Ingenieur.", "Ich bin ein kreativer Ingenieur."),
    ("de", "Dein Name ist Max und du wurdest in Kiel geboren.", "Mein Name ist Max und ich wurde in Kiel geboren."),
    ("de", "Du sprichst Deutsch, liest viel und fährst Rad.", "Ich spreche Deutsch, lese viel und fahre Rad."),
    ("de", "In Berlin bist du selbst geboren.", "In Berlin bin ich selbst geboren."),
    ("de", "Du heißt Max. Abends schließt du ab.", "Ich heiße Max. Abends schließe ich ab."),
    ("de", "Du begrüßt jeden.", "Ich begrüße jeden."),
    ("de", "Du hast jeden begrüßt.", "Ich habe jeden begrüßt."),
    ("de", "Weißt du viel?", "Weiß ich viel?"),
    ("de", "Sie sind ein erfahrener Koch und arbeiten in Wien.", "Ich bin ein erfahrener Koch und arbeite in Wien."),
    ("de", "Ihr Name ist Max. Sie haben zwei Hunde.", "Mein Name ist Max. Ich habe zwei Hunde."),
    ("de", "Dir gehört ein Hund, den du liebst.", "Mir gehört ein Hund, den ich liebe."),
    ("es", "Eres un ingeniero creativo.", "Soy un ingeniero creativo."),
    ("es", "Tu nombre es Ana y naciste en Lima.", "Mi nombre es Ana y nací en Lima."),
    ("es", "Te llamas Ana y te gusta el té.", "Me llamo Ana y me gusta el té."),
    ("es", "Vives en Madrid y trabajas como cocinera.", "Vivo en Madrid y trabajo como cocinera."),
    ("es", "Usted es médico y vive en Quito. Su nombre es Luis.", "Yo soy médico y vivo en Quito. Mi nombre es Luis."),
    ("es", "Tú tienes dos casas y tus padres viven contigo.", "Yo tengo dos casas y mis padres viven conmigo."),
]  # fmt: skip

OF_NOBODY_HERE = [
    ("en", "Marcus and Ana love hiking."),
    ("en", "Alice works with Marcus."),
    ("en", "I was born in Texas. My sister is a vet and is happy."),
    ("de", "Sie ist Lehrerin und liebt ihren Beruf."),
    ("es", "Nací en Lima y me gustan las casas viejas."),
]

READ = [
    ("en", "I bake bread.", {FIRST}),
    ("en", "We keep our bees.", {FIRST}),
    ("en", "You bake bread.", {SECOND}),
    ("en", "Alice bakes bread.", set()),
    ("en", "She bakes bread for you.", {SECOND}),
    ("en", "My aunt bakes.", {FIRST}),
    ("en", 'She said "I love you" to Tom.', set()),
    ("en", "The sign reads \u2018we are closed\u2019.", set()),
    ("en", "Alice moved to the US for a job in IT.", set()),
    ("en", "WE MOVED TO THE COAST", {FIRST}),
    ("en", "Alice studies World War I and Elizabeth's court.", set()),
    ("en", "Elizabeth I was queen.", set()),
    ("en", "In Paris I met Bob.", {FIRST}),
    ("en", "Alice's favourite band is My Chemical Romance.", set()),
    ("en", "My Chemical Romance is Alice's favourite band.", set()),
    ("en", "Alice saw the film Despicable Me.", set()),
    ("en", "Alice drives the I-95 and likes do-it-yourself shops.", set()),
    ("en", "Alice writes to me@example.com.", set()),
    ("en", "Alice worked in a coal mine.", set()),
    ("en", "That house is mine.", {FIRST}),
    ("en", "Alice sends thank you cards.", set()),
    ("de", "Ich backe Brot.", {FIRST}),
    ("de", "Du backst Brot.", {SECOND}),
    ("de", "Anna hilft Ihnen.", {SECOND}),
    ("de", "Sie sind Geschwister.", set()),
    ("de", "Anna liebt ihren Beruf.", set()),
    ("de", "Anna sagte: „Ich komme zu dir.“", set()),
    ("es", "Nací en Lima.", {FIRST}),
    ("es", "Vivo en Lima.", {FIRST}),
    ("es", "Eres amable.", {SECOND}),
    ("es", "Ella trabaja en Lima.", set()),
    ("es", "Las casas tienen patios y meses de espera.", set()),
    ("es", "Toca una sonata en mi menor.", set()),
]  # fmt: skip


@every_row(("code", "said", "own"), SPOKEN)
def test_what_is_said_to_somebody_is_what_they_say_of_themselves(code: str, said: str, own: str) -> None:
    """Pronouns, possessives and verbs are rewritten; quotations and names stay."""
    assert first_person(said, LANGUAGES[code]) == own


@every_row(("code", "text"), OF_NOBODY_HERE)
def test_what_speaks_of_others_stays(code: str, text: str) -> None:
    """Text about other people is not changed."""
    assert first_person(text, LANGUAGES[code]) == text


@every_row(("code", "text", "expected"), READ)
def test_the_person_of_a_text_is_read_from_its_words(code: str, text: str, expected: set[Person]) -> None:
    """Quotations, acronyms, numerals, titles and addresses do not determine the person."""
    assert persons(text, LANGUAGES[code]) == expected


@every_row("code", [*LANGUAGES])
@every_row("own", [own for _, _, own in SPOKEN])
def test_a_text_in_the_first_person_is_left_alone(code: str, own: str) -> None:
    """Rewriting is idempotent."""
    if (code, own) in [(language, text) for language, _, text in SPOKEN]:
        assert first_person(own, LANGUAGES[code]) == own
        assert SECOND not in persons(own, LANGUAGES[code])


def test_a_language_without_words_of_its_own_changes_nothing() -> None:
    """Languages without rules are not rewritten."""
    latin = Language(code="la")
    assert first_person("Tu es Petrus.", latin) == "Tu es Petrus."
    assert persons("Tu es Petrus.", latin) == set()


@every_row("text", ["", "  ", "...", "42"])
def test_a_text_without_words_speaks_in_no_person(text: str) -> None:
    """A text without words has no person."""
    assert persons(text, EN) == frozenset()


@given(text=st.text(max_size=300), code=st.sampled_from(sorted(LANGUAGES)))
def test_any_text_can_be_read_and_turned(text: str, code: str) -> None:
    """Any text is rewritten without raising, and nothing but words changes."""
    persons(text, LANGUAGES[code])
    assert (first_person(text, LANGUAGES[code]) == "") == (text == "")


PIECES = [
    '"',
    "'",
    "\u201c",
    "\u201d",
    " ",
    " ",
    "/",
    "@",
    "&",
    "-",
    ".",
    "\x00",
    "0",
    "https://",
    "you",
    "You",
    "I",
    "US",
]


@given(
    text=st.lists(st.sampled_from([*PIECES, "Despicable", "Me", "Du", "Sie", "yo", "mi menor"])).map("".join),
    code=st.sampled_from(sorted(LANGUAGES)),
)
def test_masked_parts_come_back(text: str, code: str) -> None:
    """A quotation within an address is masked twice, and restored completely."""
    plain, kept = _masked(text, LANGUAGES[code])
    assert _restored(plain, kept) == text.replace("\x00", " ")
    assert "\x00" not in first_person(text, LANGUAGES[code])


@pytest.mark.slow
@every_row(
    "piece", ['"', "'a ", "\u201c", "«", "you ", "A ", "a-", "a.", "Sie ", "und ", "usted ", "Marcus ", "I, "]
)
@every_row("code", sorted(LANGUAGES))
def test_no_text_takes_long(piece: str, code: str) -> None:
    """The longest repetitive text takes less than a second."""
    begun = time.process_time()
    text = (piece * LONGEST_TEXT)[:LONGEST_TEXT]
    persons(text, LANGUAGES[code])
    first_person(text, LANGUAGES[code])
    assert time.process_time() - begun < 1.5

"""Background merging by rule: what a new sentence is to an old one, and what becomes of the two (paper eq. 27, section 5.6)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from table import every_row

from hindsight_integrations.cara.background import (
    MAX_CHARACTERS,
    Relation,
    between,
    merged_by_rule,
    own_sentences,
    read_sentence,
)
from hindsight_integrations.errors import InvalidRequest
from hindsight_integrations.text.language import Language
from hindsight_integrations.text.languages import LANGUAGES

EN = (LANGUAGES["en"],)
ALL = tuple(LANGUAGES.values())

PAIRS = [
    ("en", "I was born in Colorado.", "You were born in Texas and have 10 years of startup experience.", "conflicts"),
    ("en", "I was born in Texas", "I have 10 years of startup experience", "adds"),
    ("en", "I work in tech.", "I work as a machine learning engineer at a startup.", "refines"),
    ("en", "I work as a machine learning engineer at a startup.", "I work in tech.", "vaguer"),
    ("en", "I live in Oslo.", "You live in Bergen.", "conflicts"),
    ("en", "I live in Oslo with my dog.", "You live in Bergen.", "conflicts"),
    ("en", "My name is Marcus.", "You are called Otto.", "conflicts"),
    ("en", "My name is Marcus.", "My name is Marcus Chen.", "refines"),
    ("en", "I am 30 years old.", "You are 31.", "conflicts"),
    ("en", "I am a doctor.", "I am a lawyer.", "conflicts"),
    ("en", "I am a doctor.", "I am a father.", "adds"),
    ("en", "I am a creative engineer.", "I am a software engineer.", "adds"),
    ("en", "I am a doctor.", "I am a cardiologist.", "refines"),
    ("en", "I am a doctor.", "I am also a writer.", "adds"),
    ("en", "I have two dogs.", "You have three dogs.", "conflicts"),
    ("en", "I have a dog.", "I have a dog named Rex.", "refines"),
    ("en", "I have a dog.", "My sister has a dog named Rex.", "adds"),
    ("en", "I love coffee.", "I hate coffee.", "conflicts"),
    ("en", "I love coffee.", "I don't like coffee.", "conflicts"),
    ("en", "I love coffee.", "I enjoy coffee.", "repeats"),
    ("en", "I am married.", "I am divorced.", "conflicts"),
    ("en", "I am French.", "You are German.", "conflicts"),
    ("en", "I am vegan.", "I love cheese.", "adds"),
    ("en", "My favourite colour is blue.", "My favorite colour is green.", "conflicts"),
    ("en", "My favourite colour is blue.", "My favourite song is Yesterday.", "adds"),
    ("en", "I value innovation over tradition.", "I value tradition over innovation.", "conflicts"),
    ("en", "I work at Acme.", "I no longer work at Acme.", "conflicts"),
    ("en", "I work at Acme.", "I work for Bolt.", "conflicts"),
    ("en", "I speak French.", "I speak German.", "adds"),
    ("en", "I speak French.", "I don't speak French.", "conflicts"),
    ("en", "I live in Germany.", "I live in Berlin.", "refines"),
    ("en", "I live in Berlin.", "I live in Germany.", "vaguer"),
    ("en", "I was a teacher.", "I am a nurse.", "adds"),
    ("en", "I like dogs.", "I don't like small dogs.", "adds"),
    ("en", "I have 10 years of experience.", "I have 10 years of teaching experience.", "refines"),
    ("en", "I have 10 years of startup experience.", "I have 12 years of startup experience.", "conflicts"),
    ("en", "I play an instrument.", "I play the piano.", "refines"),
    ("en", "I am patient.", "I am impatient.", "conflicts"),
    ("en", "I work in healthcare.", "I work as a chef.", "conflicts"),
    ("en", "I was born in 1990.", "I was born in 1985.", "conflicts"),
    ("en", "I was born in Texas.", "I was born in 1985.", "adds"),
    ("en", "I was born in Texas.", "I was born in Austin, Texas.", "refines"),
    ("en", "I used to live in Oslo.", "I live in Bergen.", "adds"),
    ("en", "I am from Texas.", "I was born in Ohio.", "conflicts"),
    ("en", "I enjoy hiking.", "I enjoy hiking in the Alps.", "refines"),
    ("en", "I'm a software developer.", "I'm an engineer.", "vaguer"),
    ("en", "I have no children.", "I have two children.", "conflicts"),
    ("en", "I am an introvert.", "I am outgoing.", "adds"),
    ("en", "I am a software engineer with 10 years of startup experience.", "I am a teacher.", "conflicts"),
    ("en", "I drink tea.", "I never drink tea.", "conflicts"),
    ("en", "My sister was born in Ohio.", "I was born in Texas.", "adds"),
    ("en", "I work as a nurse.", "I work as a nurse at Lund hospital.", "refines"),
    ("de", "Ich wurde in Kiel geboren.", "Du wurdest in Bremen geboren und hast 10 Jahre Berufserfahrung.", "conflicts"),
    ("de", "Ich wohne in Kiel.", "Du wohnst in Bremen.", "conflicts"),
    ("de", "Ich arbeite in der IT.", "Du arbeitest als Softwareentwickler bei einem Startup.", "refines"),
    ("de", "Ich heiße Max.", "Dein Name ist Otto.", "conflicts"),
    ("de", "Ich heiße Max.", "Du heißt Otto.", "conflicts"),
    ("de", "Ich bin Lehrer.", "Du bist Koch.", "conflicts"),
    ("de", "Ich mag Kaffee.", "Du magst Kaffee nicht.", "conflicts"),
    ("de", "Ich mag Kaffee.", "Du hasst Kaffee.", "conflicts"),
    ("de", "Meine Lieblingsfarbe ist Blau.", "Deine Lieblingsfarbe ist Grün.", "conflicts"),
    ("de", "Ich bin verheiratet.", "Du bist geschieden.", "conflicts"),
    ("de", "Ich bin 30 Jahre alt.", "Du bist 31 Jahre alt.", "conflicts"),
    ("de", "Ich habe zwei Hunde.", "Du hast drei Hunde.", "conflicts"),
    ("de", "Ich spreche Deutsch.", "Du sprichst Französisch.", "adds"),
    ("de", "Ich habe einen Hund.", "Du hast einen Hund namens Rex.", "refines"),
    ("de", "Ich liebe das Meer und arbeite als Koch.", "Sie arbeiten als Lehrer.", "conflicts"),
    ("de", "Ich bin Arzt.", "Du bist Kardiologe.", "refines"),
    ("de", "Ich wohne in Kiel.", "Du wohnst nicht mehr in Kiel.", "conflicts"),
    ("es", "Nací en Lima.", "Naciste en Quito y tienes 10 años de experiencia.", "conflicts"),
    ("es", "Vivo en Lima.", "Vives en Quito.", "conflicts"),
    ("es", "Trabajo en tecnología.", "Trabajas como ingeniera de software en una empresa.", "refines"),
    ("es", "Me llamo Ana.", "Tu nombre es Luisa.", "conflicts"),
    ("es", "Soy profesora.", "Eres abogada.", "conflicts"),
    ("es", "Me gusta el café.", "No te gusta el café.", "conflicts"),
    ("es", "Me gusta el café.", "Odias el café.", "conflicts"),
    ("es", "Mi color favorito es el azul.", "Tu color favorito es el verde.", "conflicts"),
    ("es", "Estoy casada.", "Estás divorciada.", "conflicts"),
    ("es", "Tengo 30 años.", "Tienes 31 años.", "conflicts"),
    ("es", "Tengo dos perros.", "Tienes tres perros.", "conflicts"),
    ("es", "Hablo español.", "Hablas francés.", "adds"),
    ("es", "Tengo un perro.", "Tienes un perro llamado Rex.", "refines"),
    ("es", "Vivo en Lima.", "Ya no vives en Lima.", "conflicts"),
    ("es", "Nací en Lima y me encanta el mar.", "Naciste en Quito.", "conflicts"),
    ("en", "I work as a baker.", "You work as a librarian.", "conflicts"),
    ("en", "I'm a nurse at St. Mary's.", "You are a paramedic.", "conflicts"),
    ("en", "I am based in Nairobi.", "You live in Kampala now.", "conflicts"),
    ("en", "I grew up in Leeds.", "You live in York.", "adds"),
    ("en", "I have two children.", "You are a mother of three.", "adds"),
    ("en", "I have a cat.", "You have a cat called Miso.", "refines"),
    ("en", "I have a cat called Miso.", "You have a cat.", "vaguer"),
    ("en", "I speak Dutch.", "You speak Dutch fluently.", "refines"),
    ("en", "I speak Dutch and Frisian.", "You speak Dutch.", "vaguer"),
    ("en", "I am single.", "You are married to Ana.", "conflicts"),
    ("en", "I am married.", "You are married to Ana.", "refines"),
    ("en", "I am 34.", "You are 35 years old.", "conflicts"),
    ("en", "I am 34 years old.", "You turned 35 last week.", "conflicts"),
    ("en", "I was born on 3 May 1988.", "You were born on 4 May 1988.", "conflicts"),
    ("en", "I was born in 1988.", "You were born on 3 May 1988.", "refines"),
    ("en", "My favourite band is Queen.", "Your favourite band is Abba.", "conflicts"),
    ("en", "I don't smoke.", "You smoke.", "conflicts"),
    ("en", "I smoke.", "You quit smoking.", "conflicts"),
    ("en", "I never drink coffee.", "You drink coffee every morning.", "conflicts"),
    ("en", "I like tea.", "You love tea.", "repeats"),
    ("en", "I prefer tea to coffee.", "You prefer coffee to tea.", "conflicts"),
    ("en", "I work for a bank.", "You work for a hospital.", "conflicts"),
    ("en", "I study biology.", "You study marine biology.", "refines"),
    ("en", "I study biology.", "You study law.", "adds"),
    ("en", "I play the piano.", "You play the violin.", "adds"),
    ("en", "I am Canadian.", "You are from Canada.", "adds"),
    ("en", "I am Canadian.", "You are Brazilian.", "conflicts"),
    ("en", "My name is Nora.", "You are Nora.", "repeats"),
    ("en", "My name is Nora.", "Your name is Lena.", "conflicts"),
    ("en", "I'm called Nora.", "You go by Lena.", "adds"),
    ("en", "I have 5 years of experience in sales.", "You have 8 years of experience in sales.", "conflicts"),
    ("en", "I have 5 years of sales experience.", "You have 3 years of teaching experience.", "adds"),
    ("en", "I live with my parents.", "You live alone.", "adds"),
    ("en", "I live in a flat.", "You live in Hamburg.", "adds"),
    ("en", "I drive a Volvo.", "You drive a red Volvo.", "refines"),
    ("en", "I am a student.", "You study physics at ETH.", "adds"),
    ("en", "I am a vegetarian.", "You are a vegan.", "conflicts"),
    ("en", "I am a musician.", "You are a jazz pianist.", "refines"),
    ("en", "I love animals.", "You love dogs.", "adds"),
    ("en", "I am retired.", "You work as a teacher.", "adds"),
    ("en", "I was born in Lyon.", "You come from Marseille.", "conflicts"),
    ("en", "I am left-handed.", "You are right-handed.", "conflicts"),
    ("en", "I am an early riser.", "You are a night owl.", "conflicts"),
    ("en", "I am tall.", "You are 190 cm tall.", "refines"),
    ("en", "I am a morning person.", "You are a night owl.", "conflicts"),
    ("en", "I am an introvert.", "You are an extrovert.", "conflicts"),
    ("en", "I work in finance.", "You work as an accountant in Zurich.", "refines"),
    ("en", "I am a software developer.", "You work as a backend developer at Nimbus.", "adds"),
    ("en", "I work remotely.", "You work in an office.", "adds"),
    ("en", "I believe in God.", "You don't believe in God.", "conflicts"),
    ("en", "I trust people.", "You distrust people.", "adds"),
    ("en", "I'm from Spain.", "You're from Seville, Spain.", "refines"),
    ("en", "I have no siblings.", "You have a brother.", "conflicts"),
    ("en", "I have no pets.", "You have a dog.", "conflicts"),
    ("en", "I own a bakery.", "You sold your bakery.", "adds"),
    ("en", "I used to be a pilot.", "You are a pilot.", "conflicts"),
    ("en", "My wife is called Ana.", "Your wife is called Eva.", "conflicts"),
    ("en", "My hometown is Graz.", "Your hometown is Linz.", "conflicts"),
    ("en", "I am good at chess.", "You are bad at chess.", "adds"),
    ("en", "I am a helpful assistant.", "You are a helpful assistant for lawyers.", "refines"),
    ("en", "I answer briefly.", "You answer in detail.", "adds"),
    ("en", "I work at Google.", "You used to work at Google.", "conflicts"),
    ("en", "I live in London.", "You moved to Dublin.", "conflicts"),
    ("en", "I live in London.", "You have moved to Dublin.", "conflicts"),
    ("en", "I am learning Japanese.", "You are learning Japanese in Kyoto.", "refines"),
    ("en", "I weigh 70 kg.", "You weigh 75 kg.", "conflicts"),
    ("en", "I earn 50,000 euros.", "You earn 60,000 euros a year.", "conflicts"),
    ("en", "I have been a chef for 10 years.", "You have been a chef for 12 years.", "conflicts"),
    ("en", "I have worked as a chef for 10 years.", "You have worked as a chef for 12 years.", "conflicts"),
    ("en", "I hold a master's degree.", "You hold a PhD.", "adds"),
    ("de", "Ich bin Vegetarier.", "Du bist Veganer.", "conflicts"),
    ("de", "Ich lebe in Wien.", "Sie leben in Graz.", "conflicts"),
    ("de", "Ich bin 40.", "Du bist 41 Jahre alt.", "conflicts"),
    ("de", "Ich komme aus Bayern.", "Du kommst aus München, Bayern.", "refines"),
    ("de", "Ich trinke keinen Alkohol.", "Du trinkst Alkohol.", "conflicts"),
    ("de", "Ich trinke gern Tee.", "Du trinkst gern grünen Tee.", "refines"),
    ("de", "Ich arbeite bei Bosch.", "Du arbeitest bei Siemens.", "conflicts"),
    ("de", "Ich habe eine Katze.", "Du hast eine Katze und einen Hund.", "refines"),
    ("de", "Meine Frau heißt Eva.", "Deine Frau heißt Anna.", "conflicts"),
    ("de", "Ich bin Deutscher.", "Du bist Franzose.", "conflicts"),
    ("de", "Ich bin ledig.", "Du bist mit Eva verheiratet.", "conflicts"),
    ("de", "Ich spreche Polnisch.", "Du sprichst kein Polnisch.", "conflicts"),
    ("de", "Ich habe in Graz studiert.", "Du hast in Wien gearbeitet.", "adds"),
    ("es", "Soy vegetariana.", "Eres vegana.", "conflicts"),
    ("es", "Vivo en Sevilla.", "Usted vive en Granada.", "conflicts"),
    ("es", "Trabajo como cocinero.", "Trabajas de camarero.", "conflicts"),
    ("es", "Trabajo en un banco.", "Trabajas en un hospital.", "conflicts"),
    ("es", "Tengo un gato.", "Tienes un gato negro.", "refines"),
    ("es", "Soy de Chile.", "Eres de Valparaíso, Chile.", "refines"),
    ("es", "No fumo.", "Fumas.", "conflicts"),
    ("es", "Hablo inglés.", "No hablas inglés.", "conflicts"),
    ("es", "Estoy soltero.", "Estás casado con Ana.", "conflicts"),
    ("es", "Soy español.", "Eres mexicano.", "conflicts"),
    ("es", "Toco la guitarra.", "Tocas el piano.", "adds"),
    ("es", "Estudio derecho.", "Estudias medicina.", "adds"),
]  # fmt: skip


MERGED = [
    # Figure 6, and the earlier paper's 10.2 and 10.3
    ("I was born in Colorado.", "You were born in Texas and have 10 years of startup experience.", "I was born in Texas and have 10 years of startup experience."),
    ("I was born in Colorado", "You were born in Texas", "I was born in Texas"),
    ("I was born in Texas", "I have 10 years of startup experience", "I was born in Texas. I have 10 years of startup experience."),
    ("", "You are a creative engineer", "I am a creative engineer"),
    ("I work in tech.", "You work as a machine learning engineer at a startup.", "I work as a machine learning engineer at a startup."),
    # only what conflicts goes, of a sentence with more in it too
    ("I was born in Oslo and love boats.", "You were born in Turku.", "I love boats. I was born in Turku."),
    ("I live in Oslo with my dog.", "You live in Turku.", "I live in Turku with my dog."),
    ("I work as a chef in Oslo.", "You are an engineer.", "I work as an engineer in Oslo."),
    ("I love boats. I was born in Oslo. I speak Sami.", "You were born in Turku.", "I love boats. I was born in Turku. I speak Sami."),
    # what is there already is not said twice, in whatever words
    ("I work as a nurse in Turku.", "You are a nurse. You love boats.", "I work as a nurse in Turku. I love boats."),
    ("I love boats.", "You enjoy boats and speak Sami.", "I love boats. I speak Sami."),
    # side by side what no rule can judge
    ("I am a creative engineer.", "You are a software engineer.", "I am a creative engineer. I am a software engineer."),
    ("I value old maps.", "Maps bore you.", "I value old maps. Maps bore me."),
    # a current background in another person is put into the first too; a language nobody knows stays as it is
    ("You are a guide.", "You love boats.", "I am a guide. I love boats."),
    ("I am a guide.", "Ego navigare amo.", "I am a guide. Ego navigare amo."),
]  # fmt: skip

REFUSED = [
    # what else such a sentence says might hold or not
    ("I was born in Oslo to two teachers in 1980.", "You were born in Turku on a ferry."),
    ("I like dogs and cats a lot.", "You don't like dogs."),
]


STRONGEST_FIRST = (Relation.CONFLICTS, Relation.REFINES, Relation.ADDS, Relation.VAGUER, Relation.REPEATS)
NEAREST_FIRST = (Relation.CONFLICTS, Relation.REFINES, Relation.REPEATS, Relation.VAGUER, Relation.ADDS)


def relation(old: str, new: str, languages: Sequence[Language]) -> Relation:
    """What a new sentence is to an old one: of each of its statements to the nearest, and of these the strongest."""
    known = read_sentence(old, languages).said
    each = [
        min((between(told, said) for told in known), key=NEAREST_FIRST.index, default=Relation.ADDS)
        for said in read_sentence(new, languages).said
    ]
    return min(each, key=STRONGEST_FIRST.index, default=Relation.REPEATS)


@every_row(("code", "old", "new", "expected"), PAIRS)
def test_what_a_new_sentence_is_to_an_old_one(code: str, old: str, new: str, expected: str) -> None:
    """Also where the bank has all languages, and whatever person the sentences are in."""
    assert relation(old, new, (LANGUAGES[code],)) == expected
    assert relation(old, new, ALL) == expected


@every_row(("current", "snippet", "merged"), MERGED)
def test_backgrounds_are_merged_sentence_by_sentence(current: str, snippet: str, merged: str) -> None:
    """The new replaces what it contradicts and nothing else; the closer replaces the vaguer; the rest stays."""
    assert merged_by_rule(current, snippet, EN) == merged


@pytest.mark.parametrize(("current", "snippet"), REFUSED)
def test_a_contradiction_that_no_rule_resolves_is_refused(current: str, snippet: str) -> None:
    """Rather than said beside what it contradicts, or with what else was said lost."""
    with pytest.raises(InvalidRequest, match="contradicts"):
        merged_by_rule(current, snippet, EN)


@every_row(("current", "snippet", "merged"), MERGED)
def test_the_same_snippet_twice_changes_nothing(current: str, snippet: str, merged: str) -> None:
    """A background does not grow by being told again."""
    assert merged_by_rule(merged, snippet, EN) == merged


def test_a_merged_background_stays_under_the_limit() -> None:
    """At 500 characters it is refused, with what to do, and nothing is cut silently."""
    longest = "I collect " + "x" * (MAX_CHARACTERS - 12) + "."
    assert len(longest) == MAX_CHARACTERS - 1
    assert merged_by_rule("", longest, EN) == longest
    with pytest.raises(InvalidRequest, match=r"507 characters.*bank\.profile\.set"):
        merged_by_rule(longest, "I sing.", EN)


def test_the_agents_name_is_the_agent() -> None:
    """What a document says of it by name it says of itself."""
    merged = merged_by_rule("I am a guide.", "Marcus lives in Turku and loves boats.", EN, name="Marcus")
    assert merged == "I am a guide. I live in Turku and love boats."


SENTENCES = sorted({text for code, old, new, _ in PAIRS for text in (old, new) if code == "en"})


def told(merged: str, said: str) -> bool:
    """Whether a background says all that a sentence says."""
    known = [each for sentence in own_sentences(merged, EN) for each in read_sentence(sentence, EN).said]
    return all(
        any(between(old, new) in (Relation.REPEATS, Relation.VAGUER) for old in known)
        for new in read_sentence(said, EN).said
    )


@given(current=st.lists(st.sampled_from(SENTENCES), max_size=3), last=st.sampled_from(SENTENCES))
def test_what_was_said_last_is_told_and_what_it_does_not_touch_stays(current: list[str], last: str) -> None:
    """Whatever was there before, in any order; or the merge is refused, and says why."""
    try:
        before = merged_by_rule("", " ".join(current), EN)
        merged = merged_by_rule(before, last, EN)
    except InvalidRequest:
        reject()
    assert told(merged, last)
    for sentence in own_sentences(before, EN):
        if relation(sentence, last, EN) in (Relation.ADDS, Relation.VAGUER):
            assert sentence.rstrip(".") in merged


@pytest.mark.slow
@every_row(
    "piece",
    [
        "I ",
        "I am a ",
        "and I live in ",
        "born ",
        ", ",
        "you are ",
        "my favourite ",
        "A",
        ". ",
        "10 years of ",
        "I was born in a, B, ",
    ],
)
def test_no_background_takes_long(piece: str) -> None:
    """The longest text a profile takes, of one repeated piece, is merged in seconds."""
    begun = time.process_time()
    text = (piece * 4_000)[:4_000]
    with contextlib.suppress(InvalidRequest):
        merged_by_rule(text, text, ALL)
    assert time.process_time() - begun < 3

"""A user's statements are stored, plain questions are not: a table whose expectations were written before the rules were read."""

from __future__ import annotations

from typing import Any

import pytest
from table import every_row

from hindsight_integrations import Hindsight, HindsightConfig
from hindsight_integrations.config import KeywordBackend, StorageConfig, VectorBackend
from hindsight_integrations.language.packs import LANGUAGES
from hindsight_integrations.model.time import readable_time

KEPT, ASKED = True, False

# (language, what a user says, whether it contains a statement). Messages with a statement are stored
# completely.
TABLE = (
    # statements, in English
    ("en", "My sister lives in Rome.", KEPT),
    ("en", "I quit smoking in March", KEPT),
    ("en", "Blue is my favourite colour!", KEPT),
    ("en", "Peanuts. I am allergic to them.", KEPT),
    ("en", "No, the dentist is on Friday.", KEPT),
    ("en", "7", KEPT),
    ("en", "What a day: we adopted a cat.", KEPT),
    ("en", "Where I grew up there were no trains.", KEPT),
    ("en", "When I was six, I broke my arm.", KEPT),
    ("en", "Who taught me to swim was my uncle Ted.", KEPT),
    # questions, in English
    ("en", "Where does my sister live?", ASKED),
    ("en", "when is the dentist", ASKED),
    ("en", "And what about my brother?", ASKED),
    ("en", "Hi there! How are you today?", ASKED),
    ("en", "What's my cat called? And how old is it?", ASKED),
    ("en", "Can you remind me what I am allergic to?", ASKED),
    ("en", "Do you know where I left my bike?", ASKED),
    ("en", "I wonder what I said about Ted.", ASKED),
    ("en", "Could you tell me which train goes to Bath?", ASKED),
    ("en", "Am I allergic to anything?", ASKED),
    ("en", "Which of the two did I like better, the red or the blue one?", ASKED),
    ("en", "Does anybody know, though?", ASKED),
    # tag questions, statement plus question, questions that tell, in English
    ("en", "My sister moved to Rome, did you know?", KEPT),
    ("en", "The dentist is on Friday, right?", KEPT),
    ("en", "I told you about Ted, didn't I?", KEPT),
    ("en", "So I have a second cat now, who would have thought?", KEPT),
    ("en", "We moved to Bath. Which school is near?", KEPT),
    ("en", "Which school is near? We moved to Bath.", KEPT),
    ("en", "Did I mention that I sold the car?", KEPT),
    ("en", "Did you know that I was born in Lima?", KEPT),
    ("en", "What can I give my nephew Leo, who turns nine on Sunday?", KEPT),
    ("en", "How do I cook rice for two, since my wife left?", KEPT),
    ("en", "I'm vegan, so what can I order at a steak house?", KEPT),
    ("en", "Is it bad that I skipped the gym for a month?", KEPT),
    ("en", "Can I run again three weeks after my knee surgery?", KEPT),
    ("en", "Guess who got promoted? Me!", KEPT),
    ("en", "You bought a boat? I bought one as well.", KEPT),
    ("en", "Why did my boss Carla fire me yesterday?", KEPT),
    # requests, in English
    ("en", "Remind me to water the ferns on Monday.", KEPT),
    ("en", "Book a table for four at Luigi's tonight.", KEPT),
    ("en", "Please call me Sam.", KEPT),
    ("en", "Could you call me Sam from now on?", KEPT),
    ("en", "Can you stop using emojis?", KEPT),
    # rhetorical, in English
    ("en", "Who doesn't love pizza? I do, every Friday.", KEPT),
    ("en", "Isn't it great that I passed the exam?", KEPT),
    # in German
    ("de", "Meine Schwester wohnt in Rom.", KEPT),
    ("de", "Ich bin gegen Nüsse allergisch.", KEPT),
    ("de", "Wo ich aufgewachsen bin, gab es keine Züge.", KEPT),
    ("de", "Als Kind habe ich mir den Arm gebrochen.", KEPT),
    ("de", "Wo wohnt meine Schwester?", ASKED),
    ("de", "wann ist der Zahnarzt", ASKED),
    ("de", "Hallo! Wie geht es dir?", ASKED),
    ("de", "Weißt du, wo ich mein Fahrrad gelassen habe?", ASKED),
    ("de", "Ich frage mich, was ich über Ted gesagt habe.", ASKED),
    ("de", "Bin ich gegen etwas allergisch?", ASKED),
    ("de", "Kannst du mir sagen, wie meine Katze heißt?", ASKED),
    ("de", "Meine Schwester ist nach Rom gezogen, wusstest du das?", KEPT),
    ("de", "Der Zahnarzt ist am Freitag, oder?", KEPT),
    ("de", "Wir sind nach Ulm gezogen. Welche Schule ist in der Nähe?", KEPT),
    ("de", "Habe ich erwähnt, dass ich das Auto verkauft habe?", KEPT),
    ("de", "Was schenke ich meinem Neffen Leo, der am Sonntag neun wird?", KEPT),
    ("de", "Was kann ich bestellen, ich esse kein Fleisch?", KEPT),
    ("de", "Darf ich drei Wochen nach meiner Knieoperation wieder laufen?", KEPT),
    ("de", "Erinnere mich am Montag daran, die Farne zu gießen.", KEPT),
    ("de", "Kannst du mich ab jetzt Sam nennen?", KEPT),
    # in Spanish
    ("es", "Mi hermana vive en Roma.", KEPT),
    ("es", "Soy alérgico a los cacahuetes.", KEPT),
    ("es", "Donde crecí no había trenes.", KEPT),
    ("es", "Cuando era niño me rompí el brazo.", KEPT),
    ("es", "¿Dónde vive mi hermana?", ASKED),
    ("es", "cuándo es el dentista", ASKED),
    ("es", "¡Hola! ¿Qué tal estás?", ASKED),
    ("es", "¿Sabes dónde dejé la bicicleta?", ASKED),
    ("es", "Me pregunto qué dije de Ted.", ASKED),
    ("es", "¿Soy alérgico a algo?", ASKED),
    ("es", "¿Me puedes decir cómo se llama mi gata?", ASKED),
    ("es", "Mi hermana se mudó a Roma, ¿lo sabías?", KEPT),
    ("es", "El dentista es el viernes, ¿verdad?", KEPT),
    ("es", "Nos mudamos a Ávila. ¿Qué colegio hay cerca?", KEPT),
    ("es", "¿Te conté que vendí el coche?", KEPT),
    ("es", "¿Qué le regalo a mi sobrino Leo, que cumple nueve el domingo?", KEPT),
    ("es", "¿Qué puedo pedir si no como carne?", KEPT),
    ("es", "¿Puedo correr tres semanas después de mi operación de rodilla?", KEPT),
    ("es", "Recuérdame regar los helechos el lunes.", KEPT),
    ("es", "¿Puedes llamarme Sam a partir de ahora?", KEPT),
    # written after the rules had been corrected for the rows above, before they were run on these
    ("en", "Do I still have time to return the drill I bought at Obi on Monday?", KEPT),
    ("en", "How far is it to Leeds?", ASKED),
    ("en", "Should I tell Mum that I failed my driving test?", KEPT),
    ("en", "What's a good gift for a ten year old?", ASKED),
    ("en", "Would you believe we had twins?", KEPT),
    ("en", "Can we talk about my divorce?", KEPT),
    ("en", "What was the name of that restaurant again?", ASKED),
    ("en", "I need a new phone, any ideas?", KEPT),
    ("en", "Any news about my order?", ASKED),
    ("en", "How many kids do I have?", ASKED),
    ("en", "Have I ever been to Japan?", ASKED),
    ("en", "Why does my left knee hurt when I run?", KEPT),
    ("en", "What is better for me as a diabetic, rice or pasta?", KEPT),
    ("en", "How can I help my son with his maths, he's failing?", KEPT),
    ("en", "Is there a bakery near my flat in Elm Street?", KEPT),
    ("en", "Yes. And what else?", KEPT),
    ("en", "Not really. Why?", KEPT),
    ("en", "Me? I never drink.", KEPT),
    ("en", "Tell me what to wear to Ann's wedding on Saturday.", KEPT),
    ("de", "Wie heißt meine Ärztin?", ASKED),
    ("de", "Kann ich das essen, obwohl ich Diabetiker bin?", KEPT),
    ("de", "Soll ich meiner Mutter sagen, dass ich durchgefallen bin?", KEPT),
    ("de", "Gibt es eine Bäckerei in der Nähe meiner Wohnung in der Ulmenstraße?", KEPT),
    ("de", "Wie viele Kinder habe ich?", ASKED),
    ("de", "Nein. Warum?", KEPT),
    ("de", "Wie lange kenne ich Jana?", ASKED),
    ("de", "Ist es schlimm, dass ich gekündigt habe?", KEPT),
    ("es", "¿Cómo se llama mi médica?", ASKED),
    ("es", "¿Puedo comer esto aunque soy diabético?", KEPT),
    ("es", "¿Le digo a mi madre que suspendí el examen?", KEPT),
    ("es", "¿Cuántos hijos tengo?", ASKED),
    ("es", "No. ¿Por qué?", KEPT),
    ("es", "¿Es malo que haya dejado el trabajo?", KEPT),
    ("es", "¿He estado alguna vez en Japón?", ASKED),
)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "name": "Nora", "content": text, "id": "m1"}]


@pytest.fixture
def open_for(opener: Any) -> Any:
    storage = StorageConfig(vectors=VectorBackend.EXACT, keywords=KeywordBackend.FTS5)

    def open_engine(*languages: str) -> Hindsight:
        return opener(config=HindsightConfig(storage=storage, languages=languages))  # type: ignore[no-any-return]

    return open_engine


@pytest.mark.directory
@every_row(("code", "text", "states"), TABLE, ids=[text for _, text, _ in TABLE])
def test_what_states_something_is_kept_whole_and_a_question_is_no_memory(
    open_for: Any, code: str, text: str, states: bool
) -> None:
    bank = open_for(code).bank("nora")
    bank.retain(said(text), thread="t")
    assert [unit.text for unit in bank.units().units] == ([f"Nora: {text}"] if states else [])


@pytest.mark.parametrize("text", ["Where does my sister live?", "And what about my brother?"])
def test_a_question_is_known_and_its_turn_is_kept(open_for: Any, text: str) -> None:
    bank = open_for("en").bank("nora")
    first = bank.retain(said(text), thread="t")
    assert not first.created
    assert first.dropped
    assert bank.retain(said(text), thread="t").skipped_messages == 1
    together = [*said(text), {"role": "user", "name": "Nora", "content": "I own a boat.", "id": "m2"}]
    assert bank.retain(together, thread="t").created == 1


def test_with_several_languages_a_question_is_one_in_its_own(open_for: Any) -> None:
    bank = open_for(*LANGUAGES).bank("nora")
    for number, (_, text, _) in enumerate(TABLE):
        bank.retain([{**said(text)[0], "id": f"m{number}"}], thread=f"t{number}")
    kept = {unit.text.removeprefix("Nora: ") for unit in bank.units(limit=200).units}
    assert {text for _, text, states in TABLE if states} - kept == set()


def test_a_document_keeps_its_questions(open_for: Any) -> None:
    bank = open_for("en").bank("nora")
    assert bank.retain("Where does my sister live?", document_id="notes").created == 1


@pytest.mark.parametrize("answer", [False, True], ids=["pasted by the user", "quoted by the agent"])
def test_a_memory_with_a_date_of_its_own_is_recognised_as_prompts_show_it(
    open_for: Any, answer: bool
) -> None:
    bank = open_for("en").bank("nora")
    told = {**said("On 3 May 2024 I sold my boat.")[0], "timestamp": "2024-05-05T10:00"}
    (unit,) = (bank.get(made) for made in bank.retain([told], thread="t").unit_ids)
    assert unit.occurred is not None
    line = f"- {unit.text} ({readable_time(unit.occurred, unit.mentioned_at)})"
    role = "assistant" if answer else "user"
    echo = {"role": role, "content": line, "id": "m2", "timestamp": "2024-05-06T10:00"}
    result = bank.retain([echo], thread="t")
    assert (result.created, [each.reason for each in result.dropped]) == (0, ["it repeats a recalled memory"])


def test_an_agent_that_says_the_contrary_repeats_nothing(open_for: Any) -> None:
    bank = open_for("en").bank("nora")
    bank.retain(said("My dentist works on Fridays."), thread="t")
    contrary = {"role": "assistant", "content": "Your dentist does not work on Fridays.", "id": "m2"}
    assert bank.retain([contrary], thread="t").created == 1


def test_a_long_prompt_of_memories_is_recognised_line_by_line(open_for: Any) -> None:
    bank, things = open_for("en").bank("nora"), ("kayak", "violin", "saddle", "kettle", "drone", "lamp")
    places = ("Porto", "Leeds", "Turku", "Bergen", "Graz", "Cork")
    texts = [f"I left my {thing} in {place}." for thing in things for place in places]
    for number, text in enumerate(texts):
        bank.retain([{**said(text)[0], "id": f"s{number}"}], thread="t")
    block = "\n".join(f"- Nora: {text} (mentioned on Wednesday, June 12, 2024)" for text in texts)
    assert bank.retain([{**said(block)[0], "id": "pasted"}], thread="t").created == 0

"""User messages that only ask, and the statements in an agent's sentences: a table written before the rules were run."""

from __future__ import annotations

from table import every_row

from hindsight_integrations.language.language import Language
from hindsight_integrations.language.packs import ENGLISH, LANGUAGES
from hindsight_integrations.language.statements import only_asks, stating_sentences

SPANISH = LANGUAGES["es"]
GERMAN = LANGUAGES["de"]

ASKING = {
    ENGLISH: (
        "Where does my sister live?",
        "What did I buy in Porto?",
        "And when is my flight?",
        "How many times did I go hiking?",
        "Do you remember my dog's name?",
        "Thanks! What's the weather like there?",
        "Tell me what I said about Ana.",
        "Remind me where I parked.",
        "I wonder where my keys are.",
        "Could you tell me when the concert is?",
        "What did I do when I was in Porto?",
        "Which of my friends is vegan?",
        "Hi! Can you help me?",
        "Is Tom older than Sue?",
        "Summarize what you know about me.",
        "So, who came to the party?",
        "Hello! Who am I? What do I like?",
    ),
    GERMAN: (
        "Wo wohnt meine Schwester?",
        "Was habe ich in Porto gekauft?",
        "Und wann geht mein Flug?",
        "Weißt du noch, wie mein Hund heißt?",
        "Sag mir bitte, wo ich geparkt habe.",
        "Ich frage mich, wo meine Schlüssel sind.",
        "Kannst du mir helfen?",
        "Wer von meinen Freunden ist vegan?",
        "Hallo! Wie geht es dir?",
    ),
    SPANISH: (
        "¿Dónde vive mi hermana?",
        "¿Qué compré en Oporto?",
        "Y ¿cuándo sale mi vuelo?",
        "¿Recuerdas cómo se llama mi perro?",
        "Dime qué dije sobre Ana.",
        "Me pregunto dónde están mis llaves.",
        "¿Puedes ayudarme?",
        "¡Hola! ¿Cómo estás?",
    ),
}

STATING = {
    ENGLISH: (
        "My sister moved to Rome, did you know?",
        "Did I tell you that I moved to Rome?",
        "Did you know my brother is a pilot?",
        "What can I cook tonight, I'm vegan?",
        "I moved to Rome last week. Where should I eat?",
        "Remind me to call Ana tomorrow.",
        "You know my sister Ana moved to Lisbon, right?",
        "Can you believe I won the race? I trained for a year.",
        "What should I get for Mia, she is allergic to nuts?",
        "My flight is at nine, isn't it?",
        "I don't eat meat.",
        "Where do you think I went? To Porto!",
        "Which train should I take now that I live in Bonn?",
        "We got a dog!",
        "Lisbon. I was born there. And you?",
        "How do I get there since I have no car?",
    ),
    GERMAN: (
        "Meine Schwester ist nach Rom gezogen, wusstest du das?",
        "Habe ich dir erzählt, dass ich umgezogen bin?",
        "Was soll ich kochen, ich bin Veganer?",
        "Erinnere mich morgen daran, Ana anzurufen.",
        "Ich wohne jetzt in Bonn. Wo kann ich essen?",
        "Wusstest du, dass mein Bruder Pilot ist?",
        "Wir haben einen Hund!",
        "Welchen Zug soll ich nehmen, weil ich kein Auto habe?",
    ),
    SPANISH: (
        "Mi hermana se mudó a Roma, ¿lo sabías?",
        "¿Te dije que me mudé a Roma?",
        "¿Qué puedo cocinar? Soy vegano.",
        "¿Qué puedo cocinar, soy vegano?",
        "¿Sabías que mi hermano es piloto?",
        "Tenemos un perro.",
        "Recuérdame llamar a Ana mañana.",
        "¿Qué tren tomo ahora que vivo en Bonn?",
    ),
}

AGENT_STATES = {
    ENGLISH: ("I booked the 9:40 train to Porto for you.", "Kayaks need a new coat of wax every year."),
    GERMAN: ("Ich habe den Zug um 9:40 gebucht.",),
    SPANISH: ("He reservado el tren de las 9:40 a Oporto.",),
}
AGENT_STATES_NOTHING = {
    ENGLISH: (
        "I recall: nothing",
        "Nice! Where did you buy it?",
        "I don't know anything about that.",
        "I have no memory of your sister.",
        "You're welcome!",
        "How can I help you today?",
        "Hello there! What would you like to talk about?",
    ),
    GERMAN: ("Darüber weiß ich nichts.", "Schön! Wo hast du es gekauft?", "Dazu habe ich keine Erinnerung."),
    SPANISH: ("No tengo información sobre eso.", "¡Qué bien! ¿Dónde lo compraste?"),
}


def rows(table: dict[Language, tuple[str, ...]]) -> list[tuple[Language, str]]:
    return [(language, text) for language, texts in table.items() for text in texts]


@every_row(("language", "text"), rows(ASKING))
def test_it_only_asks(language: Language, text: str) -> None:
    assert only_asks(text, language)


@every_row(("language", "text"), rows(STATING))
def test_it_states_something(language: Language, text: str) -> None:
    assert not only_asks(text, language)


@every_row(("language", "text"), rows(AGENT_STATES))
def test_what_an_agent_did_or_knows_stays(language: Language, text: str) -> None:
    assert stating_sentences(text, language, agent=True) == [text]


@every_row(("language", "text"), rows(AGENT_STATES_NOTHING))
def test_what_an_agent_does_not_know_is_left_out(language: Language, text: str) -> None:
    assert stating_sentences(text, language, agent=True) == []

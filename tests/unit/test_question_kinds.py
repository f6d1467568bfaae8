"""Kinds of messages: those that need no memory, those that ask for a fact, and requests that may need dissimilar memories."""

from __future__ import annotations

from table import every_row

from hindsight_integrations.language.questions import asks_for_a_fact, only_states
from hindsight_integrations.language.statements import is_small_talk

TALK, FACT, STATEMENT, REQUEST = "small talk", "fact", "statement", "request"

ROWS = [
    ("hi", TALK), ("ok thanks!", TALK), ("?", TALK), ("How are you today?", TALK), ("Danke dir \U0001f60a", TALK),
    ("Hola, ¿qué tal?", TALK), ("lol", TALK), ("sounds good", TALK),
    ("What size are my shoes?", FACT), ("When did I see the dentist?", FACT), ("Do I have debts?", FACT),
    ("Wo wohnt meine Schwester?", FACT), ("Wann war ich beim Arzt?", FACT), ("¿Dónde vive mi hermana?", FACT),
    ("How does a heat pump work?", FACT),
    ("I bought a red kayak.", STATEMENT), ("My sister moved to Lisbon.", STATEMENT), ("Oh, and we adopted a dog.", STATEMENT),
    ("Ich habe einen Kajak gekauft.", STATEMENT), ("Vivo en Graz.", STATEMENT), ("I need to renew my passport.", STATEMENT),
    ("Suggest a recipe for dinner", REQUEST), ("Book me a table for tonight", REQUEST), ("What should I wear?", REQUEST),
    ("I need an idea for my brother's birthday", REQUEST), ("Can I afford a flat for 1200?", REQUEST),
    ("Is it fine to swim here?", REQUEST), ("It's pouring, where can I go with the kids?", REQUEST),
    ("Was soll ich kochen?", REQUEST), ("Empfiehl mir ein Rezept", REQUEST), ("¿Qué puedo cocinar?", REQUEST),
    ("Recomiéndame una receta", REQUEST), ("Conseille-moi un film", REQUEST),
]  # fmt: skip


@every_row(("message", "kind"), ROWS)
def test_what_a_message_wants(message: str, kind: str) -> None:
    """In doubt, and in unsupported languages, a message is a request: that costs tokens but omits nothing."""
    if is_small_talk(message, answers=True):
        found = TALK
    elif only_states(message):
        found = STATEMENT
    else:
        found = FACT if asks_for_a_fact(message) else REQUEST
    assert found == kind
